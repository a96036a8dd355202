"""Every way in which a test can end is told from the others."""

from __future__ import annotations

import time

import pytest
from programs import function, grade, outcomes, stdio

ONE = function(([1], 1))
ENDS = {
    "pass": ("def f(x):\n    return x", ONE),
    "wrong_answer": ("def f(x):\n    return x + 1", ONE),
    "exception": ("def f(x):\n    return 1 / 0", ONE),
    "load_error": ("def f(x):\n    return (", ONE),
    "timeout_cpu": ("def f(x):\n    while True:\n        pass", function(([1], 1), time_limit_s=0.3)),
    "timeout_wall": ("import time\ndef f(x):\n    time.sleep(60)", function(([1], 1), time_limit_s=0.3)),
    "memory": ("def f(x):\n    return bytearray(8 << 30)", ONE),
    "output_limit": ("def f(x):\n    return 'x' * (8 << 20)", ONE),
    "crash": ("import ctypes\ndef f(x):\n    ctypes.string_at(0)", ONE),
    "ended_early": ("import os\ndef f(x):\n    os._exit(0)", ONE),
    "bad_output": ("import os\ndef f(x):\n    os.write(4, b'nonsense\\n')\n    return x", ONE),
    "sandbox_violation": ("import os\ndef f(x):\n    os.kill(1, 9)", ONE),
}


@pytest.mark.parametrize("outcome", ENDS)
def test_outcome(reward, outcome):
    code, tests = ENDS[outcome]
    output = grade(reward, code, tests)
    assert outcomes(output) == [outcome]
    assert output.reward == float(outcome == "pass")


STDIO = {
    "pass": "print(input())",
    "wrong_answer": "print('other')",
    "exception": "print(input())\nraise ValueError('late')",
    "load_error": "print(",
    "memory": "x = 'x' * (8 << 30)",
    "output_limit": "while True:\n    print('x' * 1000)",
    "crash": "import ctypes\nctypes.string_at(0)",
    "sandbox_violation": "import os\nos.kill(os.getppid(), 9)",
    "timeout_cpu": "while True:\n    pass",
}


@pytest.mark.parametrize("outcome", STDIO)
def test_outcome_of_a_program(reward, outcome):
    output = grade(reward, STDIO[outcome], stdio(("a\n", "a\n"), time_limit_s=1.0 if "time" in outcome else 5.0))
    assert outcomes(output)[0] in ((outcome,) if outcome != "output_limit" else ("output_limit", "exception"))
    assert output.reward == float(outcome == "pass")


def test_a_failed_test_ends_the_run_only_where_all_must_pass(reward):
    tests = function(([1], 1), ([2], 0), ([3], 3))
    whole = grade(reward, "def f(x):\n    return x", tests)
    assert outcomes(whole) == ["pass", "wrong_answer", "pass"]  # the cases of a function share one process
    lines = stdio(("1", "1"), ("2", "0"), ("3", "3"))
    assert outcomes(grade(reward, "print(input())", lines)) == ["pass", "wrong_answer", "not_run"]


def test_after_two_timeouts_the_rest_is_not_run(reward):
    reward.score = "fraction"
    try:
        tests = function(([1], 1), ([2], 2), ([3], 3), ([4], 4), time_limit_s=0.3)
        code = "def f(x):\n    while x in (2, 3):\n        pass\n    return x"
        output = grade(reward, code, tests)
    finally:
        reward.score = "all"
    assert outcomes(output) == ["pass", "timeout_cpu", "timeout_cpu", "not_run"]
    assert output.reward == 0.25


def test_a_crash_in_one_case_leaves_the_others_their_chance(reward):
    reward.score = "fraction"
    try:
        code = "import ctypes\ndef f(x):\n    return ctypes.string_at(0) if x == 2 else x"
        output = grade(reward, code, function(([1], 1), ([2], 2), ([3], 3)))
    finally:
        reward.score = "all"
    assert outcomes(output) == ["pass", "crash", "pass"]


def test_a_loop_is_killed_near_its_limit(reward):
    grade(reward, "def f(x):\n    return x", ONE)
    began = time.process_time(), time.monotonic()
    output = grade(reward, ENDS["timeout_cpu"][0], function(([1], 1), time_limit_s=0.5))
    assert 0.5 <= output.metadata["tests"][0]["cpu_s"] < 0.75
    assert time.process_time() - began[0] < 0.2


def test_costs_are_the_supervisors(reward):
    code = "import time\nfor name in ('perf_counter', 'process_time', 'monotonic'):\n    setattr(time, name, lambda: 0.0)\n"
    code += "def f(x):\n    return sum(range(6_000_000)) and x"
    (test,) = grade(reward, code, ONE).metadata["tests"]
    assert test["cpu_s"] > 0.02
    assert test["memory_mb"] > 5


DETAILED = {
    "cases": function(([1], "the secret")),
    "asserts": {"entry_point": "f", "asserts": ["assert f(1) == 'the secret'"]},
    "unittest": {
        "entry_point": "f",
        "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(f(1), 'the secret')",
    },
    "pytest": {"entry_point": "f", "pytest": "def test_a():\n    assert f(1) == 'the secret', 'the secret'"},
}


@pytest.mark.parametrize("form", DETAILED)
def test_no_detail_holds_the_expected_value(reward, form):
    output = grade(reward, "def f(x):\n    return 'a guess'", DETAILED[form])
    assert output.reward == 0.0
    assert "the secret" not in str(output.metadata)
    assert output.metadata["tests"][0]["detail"]


FORGED_MARKS = """
import os, sys, time
frame = sys._getframe()
while frame:
    if frame.f_code.co_name == "make_calls":
        MARKS = frame.f_locals["marks"]
    frame = frame.f_back
def f(x):
    began, marks = time.process_time(), 0
    while x == 1 and time.process_time() - began < 1.0:
        if time.process_time() - began > 0.2 * (marks + 1):
            marks += 1
            os.write(MARKS, b".")
    return x
"""
MANY_MARKS = """
import os
def f(x):
    while True:
        for fd in range(3, 9):
            try:
                os.write(fd, b"." * 4000)
            except OSError:
                pass
"""


def test_marks_that_the_runner_did_not_make_buy_no_time(reward):
    output = grade(reward, FORGED_MARKS, function(*[([i], i) for i in range(1, 8)], time_limit_s=0.3))
    assert output.reward == 0.0
    assert "protocol_fault" in output.metadata["flags"]


def test_many_marks_are_no_fault_of_the_fork_server(reward):
    output = grade(reward, MANY_MARKS, function(([1], 1), time_limit_s=1.0))
    assert output.reward == 0.0
    assert "protocol_fault" in output.metadata["flags"]
