"""Whether two trees are the same answer: value against value, set against set, interval against inequality, and so on.

Each comparison gives a `Decision`: the verdict, None where it is undecided, and the rule that decided, in words.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from assay.math import precise
from assay.math.equal import equal
from assay.math.evaluate import NeedsIntegers, Point, evaluate
from assay.math.intervals import same_region
from assay.math.limits import MOST_ITEMS, TooLarge, Unreadable
from assay.math.quantity import same_quantity
from assay.math.relations import is_name, same_relation, value_of
from assay.math.tree import Group, Matrix, Node, Num, Op, Quantity, Relation, Sym, Text, is_number, walk


class Decision(NamedTuple):
    """A verdict and the rule that gave it."""

    same: bool | None
    rule: str


@dataclass(frozen=True, slots=True)
class Closeness:
    """How near a number must be where the values are not equal."""

    relative: Fraction = Fraction(0)
    rounding: bool = True
    """An exact answer that rounds to a decimal gold counts, and a decimal of many digits that an exact gold rounds to."""


def same(gold: Node, answer: Node, near: Closeness) -> Decision:
    """Whether the answer is the gold."""
    gold, answer = unwrap(gold), unwrap(answer)
    for kinds, rule in _RULES:
        if kinds(gold, answer):
            decision = rule(gold, answer, near)
            if decision is not None:
                return decision
    return Decision(False, f"{_kind(gold)} against {_kind(answer)}")


def _kind(node: Node) -> str:
    match node:
        case Group():
            return f"a {node.kind}"
        case Relation():
            return "an equation" if set(node.signs) == {"="} else "an inequality"
        case Num():
            return "a number"
        case Sym() | Op():
            return "an expression"
        case _:
            return f"a {type(node).__name__.lower()}"


def unwrap(node: Node) -> Node:
    """A set or list of one thing as that thing; what is only said to be near left out."""
    for _ in range(4):
        if isinstance(node, Group) and len(node.items) == 1 and node.kind != "tuple":
            node = node.items[0]
        elif isinstance(node, Relation) and "~" in node.signs:
            k = node.signs.index("~")
            if k == 0 and len(node.sides) == 2 and is_name(node.sides[0]):
                node = Relation(node.sides, ("=",))
            else:
                node = Relation(node.sides[: k + 1], node.signs[:k]) if k else node.sides[0]
        else:
            break
    return node


# -- what is against what --------------------------------------------------------------------------------------------


def _scalar(node: Node) -> bool:
    return isinstance(node, Num | Sym | Op)


def _relations(node: Node) -> bool:
    return isinstance(node, Relation) or (isinstance(node, Group) and any(isinstance(n, Relation) for n in node.items))


def scalars(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Two expressions."""
    if isinstance(gold, Num) and isinstance(answer, Num):
        return _numbers(gold, answer, near)
    if _signed(gold) or _signed(answer):
        return _collections(Group("list", tuple(both_signs(gold))), Group("list", tuple(both_signs(answer))), near)
    if (
        isinstance(gold, Op)
        and isinstance(answer, Op)
        and gold.op == answer.op == "base"
        and gold.args[1] != answer.args[1]
    ):
        return Decision(equal(gold.args[0], answer.args[0]), "numbers in two bases")
    if _is(gold, "ratio") or _is(answer, "ratio"):
        return _ratios(gold, answer)
    if _region(gold) or _region(answer):
        return None
    if _infinite(gold) or _infinite(answer):
        return Decision(_infinite(gold) == _infinite(answer), "infinity")
    verdict = equal(gold, answer)
    if verdict is False and (_has_degrees(gold) or _has_degrees(answer)) and equal(gold, answer, degrees=False):
        return Decision(True, "degrees")
    if verdict is False and near.relative and within(gold, answer, near.relative):
        return Decision(True, f"within {float(near.relative):g} of the gold")
    if verdict is False and near.rounding and rounds_to(gold, answer):
        return Decision(True, "equal as rounded")
    if verdict is False and (_unit_letter(gold, answer) or _unit_letter(answer, gold)):
        return Decision(True, "a unit left out")
    if verdict is False and _plain_digits(gold, answer):
        return Decision(True, "the digits of a number in a base")
    return Decision(verdict, _scalar_rule(gold, answer, verdict))


