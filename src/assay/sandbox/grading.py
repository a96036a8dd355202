"""How one program is graded: which jobs it takes, and what their records say. Pure but for the jobs it yields.

Each is a generator of jobs (see `pool`). What comes back of the candidate's process is a claim, read as one: a record
is taken only in its turn, and a value is compared, never trusted. What comes of the tester's process is a verdict.
"""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from typing import Any, TypeGuard

from assay.sandbox.base import Flag, Limits, Report, Submission, TestOutcome, TestResult
from assay.sandbox.compare import same_text, same_value
from assay.sandbox.forkserver import Job, Reply
from assay.sandbox.inside import wire
from assay.sandbox.pool import Grading
from assay.sandbox.source import classes_of, helpers_of
from assay.sandbox.tasks import Form, Tests

MALFORMED = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    wire.NotPlain,
)
MAX_TIMEOUTS = 2
MARGIN = 1 << 16


def grade(submission: Submission, limits: Limits, server: str) -> Grading[Report]:
    """The grading of one Python program, by the form of its tests."""
    by_form = {Form.CASES: _Cases, Form.STDIO: StdioGrading}
    return by_form.get(submission.tests.form, _Tested)(submission, limits, server).run()


class _Graded:
    """What the forms share: limits, sources, results."""

    def __init__(self, submission: Submission, limits: Limits, server: str) -> None:
        self.submission = submission
        self.tests: Tests = submission.tests
        self.server = server
        self.time_s = self.tests.time_limit_s or limits.time_s
        self.limits = limits
        self.cap = limits.output_mb << 20
        self.report = Report()
        self.timeouts = 0

    def run(self) -> Grading[Report]:
        raise NotImplementedError

    def sources(self) -> list[str]:
        """What runs before the first test: the prompt's helpers where the program does not have them, the program."""
        helpers = helpers_of(self.tests.prompt, self.tests.entry_point, self.submission.code)
        return [s for s in (helpers, self.submission.code) if s]

    def job(self, op: str, inputs: tuple[bytes, ...], outputs: int, tests: int) -> Job:
        """A job of so many tests. Loading the code has the time of one test, besides."""
        total = min(self.limits.total_s, self.time_s * (tests + 1))
        memory = self.tests.memory_mb or self.limits.memory_mb
        bounds = {
            "step": self.time_s,
            "step_wall": self.time_s + self.limits.sleep_s,
            "total": total,
            "total_wall": total + self.limits.sleep_s * (tests + 1),
            "cpu": math.ceil(total) + 1,
            "memory": memory << 20,
            "output": self.cap,
        }
        return Job(op, bounds, inputs, outputs, self.cap, self.server)

    def flag(self, flag: Flag) -> None:
        """Note a sign of reward hacking, once."""
        if flag not in self.report.flags:
            self.report.flags.append(str(flag))

    def ended(self, reply: Reply, child: str = "candidate") -> tuple[TestOutcome, str]:
        """How a child ended that did not finish its tests."""
        status = reply.children.get(child, {}).get("status", 0)
        if reply.why in ("timeout_cpu", "timeout_wall") or status == -signal.SIGXCPU:
            self.timeouts += 1
            return TestOutcome(reply.why or "timeout_cpu"), f"limit {self.time_s:g} s"
        if status == -signal.SIGSYS:
            self.flag(Flag.SANDBOX_VIOLATION)
            return TestOutcome.SANDBOX_VIOLATION, "stopped by the kernel at a call that no honest program makes"
        if reply.why == "marks":
            self.flag(Flag.PROTOCOL_FAULT)
            return TestOutcome.BAD_OUTPUT, "it wrote to the supervisor's pipe"
        if status < 0 and not reply.why:
            return TestOutcome.CRASH, _signal_name(-status)
        self.flag(Flag.ENDED_EARLY)
        return TestOutcome.ENDED_EARLY, f"it left with exit code {max(0, status)} before its tests were over"

    def goes_on(self, outcome: TestOutcome) -> bool:
        """Whether the tests after one that ended the process are worth another."""
        spent = self.timeouts >= MAX_TIMEOUTS
        final = (TestOutcome.SANDBOX_VIOLATION, TestOutcome.ENDED_EARLY, TestOutcome.BAD_OUTPUT)
        return not (self.submission.stop_early or spent or outcome in final)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _of_exception(name: Any) -> TestOutcome:
    if name == "MemoryError":
        return TestOutcome.MEMORY
    return TestOutcome.ENDED_EARLY if name in ("SystemExit", "KeyboardInterrupt") else TestOutcome.EXCEPTION


