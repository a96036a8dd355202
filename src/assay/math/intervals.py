"""Regions of the line: intervals, unions, and the inequalities that describe them."""

from __future__ import annotations

import math
from typing import NamedTuple

from assay.math.equal import equal
from assay.math.forms import both_signs, is_signed
from assay.math.scalars import number
from assay.math.tree import CONSTANTS, Group, Node, Num, Op, Relation, Sym, variables


class Interval(NamedTuple):
    """From one end to the other, each within it or not."""

    low: Node
    low_closed: bool
    high: Node
    high_closed: bool


_INF = Sym("oo")
_MINUS_INF = Op("neg", (Sym("oo"),))
_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


def same_region(a: Node, b: Node) -> bool | None:
    """Whether two regions are the same; None where one of them is not read as a region."""
    x, y = _region(a), _region(b)
    if x is None or y is None:
        return None
    left, right = x[0], y[0]
    if x[1] and y[1] and x[1] != y[1]:
        return False
    if len(left) != len(right):
        left, right = _merged(left), _merged(right)
        if len(left) != len(right):
            return False
    rest = list(right)
    for i in left:
        match = next((k for k, j in enumerate(rest) if _same_interval(i, j)), None)
        if match is None:
            return False
        del rest[match]
    return True


def _merged(parts: list[Interval]) -> list[Interval]:
    """The same region in as few intervals as it takes; as it was where their order cannot be told."""
    if len(parts) < 2 or len(parts) > MOST_PARTS or any(math.isnan(_place(e)) for p in parts for e in (p.low, p.high)):
        return parts
    ordered = sorted(parts, key=lambda p: _place(p.low))
    found = ordered[:1]
    for part in ordered[1:]:
        last = found[-1]
        if _same_end(last.high, part.low):
            if last.high_closed or part.low_closed:
                found[-1] = Interval(last.low, last.low_closed, part.high, part.high_closed)
            else:
                found.append(part)
        elif not _well_apart(last.high, part.low) or not _well_apart(last.high, part.high):
            return parts
        elif _place(part.low) > _place(last.high):
            found.append(part)
        elif _place(part.high) > _place(last.high):
            found[-1] = Interval(last.low, last.low_closed, part.high, part.high_closed)
    return found


MOST_PARTS = 16


def _well_apart(a: Node, b: Node) -> bool:
    """Whether two ends differ by so much that their order is plain."""
    x, y = _place(a), _place(b)
    return x != y and (math.isinf(x) or math.isinf(y) or abs(x - y) > 1e-6 * max(abs(x), abs(y)))


def _same_interval(i: Interval, j: Interval) -> bool:
    return (
        i.low_closed == j.low_closed
        and i.high_closed == j.high_closed
        and _same_end(i.low, j.low)
        and _same_end(i.high, j.high)
    )


def _same_end(a: Node, b: Node) -> bool:
    x, y = infinite(a), infinite(b)
    if x or y:
        return x == y
    return equal(a, b) is True


def infinite(node: Node) -> int:
    """1, -1, or 0 for what is finite."""
    if isinstance(node, Op) and node.op == "neg":
        return -infinite(node.args[0])
    return 1 if node == _INF else 0


def _region(node: Node) -> tuple[list[Interval], str] | None:
    """The intervals of a region, and the variable it is for where one is named."""
    match node:
        case Group(kind="tuple") if len(node.items) == 2:
            low, high = node.items
            if isinstance(low, (Group, Relation)) or isinstance(high, (Group, Relation)):
                return None
            return [
                Interval(low, node.open == "[" and not infinite(low), high, node.close == "]" and not infinite(high))
            ], ""
        case Group(kind="set"):
            if any(isinstance(n, (Group, Relation)) for n in node.items):
                return None
            return [Interval(n, True, n, True) for n in node.items], ""
        case Group(kind="list", open="or"):
            return _union([_region(n) for n in node.items])
        case Group(kind="list") if isinstance(node.items[0], Relation):
            return _all(node)
        case Op(op="cup"):
            return _union([_region(n) for n in node.args])
        case Op(op="cap"):
            return _met(_region(node.args[0]), _region(node.args[1]))
        case Op(op="setminus"):
            return _without(_region(node.args[0]), _region(node.args[1]))
        case Sym(name="Reals"):
            return [Interval(_MINUS_INF, False, _INF, False)], ""
        case Relation():
            return _from_relation(node)
        case _:
            return None


