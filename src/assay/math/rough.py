"""A cheap proof that two expressions differ: each worked out in floats, with a bound on how far off the float may be.

Where the two ranges are apart, so are the values. Nothing else is concluded: what may be equal is compared exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, cast

from assay.math.limits import MOST_STEPS
from assay.math.point import Point
from assay.math.tree import CONSTANTS, Node, Num, Op, Sym

Range: TypeAlias = tuple[float, float]
"""A float, and the most by which the true value differs from it."""

_ULP = 1e-15
"""More than four times what one operation is off by, relatively: so the bounds' own rounding is covered as well."""
_LIBRARY = 1e-12
"""The same for functions of the C library, which no standard bounds: a thousand times what is seen."""
_APART = 1e-9
_SMALLEST, _LARGEST = 1e-200, 1e200
"""Within these nothing overflows, and nothing loses digits because it is small."""
_MOST_FACTORS = 32


def apart(a: Node, b: Node) -> bool:
    """Whether two expressions are proven to have different values at the first of the points."""
    x, y = _range(a), _range(b)
    if x is None or y is None:
        return False
    gap = abs(x[0] - y[0])
    return gap > 2 * (x[1] + y[1]) and gap > _APART * max(abs(x[0]), abs(y[0]))


class _Unbounded(Exception):
    """No bound is known here."""


def _range(node: Node) -> Range | None:
    """Where the value lies, worked out once; None where that is not known."""
    if not isinstance(node, Op):
        return _bounded(node)
    if node.memo is None:
        node.memo = {}
    if "range" not in node.memo:
        node.memo["range"] = _bounded(node)
    return cast("Range | None", node.memo["range"])


def _bounded(node: Node) -> Range | None:
    try:
        return _value(node, [MOST_STEPS])
    except (_Unbounded, OverflowError):
        return None


def _value(node: Node, left: list[int]) -> Range:
    if isinstance(node, Num):
        v = node.value.numerator / node.value.denominator
        if v and not _SMALLEST < abs(v) < _LARGEST:
            raise _Unbounded
        return v, abs(v) * _ULP
    if isinstance(node, Sym):
        return _symbol(node.name)
    left[0] -= 1
    if not isinstance(node, Op) or left[0] < 0:
        raise _Unbounded
    if node.op == "^":
        return _power(node.args[0], node.args[1], left)
    rule = _RULES.get(node.op)
    if rule is None or len(node.args) < 1 + (node.op in _OF_TWO):
        raise _Unbounded
    return rule(*[_value(arg, left) for arg in node.args])


def _sum(*terms: Range) -> Range:
    total = off = 0.0
    for v, e in terms:
        total += v
        off += e + abs(total) * _ULP
    return total, off


@lru_cache(maxsize=2048)
def _symbol(name: str) -> Range:
    if name == "pi":
        return math.pi, math.pi * _ULP
    if name in CONSTANTS or name in ("Reals", "..."):
        raise _Unbounded
    v = float(cast("float", Point().variable(name)))
    return v, abs(v) * _ULP


def _times(a: Range, b: Range) -> Range:
    v = a[0] * b[0]
    if not _SMALLEST < abs(v) < _LARGEST:
        raise _Unbounded
    return v, abs(a[0]) * b[1] + abs(b[0]) * a[1] + a[1] * b[1] + abs(v) * _ULP


def _over(a: Range, b: Range) -> Range:
    least = abs(b[0]) - b[1]
    if least <= abs(b[0]) / 2:
        raise _Unbounded
    v = a[0] / b[0]
    if not _SMALLEST < abs(v) < _LARGEST:
        raise _Unbounded
    return v, (a[1] + abs(v) * b[1]) / least + abs(v) * _ULP


def _power(base: Node, exponent: Node, left: list[int]) -> Range:
    if isinstance(base, Sym) and base.name == "e":
        return _exponential(_value(exponent, left))
    a = _value(base, left)
    if isinstance(exponent, Num) and isinstance(exponent.value, int) and 0 < exponent.value <= _MOST_FACTORS:
        result = a
        for _ in range(exponent.value - 1):
            result = _times(result, a)
        return result
    return _exponential(_times(_logarithm(a), _value(exponent, left)))


def _root(a: Range, degree: Range) -> Range:
    if degree != (2.0, 2.0 * _ULP):
        return _exponential(_over(_logarithm(a), degree))
    if a[0] <= 2 * a[1] or a[0] < _SMALLEST:
        raise _Unbounded
    v = math.sqrt(a[0])
    return v, a[1] / v + v * _ULP


def _exponential(a: Range) -> Range:
    if not abs(a[0]) < 200 or a[1] > 1e-6:
        raise _Unbounded
    v = math.exp(a[0])
    return v, v * (2 * a[1] + _LIBRARY)


def _logarithm(a: Range, *base: Range) -> Range:
    if base:
        return _over(_logarithm(a), _logarithm(*base))
    if a[0] <= 2 * a[1] or a[0] < _SMALLEST:
        raise _Unbounded
    v = math.log(a[0])
    return v, 2 * a[1] / a[0] + (1 + abs(v)) * _LIBRARY


def _sine(a: Range) -> Range:
    if not abs(a[0]) < 1e3:
        raise _Unbounded
    return math.sin(a[0]), a[1] + _LIBRARY


def _cosine(a: Range) -> Range:
    if not abs(a[0]) < 1e3:
        raise _Unbounded
    return math.cos(a[0]), a[1] + _LIBRARY


def _tangent(a: Range) -> Range:
    return _over(_sine(a), _cosine(a))


def _degrees(a: Range) -> Range:
    return _times(a, (math.pi / 180, _ULP))


def _negative(a: Range) -> Range:
    return -a[0], a[1]


_OF_TWO = frozenset({"*", "/", "root"})
_RULES: dict[str, Callable[..., Range]] = {
    "+": _sum,
    "neg": _negative,
    "*": _times,
    "/": _over,
    "root": _root,
    "log": _logarithm,
    "ln": _logarithm,
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
    "deg": _degrees,
}
"""The operations whose error is bounded here; what holds any other is not looked at."""
