"""Sandboxes elsewhere, behind the same protocol: SandboxFusion's, Piston's and E2B's ways of speaking HTTP.

A service runs a program and says what it printed. So a function's cases become one program that calls it with each
input and prints records, and the comparison stays here: the expected values never leave the trainer. Tests that are
code (asserts, check, unittest, pytest) would have to be in the candidate's process there, where it could rewrite them:
they are not run, and the report says so.
"""

from __future__ import annotations

import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from assay.errors import ConfigError
from assay.sandbox.base import Isolation, Limits, Report, Submission
from assay.sandbox.forkserver import Job, Reply
from assay.sandbox.grading import grade
from assay.sandbox.standalone import program_of, records_of
from assay.sandbox.tasks import Form

MAX_ANSWER = 32 << 20
TRIES = 2


class ServiceFailed(Exception):
    """The service did not answer, or answered that it failed: the infrastructure's fault."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a service says of one run."""

    stdout: str
    stderr: str
    exit_code: int
    timed_out: bool = False
    seconds: float = 0.0


@dataclass
class RemoteSandbox:
    """Programs run by a service over HTTP; the verdict is found here.

    `service` is 'sandboxfusion', 'piston' or 'e2b'; `url` the service's root.
    """

    url: str
    service: str = "sandboxfusion"
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with each request, for a key; not shown, and not part of any result."""
    limits: Limits = field(default_factory=Limits)
    concurrency: int = 16

    def __post_init__(self) -> None:
        if self.service not in SERVICES:
            raise ConfigError(f"service is one of {', '.join(SERVICES)}; found {self.service!r}.")
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ConfigError(f"needed the root of the service as http:// or https://; found {self.url!r}.")

    def run(self, submissions: Sequence[Submission]) -> list[Report]:
        """Run the programs, `concurrency` at once."""
        if not submissions:
            return []
        with ThreadPoolExecutor(min(self.concurrency, len(submissions))) as pool:
            return list(pool.map(self._graded, submissions))

    def close(self) -> None:
        """Nothing is held between runs."""

    def _graded(self, submission: Submission) -> Report:
        isolation = Isolation(0, f"remote: {self.service} at {urlsplit(self.url).netloc}")
        if submission.tests.form not in (Form.CASES, Form.STDIO):
            reason = (
                f"tests as code ({submission.tests.form}) are not run in a remote sandbox; give cases or stdin/stdout"
            )
            return Report(unjudged=reason, isolation=isolation)
        if submission.tests.form is Form.CASES and submission.language != "python":
            reason = f"a function in {submission.language} cannot be called; give tests of stdin and stdout"
            return Report(unjudged=reason, isolation=isolation)
        grading = grade(submission, self.limits, "")
        try:
            job = next(grading)
            while True:
                job = grading.send(self._reply(job, submission.language))
        except StopIteration as end:
            report: Report = end.value
        except ServiceFailed as failed:
            report = Report(fault=str(failed))
        report.isolation = isolation
        return report

    def _reply(self, job: Job, language: str) -> Reply:
        """One job as one run of a program over there."""
        mark = secrets.token_hex(16)
        request = json.loads(job.inputs[0])
        if job.op == "stdio":
            code, stdin = "\n".join(request["sources"]), job.inputs[1].decode("utf-8", "replace")
        else:
            code, stdin = program_of(request, mark), ""
        ran = self._tried(language, code, stdin, job.limits)
        why = "timeout_wall" if ran.timed_out else ""
        status = ran.exit_code if 0 <= ran.exit_code < 128 else -(abs(ran.exit_code) & 127)
        child = {"status": 0 if job.op == "calls" and status == 0 else status, "cpu": ran.seconds, "rss": 0}
        stdout = ran.stdout.encode("utf-8", "replace")
        if job.op == "stdio":
            outputs = [stdout[: job.cap + 1], ran.stderr.encode("utf-8", "replace")[: job.cap + 1]]
        else:
            outputs = [records_of(stdout, mark)]
        return Reply(why, ran.seconds, {"candidate": child}, [], outputs)

    def _tried(self, language: str, code: str, stdin: str, limits: Mapping[str, float]) -> Ran:
        """One run; a service that fails is asked once more."""
        failed = ServiceFailed("")
        for _ in range(TRIES):
            began = time.monotonic()
            try:
                return SERVICES[self.service](self._post, language, code, stdin, limits)
            except ServiceFailed as error:
                failed = error
                time.sleep(min(0.2, time.monotonic() - began))
        raise failed

    def _post(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """One request, and the JSON that comes back."""
        address = self.url.rstrip("/") + path
        headers = {"Content-Type": "application/json", **self.headers}
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=seconds + 15) as answer:
                return json.loads(answer.read(MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                raise ServiceFailed(f"{self.service} answered {error.code} at {path}") from None
        except (OSError, ValueError) as error:
            raise ServiceFailed(f"{self.service} at {urlsplit(address).netloc}: {error}") from None


Post = Callable[[str, Mapping[str, Any], float], Any]


def _sandboxfusion(post: Post, language: str, code: str, stdin: str, limits: Mapping[str, float]) -> Ran:
    """POST /run_code of SandboxFusion: {"status": "Success"|"Failed"|"SandboxError", "run_result": {...}}"""
    seconds = limits["total_wall"]
    names = {"javascript": "nodejs"}
    body = {
        "code": code,
        "stdin": stdin,
        "language": names.get(language, language),
        "run_timeout": seconds,
        "compile_timeout": 30,
        "memory_limit_MB": int(limits["memory"]) >> 20,
    }
    said = post("/run_code", body, seconds + 30)
    if not isinstance(said, dict) or said.get("status") == "SandboxError":
        raise ServiceFailed(f"sandboxfusion: {said.get('message') if isinstance(said, dict) else 'no object'}")
    compiled = said.get("compile_result")
    ran = said.get("run_result")
    if not isinstance(ran, dict):
        if isinstance(compiled, dict):
            return Ran("", f"SyntaxError: {str(compiled.get('stderr'))[-500:]}", 1)
        raise ServiceFailed("sandboxfusion: an answer without run_result")
    return Ran(
        str(ran.get("stdout") or ""),
        str(ran.get("stderr") or ""),
        int(ran.get("return_code") or 0),
        ran.get("status") == "TimeLimitExceeded",
        float(ran.get("execution_time") or 0.0),
    )


def _piston(post: Post, language: str, code: str, stdin: str, limits: Mapping[str, float]) -> Ran:
    """POST /api/v2/execute of Piston: {"run": {"stdout", "stderr", "code", "signal"}}"""
    seconds = limits["total_wall"]
    names = {"cpp": "c++"}
    body = {
        "language": names.get(language, language),
        "version": "*",
        "files": [{"content": code}],
        "stdin": stdin,
        "run_timeout": int(seconds * 1000),
        "run_memory_limit": int(limits["memory"]),
    }
    said = post("/api/v2/execute", body, seconds + 30)
    ran = said.get("run") if isinstance(said, dict) else None
    if not isinstance(ran, dict):
        raise ServiceFailed(f"piston: {said.get('message') if isinstance(said, dict) else 'no object'}")
    compiled = said.get("compile")
    if isinstance(compiled, dict) and compiled.get("code"):
        return Ran("", f"SyntaxError: {str(compiled.get('stderr'))[-500:]}", 1)
    killed = ran.get("signal") == "SIGKILL"
    code_or_signal = ran.get("code")
    return Ran(
        str(ran.get("stdout") or ""),
        str(ran.get("stderr") or ""),
        int(code_or_signal) if code_or_signal is not None else 1,
        killed and str(ran.get("status", "TO")) == "TO",
        float(ran.get("wall_time") or 0.0) / 1000,
    )


def _e2b(post: Post, language: str, code: str, stdin: str, limits: Mapping[str, float]) -> Ran:
    """POST /execute of E2B's code interpreter: a notebook's cell, so stdin is given to the program as its
    `sys.stdin`.
    """
    if language != "python":
        raise ServiceFailed(f"e2b: no {language} through the code interpreter")
    seconds = limits["total_wall"]
    said = post("/execute", {"code": _cell(code, stdin, seconds), "language": "python"}, seconds)
    if not isinstance(said, dict):
        raise ServiceFailed("e2b: no object")
    logs = said.get("logs") or {}
    error = said.get("error")
    text = f"{error.get('name')}: {error.get('value')}" if isinstance(error, dict) else ""
    out = ["".join(logs.get(k) or []) if isinstance(logs, dict) else "" for k in ("stdout", "stderr")]
    marker, _, rest = out[0].rpartition("\x1e")
    ended = rest.strip()
    timed_out = ended == "timeout" or (isinstance(error, dict) and "Timeout" in str(error.get("name")))
    status = int(ended) if ended.lstrip("-").isdigit() else int(bool(text))
    return Ran(marker, out[1] or text, status, timed_out)


def _cell(code: str, stdin: str, seconds: float) -> str:
    """A cell that runs the program in a process of its own, and ends with its exit code."""
    return (
        "import subprocess as _s, sys as _y\n"
        f"try:\n    _r = _s.run([_y.executable, '-I', '-c', {code!r}], input={stdin!r}, capture_output=True, text=True,"
        f" timeout={seconds!r})\n"
        "    _o, _e, _c = _r.stdout, _r.stderr, _r.returncode\n"
        "except _s.TimeoutExpired:\n    _o, _e, _c = '', '', 'timeout'\n"
        "_y.stderr.write(_e)\nprint(_o, end='')\nprint('\\x1e' + str(_c))\n"
    )


SERVICES = {"sandboxfusion": _sandboxfusion, "piston": _piston, "e2b": _e2b}
