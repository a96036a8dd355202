"""Whether two expressions are equal as functions.

Exactly modulo a large prime where they are rational, and else by their values at fixed pseudo-random points, to a
precision that grows until the difference is seen or has vanished.

A difference may be proven in floats, with bounds on their error; no conversion to a float makes two things equal. Of
two rational expressions that agree modulo the prime 2^127 - 1 at a point nobody chose, the chance that they differ is
below 10^-30. Of two others a difference that shrinks with the precision is taken for zero at 160 digits; a summand too
small to be seen there asks for more digits, and then for none.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, cast

from assay.math import precise
from assay.math.evaluate import evaluate
from assay.math.limits import MOST_EXPONENT_BITS, MOST_STEPS, TooLarge, Unreadable
from assay.math.meter import charge
from assay.math.point import NeedsIntegers, Point, noise
from assay.math.precise import Value
from assay.math.rough import apart
from assay.math.tree import Node, Num, Op, Sym, has, variables

PRIME = 2**127 - 1
REALS = (0, 1)
SIGNED = (0, 2, 3)
NATURALS = (13, 14, 17, 20)
LARGE = (100, 101, 102, 103, 104, 105)


class Units(NamedTuple):
    """How the two marks with more than one meaning are read."""

    degrees: bool = True
    """A degree is pi/180; otherwise it is 1."""
    decadic: bool = False
    """`\\log` is to the base of ten; otherwise natural."""


PLAIN = Units()
DEGREES_LEFT_OUT = Units(degrees=False)
DECADIC = Units(decadic=True)


def equal(a: Node, b: Node, units: Units = PLAIN) -> bool | None:
    """Whether two expressions are equal; None where that is not decided."""
    if isinstance(a, Num) and isinstance(b, Num):
        return a.value == b.value
    if units is PLAIN and apart(a, b):
        return False
    free = variables(a), variables(b)
    exact = _modular(a, b)
    if exact is not None:
        return exact
    try:
        with decimal.localcontext(precise.context(_COARSE)):
            if free[0] or free[1]:
                return _at_points(a, b, units)
            return _same_at(a, b, 0, units)
    except (TooLarge, Unreadable, NeedsIntegers, AssertionError, decimal.DecimalException):
        return None


def _at_points(a: Node, b: Node, units: Units) -> bool | None:
    points = LARGE if has(a, _STEPS) or has(b, _STEPS) else REALS
    points = SIGNED if has(a, _SIGN_MATTERS) or has(b, _SIGN_MATTERS) else points
    try:
        verdicts = [_same_at(a, b, p, units) for p in points[:1]]
        if verdicts[0] is True:
            verdicts += [_same_at(a, b, p, units) for p in points[1:]]
    except NeedsIntegers:
        verdicts = [_same_at(a, b, p, units) for p in NATURALS]
    return False if False in verdicts else None if None in verdicts else True


_STEPS = frozenset({"op floor", "op ceil", "op mod"})
_SIGN_MATTERS = frozenset({"op abs", "op max", "op min", "op sgn"})


# -- values ----------------------------------------------------------------------------------------------------------

_COARSE, _FINE, _FINEST = 50, 160, 1000


def _same_at(a: Node, b: Node, point: int, units: Units) -> bool | None:
    coarse, _ = _difference(a, b, point, units, _COARSE)
    if coarse is None:
        return True
    gap, scale = coarse
    if gap > scale.scaleb(-12):
        return False
    for digits in (_FINE, _FINEST):
        fine, absorbed = _difference(a, b, point, units, digits)
        if fine is None:
            return True
        if fine[0] > fine[1].scaleb(60 - digits) and fine[0] > gap.scaleb(-40):
            return False
        if not absorbed:
            return True
    return None


def _difference(a: Node, b: Node, point: int, units: Units, digits: int) -> tuple[tuple[Decimal, Decimal] | None, bool]:
    """How far apart two values are, and how large they are; None where they are exactly equal."""
    with decimal.localcontext(precise.context(digits)):
        x, x_absorbed = _remembered(a, point, units, digits)
        y, y_absorbed = _remembered(b, point, units, digits)
        if isinstance(x, (int, Fraction)) and isinstance(y, (int, Fraction)):
            if x == y:
                return None, False
            return (Decimal(1), Decimal(1)), False
        try:
            gap = precise.size(precise.add(x, precise.negate(y)))
            scale = max(precise.size(x), precise.size(y))
            needed = max(_digits(x), _digits(y))
            return (gap, scale), x_absorbed or y_absorbed or needed > digits - 25
        except decimal.DecimalException as error:
            raise TooLarge(type(error).__name__) from None


def _remembered(node: Node, point: int, units: Units, digits: int) -> tuple[Value, bool]:
    if not isinstance(node, Op):
        return precise.simple(evaluate(node, Point(point))), False
    key = (point, units, digits)
    if node.memo is None:
        node.memo = {}
    known = node.memo.get(key)
    if known is None:
        at = Point(point, degrees=units.degrees, decadic=units.decadic)
        value = precise.simple(evaluate(node, at))
        node.memo[key] = (value, at.absorbed, at.cost)
        return value, at.absorbed
    value, absorbed, cost = cast("tuple[Value, bool, int]", known)
    charge(cost)  # counted as often as it is used: what was asked before does not change the verdict
    return value, absorbed


def _digits(v: Value) -> int:
    """How many digits an exact number needs, so that an irrational one is not taken for it."""
    if isinstance(v, int):
        return v.bit_length() * 2 // 3
    if isinstance(v, Fraction):
        return (v.numerator.bit_length() + v.denominator.bit_length()) * 2 // 3
    return 0


# -- modulo a prime --------------------------------------------------------------------------------------------------


class _NotRational(Exception):
    pass


def _modular(a: Node, b: Node) -> bool | None:
    """The verdict on two rational expressions; None where one of them is not rational."""
    x = _rational(a)
    if x is None:
        return None
    y = _rational(b)
    if y is None:
        return None
    return None if x == y and _height(a) + _height(b) > _SAFE_HEIGHT else x == y


_SAFE_HEIGHT = 120
"""Bits below which no two expressions differ by a multiple of the prime, or by a power that is one modulo it."""


def _height(node: Node) -> int:
    """An upper bound for the bits of the whole numbers in an expression once it is multiplied out."""
    if isinstance(node, Num):
        return node.value.numerator.bit_length() + node.value.denominator.bit_length()
    if not isinstance(node, Op):
        return 1
    if node.memo is not None and "height" in node.memo:
        return cast("int", node.memo["height"])
    if node.op == "^":
        n = _integer(node.args[1], 0)
        height = _height(node.args[0]) * min(abs(n), 1 << 40) if n is not None else 1 << 40
    else:
        height = sum(map(_height, node.args)) + 1
    node.memo = node.memo or {}
    node.memo["height"] = height
    return height


def _rational(node: Node) -> int | None:
    """The residue of a rational expression, worked out once."""
    if not isinstance(node, Op):
        try:
            return _residue(node, [0])
        except _NotRational:
            return None
    if node.memo is None:
        node.memo = {}
    if "modulo" not in node.memo:
        try:
            node.memo["modulo"] = _residue(node, [0])
        except (_NotRational, TooLarge):
            node.memo["modulo"] = None
    return cast("int | None", node.memo["modulo"])


def _residue(node: Node, work: list[int]) -> int:
    work[0] += 1
    if work[0] > MOST_STEPS:
        raise _NotRational
    if isinstance(node, Num):
        v = node.value
        return v % PRIME if isinstance(v, int) else v.numerator * pow(v.denominator, -1, PRIME) % PRIME
    if isinstance(node, Sym):
        if node.name in ("pi", "e", "i", "oo", "Reals", "..."):
            raise _NotRational
        return noise("modulo", node.name) % PRIME
    if not isinstance(node, Op):
        raise _NotRational
    args = node.args
    match node.op:
        case "+":
            return sum(_residue(n, work) for n in args) % PRIME
        case "neg":
            return -_residue(args[0], work) % PRIME
        case "*":
            return _residue(args[0], work) * _residue(args[1], work) % PRIME
        case "/":
            bottom = _residue(args[1], work)
            if not bottom:
                raise _NotRational
            return _residue(args[0], work) * pow(bottom, -1, PRIME) % PRIME
        case "^":
            return _residue_power(args[0], args[1], work)
        case _:
            raise _NotRational


def _residue_power(base: Node, exponent: Node, work: list[int]) -> int:
    n = _integer(exponent, 0)
    if n is None or n.bit_length() > MOST_EXPONENT_BITS:
        raise _NotRational
    b = _residue(base, work)
    if n <= 0 and not b:
        raise _NotRational
    return pow(b, n, PRIME)


def _integer(node: Node, depth: int) -> int | None:
    """An exponent that is an integer, worked out exactly."""
    if isinstance(node, Num):
        return node.value if isinstance(node.value, int) else None
    if not isinstance(node, Op) or depth > 6:
        return None
    parts = [_integer(n, depth + 1) for n in node.args]
    if any(p is None or p.bit_length() > MOST_EXPONENT_BITS for p in parts):
        return None
    x = [p for p in parts if p is not None]
    if node.op == "neg":
        return -x[0]
    if node.op == "+":
        return sum(x)
    if node.op == "*":
        return x[0] * x[1]
    if node.op == "^" and x[1] >= 0 and x[0].bit_length() * x[1] <= MOST_EXPONENT_BITS:
        return x[0] ** x[1]
    return None
