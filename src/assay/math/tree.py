"""What an answer is once it is read: expressions, and the things that are made of them.

3/4 + x      Op("+", (Op("/", (Num(3), Num(4))), Sym("x")))
(1, 2]       Group("tuple", (Num(1), Num(2)), "(", "]")
x > 3        Relation((Sym("x"), Num(3)), (">",))
10 cm        Quantity(Num(10), ("cm",))
odd          Text("odd")
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, cast


@dataclass(slots=True)
class Num:
    """An exact rational number."""

    value: int | Fraction
    places: int = -1
    """Digits behind the decimal point as written; -1 where there was no point."""


@dataclass(slots=True)
class Sym:
    """A variable or a named constant (`pi`, `e`, `i`, `oo`)."""

    name: str


@dataclass(slots=True)
class Op:
    """An operation or a function: its name and what it is applied to."""

    op: str
    args: tuple[Node, ...]
    memo: dict[object, object] | None = field(default=None, compare=False, repr=False)
    """What was already worked out about it: a gold answer is compared many times."""


@dataclass(slots=True)
class Group:
    """Several values: a `list` without brackets, a `tuple` (also an interval) or a `set`."""

    kind: str
    items: tuple[Node, ...]
    open: str = ""
    close: str = ""


@dataclass(slots=True)
class Relation:
    """An equation or inequality, or a chain of them: one side more than there are signs."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(slots=True)
class Matrix:
    """Rows of cells."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(slots=True)
class Quantity:
    """A value with a unit, as the words it is spelled with."""

    value: Node
    unit: tuple[str, ...]


@dataclass(slots=True)
class Text:
    """An answer in words, in lower case and with single spaces."""

    words: str


Node: TypeAlias = Num | Sym | Op | Group | Relation | Matrix | Quantity | Text

CONSTANTS = frozenset({"pi", "e", "i", "oo"})


def walk(node: Node) -> Iterator[Node]:
    """A node and everything in it."""
    stack: list[Node] = [node]
    while stack:
        n = stack.pop()
        yield n
        stack.extend(children(n))


def children(node: Node) -> tuple[Node, ...]:
    """What a node is made of."""
    match node:
        case Op():
            return node.args
        case Group():
            return node.items
        case Relation():
            return node.sides
        case Matrix():
            return tuple(cell for row in node.rows for cell in row)
        case Quantity():
            return (node.value,)
        case _:
            return ()


def names(node: Node) -> frozenset[str]:
    """The names of the operations and symbols in it, found once."""
    if type(node) is Num:
        return _NONE
    if type(node) is Sym:
        return frozenset((node.name,))
    memo = node.memo if type(node) is Op else None
    if memo is not None and "names" in memo:
        return cast("frozenset[str]", memo["names"])
    found: set[str] = set()
    stack: list[Node] = [node]
    for n in stack:  # it grows meanwhile
        if type(n) is Op:
            found.add("op " + n.op)
            stack += n.args
        elif type(n) is Sym:
            found.add(n.name)
        elif type(n) is not Num:
            stack += children(n)
    result = frozenset(found)
    if isinstance(node, Op):
        node.memo = node.memo or {}
        node.memo["names"] = result
    return result


_NONE: frozenset[str] = frozenset()


def has(node: Node, ops: frozenset[str]) -> bool:
    """Whether one of these operations, named as `op sin`, is in it."""
    return not ops.isdisjoint(names(node))


def variables(node: Node) -> frozenset[str]:
    """The names of the free variables, found once."""
    if type(node) is Num:
        return _NONE
    memo = node.memo if type(node) is Op else None
    if memo is not None and "variables" in memo:
        return cast("frozenset[str]", memo["variables"])
    found = frozenset([n for n in names(node) if n not in CONSTANTS and not n.startswith("op ")])
    if isinstance(node, Op) and node.memo is not None:
        node.memo["variables"] = found
    return found


def is_number(node: Node) -> bool:
    """Whether it is one written number, with a sign or not."""
    return isinstance(node, Num) or (isinstance(node, Op) and node.op == "neg" and isinstance(node.args[0], Num))
