"""Equations and inequalities: the value that one gives, and whether two say the same."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal

from assay.math import precise
from assay.math.canonical import canonical
from assay.math.evaluate import evaluate
from assay.math.limits import TooLarge, Unreadable
from assay.math.point import NeedsIntegers, Point
from assay.math.tree import Group, Node, Num, Op, Quantity, Relation, Sym, has, variables, walk

_RATIOS = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_NAMING = frozenset({"*", "apply", "/", "abs", "ratio", "norm"})


def is_name(node: Node) -> bool:
    """Whether it is a name for a value, and no value: `x`, `f(x)`, `AB`, `|AB|`, `NO/BO`, `(x, y)`."""
    if isinstance(node, Sym):
        return node.name not in ("oo", "pi", "i")
    if isinstance(node, Group):
        return node.kind == "tuple" and all(is_name(n) for n in node.items)
    if isinstance(node, Op) and (node.op == "apply" or (node.op in _RATIOS and isinstance(node.args[0], Sym))):
        return True
    return isinstance(node, Op) and node.op in _NAMING and all(is_name(n) for n in node.args)


def value_of(relation: Relation) -> Node | None:
    """The value that `x = 5` or `2 + 3 = 5` states; None for an equation that states none."""
    if relation.signs == ("in",) and is_name(relation.sides[0]):
        return relation.sides[1]
    if any(s != "=" for s in relation.signs):
        return None
    first, last = relation.sides[0], relation.sides[-1]
    if is_name(first):
        return last
    if (is_name(last) and isinstance(first, (Num, Quantity))) or (is_name(last) and not variables(first)):
        return first
    if all(not variables(s) for s in relation.sides):
        return last
    return last if len(relation.sides) > 2 else None


def same_relation(a: Relation, b: Relation, same: Callable[[Node, Node], bool]) -> bool | None:
    """Whether two equations or inequalities say the same; None where they are of another kind than is decided here."""
    if (
        a.signs == b.signs
        and len(a.signs) == 1
        and all(x == y or same(x, y) for x, y in zip(a.sides, b.sides, strict=True))
    ):
        return True
    if len(a.sides) == 2 and all(r.signs[0] in ("<", ">", "<=", ">=") for r in (a, b)) and canonical(a) == canonical(b):
        return True
    if a.signs == b.signs and len(a.sides) > 2 and all(same(x, y) for x, y in zip(a.sides, b.sides, strict=True)):
        return True
    if set(a.signs) != {"="} or set(b.signs) != {"="}:
        return _inequalities(a, b)
    b = _same_argument(a, b)
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None and _defines(a, b, variables(x) | variables(y)):
        return same(x, y)
    if len(a.sides) == 2 and len(b.sides) == 2:
        proportional = _proportional(a, b, positive=False)
        if proportional:
            return True
    if x is not None and y is not None and _same_name(a, b):
        return same(x, y)
    if (
        x is not None
        and y is not None
        and not variables(x)
        and not variables(y)
        and not any(is_name(r.sides[0]) for r in (a, b))
    ):
        return same(x, y)
    return False


def _same_argument(a: Relation, b: Relation) -> Relation:
    """`f(t) = 2t` with the variable of `f(x) = 2x`: what the argument of a function is called says nothing."""
    first, second = a.sides[0], b.sides[0]
    if not (isinstance(first, Op) and isinstance(second, Op) and first.op == second.op == "apply"):
        return b
    if len(first.args) != 2 or len(second.args) != 2 or first.args[0] != second.args[0]:
        return b
    new, old = first.args[1], second.args[1]
    if not (isinstance(new, Sym) and isinstance(old, Sym)) or new == old or new.name in _names_in(b):
        return b
    return Relation(tuple(_renamed(side, old.name, new) for side in b.sides), b.signs)


def _names_in(r: Relation) -> set[str]:
    return {name for side in r.sides for name in variables(side)}


def _renamed(node: Node, old: str, new: Sym) -> Node:
    if isinstance(node, Sym):
        return new if node.name == old else node
    return Op(node.op, tuple(_renamed(n, old, new) for n in node.args)) if isinstance(node, Op) else node


def _defines(a: Relation, b: Relation, used: frozenset[str]) -> bool:
    """Whether both say what the same name stands for, in other variables."""
    named, other = a.sides[0], b.sides[0]
    return is_name(named) and named == other and not (variables(named) & used)


def _same_name(a: Relation, b: Relation) -> bool:
    """Whether two equations name the same thing: `f(x) = ...` and `y = ...` do, `x = ...` and `y = ...` do not."""
    names = [next((s for s in r.sides if is_name(s)), None) for r in (a, b)]
    if names[0] is None or names[1] is None:
        return True
    if names[0] == names[1]:
        return True
    applied = [n.args[0] for n in names if isinstance(n, Op) and n.op == "apply"]
    return bool(applied) and any(n == Sym("y") or n in applied for n in names)


def _inequalities(a: Relation, b: Relation) -> bool | None:
    if len(a.sides) != 2 or len(b.sides) != 2 or a.signs[0] not in _DIRECTION or b.signs[0] not in _DIRECTION:
        return None
    if _DIRECTION[a.signs[0]][1] != _DIRECTION[b.signs[0]][1]:
        return None
    return True if _proportional(a, b, positive=True) else None


_DIRECTION = {"<": (1, "strict"), ">": (-1, "strict"), "<=": (1, "weak"), ">=": (-1, "weak"), "!=": (1, "unequal")}


def _difference(r: Relation) -> Node:
    left, right = r.sides
    if r.signs[0] in (">", ">="):
        left, right = right, left
    return Op("+", (right, Op("neg", (left,))))


def _proportional(a: Relation, b: Relation, positive: bool) -> bool:
    """Whether left minus right of one is a constant times that of the other."""
    f, g = _difference(a), _difference(b)
    if has(f, _CLASSES) or has(g, _CLASSES):
        return False
    if (
        variables(f) != variables(g)
        or not variables(f)
        or any(not isinstance(n, (Num, Sym, Op)) for n in (*walk(f), *walk(g)))
    ):
        return False
    try:
        with decimal.localcontext(precise.context(40)):
            first, second = _ratio(f, g, 0), _ratio(f, g, 1)
            if precise.size(precise.add(first, precise.negate(second))) > precise.size(first).scaleb(-12):
                return False
        with decimal.localcontext(precise.context(120)):
            ratios = [_ratio(f, g, p) for p in (0, 1, 2)]
            first = ratios[0]
            if any(
                precise.size(precise.add(r, precise.negate(first))) > precise.size(first).scaleb(-70)
                for r in ratios[1:]
            ):
                return False
            return not positive or (not isinstance(first, precise.Complex) and precise.to_decimal(first) > 0)
    except (TooLarge, Unreadable, NeedsIntegers, AssertionError, decimal.DecimalException):
        return False


_CLASSES = frozenset({"op mod"})


def _ratio(f: Node, g: Node, point: int) -> precise.Value:
    at = Point(point)
    x, y = evaluate(f, at), evaluate(g, at)
    tiny = Decimal(10) ** (-precise.precision() // 2)
    if precise.size(x) < tiny or precise.size(y) < tiny:
        raise Unreadable("an equation that always holds")
    return precise.divide(x, y)
