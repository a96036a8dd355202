"""What a tree stands for where more is written than its value: a condition, a point's name, signs."""

from __future__ import annotations

from assay.math.relations import is_name
from assay.math.tree import Group, Node, Num, Op, Relation, Sym, has, variables, walk


def unwrap(node: Node) -> Node:
    """A set or list of one thing as that thing; what is only said to be near left out, and `k` being an integer."""
    for _ in range(4):
        if isinstance(node, Group) and node.kind == "list" and len(node.items) > 1 and _condition(node):
            node = Group("list", node.items[:-1], node.open)
        elif isinstance(node, Group) and len(node.items) == 1 and node.kind != "tuple" and node.items[0] != _EMPTY:
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


_EMPTY = Group("set", ())


def _integer_name(node: Node) -> str:
    """The name of which is said that it is any integer, as in `3k + 1, k \\in \\mathbb{Z}`; empty where none is."""
    last = node.items[-1] if isinstance(node, Group) and node.kind == "list" and len(node.items) == 2 else None
    if not isinstance(last, Relation) or last.signs != ("in",) or last.sides[1] not in _NUMBER_SETS[:2]:
        return ""
    return last.sides[0].name if isinstance(last.sides[0], Sym) else ""


def _renamed(node: Node, old: str, new: str) -> Node:
    """An expression with another name for one of its variables."""
    if isinstance(node, Sym):
        return Sym(new) if node.name == old else node
    return Op(node.op, tuple(_renamed(n, old, new) for n in node.args)) if isinstance(node, Op) else node


def one_name(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Both with one name for an integer that stands for all of them: `3k + 1, k \\in \\mathbb{Z}` and `3n + 1`."""
    names = _integer_name(gold), _integer_name(answer)
    if not any(names):
        return gold, answer
    said = unwrap(gold), unwrap(answer)
    used = variables(said[0]), variables(said[1])
    if not all(is_scalar(n) for n in said) or not len(used[0]) == len(used[1]) == 1 or used[0] == used[1]:
        return gold, answer
    if not all(name in (*_INTEGER_NAMES, *names) for name in used[0] | used[1]):
        return gold, answer
    return said[0], _renamed(said[1], min(used[1]), min(used[0]))


_INTEGER_NAMES = ("k", "n", "m", "l")


def of_sets(items: list[Node]) -> bool:
    """Whether a member is itself a set of one: `\\{\\{1\\}, \\{2\\}\\}` is not `\\{1, 2\\}`."""
    return any(isinstance(n, Group) and n.kind == "set" and len(n.items) == 1 for n in items)


def _condition(node: Group) -> bool:
    """Whether the last part only says for which values the first holds: `k` an integer, `x` not 1."""
    first, last = node.items[0], node.items[-1]
    if not isinstance(last, Relation):
        return False
    belongs = last.signs[-1] == "in" and (
        last.sides[-1] in _NUMBER_SETS or (last.sides[-1] == _REALS and variables(last.sides[0]) <= _named(first))
    )
    return belongs or (last.signs == ("!=",) and is_scalar(first) and bool(variables(last) & variables(first)))


def _named(node: Node) -> frozenset[str]:
    return frozenset(name for n in walk(node) for name in variables(n))


_REALS = Sym("Reals")
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