def _union(parts: list[tuple[list[Interval], str] | None]) -> tuple[list[Interval], str] | None:
    found: list[Interval] = []
    names: set[str] = set()
    for part in parts:
        if part is None:
            return None
        found.extend(part[0])
        names.add(part[1])
    names.discard("")
    return (found, names.pop() if names else "") if len(names) < 2 else None


def _met(
    a: tuple[list[Interval], str] | None, b: tuple[list[Interval], str] | None
) -> tuple[list[Interval], str] | None:
    """What two intervals have in common, where their ends are well apart."""
    if a is None or b is None or len(a[0]) != 1 or len(b[0]) != 1:
        return None
    (x,), (y,) = a[0], b[0]
    if not _well_apart(x.low, y.low) or not _well_apart(x.high, y.high):
        return None
    low, high = (x if _place(x.low) > _place(y.low) else y), (x if _place(x.high) < _place(y.high) else y)
    if not _place(low.low) < _place(high.high):
        return None
    return [Interval(low.low, low.low_closed, high.high, high.high_closed)], a[1] or b[1]


def _without(
    whole: tuple[list[Interval], str] | None, holes: tuple[list[Interval], str] | None
) -> tuple[list[Interval], str] | None:
    """An interval without points or intervals that lie within it."""
    if whole is None or holes is None or len(whole[0]) != 1 or not holes[0] or len(holes[0]) > _MOST_HOLES:
        return None
    line, ordered = whole[0][0], sorted(holes[0], key=lambda hole: _place(hole.low))
    if len(ordered) > 1 and any(math.isnan(_place(end)) for hole in ordered for end in (hole.low, hole.high)):
        return None
    rest, low, closed = list[Interval](), line.low, line.low_closed
    for hole in ordered:
        if infinite(hole.low) >= 0:
            rest.append(Interval(low, closed, hole.low, not hole.low_closed and not infinite(hole.low)))
        low, closed = hole.high, not hole.high_closed
    if infinite(low) <= 0:
        rest.append(Interval(low, closed, line.high, line.high_closed))
    return rest, whole[1]


_MOST_HOLES = 8


def _place(node: Node) -> float:
    """Where an end lies, to put holes in order; no verdict hangs on how exact it is. NaN where it is no number."""
    sign = infinite(node)
    value = None if sign else number(node)
    try:
        return sign * math.inf if sign else math.nan if value is None else float(value)
    except OverflowError:
        return math.nan


def _all(node: Group) -> tuple[list[Interval], str] | None:
    """Inequalities that hold together; those that exclude a point last."""
    first = node.items[0]
    items = node.items
    if isinstance(first, Relation) and first.signs == ("!=",) and not any(isinstance(n, Relation) for n in items[1:]):
        items = (first, *(Relation((first.sides[0], n), first.signs) for n in items[1:]))  # `x \\neq 1, 2`
    unequal = [n for n in items if isinstance(n, Relation) and n.signs == ("!=",)]
    rest = [n for n in items if n not in unequal]
    if not unequal:
        return _both([_region(n) for n in items], node.open)
    names = {_label(n.sides[0]) for n in unequal}
    everywhere = ([Interval(_MINUS_INF, False, _INF, False)], min(names))
    whole = (
        everywhere if not rest else _region(rest[0]) if len(rest) == 1 else _both([_region(n) for n in rest], node.open)
    )
    points = [Interval(n.sides[1], True, n.sides[1], True) for n in unequal]
    return None if whole is None or names != {whole[1]} else _without(whole, (points, whole[1]))


