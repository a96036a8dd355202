"""Plain values cross unchanged, and nothing else crosses."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sandbox.inside import wire

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(keys, inner) | st.sets(keys),
    max_leaves=20,
)


def _sent(value):
    return wire.decode(wire.loads(wire.dumps(wire.encode(value))))


@given(values)
def test_values_come_back_as_they_were(value):
    assert _sent(value) == value
    assert type(_sent(value)) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        -(10**30),
        math.inf,
        1 + 2j,
        range(1, 9, 2),
        frozenset({1}),
        deque([1, 2]),
        Decimal("0.10"),
        Fraction(1, 3),
        date(2024, 2, 29),
        datetime(2024, 2, 29, 1, 2, 3, 4),
        timedelta(days=-1, microseconds=5),
        "\ud800",
        {1: {True: (None,)}},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_has_no_word_for(value):
    if isinstance(value, int):
        assert _sent(value) == value
    else:
        assert repr(_sent(value)) == repr(value)


class _Text(str):
    def __eq__(self, other):
        return True

    __hash__ = None

    def __iter__(self):
        raise RuntimeError


class _List(list):
    def __iter__(self):
        return iter(["forged"])

    def __len__(self):
        return 99


class _Float(float):
    def __sub__(self, other):
        return 0.0

    def __float__(self):
        return 1.5


class _Int(int):
    def __index__(self):
        return 7

    def __int__(self):
        return 7


@pytest.mark.parametrize(
    ("value", "flat"),
    [
        (_Text("a"), "a"),
        (_List([1, 2]), [1, 2]),
        (_Float(0.25), 0.25),
        (_Int(3), 3),
        (namedtuple("P", "x y")(1, 2), (1, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (True, True),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_subclass_is_flattened_with_the_builtins_own_methods(value, flat):
    sent = _sent(value)
    assert type(sent) is type(flat)
    assert sent == flat


def _cyclic():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    "value", [object(), len, _cyclic(), iter([]), type, Exception()], ids=lambda v: type(v).__name__
)
def test_anything_else_is_refused_or_handed_on(value):
    with pytest.raises(wire.NotPlain):
        wire.encode(value)
    if not isinstance(value, list):
        assert wire.encode([value], lambda v: "handle") == ["handle"]


@pytest.mark.parametrize(
    "tagged", [{}, {"$t": [1], "$s": [2]}, {"$x": 1}, {"$i": "12"}, {"$i": 5}, {"$t": 5}, {"$F": [1, 0]}, {"$s": [[1]]}]
)
def test_malformed_tags_raise(tagged):
    with pytest.raises((wire.NotPlain, TypeError, ValueError, AttributeError, ZeroDivisionError)):
        wire.decode(tagged)


def test_numpy_scalars_and_arrays_are_plain():
    numpy = pytest.importorskip("numpy")
    assert wire.encode(numpy.float64(0.5)) == 0.5
    assert wire.encode(numpy.int32(3)) == 3
    assert wire.encode(numpy.bool_(True)) is True
    assert wire.encode(numpy.eye(2)) == {"$n": [[1.0, 0.0], [0.0, 1.0]]}
    assert wire.encode(numpy.array(2.5)) == 2.5  # without dimensions


def test_what_is_more_than_a_builtin():
    stack = type("Stack", (list,), {"push": list.append})
    quiet = type("Quiet", (int,), {"__add__": lambda a, b: 0})
    assert wire.is_more(stack([1]))
    assert wire.encode(stack([1])) == [1]
    for value in (1, [1], quiet(1), type("Own", (), {"push": 1})(), int, stack):
        assert not wire.is_more(value)
