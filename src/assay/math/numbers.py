"""Written numbers: integers, decimals, repeating digits, ordinals, other bases and mixed numbers."""

from __future__ import annotations

import re
from fractions import Fraction

from assay.math.brackets import argument, to_number
from assay.math.cursor import Cursor
from assay.math.limits import Unreadable
from assay.math.names import BASES, SCALES
from assay.math.tree import Node, Num, Op, Sym


def number(c: Cursor) -> Node:
    """An integer, a decimal, one with repeating digits, or one in another base."""
    text = c.take()
    if c.t[c.i] not in _BEHIND:
        return to_number(text)
    if c.peek() == "_" and "." not in text:
        return based(c, text)
    if c.peek() == "." and c.peek(1) in _REPEATED and "." not in text:
        c.i += 1
        return _repeating(c, text + ".")
    if c.peek() in _REPEATED and "." in text:
        return _repeating(c, text)
    _ordinal(c)
    node = to_number(text)
    if c.peek() in SCALES:
        scale = SCALES[c.take()]
        return Num(node.value * scale)
    if c.peek() == "\\ldots" and "." in text:
        c.i += 1
        block = _REPEATS.fullmatch(text)
        return _with_period(block[1], block[2] or block[3]) if block else node
    return node


_REPEATS = re.compile(r"(\d*\.\d{0,20}?)(?:(\d)\2\2+|(\d{2,12}?)\3+)")
"""`0.1666...` and `0.142857142857...`, whose last digits say how they go on."""


_REPEATED = ("\\overline", "\\bar", "\\dot")
_ORDINALS = ("th", "st", "nd", "rd")
_BEHIND = frozenset({"_", ".", "^", "\\ldots", *_REPEATED, *_ORDINALS, *SCALES})
"""What may belong to the digits before it."""


def _ordinal(c: Cursor) -> None:
    """Step over the ending of `7th` and `7^{\\text{th}}`."""
    if c.peek() in _ORDINALS:
        c.i += 1
    elif c.peek() == "^" and c.peek(1) == "{" and c.peek(2) in _ORDINALS and c.peek(3) == "}":
        c.i += 4
    elif c.peek() == "^" and c.peek(1) in _ORDINALS:
        c.i += 2


def _repeating(c: Cursor, text: str) -> Node:
    c.i += 1
    block = argument(c, whole=True, text=True)
    assert isinstance(block, Sym)
    digits = block.name
    if not digits.isdecimal():
        raise Unreadable("repeating digits")
    return _with_period(text, digits)


def _with_period(text: str, digits: str) -> Num:
    """A decimal with the digits that it repeats for ever."""
    decimals = len(text.partition(".")[2])
    return Num(Fraction(to_number(text).value) + Fraction(int(digits), (10 ** len(digits) - 1) * 10**decimals))


def based(c: Cursor, digits: str) -> Node:
    """A number in a base that its index names: the digits are kept beside the value."""
    c.i += 1
    index = argument(c, whole=True, text=True)
    assert isinstance(index, Sym)
    base = BASES.get(index.name) or (int(index.name) if index.name.isdecimal() and len(index.name) < 3 else 0)
    try:
        value = int(digits, base) if base > 1 else None
    except ValueError:
        value = None
    if value is None:
        raise Unreadable(f"{digits} is no number in base {index.name}")
    return Op("base", (Num(value), Num(base), Sym(digits.lstrip("0") or "0")))


def mixed(c: Cursor, left: Node) -> Node | None:
    """`3\\frac{1}{2}` and `2 1/3` are sums; anything else beside a number is a product."""
    if not isinstance(left, Num) or not isinstance(left.value, int):
        return None
    start = c.i
    if c.peek() == "\\frac":
        if not _of_digits(c):
            return None
        part = c.grammar.atom(c)
    elif c.peek() == "{" and c.peek(2) == "/" and c.peek(1).isdecimal() and c.peek(3).isdecimal():
        part = c.grammar.atom(c)
    elif c.peek().isdecimal() and c.peek(1) == "/" and c.peek(2).isdecimal():
        part = Op("/", (Num(int(c.peek())), Num(int(c.peek(2)))))
        c.i += 3
    else:
        return None
    value = _proper(part) if c.peek() != "^" else None
    if value is not None:
        return Num(left.value + value)
    c.i = start
    if c.peek()[:1].isdecimal():
        raise Unreadable("two numbers side by side")
    return None


def _of_digits(c: Cursor) -> bool:
    """Whether the fraction here has written numbers above and below; nothing else is read twice."""
    k = 1
    for _ in range(2):
        braced = c.peek(k) == "{"
        k += braced
        if not c.peek(k).isdecimal() or (braced and c.peek(k + 1) != "}"):
            return len(c.peek(1)) > 1 and k == 2  # `\\frac12`: one token for both
        k += 1 + braced
    return True


def _proper(part: Node) -> Fraction | None:
    """A fraction of two written integers between 0 and 1."""
    if not isinstance(part, Op) or part.op != "/":
        return None
    top, bottom = part.args
    if not isinstance(top, Num) or not isinstance(bottom, Num):
        return None
    if not isinstance(top.value, int) or not isinstance(bottom.value, int) or not 0 < top.value < bottom.value:
        return None
    return Fraction(top.value, bottom.value)
