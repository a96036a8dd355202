"""Whether two trees are the same answer: value against value, set against set, interval against inequality, and so on.

Each comparison gives a `Decision`: the verdict, None where it is undecided, and the rule that decided, in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from assay.math.canonical import canonical
from assay.math.decision import Closeness, Decision
from assay.math.forms import both_signs, is_scalar, is_signed, of_sets, one_name, point, unwrap
from assay.math.intervals import same_region
from assay.math.matrices import cells_of, is_matrix_like, is_vector, rows_of
from assay.math.quantity import same_quantity
from assay.math.relations import is_name, same_relation, value_of
from assay.math.scalars import scalars
from assay.math.tree import Group, Matrix, Node, Num, Op, Quantity, Relation, Sym, is_number, variables
from assay.math.vectors import components


def same(gold: Node, answer: Node, near: Closeness) -> Decision:
    """Whether the answer is the gold."""
    if isinstance(gold, Relation) or isinstance(answer, Relation):
        rough = _roughly(gold, answer, near)
        if rough is not None:
            return rough
    if isinstance(gold, Group) or isinstance(answer, Group):
        gold, answer = one_name(gold, answer)
    gold, answer = unwrap(gold), unwrap(answer)
    if isinstance(gold, Group) != isinstance(answer, Group):
        gold, answer = point(gold), point(answer)
        if _said_twice(gold, answer, near):
            return Decision(True, "one value said twice")
    if isinstance(gold, (Group, Matrix)) != isinstance(answer, (Group, Matrix)):
        vector, other = (answer, gold) if isinstance(gold, (Group, Matrix)) else (gold, answer)
        for tuple_ in components(vector):
            decision = same(tuple_, other, near) if vector is gold else same(other, tuple_, near)
            if decision.same:
                return decision
    for kinds, rule in _RULES:
        if kinds(gold, answer):
            decision = rule(gold, answer, near)
            if decision is not None:
                return decision
    return Decision(False, f"{_kind(gold)} against {_kind(answer)}")


def _said_twice(gold: Node, answer: Node, near: Closeness) -> bool:
    """`7.5 or 15/2` as the one value that it is."""
    several, one = (gold, answer) if isinstance(gold, Group) else (answer, gold)
    if not isinstance(several, Group) or several.open != "or":
        return False
    parts = (one, *several.items)
    return all(is_scalar(n) and not is_signed(n) for n in parts) and all(same(n, one, near).same for n in several.items)


_ROUGH = Closeness(Fraction(1, 20))


def _roughly(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """An exact value that is followed by a rounded one states both of its sides, where they are near each other."""
    for said, other, gold_said in ((gold, answer, True), (answer, gold, False)):
        if not (isinstance(said, Relation) and said.signs[-1] == "~" and len(said.sides) > 1):
            continue
        exact, rounded = said.sides[-2:]
        if isinstance(other, Relation) or variables(exact) or not same(exact, rounded, _ROUGH).same:
            continue
        decision = same(rounded, other, near) if gold_said else same(other, rounded, near)
        if decision.same:
            return decision
    return None


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


def _relations(node: Node) -> bool:
    return isinstance(node, Relation) or (isinstance(node, Group) and any(_relations(n) for n in node.items))


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
        other = answer if mixed is gold else gold
        if len(mixed.items) == 2 and other.kind == "set" and not other.open:  # braces may be those of LaTeX
            return Decision(False, "a pair against a set")
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
    if of_sets(left) != of_sets(right):
        return Decision(False, "sets against what is in them")
    if {gold.open, answer.open} == {"and", "or"} and any(variables(n) for n in left):
        return Decision(False, "and against or")  # of numbers, `1 and 2` and `1 or 2` list the same ones
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


def matched(gold: Sequence[Node], answer: Sequence[Node], near: Closeness) -> bool | None:
    """Whether each member of one is a member of the other, as often; None where there are too many to compare."""
    if len(gold) != len(answer):
        return False
    left, right = list(gold), list(answer)
    if len(left) > 8:  # what has the same canonical form is paired off at once
        left, right = _unpaired(left, right)
    if len(left) > _MOST_PAIRED:
        return None
    for g in left:
        k = next((k for k, a in enumerate(right) if same(g, a, near).same is True), None)
        if k is None:
            return False
        del right[k]
    return True


_MOST_PAIRED = 40


def _unpaired(left: list[Node], right: list[Node]) -> tuple[list[Node], list[Node]]:
    spare: dict[str, list[Node]] = {}
    for n in right:
        spare.setdefault(canonical(n), []).append(n)
    rest: list[Node] = []
    for n in left:
        twins = spare.get(canonical(n))
        if twins:
            twins.pop()
        else:
            rest.append(n)
    return rest, [n for twins in spare.values() for n in twins]


def relations(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """An equation, an inequality, or lists of them, against another or against bare values."""
    gold, answer = _spread(gold), _spread(answer)
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


def _spread(node: Node) -> Node:
    """`x = y = z = 1` as three equations."""
    if not isinstance(node, Relation) or len(node.sides) < 3 or set(node.signs) != {"="} or variables(node.sides[-1]):
        return node
    *names, value = node.sides
    if not all(isinstance(n, Sym) for n in names):
        return node
    return Group("list", tuple(Relation((n, value), ("=",)) for n in names), "and")


def _value_against(gold: Node, answer: Node, near: Closeness) -> Decision:
    left = value_of(gold) if isinstance(gold, Relation) else gold
    right = value_of(answer) if isinstance(answer, Relation) else answer
    if right is None and isinstance(answer, Relation) and is_number(gold):
        right = _stated_total(answer)
    if left is None and isinstance(gold, Relation) and is_number(answer):
        left = _stated_total(gold)
    if left is None or right is None:
        if isinstance(gold, Group) or isinstance(answer, Group):
            return _lists_of_relations(gold, answer, near)
        return Decision(False, "an equation against a value")
    decision = same(left, right, near)
    return Decision(decision.same, f"the value of the equation: {decision.rule}")


def _stated_total(said: Relation) -> Node | None:
    """The number that an equation such as `m + n = 49` states."""
    first, last = said.sides[0], said.sides[-1]
    named = isinstance(first, Op) and first.op == "+" and all(is_name(n) for n in first.args)
    return last if named and is_number(last) and set(said.signs) == {"="} else None


def _lists_of_relations(gold: Node, answer: Node, near: Closeness) -> Decision:
    region = same_region(gold, answer)
    if region is not None:
        return Decision(region, "the same region")
    rows = _solutions(gold), _solutions(answer)
    if rows[0] is not None and rows[1] is not None and (_has_rows(gold) != _has_rows(answer)):
        return Decision(matched(rows[0], rows[1], near), "solution by solution")
    left, right = _members(gold), _members(answer)
    if left == [gold] and right == [answer]:  # nothing was taken apart, and to ask again would be to ask for ever
        if isinstance(gold, Group) and isinstance(answer, Group):
            return Decision(_in_order(gold.items, answer.items, near), "part by part")
        return Decision(False, "equations against something else")
    if _relations(gold) and _relations(answer) and matched(left, right, near):
        return Decision(True, "the same equations")
    names = _names(left), _names(right)
    if names[0] and names[1] and _numbered(*names):
        names = ["x"], ["x"]
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
    members = list(node.items) if isinstance(node, Group) else [node]
    if members and isinstance(members[0], Relation) and isinstance(members[0].sides[0], Group):
        value = value_of(members[0])
        members = members if value is None else [value, *members[1:]]
    if not all(isinstance(n, Group) for n in members):
        return None
    rows: list[Node] = []
    for n in members:
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


def _numbered(first: list[str], second: list[str]) -> bool:
    """`x_1 = 1, x_2 = 2` beside `x = 1 or x = 2`: one variable, and the same with a number to each of its values."""
    one, many = (first, second) if len(first) == 1 else (second, first)
    stem = one[0][:-2]  # without the end of what a symbol is shown as
    return len(one) == 1 and len(many) > 1 and all(re.fullmatch(re.escape(stem) + r"_\d'\)", name) for name in many)


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


def matrices(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Matrices, also against nested lists, and columns against tuples."""
    left, right = rows_of(gold), rows_of(answer)
    if left is None or right is None:
        return None
    if len(left) != len(right) or any(len(x) != len(y) for x, y in zip(left, right, strict=True)):
        if not (isinstance(gold, Matrix) and isinstance(answer, Matrix)) and is_vector(left) and is_vector(right):
            return Decision(_in_order(cells_of(left), cells_of(right), near), "a vector")
        return Decision(False, "matrices of other shapes")
    return Decision(_in_order(cells_of(left), cells_of(right), near), "cell by cell")