def _costs(reply: Reply, results: list[tuple[TestResult, int]]) -> None:
    """Spread the supervisor's clocks over the tests: those that share a window share its time."""
    cpu = [w[0] for w in reply.windows]
    wall = [w[1] for w in reply.windows]
    spent = sum(c.get("cpu", 0.0) for c in reply.children.values())
    cpu.append(max(0.0, spent - sum(cpu)))
    wall.append(max(0.0, reply.wall_s - sum(wall)))
    memory = max((c.get("rss", 0) for c in reply.children.values()), default=0) / 1024
    shared: dict[int, int] = {}
    places = [(result, min(max(window, 0), len(cpu) - 1)) for result, window in results]
    for _, window in places:
        shared[window] = shared.get(window, 0) + 1
    for result, window in places:
        result.cpu_s = round(cpu[window] / shared[window], 6)
        result.wall_s = round(wall[window] / shared[window], 6)
        result.memory_mb = round(memory, 1)


class _Cases(_Graded):
    """Inputs in, outputs out: one process for all of them, while it lives."""

    def run(self) -> Grading[Report]:
        """Run the cases, and again from the next one where a process ended in the middle."""
        tests = self.tests
        count = len(tests.cases)
        expected = [wire.encode(c.expected) for c in tests.cases]
        inputs = [[wire.encode(list(c.args)), wire.encode(dict(c.kwargs or {}))] for c in tests.cases]
        common = {"sources": self.sources(), "entry": tests.entry_point, "inputs": inputs, "in_place": tests.in_place}
        start = 0
        while start < count:
            job = wire.dumps(common | {"start": start})
            reply = yield self.job("calls", (job,), 1, count - start)
            done = self._read(reply, expected, start)
            if done == count or self._stopped_by_failure():
                break
            outcome = self.report.results[-1].outcome
            if not self.goes_on(outcome):
                break
            start = done
        rest = count - len(self.report.results)
        self.report.results += [TestResult(TestOutcome.NOT_RUN) for _ in range(rest)]
        return self.report

    def _stopped_by_failure(self) -> bool:
        return any(r.outcome is TestOutcome.LOAD_ERROR for r in self.report.results)

    def _read(self, reply: Reply, expected: list[Any], start: int) -> int:
        """Read the records; how many cases are decided now."""
        results: list[tuple[TestResult, int]] = []
        at, window = start, 0
        trouble: tuple[TestOutcome, str] | None = None
        for record in _records(reply.outputs[0]):
            if at >= len(expected) or not _is_next(record, at, start, window):
                trouble = (TestOutcome.BAD_OUTPUT, "a record that the runner does not write")
                break
            if record["i"] == -1:
                self._load_error(record, len(expected))
                return len(expected)
            window = record["w"]
            results.append((self._result(record, expected[at]), window))
            at += 1
        if len(reply.windows) > window + 1:  # more than the runner made: each would have been time of its own
            trouble = (TestOutcome.BAD_OUTPUT, "it wrote to the supervisor's pipe")
        if trouble:
            self.flag(Flag.PROTOCOL_FAULT)
        if at < len(expected):
            if len(reply.outputs[0]) >= self.cap - MARGIN and reply.why == "":
                trouble = (TestOutcome.OUTPUT_LIMIT, f"more than {self.limits.output_mb} MB of values")
            outcome, detail = trouble or self.ended(reply)
            results.append((TestResult(outcome, detail), len(reply.windows)))
            at += 1
        elif trouble and results:  # every case has its record, and then there was more
            results[-1][0].outcome, results[-1][0].detail = trouble
        _costs(reply, results)
        self.report.results += [r for r, _ in results]
        return at

    def _load_error(self, record: dict[str, Any], count: int) -> None:
        name = str(record.get("exc", ""))[:80]
        detail = f"{name}: {str(record.get('msg', ''))[:160]}"
        self.report.results = [TestResult(TestOutcome.LOAD_ERROR, detail) for _ in range(count)]

    def _result(self, record: dict[str, Any], expected: Any) -> TestResult:
        if "exc" in record:
            detail = f"{str(record['exc'])[:80]}: {str(record.get('msg', ''))[:100]}"
            return TestResult(_of_exception(record["exc"]), detail)
        if "opaque" in record:
            self.flag(Flag.OPAQUE_VALUE)
            return TestResult(TestOutcome.WRONG_ANSWER, f"returned an object of type {str(record['opaque'])[:60]}")
        if "v" not in record:
            return TestResult(TestOutcome.BAD_OUTPUT, f"returned what cannot be sent: {str(record.get('unsaid'))[:60]}")
        try:
            same = same_value(expected, record["v"], self.tests.atol, self.tests.rtol)
        except MALFORMED:
            self.flag(Flag.PROTOCOL_FAULT)
            return TestResult(TestOutcome.BAD_OUTPUT, "a malformed value")
        if same:
            return TestResult(TestOutcome.PASS)
        return TestResult(TestOutcome.WRONG_ANSWER, f"returned {json.dumps(record['v'])[:100]}")


