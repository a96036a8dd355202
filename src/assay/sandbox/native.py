"""C++ and JavaScript, over stdin and stdout, where namespaces let a child execute and a compiler or node is there.

A source is compiled once, in one child, and executed in a fresh one for each input. What a compiler may touch is its
own empty folder, in namespaces that nothing else is in.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.sandbox.base import Limits, Report, Submission, TestOutcome, TestResult
from assay.sandbox.forkserver import Job
from assay.sandbox.grading import StdioGrading
from assay.sandbox.inside import wire
from assay.sandbox.pool import Grading
from assay.sandbox.tasks import Form

NATIVE = "native"
"""The kind of fork server whose children execute."""
COMPILE_SECONDS = 30.0
MAX_PROGRAM = 64 << 20
MAX_ARGUMENT = 120_000  # the kernel takes no longer argument, and an interpreter gets its source as one
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")


@dataclass(frozen=True, slots=True)
class Language:
    """How one language is run."""

    tool: Callable[[], str | None]
    """The compiler's or the interpreter's path."""
    flags: tuple[str, ...]
    suffix: str
    compiled: bool
    memory_kind: int = resource.RLIMIT_AS


LANGUAGES = {
    "cpp": Language(lambda: shutil.which("g++"), ("-O2", "-std=c++17", "-static", "-pipe", "-w"), ".cpp", True),
    # V8 reserves far more addresses than it uses: what counts is what it writes to
    "javascript": Language(
        lambda: shutil.which("node"), ("--max-old-space-size=512", "-e"), ".js", False, resource.RLIMIT_DATA
    ),
}


def system_libraries() -> list[str]:
    """The folders of the libraries that programs are linked with."""
    machine = f"{platform.machine()}-linux-gnu"
    found = [p for p in (f"/lib/{machine}", f"/usr/lib/{machine}") if os.path.isdir(p)] or ["/lib", "/usr/lib"]
    return [*found, "/lib64", "/usr/lib64", "/etc/ld.so.cache"]


def toolchain() -> dict[str, Any]:
    """What a fork server for native programs is told beside the rest."""
    tools = [os.path.realpath(tool) for language in LANGUAGES.values() if (tool := language.tool())]
    programs = [*SYSTEM, *(os.path.dirname(tool) for tool in tools if not tool.startswith("/usr/"))]
    interpreters = [t for t in tools if not t.rpartition("/")[2].startswith("g++")] + system_libraries()
    return {
        "native": True,
        "programs": programs,
        "interpreters": interpreters,
        "readable": programs,
        "hidden": [],
        "beside": [],
        "visible": [],
    }


def grade_native(submission: Submission, limits: Limits, namespaces: bool) -> Grading[Report]:
    """The grading of a C++ or JavaScript program, or a report that says why there is none."""
    language = LANGUAGES.get(submission.language)
    if language is None:
        return _unjudged(f"no {submission.language} here; there are python, {', '.join(LANGUAGES)}")
    if submission.tests.form is not Form.STDIO:
        return _unjudged(f"{submission.language} takes tests of stdin and stdout; these are {submission.tests.form}")
    if not namespaces:
        return _unjudged(
            f"{submission.language} needs namespaces (tier 1): a program that is executed is not held without"
        )
    if (tool := language.tool()) is None:
        return _unjudged(
            f"{submission.language} needs {'g++' if language.compiled else 'node'}, which is not installed"
        )
    return _NativeGrading(submission, limits, language, tool).run()


def _unjudged(reason: str) -> Grading[Report]:
    return Report(unjudged=reason)
    yield  # type: ignore[unreachable]  # a grading that takes no job


class _NativeGrading(StdioGrading):
    """A program over stdin and stdout that is compiled first, or handed to an interpreter."""

    def __init__(self, submission: Submission, limits: Limits, language: Language, tool: str) -> None:
        super().__init__(submission, limits, NATIVE)
        self.language = language
        self.command = [os.path.realpath(tool), *language.flags]
        self.program = b""

    def run(self) -> Grading[Report]:
        """Compile, then run the program once for each case."""
        if self.language.compiled:
            command = [self.command[0], *self.language.flags]
            job = wire.dumps({"source": self.submission.code, "command": command, "suffix": self.language.suffix})
            bounds = dict(self.job("compile", (), 0, 1).limits) | dict.fromkeys(
                ("step", "step_wall", "total", "total_wall", "cpu"), COMPILE_SECONDS
            )
            bounds["cpu"] = int(COMPILE_SECONDS)
            reply = yield Job("compile", bounds, (job,), 2, MAX_PROGRAM, NATIVE)
            self.program, said = reply.outputs
            if reply.children["candidate"]["status"] != 0 or not self.program:
                return self._failed(said.decode("utf-8", "replace"))
        elif len(self.submission.code.encode("utf-8", "replace")) > MAX_ARGUMENT:
            return self._failed(f"a source of more than {MAX_ARGUMENT} bytes")
        return (yield from super().run())

    def _failed(self, said: str) -> Report:
        error = next((line for line in said.splitlines() if "error" in line), "it does not compile")
        self.report.results = [TestResult(TestOutcome.LOAD_ERROR, error[:180]) for _ in self.tests.cases]
        return self.report

    def case_job(self, stdin: bytes) -> Job:
        """One run of the program."""
        source = "" if self.language.compiled else self.submission.code
        job = wire.dumps({"command": [] if self.language.compiled else self.command, "source": source})
        op = "compiled" if self.language.compiled else "script"
        made = self.job(op, (job, self.program, stdin), 2, 1)
        return Job(op, {**made.limits, "memory_kind": self.language.memory_kind}, made.inputs, 2, self.cap, NATIVE)
