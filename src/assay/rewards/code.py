"""Does the program in the response pass the tests? Run where it can do no harm, judged where it cannot reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError
from assay.reward import Contract, RewardFunction
from assay.sandbox.base import Limits, Report, Sandbox, Submission, TestOutcome
from assay.sandbox.local import TIERS, LocalSandbox
from assay.sandbox.tasks import Tests
from assay.text.code import Code, extract_code
from assay.types import Outcome, RewardOutput, Trajectory

SCORES = ("all", "fraction", "weighted")


@dataclass
class CodeReward(RewardFunction):
    """1 when the response's program passes its tests, 0 when a test fails or there is no program.

    The tests are in `metadata["tests"]` (or the ground truth), in any of the shapes of docs/code.md. The program runs
    in a sandbox, apart from the expected values; where none holds on this machine, nothing is run.

    Example:
        >>> reward = CodeReward(workers=1)
        >>> tests = {"entry_point": "double", "cases": [{"args": [2], "expected": 4}]}
        >>> answer = "```python\\ndef double(x):\\n    return 2 * x\\n```"
        >>> reward.compute_rewards([Trajectory(response=answer, metadata={"tests": tests})])[0].reward
        1.0
        >>> reward.close()

    Hacked by: answers for the tests' inputs written into the program; tests so weak that a wrong program passes them.
    """

    contract = Contract(cost=5.0)

    score: Literal["all", "fraction", "weighted"] = "all"
    """All or nothing; the fraction of tests passed; or of their weights (a case's, or the task's `weights`)."""
    language: str = "python"
    form: str = "auto"
    """Which of a task's forms of tests: cases, stdio, check, asserts, unittest, pytest; auto: the first there is."""
    join_blocks: bool = False
    """Run all code blocks of the response one after the other, not the last."""
    time_limit_s: float = 5.0
    """CPU seconds of one test, where the task has no `time_limit_s`."""
    memory_mb: int = 1024
    workers: int = 0
    """Programs at once; 0 is one for each CPU."""
    packages: tuple[str, ...] = ("numpy",)
    """What programs may import beside the standard library, where it is installed here."""
    tier: int = 0
    """0: the strongest isolation that holds here; another number: that one, or nothing is run."""
    allow_unconfined: bool = False
    """Run programs with no isolation where none holds. Recorded in every result."""
    sandbox: Sandbox | None = None
    """Another sandbox than this machine's: see `assay.sandbox.remote`."""
    _local: LocalSandbox | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise ConfigError(f"score is one of {', '.join(SCORES)}; found {self.score!r}.")
        if self.tier not in (0, *TIERS):
            raise ConfigError(
                f"tier is 0 (the strongest that holds) or one of {', '.join(map(str, TIERS))}; found {self.tier!r}."
            )
        if self.time_limit_s <= 0 or self.memory_mb < 64:
            raise ConfigError(
                f"needed time_limit_s above 0 and memory_mb of at least 64; "
                f"found {self.time_limit_s} and {self.memory_mb}."
            )

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Score a batch: all its programs at once over the warm fork servers."""
        outputs: list[RewardOutput | None] = []
        submitted: list[tuple[int, Submission, Code]] = []
        for i, trajectory in enumerate(trajectories):
            prepared = self._prepared(trajectory)
            if isinstance(prepared, RewardOutput):
                outputs.append(prepared)
            else:
                outputs.append(None)
                submitted.append((i, *prepared))
        if submitted:
            reports = self._sandbox().run([submission for _, submission, _ in submitted])
            for (i, submission, code), report in zip(submitted, reports, strict=True):
                outputs[i] = self._output(submission, code, report)
        return [output for output in outputs if output is not None]

    def close(self) -> None:
        """End the fork servers; the next batch starts them anew."""
        if self._local is not None:
            self._local.close()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_local": None}

    def _sandbox(self) -> Sandbox:
        if self.sandbox is not None:
            return self.sandbox
        if self._local is None:
            self._local = LocalSandbox(
                limits=Limits(time_s=self.time_limit_s, memory_mb=self.memory_mb),
                workers=self.workers,
                packages=self.packages,
                tier=self.tier,
                allow_unconfined=self.allow_unconfined,
            )
        return self._local

    def _prepared(self, trajectory: Trajectory) -> tuple[Submission, Code] | RewardOutput:
        """What is to be run for a trajectory, or what there is to say without running anything."""
        given = trajectory.metadata.get("tests")
        given = trajectory.ground_truth if given is None else given
        if given is None or given in ("", [], {}):
            has = sorted(trajectory.metadata)
            return RewardOutput(None, error=f"needed metadata['tests'] or a ground truth; the row has {has}.")
        try:
            tests = Tests.of(given, self.form)
        except (ConfigError, ValueError, TypeError, AttributeError) as error:
            return RewardOutput.failed(Outcome.GRADER_ERROR, f"the tests cannot be read: {error}")
        code = extract_code(
            trajectory.response,
            self.language,
            join=self.join_blocks,
            prompt=tests.prompt or trajectory.prompt,
            entry_point=tests.entry_point,
        )
        if not code.source:
            metadata = {"reason": f"no program: {code.missing}", "verdict": "fail", "no_code": code.missing}
            return RewardOutput(0.0, metadata={**metadata, "passed": 0, "tests": []})
        stop_early = self.score == "all"
        return Submission(code.code, tests, self.language, stop_early), code

    def _output(self, submission: Submission, code: Code, report: Report) -> RewardOutput:
        """What the report says, as a reward."""
        metadata: dict[str, Any] = {
            "code_from": code.source,
            "form": str(submission.tests.form),
            "isolation": report.isolation.as_json() if report.isolation else None,
            "flags": report.flags,
            "hack_signal": bool(report.flags),
        }
        if report.fault:
            return RewardOutput.failed(Outcome.INFRA_ERROR, f"not run: {report.fault}", **metadata)
        if report.unjudged:
            return RewardOutput.failed(Outcome.GRADER_ERROR, f"not judged: {report.unjudged}", **metadata)
        total = len(report.results)
        metadata |= {
            "reason": _reason(report),
            "verdict": "pass" if report.passed == total and total else "fail",
            "passed": report.passed,
            "total": total,
            "tests": [asdict(r) | {"outcome": str(r.outcome)} for r in report.results],
        }
        return RewardOutput(self._score(submission.tests, report), metadata=metadata)

    def _score(self, tests: Tests, report: Report) -> float:
        results = report.results
        if self.score == "all" or not results:
            return float(bool(results) and report.passed == len(results))
        if self.score == "fraction":
            return report.passed / len(results)
        weights = [max(0.0, tests.weight(i)) for i in range(len(results))]
        earned = sum(w for w, r in zip(weights, results, strict=True) if r.outcome is TestOutcome.PASS)
        return min(1.0, earned / sum(weights)) if sum(weights) > 0 else 0.0


def _reason(report: Report) -> str:
    """The verdict in words: how many tests pass, and what came of the first that does not."""
    said = f"{report.passed} of {len(report.results)} tests pass"
    for number, result in enumerate(report.results, 1):
        if result.outcome is not TestOutcome.PASS:
            return f"{said}; test {number}: {result.outcome}" + (f", {result.detail}" if result.detail else "")
    return said
