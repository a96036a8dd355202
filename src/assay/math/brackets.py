"""Brackets of every kind, and what a command takes as its argument."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from assay.math.cursor import Cursor
from assay.math.limits import MOST_BITS, MOST_DIGITS, TooLarge, Unreadable
from assay.math.names import FUNCTIONS
from assay.math.tree import Group, Matrix, Node, Num, Op, Relation, Sym


def to_number(text: str) -> Num:
    """The exact value of digits as written."""
    if len(text) > MOST_DIGITS:
        raise TooLarge(f"a number of {len(text):,} digits")
    if text.isdecimal():
        return Num(int(text))
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    power = int(exponent or "0") if len(exponent) < 6 else 99_999
    if abs(power) * 3.33 > MOST_BITS:
        raise TooLarge("an exponent of more than five digits")
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals)) * Fraction(10) ** power
    return Num(value.numerator if value.denominator == 1 else value, len(decimals) if not exponent else -1)


def argument(c: Cursor, whole: bool = False, text: bool = False) -> Node:
    """What a command or an index takes: a group in braces, or one token (`whole`: all digits of a number)."""
    token = c.peek()
    if text:
        return Sym(_text_argument(c))
    if token == "{":
        return braces(c)
    if token == "(" and whole:
        return bracket(c)
    if token in ("-", "+"):
        c.i += 1
        c.enter()
        node = argument(c, whole)
        c.leave()
        return Op("neg", (node,)) if token == "-" else node
    if token[:1].isdecimal() and not whole and len(token) > 1 and token.isdecimal():
        c.t[c.i] = token[1:]
        return Num(int(token[0]))
    if token[:1].isdecimal() or token[:1] == ".":
        c.i += 1
        return to_number(token)
    if token[:1].isalpha() and len(token) > 1 and token not in FUNCTIONS and token not in ("pi", "oo") and not whole:
        c.t[c.i] = token[1:]
        return Sym(token[0])
    if token[:1].isalpha() and len(token) == 1:
        c.i += 1
        return Sym(token)
    c.enter()
    node = c.grammar.atom(c)
    c.leave()
    return node


def _text_argument(c: Cursor) -> str:
    if not c.accept("{"):
        return c.take()
    parts: list[str] = []
    while c.peek() not in ("}", ""):
        parts.append(c.take())
    c.expect("}")
    return " ".join(parts) if all(p.isalpha() for p in parts) else "".join(parts)


def bracket(c: Cursor) -> Node:
    """Round or square brackets: a value, a tuple or an interval."""
    opened = c.take()
    c.enter()
    bars, c.bars = c.bars, 0
    inside = c.grammar.sequence(c)
    c.bars = bars
    c.leave()
    closed = c.take()
    if closed not in (")", "]"):
        raise Unreadable(f"{opened!r} is not closed")
    if isinstance(inside, Group) and inside.kind == "list":
        return Group("tuple", inside.items, opened, closed)
    if opened == "[" and (isinstance(inside, Group) or closed != "]"):
        return Group("tuple", (inside,), opened, closed)
    return inside


def braces(c: Cursor) -> Node:
    """A group in braces; with commas in it a set whose backslashes were forgotten."""
    i, t = c.i, c.t
    if t[i + 2] == "}":  # one token in braces, as most often
        inner = t[i + 1]
        if inner.isdecimal() and inner.isascii():
            c.i = i + 3
            return to_number(inner)
        if len(inner) == 1 and inner.isalpha():
            c.i = i + 3
            return Sym(inner)
    if t[i + 2] in ("|", "\\mid") and t[i + 1].isalpha() and not c.bars and not _SIGNS.isdisjoint(t[i + 3 : i + 12]):
        return set_of(c)  # `{x | x > 2}`
    c.i += 1
    if c.peek() == "}":
        c.i += 1
        if c.n == 2:
            return Group("set", ())
        return c.grammar.atom(c)
    c.enter()
    c.braced += 1
    inside = c.grammar.sequence(c)
    c.braced -= 1
    c.leave()
    if c.peek() in ("\\choose", "\\atop"):
        c.i += 1
        inside = Op("binom", (inside, c.grammar.sequence(c)))
    if c.peek() == "|" or c.peek() == ":":
        return _condition(c, inside, "}")
    c.expect("}")
    if isinstance(inside, Group) and inside.kind == "list":
        return Group("set", inside.items, "{")
    return inside


_SIGNS = frozenset({"<", ">", "<=", ">=", "\\le", "\\ge", "\\leq", "\\geq", "\\ne", "\\neq", "\\in"})


def set_of(c: Cursor) -> Node:
    """`\\{1, 2\\}`, or `\\{x | x > 0\\}`."""
    c.i += 1
    if c.peek() in ("\\}", "}"):
        c.i += 1
        return Group("set", ())
    c.enter()
    bars, c.bars = c.bars, 1
    in_set, c.in_set = c.in_set, True
    inside = c.grammar.sequence(c)
    c.bars, c.in_set = bars, in_set
    c.leave()
    if c.peek() in ("|", ":", "\\mid"):
        return _condition(c, inside, "\\}")
    if c.take() not in ("\\}", "}"):
        raise Unreadable("a set is not closed")
    return Group("set", inside.items if isinstance(inside, Group) and inside.kind == "list" else (inside,))


def _condition(c: Cursor, head: Node, closing: str) -> Node:
    c.i += 1
    condition = c.grammar.sequence(c)
    if c.take() not in (closing, "}"):
        raise Unreadable("a set is not closed")
    plain = isinstance(head, Sym) or (isinstance(head, Relation) and head.signs == ("in",))
    return condition if plain else Op("such that", (head, condition))


def bars(c: Cursor) -> Node:
    """`|x|`: an absolute value."""
    c.i += 1
    c.enter()
    c.bars += 1
    inside = c.grammar.sequence(c)
    c.bars -= 1
    c.leave()
    c.expect("|")
    if isinstance(inside, Matrix):
        return Op("det", (inside,))
    return Op("abs", (inside,))


def _between(closing: str, op: str) -> Callable[[Cursor], Node]:
    def read(c: Cursor) -> Node:
        c.i += 1
        c.enter()
        inside = c.grammar.sequence(c)
        c.leave()
        c.expect(closing)
        return Op(op, (inside,)) if op else _angled(inside)

    return read


def _angled(inside: Node) -> Node:
    items = inside.items if isinstance(inside, Group) else (inside,)
    return Group("tuple", items, "(", ")")


BRACKETS: dict[str, Callable[[Cursor], Node]] = {
    "(": bracket,
    "[": bracket,
    "{": braces,
    "\\{": set_of,
    "|": bars,
    "\\langle": _between("\\rangle", ""),
    "\\lfloor": _between("\\rfloor", "floor"),
    "\\lceil": _between("\\rceil", "ceil"),
    "\\|": _between("\\|", "norm"),
}