def _numbers(gold: Num, answer: Num, near: Closeness) -> Decision:
    if gold.value == answer.value:
        return Decision(True, "exact numbers")
    if near.relative and within(gold, answer, near.relative):
        return Decision(True, f"within {float(near.relative):g} of the gold")
    if near.rounding and (gold.places >= 0) != (answer.places >= 0) and rounds_to(gold, answer):
        return Decision(True, "equal as rounded")
    return Decision(False, "exact numbers")


def _scalar_rule(gold: Node, answer: Node, verdict: bool | None) -> str:
    if verdict is None:
        return "undecided"
    return "exact numbers" if is_number(gold) and is_number(answer) else "values of the expressions"


def _unit_letter(node: Node, bare: Node) -> bool:
    """`264g` against 264."""
    if not isinstance(node, Op) or node.op != "*" or not isinstance(bare, Num):
        return False
    return node.args[0] == bare and node.args[1] in (Sym("g"), Sym("L"), Sym("J"), Sym("V"), Sym("W"))


def _plain_digits(gold: Node, answer: Node) -> bool:
    return (
        isinstance(gold, Op)
        and gold.op == "base"
        and isinstance(answer, Num)
        and gold.args[2] == Sym(str(answer.value))
    )


def _is(node: Node, op: str) -> bool:
    return isinstance(node, Op) and node.op == op


def _region(node: Node) -> bool:
    return (isinstance(node, Op) and node.op in ("cup", "cap", "setminus", "such that")) or node == Sym("Reals")


def _has_degrees(node: Node) -> bool:
    return any(isinstance(n, Op) and n.op == "deg" for n in walk(node))


def _infinite(node: Node) -> int:
    if isinstance(node, Op) and node.op == "neg":
        return -_infinite(node.args[0])
    return 1 if isinstance(node, Sym) and node.name == "oo" else 0


def _ratios(gold: Node, answer: Node) -> Decision:
    a, b = _ratio_parts(gold), _ratio_parts(answer)
    if a is None or b is None or len(a) != len(b):
        return Decision(False, "a ratio against something else")
    for k in range(1, len(a)):
        if not equal(Op("*", (a[0], b[k])), Op("*", (b[0], a[k]))):
            return Decision(False, "ratios")
    return Decision(True, "ratios")


def _ratio_parts(node: Node) -> tuple[Node, ...] | None:
    if isinstance(node, Op) and node.op == "ratio":
        return node.args
    if isinstance(node, Op) and node.op == "/":
        return node.args
    return (node, Num(1)) if isinstance(node, Num) else None


# -- plus and minus --------------------------------------------------------------------------------------------------


def _signed(node: Node) -> bool:
    return _scalar(node) and any(isinstance(n, Op) and n.op in ("pm", "mp") for n in walk(node))


def both_signs(node: Node) -> list[Node]:
    """An expression with `\\pm` as the two it stands for."""
    if not _signed(node):
        return [node]
    return [_with_sign(node, 1), _with_sign(node, -1)]


def _with_sign(node: Node, sign: int) -> Node:
    if not isinstance(node, Op):
        return node
    args = tuple(_with_sign(n, sign) for n in node.args)
    if node.op in ("pm", "mp"):
        positive = (sign > 0) == (node.op == "pm")
        return args[0] if positive else Op("neg", args)
    return Op(node.op, args)


# -- collections -----------------------------------------------------------------------------------------------------