def _both(parts: list[tuple[list[Interval], str] | None], join: str) -> tuple[list[Interval], str] | None:
    """Two one-sided inequalities for the same variable, as one interval."""
    if len(parts) != 2 or parts[0] is None or parts[1] is None or parts[0][1] != parts[1][1]:
        return None
    (a, *more), (b, *others) = parts[0][0], parts[1][0]
    if more or others:
        return None
    if infinite(a.low) and infinite(b.high):
        a, b = b, a
    if infinite(a.high) and infinite(b.low) and not infinite(a.low) and not infinite(b.high):
        if not join and _place(a.low) > _place(b.high):  # `x < -3, x > 2` lists the two parts of a union
            return [a, b], parts[0][1]
        return [Interval(a.low, a.low_closed, b.high, b.high_closed)], parts[0][1]
    return None


def _from_relation(r: Relation) -> tuple[list[Interval], str] | None:
    if r.signs == ("in",) and isinstance(r.sides[0], (Sym, Op)):
        inner = _region(r.sides[1])
        return None if inner is None else (inner[0], _label(r.sides[0]))
    if len(r.sides) == 2:
        return _one_sided(r)
    if len(r.sides) == 3 and all(s in ("<", "<=") for s in r.signs):
        low, middle, high = r.sides
    elif len(r.sides) == 3 and all(s in (">", ">=") for s in r.signs):
        high, middle, low = r.sides
        r = Relation((low, middle, high), (r.signs[1], r.signs[0]))
    else:
        return None
    if not _is_variable(middle) or isinstance(low, Group) or isinstance(high, Group):
        return None
    bounds = Interval(low, "=" in r.signs[0], high, "=" in r.signs[1])
    if isinstance(middle, Op) and middle.op == "abs":
        return _absolute(bounds, middle)
    return [bounds], _label(middle)


def _absolute(b: Interval, middle: Op) -> tuple[list[Interval], str]:
    """`1 <= |z| <= 2` as two intervals."""
    mirrored = Interval(Op("neg", (b.high,)), b.high_closed, Op("neg", (b.low,)), b.low_closed)
    return [b, mirrored], _label(middle.args[0])


def _is_variable(node: Node) -> bool:
    return isinstance(node, Sym) or (
        isinstance(node, Op) and node.op in ("apply", "abs", "*") and bool(variables(node))
    )


def _label(node: Node) -> str:
    return node.name if isinstance(node, Sym) else repr(node)


def _one_sided(r: Relation) -> tuple[list[Interval], str] | None:
    (left, right), sign = r.sides, r.signs[0]
    if sign not in _FLIP or sign == "=":
        return None
    if _is_variable(right) and not variables(left):
        left, right, sign = right, left, _FLIP[sign]
    if isinstance(left, Op) and left.op == "abs" and not isinstance(right, (Group, Relation)):
        return _around(left, sign, right)
    if not isinstance(left, Sym) or left.name in CONSTANTS or isinstance(right, (Group, Relation)):
        return None
    name = _label(left)
    if sign == "!=":
        if is_signed(right):
            points = [Interval(n, True, n, True) for n in both_signs(right)]
            return _without(([Interval(_MINUS_INF, False, _INF, False)], name), (points, ""))
        return [Interval(_MINUS_INF, False, right, False), Interval(right, False, _INF, False)], name
    if sign in ("<", "<="):
        return [Interval(_MINUS_INF, False, right, sign == "<=")], name
    return [Interval(right, sign == ">=", _INF, False)], name


def _around(left: Op, sign: str, radius: Node) -> tuple[list[Interval], str] | None:
    """`|x - 1| < 2` as the interval around 1, and `|x - 1| > 2` as what lies outside of it."""
    (inside,) = left.args
    centre: Node = Num(0)
    if isinstance(inside, Op) and inside.op == "+" and len(inside.args) == 2:
        inside, shift = inside.args if isinstance(inside.args[0], Sym) else inside.args[::-1]
        centre = Op("neg", (shift,))
    if not isinstance(inside, Sym) or inside.name in ("z", "w") or variables(centre):  # those are complex
        return None
    low, high = Op("+", (centre, Op("neg", (radius,)))), Op("+", (centre, radius))
    if sign in ("<", "<="):
        return [Interval(low, sign == "<=", high, sign == "<=")], inside.name
    if sign in (">", ">="):
        closed = sign == ">="
        return [Interval(_MINUS_INF, False, low, closed), Interval(high, closed, _INF, False)], inside.name
    return None