def _is_next(record: dict[str, Any] | None, at: int, start: int, window: int) -> TypeGuard[dict[str, Any]]:
    """Whether a record is the runner's next: of the test in turn, or of the loading; in this window or the next."""
    if record is None or type(record.get("i")) is not int or type(record.get("w")) is not int:
        return False
    return record["i"] in ((at, -1) if at == start else (at,)) and window <= record["w"] <= window + 1


def _records(data: bytes) -> Iterator[dict[str, Any] | None]:
    """The records of a file, one a line; None for what is none. A last line without an end is not one yet."""
    for line in data.split(b"\n")[:-1]:
        try:
            record = wire.loads(line)
        except MALFORMED:
            record = None
        yield record if type(record) is dict else None


class StdioGrading(_Graded):
    """A program over stdin and stdout: a fresh process for each input."""

    def run(self) -> Grading[Report]:
        """Run the program once for each case."""
        for i, case in enumerate(self.tests.cases):
            stdin = case.stdin.encode("utf-8", "surrogatepass")
            reply = yield self.case_job(stdin)
            result = self._result(reply, str(case.expected))
            _costs(reply, [(result, 0)])
            self.report.results.append(result)
            stop = result.outcome is not TestOutcome.PASS and not self.goes_on(result.outcome)
            if stop or self.timeouts >= MAX_TIMEOUTS:
                rest = len(self.tests.cases) - i - 1
                self.report.results += [TestResult(TestOutcome.NOT_RUN) for _ in range(rest)]
                break
        return self.report

    def case_job(self, stdin: bytes) -> Job:
        """One run of the program."""
        return self.job("stdio", (wire.dumps({"sources": self.sources()}), stdin), 2, 1)

    def _result(self, reply: Reply, expected: str) -> TestResult:
        stdout, stderr = reply.outputs
        status = reply.children["candidate"]["status"]
        if reply.why or status < 0:
            return TestResult(*self.ended(reply))
        if max(len(stdout), len(stderr)) >= self.cap:
            return TestResult(TestOutcome.OUTPUT_LIMIT, f"more than {self.limits.output_mb} MB of output")
        if status != 0:
            return self._raised(status, stderr)
        if same_text(expected, stdout.decode("utf-8", "replace"), self.tests.atol, self.tests.rtol):
            return TestResult(TestOutcome.PASS)
        return TestResult(TestOutcome.WRONG_ANSWER, f"printed {stdout[:100].decode('utf-8', 'replace')!r}")

    def _raised(self, status: int, stderr: bytes) -> TestResult:
        lines = stderr[-4000:].decode("utf-8", "replace").strip().splitlines() or [""]
        last = next((line for line in reversed(lines) if "Error" in line or "Exception" in line), lines[-1])[:180]
        kind = last.partition(":")[0]
        outcome = TestOutcome.LOAD_ERROR if kind in ("SyntaxError", "IndentationError") else TestOutcome.EXCEPTION
        return TestResult(TestOutcome.MEMORY if kind == "MemoryError" else outcome, last or f"exit code {status}")


