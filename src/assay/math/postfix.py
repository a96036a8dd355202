"""What stands behind a value and belongs to it: powers, factorials, degrees, per cent signs."""

from __future__ import annotations

from assay.math.brackets import argument
from assay.math.cursor import CLOSERS, SEPARATORS, Cursor
from assay.math.limits import Unreadable
from assay.math.tree import Group, Matrix, Node, Num, Op, Quantity


def with_postfix(c: Cursor, node: Node) -> Node:
    while (token := c.t[c.i]) in POSTFIX:
        c.i += 1
        if token == "^":
            node = _raised(c, node)
        elif token == "!":
            node = Op("!!", (node,)) if c.accept("!") else Op("!", (node,))
        elif token == "°":
            node = _degrees(c, node)
        elif token == "%":
            node = Quantity(node, ("%",)) if c.depth <= 2 else Op("/", (node, Num(100)))
        else:
            node = Op("^", (node, Num(2 if token == "²" else 3)))
    return node


POSTFIX = frozenset({"^", "!", "°", "%", "²", "³"})


def _raised(c: Cursor, base: Node) -> Node:
    if c.peek() == "°" or (c.peek() == "{" and c.peek(1) == "°" and c.peek(2) == "}"):
        c.i += 1 if c.peek() == "°" else 3
        return _degrees(c, base)
    if c.peek() in ("'", "*") or (c.peek() == "{" and c.peek(1) == "'"):
        raise Unreadable("a mark in an exponent")
    if isinstance(base, (Group, Matrix)) and _is_transpose(c):
        return _transposed(base)
    if c.peek() in ("o", "O") or (c.peek() == "{" and c.peek(1) in ("o", "O") and c.peek(2) == "}"):
        c.i += 1 if c.peek() != "{" else 3  # `30^o`
        return _degrees(c, base)
    exponent = argument(c, whole=True)
    if isinstance(base, Op) and base.op == "fn" and isinstance(exponent, Num):
        return base
    return Op("^", (base, exponent))


def _is_transpose(c: Cursor) -> bool:
    if c.peek() in ("T", "\\top"):
        c.i += 1
        return True
    if c.peek() == "{" and c.peek(1) in ("T", "\\top") and c.peek(2) == "}":
        c.i += 3
        return True
    return False


def _transposed(base: Group | Matrix) -> Node:
    if isinstance(base, Group):
        return Matrix(tuple((n,) for n in base.items))
    return Matrix(tuple(zip(*base.rows, strict=True)))


_TEMPERATURES = {
    "C": "°C",
    "F": "°F",
    "K": "K",
    "Celsius": "°C",
    "Fahrenheit": "°F",
    "celsius": "°C",
    "fahrenheit": "°F",
}


def _degrees(c: Cursor, node: Node) -> Node:
    """Degrees, with minutes and seconds; or a temperature."""
    scale = _TEMPERATURES.get(c.peek(), "")
    if scale and (len(c.peek()) > 1 or c.peek(1) in (*CLOSERS, *SEPARATORS, ".")):
        c.i += 1
        return Quantity(node, (scale,))
    if c.peek() in ("N", "S", "E", "W") and c.peek(1) in (*CLOSERS, *SEPARATORS):
        return Quantity(Op("deg", (node,)), (c.take(),))  # `60° N`
    if c.peek()[:1].isdecimal() and c.peek(1) == "'":
        node = Op("+", (node, Op("/", (Num(int(c.take())), Num(60)))))
        c.i += 1
    return Op("deg", (node,))