def quantities(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """A value with a unit against one with the same, another, or none."""
    gold, answer = _as_factor(gold, answer), _as_factor(answer, gold)
    if not isinstance(gold, Quantity) and not isinstance(answer, Quantity):
        return same(gold, answer, near)
    verdict, rule = same_quantity(gold, answer, lambda g, a: same(g, a, near).same)
    return Decision(verdict, rule)


def _as_factor(node: Node, other: Node) -> Node:
    """What was read as a unit as a variable, where the other side has a variable of that name: `0.25 L` and `L/4`."""
    if not isinstance(node, Quantity) or isinstance(other, Quantity) or not set(node.unit) <= variables(other):
        return node
    for letter in node.unit:
        node = Op("*", (node.value if isinstance(node, Quantity) else node, Sym(letter)))
    return node


def regions(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Intervals, unions and inequalities."""
    verdict = same_region(gold, answer)
    return None if verdict is None else Decision(verdict, "the same region")


def _either(kind: type[Node] | tuple[type[Node], ...]) -> Callable[[Node, Node], bool]:  # type: ignore[valid-type]
    return lambda g, a: isinstance(g, kind) or isinstance(a, kind)  # type: ignore[arg-type]


_RULES: tuple[tuple[Callable[[Node, Node], bool], Callable[[Node, Node, Closeness], Decision | None]], ...] = (
    (lambda g, a: is_scalar(g) and is_scalar(a) and not is_signed(g) and not is_signed(a), scalars),
    (lambda g, a: isinstance(g, Group) and isinstance(a, Group) and not is_matrix_like(g, a), groups),
    (lambda g, a: _relations(g) or _relations(a), relations),
    (lambda g, a: isinstance(g, Quantity) or isinstance(a, Quantity), quantities),
    (_either(Matrix), matrices),
    (lambda g, a: is_matrix_like(g, a), matrices),
    (lambda g, a: is_signed(g) or is_signed(a), lambda g, a, near: _collections(_as_list(g), _as_list(a), near)),
    (lambda g, a: True, regions),
)


def _as_list(node: Node) -> Group:
    return node if isinstance(node, Group) and node.kind != "tuple" else Group("list", (node,))