class _Tested(_Graded):
    """Asserts, check(candidate), unittest and pytest: the tester's process runs them against proxies."""

    def run(self) -> Grading[Report]:
        """Run the tests, and again from the next one where a process ended in the middle."""
        tests = self.tests
        candidate = wire.dumps({"sources": self.sources()})
        form = str(tests.form) if tests.form in (Form.ASSERTS, Form.CHECK) else "suite"
        helpers = helpers_of(tests.prompt, tests.entry_point, "")
        tester = {
            "form": form,
            "entry": tests.entry_point,
            "theirs": [tests.entry_point],
            "classes": classes_of(tests.prompt),
            "prelude": [helpers] if helpers else [],
            "setup": list(tests.setup),
            "sources": list(tests.sources),
            "stop_early": self.submission.stop_early,
        }
        start, count = 0, tests.count or 1
        while start < count:
            job = wire.dumps(tester | {"start": start})
            # a check is one test with many asserts in it: it has the time of as many as a function form would have
            reply = yield self.job("tests", (candidate, job), 1, max(count - start, 1))
            count = max(self._read(reply, start, count), 1)
            start = len(self.report.results)
            if self.report.unjudged or start >= count or not self.goes_on(self.report.results[-1].outcome):
                break
            if self.report.results[-1].outcome in (TestOutcome.LOAD_ERROR,):
                break
        self.report.results += [TestResult(TestOutcome.NOT_RUN) for _ in range(count - len(self.report.results))]
        return self.report

    def _read(self, reply: Reply, start: int, count: int) -> int:
        """Read the tester's records; how many tests there are, as far as is known now."""
        results: list[tuple[TestResult, int]] = []
        done = False
        for record in _records(reply.outputs[0]):
            if record is None:
                break
            if "fault" in record:
                self.report.unjudged = str(record["fault"])
                return count
            if "of" in record:
                count = int(record["of"])
            elif "load" in record:
                self.report.results.append(self._load(reply, record["load"]))
                return count
            elif "done" in record:
                done = record["done"] == count
            else:
                results.append((self._result(reply, record), int(record["w"])))
        decided = done or any(r.outcome is not TestOutcome.PASS for r, _ in results)
        if not decided:
            results.append((TestResult(*self._unfinished(reply)), len(reply.windows)))
        _costs(reply, results)
        self.report.results += [r for r, _ in results]
        return max(count, len(self.report.results))

    def _load(self, reply: Reply, said: dict[str, Any]) -> TestResult:
        if not said:
            return TestResult(*self.ended(reply))
        return TestResult(TestOutcome.LOAD_ERROR, f"{str(said.get('exc'))[:80]}: {str(said.get('msg', ''))[:160]}")

    def _unfinished(self, reply: Reply) -> tuple[TestOutcome, str]:
        """Neither a failed test nor the last record: something ended the run."""
        if reply.why or reply.children["candidate"]["status"] != -signal.SIGKILL:
            return self.ended(reply)
        return self.ended(reply, "tester")

    def _result(self, reply: Reply, record: dict[str, Any]) -> TestResult:
        said, detail = record["result"], str(record.get("detail", ""))[:200]
        if said in ("passed", "skipped"):
            return TestResult(TestOutcome.PASS)
        if said == "ended":
            return TestResult(*self._ended_in_test(reply, detail))
        kind = detail.partition(" ")[0]
        if kind == "AssertionError":
            return TestResult(TestOutcome.WRONG_ANSWER, detail)
        return TestResult(_of_exception(kind), detail)

    def _ended_in_test(self, reply: Reply, detail: str) -> tuple[TestOutcome, str]:
        if "sent" in detail or "was not asked" in detail or "was not given" in detail:
            self.flag(Flag.PROTOCOL_FAULT)
            return TestOutcome.BAD_OUTPUT, detail
        if "is not defined" in detail:
            return TestOutcome.LOAD_ERROR, detail
        status = reply.children["candidate"]["status"]
        if reply.why or status in (-signal.SIGSYS, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGXCPU):
            return self.ended(reply)
        self.flag(Flag.ENDED_EARLY)
        return TestOutcome.ENDED_EARLY, detail
