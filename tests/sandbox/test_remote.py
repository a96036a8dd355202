"""Remote services by their ways of speaking HTTP, against a stand-in that runs programs as they do."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from programs import function, grade, outcomes, stdio

from assay.errors import ConfigError
from assay.rewards.code import CodeReward
from assay.sandbox.base import Limits
from assay.sandbox.remote import RemoteSandbox


def _run(code: str, stdin: str, seconds: float) -> tuple[str, str, int | None]:
    try:
        ran = subprocess.run(
            [sys.executable, "-I", "-c", code], input=stdin, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return "", "", None
    return ran.stdout, ran.stderr, ran.returncode


class _Service(BaseHTTPRequestHandler):
    """Answers as SandboxFusion, Piston and E2B do; fails as often as `failures` says."""

    failures = 0
    seen: ClassVar[list[str]] = []

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append(body.decode())
        if type(self).failures > 0:
            type(self).failures -= 1
            self.send_error(503)
            return
        answer = json.dumps(getattr(self, self.path.strip("/").replace("/", "_"))(json.loads(body))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def run_code(self, asked):
        out, err, code = _run(asked["code"], asked["stdin"], asked["run_timeout"])
        status = "TimeLimitExceeded" if code is None else "Finished"
        result = {"status": status, "stdout": out, "stderr": err, "return_code": code or 0, "execution_time": 0.01}
        return {"status": "Success" if code == 0 else "Failed", "run_result": result, "compile_result": None}

    def api_v2_execute(self, asked):
        out, err, code = _run(asked["files"][0]["content"], asked["stdin"], asked["run_timeout"] / 1000)
        return {"run": {"stdout": out, "stderr": err, "code": code, "signal": None if code is not None else "SIGKILL"}}

    def execute(self, asked):
        out, err = io.StringIO(), io.StringIO()

        class Streams:
            executable, stdout, stderr = sys.executable, out, err

        with contextlib.redirect_stdout(out):
            exec(asked["code"].replace("sys as _y", "sys as _z"), {"_y": Streams})
        return {"logs": {"stdout": [out.getvalue()], "stderr": [err.getvalue()]}, "error": None, "results": []}


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["sandboxfusion", "piston", "e2b"])
def remote(request, address):
    _Service.seen = []
    return CodeReward(sandbox=RemoteSandbox(address, request.param, limits=Limits(time_s=1.0, sleep_s=0.5)))


RIGHT = "def f(x):\n    print('noise')\n    return x * 2"


def test_cases_are_compared_here(remote):
    tests = function(([1], 2), ([[1]], [1, 1]), ([2.5], 5.0))
    assert grade(remote, RIGHT, tests).reward == 1.0
    wrong = grade(remote, "def f(x):\n    return x", tests)
    assert wrong.reward == 0.0
    assert "remote" in wrong.metadata["isolation"]["name"]


def test_no_expected_value_leaves_the_trainer(remote):
    secret = "9d1f-expected"
    grade(remote, RIGHT, function((["a"], secret)))
    grade(remote, "print(1)", stdio(("1", secret)))
    assert _Service.seen
    assert not any(secret in body for body in _Service.seen)


def test_programs(remote):
    tests = stdio(("1 2\n", "3\n"), ("", "0\n"))
    assert grade(remote, "import sys\nprint(sum(map(int, sys.stdin.read().split())))", tests).reward == 1.0
    assert outcomes(grade(remote, "print(7)", tests))[0] == "wrong_answer"
    assert outcomes(grade(remote, "1 / 0", tests))[0] == "exception"


HACKS = {
    "leaves": "import os\ndef f(x):\n    os._exit(0)",
    "leaves politely": "import sys\ndef f(x):\n    sys.exit(0)",
    "equal to all": "class A(int):\n    def __eq__(self, o):\n        return True\ndef f(x):\n    return A(-1)",
    "object": "class A:\n    def __eq__(self, o):\n        return True\ndef f(x):\n    return A()",
    "forged": 'print(\'{"i": 0, "v": 2, "w": 0}\')\nimport os\ndef f(x):\n    os._exit(0)',
    "no code": "def g(x):\n    return 2",
    "loop": "def f(x):\n    while True:\n        pass",
}


@pytest.mark.parametrize("name", HACKS)
def test_hacks_are_not_paid(remote, name):
    assert grade(remote, HACKS[name], function(([1], 2), ([3], 6))).reward == 0.0


def test_a_service_that_fails_once_is_asked_again(remote):
    _Service.failures = 1
    assert grade(remote, RIGHT, function(([1], 2))).reward == 1.0


def test_a_service_that_fails_is_not_zero(remote):
    _Service.failures = 2
    output = grade(remote, RIGHT, function(([1], 2)))
    assert (output.reward, output.outcome) == (None, "infra_error")
    assert "503" in output.error


def test_nobody_there_is_not_zero():
    nobody = CodeReward(sandbox=RemoteSandbox("http://127.0.0.1:9"))
    output = grade(nobody, RIGHT, function(([1], 2)))
    assert (output.reward, output.outcome) == (None, "infra_error")


def test_tests_that_are_code_are_refused_and_not_zero(remote):
    output = grade(remote, RIGHT, ["assert f(1) == 2"])
    assert (output.reward, output.outcome) == (None, "grader_error")
    assert "give cases or stdin/stdout" in output.error


def test_what_is_no_service():
    with pytest.raises(ConfigError, match="service is one of"):
        RemoteSandbox("http://x", "other")
    with pytest.raises(ConfigError, match="needed the root"):
        RemoteSandbox("localhost:80")


def test_a_key_is_not_shown():
    assert "s3cret" not in repr(RemoteSandbox("http://x", headers={"X-API-Key": "s3cret"}))