def groups(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Lists, sets and tuples."""
    assert isinstance(gold, Group)
    assert isinstance(answer, Group)
    if _relations(gold) or _relations(answer):
        return None
    if gold.kind == "tuple" and answer.kind == "tuple":
        return _tuples(gold, answer, near)
    if gold.kind == "tuple" or answer.kind == "tuple":
        mixed = next(g for g in (gold, answer) if g.kind == "tuple")
        if (mixed.open, mixed.close) not in (("(", ")"), ("[", "]")):
            return Decision(False, "an interval against a list")
        return Decision(_in_order(gold.items, answer.items, near), "in order")
    return _collections(gold, answer, near)


def _tuples(gold: Group, answer: Group, near: Closeness) -> Decision:
    brackets = (gold.open, gold.close) == (answer.open, answer.close)
    if not brackets and len(gold.items) == 2 and not any(isinstance(n, Group) for n in gold.items):
        return Decision(False, "other brackets")
    return Decision(_in_order(gold.items, answer.items, near), "in order")


def _in_order(gold: Sequence[Node], answer: Sequence[Node], near: Closeness) -> bool:
    return len(gold) == len(answer) and all(same(g, a, near).same is True for g, a in zip(gold, answer, strict=True))


def _expanded(group: Group) -> list[Node]:
    items: list[Node] = []
    for n in group.items:
        if isinstance(n, Group) and n.kind == "list":
            items.extend(_expanded(n))
        else:
            items.extend(both_signs(n))
    return items


def _collections(gold: Group, answer: Group, near: Closeness) -> Decision:
    left, right = _expanded(gold), _expanded(answer)
    if "set" in (gold.kind, answer.kind):
        left, right = _distinct(left), _distinct(right)
    left, right = _distinct(left, Group), _distinct(right, Group)  # a solution that is listed twice is one solution
    return Decision(matched(left, right, near), "the same members")


def _distinct(items: list[Node], kind: type[Node] | None = None) -> list[Node]:  # type: ignore[valid-type]
    kept: list[Node] = []
    for n in items:
        if n not in kept or (kind is not None and not isinstance(n, kind)):
            kept.append(n)
    return kept


def matched(gold: Sequence[Node], answer: Sequence[Node], near: Closeness) -> bool:
    """Whether each member of one is a member of the other, as often."""
    if len(gold) != len(answer) or len(gold) > MOST_ITEMS:
        return False
    rest = list(answer)
    later: list[Node] = []
    for g in gold:  # first what is written alike, for that costs nothing
        try:
            rest.remove(g)
        except ValueError:
            later.append(g)
    if len(later) > 60:
        return False
    for g in later:
        for k, a in enumerate(rest):
            if same(g, a, near).same is True:
                del rest[k]
                break
        else:
            return False
    return True


# -- relations -------------------------------------------------------------------------------------------------------


def relations(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """An equation, an inequality, or lists of them, against another or against bare values."""
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        verdict = same_relation(gold, answer, lambda g, a: same(g, a, near).same is True)
        if verdict is not None:
            return Decision(verdict, "equations")
        region = same_region(gold, answer)
        return Decision(bool(region), "other relations" if region is None else "the same region")
    if isinstance(gold, Relation) or isinstance(answer, Relation):
        region = same_region(gold, answer)
        if region is not None:
            return Decision(region, "the same region")
        return _value_against(gold, answer, near)
    return _lists_of_relations(gold, answer, near)


def _value_against(gold: Node, answer: Node, near: Closeness) -> Decision:
    left = value_of(gold) if isinstance(gold, Relation) else gold
    right = value_of(answer) if isinstance(answer, Relation) else answer
    if right is None and isinstance(answer, Relation) and isinstance(gold, Num):
        right = _stated_total(answer)
    if left is None or right is None:
        if isinstance(gold, Group) or isinstance(answer, Group):
            return _lists_of_relations(gold, answer, near)
        return Decision(False, "an equation against a value")
    decision = same(left, right, near)
    return Decision(decision.same, f"the value of the equation: {decision.rule}")


def _stated_total(answer: Relation) -> Node | None:
    """The number that an answer such as `m + n = 49` states."""
    first, last = answer.sides[0], answer.sides[-1]
    named = isinstance(first, Op) and first.op == "+" and all(is_name(n) for n in first.args)
    return last if named and isinstance(last, Num) and set(answer.signs) == {"="} else None


def _lists_of_relations(gold: Node, answer: Node, near: Closeness) -> Decision:
    region = same_region(gold, answer)
    if region is not None:
        return Decision(region, "the same region")
    rows = _solutions(gold), _solutions(answer)
    if rows[0] is not None and rows[1] is not None and (_has_rows(gold) != _has_rows(answer)):
        return Decision(matched(rows[0], rows[1], near), "solution by solution")
    left, right = _members(gold), _members(answer)
    if _relations(gold) and _relations(answer) and matched(left, right, near):
        return Decision(True, "the same equations")
    names = _names(left), _names(right)
    if names[0] and names[1] and names[0] != names[1]:
        return Decision(False, "equations for other variables")
    several = len(names[0] or names[1]) > 1
    if several and names[0] and names[1]:
        return Decision(False, "other equations")
    first, second = _values(gold), _values(answer)
    if first is None or second is None:
        return Decision(False, "equations against something else")
    if several:
        return Decision(_ordered_values(first, second, near), "values in order")
    return Decision(matched(first, second, near), "the values of the equations")


def _has_rows(node: Node) -> bool:
    return isinstance(node, Group) and any(isinstance(n, Group) and _relations(n) for n in node.items)


def _solutions(node: Node) -> list[Node] | None:
    """`p=5, q=2; p=7, q=2` as the tuples (5, 2) and (7, 2)."""
    if not isinstance(node, Group) or not all(isinstance(n, Group) for n in node.items):
        return None
    rows: list[Node] = []
    for n in node.items:
        values = (
            _values(n)
            if isinstance(n, Group) and n.kind != "tuple"
            else list(n.items)
            if isinstance(n, Group)
            else None
        )
        if values is None:
            return None
        rows.append(Group("tuple", tuple(values), "(", ")"))
    return rows


def _ordered_values(first: list[Node], second: list[Node], near: Closeness) -> bool:
    def flat(items: list[Node]) -> list[Node]:
        return [n for x in items for n in (x.items if isinstance(x, Group) else (x,))]

    return _in_order(flat(first), flat(second), near)


def _members(node: Node) -> list[Node]:
    return _expanded(node) if isinstance(node, Group) and node.kind != "tuple" else [node]


def _names(items: Sequence[Node]) -> list[str]:
    names: list[str] = []
    for n in items:
        if isinstance(n, Relation) and is_name(n.sides[0]) and repr(n.sides[0]) not in names:
            names.append(repr(n.sides[0]))
    return sorted(names)


def _values(node: Node) -> list[Node] | None:
    found: list[Node] = []
    for n in _members(node):
        value = value_of(n) if isinstance(n, Relation) else n
        if value is None:
            return None
        if isinstance(value, Group) and value.kind != "tuple":
            found.extend(value.items)
        else:
            found.extend(both_signs(value))
    return found


# -- matrices, quantities, text --------------------------------------------------------------------------------------


def matrices(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Matrices, also against nested lists, and columns against tuples."""
    left, right = _rows(gold), _rows(answer)
    if left is None or right is None:
        return None
    if len(left) != len(right) or any(len(x) != len(y) for x, y in zip(left, right, strict=True)):
        if not (isinstance(gold, Matrix) and isinstance(answer, Matrix)) and _vector(left) and _vector(right):
            return Decision(_in_order(_cells(left), _cells(right), near), "a vector")
        return Decision(False, "matrices of other shapes")
    return Decision(_in_order(_cells(left), _cells(right), near), "cell by cell")


def _vector(rows: list[list[Node]]) -> bool:
    return len(rows) == 1 or all(len(r) == 1 for r in rows)


def _cells(rows: list[list[Node]]) -> list[Node]:
    return [cell for row in rows for cell in row]


def _rows(node: Node) -> list[list[Node]] | None:
    if isinstance(node, Op) and node.op in ("+", "*", "neg", "^") and any(isinstance(n, Matrix) for n in walk(node)):
        from assay.math.matrices import work_out

        worked = work_out(node)
        return None if worked is None else [list(r) for r in worked.rows]
    if isinstance(node, Matrix):
        return [list(r) for r in node.rows]
    if isinstance(node, Group) and node.items:
        if all(isinstance(n, Group) for n in node.items):
            return [list(n.items) for n in node.items if isinstance(n, Group)]
        return [list(node.items)]
    return None


def quantities(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """A value with a unit against one with the same, another, or none."""
    verdict, rule = same_quantity(gold, answer, lambda g, a: same(g, a, near).same)
    return Decision(verdict, rule)


def regions(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Intervals, unions and inequalities."""
    verdict = same_region(gold, answer)
    return None if verdict is None else Decision(verdict, "the same region")


# -- near enough -----------------------------------------------------------------------------------------------------


def number(node: Node) -> Decimal | Fraction | int | None:
    """The value of an expression that is a real number."""
    if isinstance(node, Num):
        return node.value
    try:
        with decimal.localcontext(precise.context(50)):
            v = precise.simple(evaluate(node, Point(degrees=False)))
    except (TooLarge, Unreadable, NeedsIntegers, AssertionError):
        return None
    return None if isinstance(v, precise.Complex) else v


def within(gold: Node, answer: Node, relative: Fraction) -> bool:
    """Whether a number is within a relative distance of another."""
    if any(isinstance(n, Sym) and n.name not in ("pi", "e") for node in (gold, answer) for n in walk(node)):
        return False
    g, a = number(gold), number(answer)
    if g is None or a is None or not g:
        return False
    with decimal.localcontext(precise.context(50)):
        x, y = precise.to_decimal(g), precise.to_decimal(a)
        return abs(x - y) <= abs(x) * precise.to_decimal(relative)


def rounds_to(gold: Node, answer: Node) -> bool:
    """Whether one is exact and the other is that value, rounded to as many digits as are written."""
    if isinstance(gold, Op) and gold.op == "neg" and isinstance(answer, Op) and answer.op == "neg":
        return rounds_to(gold.args[0], answer.args[0])
    if isinstance(gold, Num) and gold.places >= 2 and not (isinstance(answer, Num) and answer.places >= 0):
        return _rounded(answer, gold.places) == gold.value and gold.value != 0
    if isinstance(answer, Num) and answer.places >= 6 and not (isinstance(gold, Num) and gold.places >= 0):
        digits = len(str(abs(answer.value * 10**answer.places)))
        return digits >= 9 and _rounded(gold, answer.places) == answer.value
    return False


def _rounded(node: Node, places: int) -> Fraction | None:
    if any(isinstance(n, Sym) and n.name not in ("pi", "e") for n in walk(node)):
        return None
    v = number(node)
    if v is None:
        return None
    scaled = Fraction(v) * 10**places
    return Fraction((2 * scaled + 1).__floor__() // 2, 10**places)


def _either(kind: type[Node] | tuple[type[Node], ...]) -> Callable[[Node, Node], bool]:  # type: ignore[valid-type]
    return lambda g, a: isinstance(g, kind) or isinstance(a, kind)  # type: ignore[arg-type]


_RULES: tuple[tuple[Callable[[Node, Node], bool], Callable[[Node, Node, Closeness], Decision | None]], ...] = (
    (lambda g, a: _scalar(g) and _scalar(a), scalars),
    (lambda g, a: isinstance(g, Group) and isinstance(a, Group) and not _matrix_like(g, a), groups),
    (lambda g, a: _relations(g) or _relations(a), relations),
    (lambda g, a: isinstance(g, Quantity) or isinstance(a, Quantity), quantities),
    (_either(Matrix), matrices),
    (lambda g, a: _matrix_like(g, a), matrices),
    (lambda g, a: _signed(g) or _signed(a), lambda g, a, near: _collections(_as_list(g), _as_list(a), near)),
    (lambda g, a: True, regions),
)


def _as_list(node: Node) -> Group:
    return node if isinstance(node, Group) and node.kind != "tuple" else Group("list", (node,))


def _matrix_like(g: Node, a: Node) -> bool:
    return any(
        isinstance(n, Group) and n.items and n.open == "[" and all(isinstance(m, Group) for m in n.items)
        for n in (g, a)
    ) and all(isinstance(n, Group | Matrix) for n in (g, a))


_ = Text
