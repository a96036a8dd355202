"""Tests are read from every shape that data sets have."""

from __future__ import annotations

import pytest

from assay.errors import ConfigError
from assay.sandbox.tasks import Form, Tests


@pytest.mark.parametrize(
    ("given", "form", "count"),
    [
        ({"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}, Form.CASES, 1),
        ({"kind": "stdio", "cases": [{"input": "1", "output": "2"}]}, Form.STDIO, 1),
        ({"inputs": ["1\n", "2\n"], "outputs": ["1\n", "2\n"]}, Form.STDIO, 2),
        ({"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"}, Form.CASES, 1),
        ({"entry_point": "f", "check_test": "def check(candidate): ..."}, Form.CHECK, 1),
        ({"entry_point": "f", "test": "def check(candidate):\n    assert candidate(1) == 1"}, Form.CHECK, 1),
        ({"test_list": ["assert f(1) == 1", "assert f(2) == 2"]}, Form.ASSERTS, 2),
        (["assert f(1) == 1"], Form.ASSERTS, 1),
        ("assert f(1) == 1\nassert f(2) == 2", Form.ASSERTS, 2),
        ("x = 3\nassert f(x) == 1\nassert f(2) == x", Form.ASSERTS, 2),
        ("assert f(1) == 1\nx = 2\nassert f(x) == 2", Form.ASSERTS, 1),
        ('{"inputs": ["1"], "outputs": ["1"]}', Form.STDIO, 1),
        ("import unittest\nclass T(unittest.TestCase):\n    pass", Form.UNITTEST, 0),
        ("def test_it():\n    assert f(1)", Form.PYTEST, 0),
        ([{"input": "1", "output": "1"}], Form.STDIO, 1),
        ({"input": ["1\n", "2\n"], "output": ["1\n", "2\n"]}, Form.STDIO, 2),
        ({"fn_name": "f", "cases": [{"input": "1", "output": "2", "testtype": "functional"}]}, Form.CASES, 1),
    ],
)
def test_shapes(given, form, count):
    tests = Tests.of(given)
    assert (tests.form, tests.count) == (form, count)


def test_calls_written_as_lines_of_json():
    for given in (
        {"fn_name": "f", "inputs": ['[1, 2]\n"a"'], "outputs": ["null"]},
        {"fn_name": "f", "cases": [{"input": '[1, 2]\n"a"', "output": "null", "testtype": "functional"}]},
    ):
        (case,) = Tests.of(given).cases
        assert (case.args, case.expected) == (([1, 2], "a"), None)
    (plain,) = Tests.of({"fn_name": "f", "inputs": ["a b"], "outputs": ["b a"]}).cases
    assert (plain.args, plain.expected) == (("a b",), "b a")


def test_the_entry_point_of_asserts_is_what_they_call():
    assert Tests.of(["assert sorted(add(1, 2)) == 3"]).entry_point == "add"
    assert Tests.of(["assert isclose(area(1), 2.0)"]).entry_point == "area"
    assert Tests.of(["@twice\ndef g(x):\n    return x\nassert g(twice(abs)(2)) == 8"]).entry_point == "twice"


def test_a_form_can_be_asked_for():
    both = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}], "asserts": ["assert f(1) == 2"]}
    assert Tests.of(both).form is Form.CASES
    assert Tests.of(both, "asserts").form is Form.ASSERTS
    with pytest.raises(ConfigError, match="needed tests of the form 'pytest'; the task has"):
        Tests.of(both, "pytest")


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        7,
        {"cases": []},
        {"cases": [{"args": [1], "expected": 2}]},
        {"entry_point": "f", "cases": [{"args": [1]}]},
        {"kind": "stdio", "cases": [{"input": "1"}]},
        {"inputs": ["1"], "outputs": []},
    ],
    ids=repr,
)
def test_what_is_no_test_says_what_was_needed(given):
    with pytest.raises(ConfigError, match="need"):
        Tests.of(given)
