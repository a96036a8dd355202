"""What a tree stands for where more is written than its value: a condition, a point's name, signs."""

from __future__ import annotations

from assay.math.relations import is_name
from assay.math.tree import Group, Node, Num, Op, Relation, Sym, has, variables


def unwrap(node: Node) -> Node:
    """A set or list of one thing as that thing; what is only said to be near left out, and `k` being an integer."""
    for _ in range(4):
        if isinstance(node, Group) and node.kind == "list" and len(node.items) > 1 and _condition(node):
            node = Group("list", node.items[:-1], node.open)
        elif isinstance(node, Group) and len(node.items) == 1 and node.kind != "tuple":
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


def _condition(node: Group) -> bool:
    """Whether the last part only says for which values the first holds: `k` an integer, `x` not 1."""
    first, last = node.items[0], node.items[-1]
    if not isinstance(last, Relation):
        return False
    belongs = last.signs[-1] == "in" and last.sides[-1] in _NUMBER_SETS
    return belongs or (last.signs == ("!=",) and is_scalar(first) and bool(variables(last) & variables(first)))


_NUMBER_SETS = (Sym("Integers"), Sym("Naturals"), Sym("Rationals"))


def point(node: Node) -> Node:
    """`A(1, 2)` as the point (1, 2) that it names."""
    if not isinstance(node, Op) or node.op != "apply" or len(node.args) < 3:
        return node
    head = node.args[0]
    return Group("tuple", node.args[1:], "(", ")") if isinstance(head, Sym) and head.name[0].isupper() else node


def is_scalar(node: Node) -> bool:
    """Whether it is an expression."""
    return isinstance(node, (Num, Sym, Op))


_SIGNS = frozenset({"op pm", "op mp"})


def is_signed(node: Node) -> bool:
    """Whether there is a plus-minus in it."""
    return isinstance(node, Op) and has(node, _SIGNS)


def both_signs(node: Node) -> list[Node]:
    """An expression with `\\pm` as the two it stands for."""
    if not is_signed(node):
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
