"""Programs that try to take the machine with them: contained, the next one unaffected, nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import function, grade, outcomes, stdio

SMALL = {"time_limit_s": 1.0, "memory_mb": 256}
BOMBS = {
    "fork": "import os\ndef f(x):\n    for _ in range(100):\n        os.fork()\n    return x",
    "threads": "import threading, time\ndef f(x):\n    for _ in range(20000):\n"
    "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n    return -x",
    "memory": "def f(x):\n    xs = []\n    while True:\n        xs.append('x' * 1_000_000)",
    "memory file": "import os\ndef f(x):\n    fd = os.memfd_create('x')\n    os.ftruncate(fd, 1 << 30)\n    return x",
    "disk": "def f(x):\n    with open('/tmp/bomb', 'wb') as file:\n        while True:\n            file.write(b'x' * 1_000_000)",
    "stdout": "def f(x):\n    for _ in range(1000):\n        print('x' * 1_000_000)\n    return -x",
    "records": "import os\ndef f(x):\n    while True:\n        for fd in range(3, 10):\n            try:\n"
    "                os.write(fd, b'x' * 1_000_000)\n            except OSError:\n                pass",
    "loop": "import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
    "    except (OSError, ValueError):\n        pass\ndef f(x):\n    while True:\n        pass",
    "recursion": "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(x):\n    return f(x)",
    "descriptors": "import os\ndef f(x):\n    while True:\n        os.dup(0)",
    "stop": "import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGSTOP)\n    return x",
    "regex": "import re\ndef f(x):\n    return re.match('(a+)+$', 'a' * 60 + 'b')",
    "integer": "def f(x):\n    return 10 ** (10 ** 9)",
    "fractions": "from fractions import Fraction\ndef f(x):\n    return Fraction(3 ** 900000, 2 ** 900000)",
    "collisions": "def f(x):\n    return {k * ((1 << 61) - 1): 0 for k in range(40000)}",
    "nested": "def f(x):\n    y = []\n    for _ in range(100):\n        y = [y, y]\n    return y",
}
RIGHT = "def f(x):\n    return x"
ONE = function(([1], 1))


def _temporary_files() -> set[str]:
    return {str(p) for folder in ("/tmp", "/dev/shm", "/var/tmp") for p in Path(folder).glob("*bomb*")}


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_in_a_function(reward, name):
    before = _temporary_files()
    began = time.process_time()
    output = grade(reward, BOMBS[name], function(([1], 1), **SMALL))
    assert output.reward == 0.0, output
    assert time.process_time() - began < 2.0  # the trainer's own share
    assert _temporary_files() == before
    assert grade(reward, RIGHT, ONE).reward == 1.0


@pytest.mark.parametrize("name", ["memory", "stdout", "loop", "recursion", "nested", "threads", "collisions"])
def test_bomb_before_a_tester(reward, name):
    tests = {"entry_point": "f", "asserts": ["assert f(1) == 1"], **SMALL}
    assert grade(reward, BOMBS[name], tests).reward == 0.0
    assert grade(reward, RIGHT, {"entry_point": "f", "asserts": ["assert f(1) == 1"]}).reward == 1.0


PROGRAMS = {
    "output": "import sys\nfor _ in range(1000):\n    sys.stdout.write('x' * 1_000_000)",
    "errors": "import sys\nprint('x')\nfor _ in range(1000):\n    sys.stderr.write('x' * 1_000_000)",
    "pipe holder": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('x')",
    "grows its output": "import os\nos.ftruncate(1, 1 << 40)\nprint('x')",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bomb_in_a_program(reward, name):
    output = grade(reward, PROGRAMS[name], stdio(("", "x"), **SMALL))
    assert output.reward == 0.0
    assert grade(reward, "print('x')", stdio(("", "x"))).reward == 1.0


def test_many_test_values_that_a_candidate_makes_large(reward):
    tests = {"entry_point": "f", "asserts": ["assert sorted(f(1)) == [1]"], **SMALL}
    assert grade(reward, "def f(x):\n    while True:\n        yield 1", tests).reward == 0.0


@pytest.mark.slow
def test_beside_six_busy_processes_no_honest_program_times_out(reward):
    nice = shutil.which("nice")
    busy = [
        subprocess.Popen([*([nice, "-n", "0"] if nice else []), sys.executable, "-c", "while True: pass"])
        for _ in range(6)
    ]
    try:
        work = "def f(x):\n    total = 0\n    for i in range(4_000_000):\n        total += i\n    return x"
        sleeps = "import time\ndef f(x):\n    time.sleep(0.8)\n    return x"
        for code in (work, sleeps, work):
            output = grade(reward, code, function(([1], 1), time_limit_s=1.5))
            assert outcomes(output) == ["pass"], output.metadata
        loop = grade(reward, "def f(x):\n    while True:\n        pass", function(([1], 1), time_limit_s=0.5))
        assert outcomes(loop) == ["timeout_cpu"]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert not any(os.path.exists(f"/proc/{p.pid}") for p in busy)
