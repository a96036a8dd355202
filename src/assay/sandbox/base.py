"""The words of the sandbox: what is submitted, what comes of each test, and what any sandbox does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from assay.sandbox.tasks import Tests


class TestOutcome(StrEnum):
    """How one test ended. Only `PASS` counts for anything."""

    PASS = "pass"
    WRONG_ANSWER = "wrong_answer"
    EXCEPTION = "exception"
    LOAD_ERROR = "load_error"  # the code does not compile, or raised before the first test
    TIMEOUT_CPU = "timeout_cpu"
    TIMEOUT_WALL = "timeout_wall"  # it slept, or waited for what does not come
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"
    CRASH = "crash"  # a signal that nobody sent
    ENDED_EARLY = "ended_early"  # it left before its tests were over, with whatever exit code
    BAD_OUTPUT = "bad_output"  # what it sent cannot be read, or is no plain value
    SANDBOX_VIOLATION = "sandbox_violation"  # the kernel stopped it at a call that no honest program makes
    NOT_RUN = "not_run"


class Flag(StrEnum):
    """What a program did that honest ones seldom do: signals of reward hacking, beside the verdict."""

    SANDBOX_VIOLATION = "sandbox_violation"
    OPAQUE_VALUE = "opaque_value"  # an object of its own where a plain value was wanted
    PROTOCOL_FAULT = "protocol_fault"  # records or messages that the runner does not write
    ENDED_EARLY = "ended_early"


@dataclass(slots=True)
class TestResult:
    """What came of one test. `detail` is short and never holds the expected value."""

    outcome: TestOutcome
    detail: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use. Times are of its own doing: a loaded machine takes nothing from them."""

    time_s: float = 5.0
    """CPU seconds of one test, where the task names no limit."""
    sleep_s: float = 1.0
    """Seconds that a test may sleep or wait beyond its CPU limit."""
    total_s: float = 60.0
    """CPU seconds of all tests of a program together."""
    memory_mb: int = 1024
    output_mb: int = 4
    """What a program may write in one test, or return in all."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Which layers held a program."""

    tier: int
    """1 namespaces, Landlock and seccomp; 2 Landlock and seccomp; 3 seccomp without files; 4 WebAssembly; 0
    elsewhere.
    """
    name: str
    landlock: int = 0
    namespaces: bool = False
    seccomp: bool = False
    uid: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it stands in a reward's metadata."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Submission:
    """A program and the tests that it is to pass."""

    code: str
    tests: Tests
    language: str = "python"
    stop_early: bool = True
    """Leave the other tests when one has failed."""


@dataclass(slots=True)
class Report:
    """What came of one program: a result for each test, or why there is none."""

    results: list[TestResult] = field(default_factory=list[TestResult])
    flags: list[str] = field(default_factory=list[str])
    isolation: Isolation | None = None
    fault: str = ""
    """The infrastructure failed, twice: nobody's answer was judged."""
    unjudged: str = ""
    """The tests cannot be run: they are wrong, or ask for what this sandbox does not do."""

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(r.outcome is TestOutcome.PASS for r in self.results)


class Sandbox(Protocol):
    """Anything that runs programs: here, in a service, in WebAssembly."""

    def run(self, submissions: Sequence[Submission]) -> list[Report]:
        """Run the programs, in whatever order; the reports are in theirs. Failures are in the reports, not raised."""
        ...

    def close(self) -> None:
        """Let go of processes and connections; it may be used again afterwards."""
        ...
