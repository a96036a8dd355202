"""Vectors written with unit vectors: `2i + 5j` and `3i_x - i_y` as their components."""

from __future__ import annotations

from assay.math.equal import equal
from assay.math.tree import Group, Node, Num, Op, Sym, names

_BASES = (
    ("i", "j", "k"),
    ("i_x", "i_y", "i_z"),
    ("a_x", "a_y", "a_z"),
    ("e_x", "e_y", "e_z"),
    ("e_1", "e_2", "e_3"),
    ("hat(x)", "hat(y)", "hat(z)"),
)
_ZERO, _ONE = Num(0), Num(1)


def components(node: Node) -> list[Group]:
    """The tuples that a sum of unit vectors stands for: of three parts, and of two where the third is missing."""
    if not isinstance(node, Op):
        return []
    written = names(node)
    base = next((b for b in _BASES if b[1] in written or b[2] in written), None)
    if base is None or equal(_at(node, dict.fromkeys(base, _ZERO)), _ZERO) is not True:
        return []
    parts = tuple(_at(node, {name: _ONE if name == one else _ZERO for name in base}) for one in base)
    found = [Group("tuple", parts, "(", ")")]
    return found if base[2] in written else [Group("tuple", parts[:2], "(", ")"), *found]


def _at(node: Node, values: dict[str, Num]) -> Node:
    if isinstance(node, Sym):
        return values.get(node.name, node)
    return Op(node.op, tuple(_at(n, values) for n in node.args)) if isinstance(node, Op) else node
