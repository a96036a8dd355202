"""What is the same, and what only looks it."""

from __future__ import annotations

import math
import time
from collections import deque
from decimal import Decimal
from fractions import Fraction

import pytest

from assay.sandbox.compare import same_text, same_value
from assay.sandbox.inside.wire import encode

NAN = math.nan


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (None, 0, False),
        (None, None, True),
        ("1", 1, False),
        (0.1 + 0.2, 0.3, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (math.inf, math.inf, True),
        ([1, 2], (1, 2), True),
        ((1, 2), [1, 2], True),
        ([1, 2], [1], False),
        ([1], 1, False),
        ([[1], [2]], [[1], [2]], True),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, [1, 2], False),
        ({1}, frozenset({1}), True),
        ({1}, {True}, False),
        ({1}, [1], False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({1: "x"}, {True: "x"}, False),
        ({(1, 2): 3}, {(1, 2): 3}, True),
        (10**40, 10**40, True),
        (10**40, 10**40 + 1, False),
        (10**40, 1e40, 10**40 == 1e40),
        (b"ab", b"ab", True),
        (b"ab", "ab", False),
        (1 + 2j, 1 + 2j, True),
        (range(3), range(3), True),
        (range(3), [0, 1, 2], True),
        ([0, 1, 2], range(3), True),
        ([0, 1, 2], range(4), False),
        ([0, 1], range(10**12), False),
        ([1, 2], deque([1, 2]), True),
        (deque([1, 2]), deque([1, 3]), False),
        (0.25, Fraction(1, 4), True),
        (0.25, Decimal("0.25"), True),
        (Decimal("0.250"), Decimal("0.25"), True),
        (0.1, Decimal("0.1"), False),
        (2, Fraction(4, 2), True),
        (2, Decimal("NaN"), False),
        (1, 1 + 0j, True),
        (1, 1 + 1j, False),
        (True, Fraction(1), False),
        ("1", Decimal(1), False),
        (Fraction(1, 3), Fraction(2, 6), True),
        ("", [], False),
        ([], {}, False),
    ],
    ids=repr,
)
def test_values(expected, got, same):
    assert same_value(encode(expected), encode(got)) is same


@pytest.mark.parametrize(
    ("expected", "got", "atol", "same"),
    [
        (1.0, 1.0000001, 1e-6, True),
        (1.0, 1.1, 1e-6, False),
        (1.0, NAN, 1e9, False),
        (1.0, math.inf, 1e9, False),
        ([1.0, {"a": 2.0}], [1.0000001, {"a": 2.0}], 1e-6, True),
        (1, True, 1.0, False),
        (5, 10**400, 1.0, False),
        (0.5, 10**400, 1.0, False),
        ("1.0", "1.1", 9.0, False),
        (0.1, Decimal("0.1"), 1e-9, True),
        (0.3, Fraction(1, 3), 0.1, True),
        (1.0, 1 + 1e-9j, 1e-6, True),
        (10**40, 10**40 + 1, 1.0, True),
        (math.inf, 1.0, 1e9, False),
    ],
    ids=repr,
)
def test_a_tolerance_is_of_numbers(expected, got, atol, same):
    assert same_value(encode(expected), encode(got), atol) is same


def test_a_value_that_collides_keeps_nobody_busy():
    forged = {"$d": [[{"$i": hex(k * ((1 << 61) - 1))}, 0] for k in range(1, 30_000)]}
    began = time.process_time()
    assert not same_value(encode({1: 2}), forged)
    assert not same_value(encode({1, 2}), {"$s": [k for k, _ in forged["$d"]]})
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize(
    ("expected", "got", "atol", "same"),
    [
        ("1 2\n3\n", "1 2  \n3", 0, True),
        ("1 2\n3\n", "1  2\n3", 0, False),
        ("1\n2\n", "1\n", 0, False),
        ("1\n", "1\n\n\n", 0, True),
        ("1\n", "\n1\n", 0, False),
        ("", "", 0, True),
        ("0.5", "0.500", 0, False),
        ("0.5 x", "0.5000001 x", 1e-6, True),
        ("0.5 x", "0.5000001 y", 1e-6, False),
        ("0.5", "nan", 1e9, False),
        ("1\n2", "1 2", 1e9, False),
        ("yes", "Yes", 0, False),
        ("a\r\nb", "a\nb", 0, True),
    ],
)
def test_texts(expected, got, atol, same):
    assert same_text(expected, got, atol) is same


@pytest.mark.parametrize("got", [5.0, -math.inf, math.nan, 10**400])
def test_a_relative_tolerance_of_infinity_is_none(got):
    assert not same_value(encode(math.inf), encode(got), 0.0, 1e-6)
    assert not same_text("inf", str(got), 0.0, 1e-6)
    assert same_value(math.inf, math.inf, 0.0, 1e-6)
