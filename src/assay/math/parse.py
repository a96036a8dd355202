r"""Tokens to a tree: a small hand-written parser of LaTeX, ASCII and sloppy mathematics.

    >>> read(r"\frac12 x + 3")
    Op(op='+', args=(Op(op='*', args=(Op(op='/', args=(Num(value=1, places=-1), Num(value=2, places=-1))), \
Sym(name='x'))), Num(value=3, places=-1)))

Grammar, loosest first:  list := relation (("," | ";" | "and" | "or") relation)*     relation := union (sign union)*
union := ratio (("\\cup" | "\\cap" | "\\setminus") ratio)*    ratio := sum (":" sum)*    sum := product (("+" | "-" | "\\pm") product)*
product := power (("*" | "/" | nothing) power)*    power := atom postfix* ("^" exponent)?
"""

from __future__ import annotations

from assay.math import atoms
from assay.math.cursor import Cursor
from assay.math.lex import Tokens, lex
from assay.math.limits import MOST_ITEMS, TooLarge, Unreadable
from assay.math.names import FUNCTIONS, GREEK, RELATIONS
from assay.math.tree import Group, Node, Num, Op, Quantity, Relation, Sym
from assay.math.units import take_unit

SEPARATORS = frozenset({",", ";", "and", "or", "\\\\", "&"})
CLOSERS = frozenset({")", "]", "}", "\\}", "\\rangle", "\\rfloor", "\\rceil", ""})
CURRENCIES = {"£": "£", "€": "€", "¥": "¥", "₹": "₹", "USD": "$", "EUR": "€", "$": "$", "Rs": "₹"}


def read(text: str) -> Node:
    """The tree of an answer that is mathematics; raises `Unreadable` or `TooLarge` where it is not."""
    return parse(lex(text))


def parse(tokens: Tokens) -> Node:
    """The tree of tokens."""
    c = Cursor(tokens)
    node = sequence(c)
    if c.i < c.n:
        raise Unreadable(f"{c.peek()!r} is not understood here")
    return node


def sequence(c: Cursor) -> Node:
    """A list of relations; one of them alone is itself."""
    c.enter()
    rows: list[list[Node]] = [[]]
    joins: set[str] = set()
    while True:
        while c.peek() in SEPARATORS and not rows[-1]:
            c.i += 1
        if c.peek() in CLOSERS:
            break
        rows[-1].append(item(c))
        separator = c.peek()
        if separator not in SEPARATORS:
            break
        c.i += 1
        joins.add(separator)
        if separator in (";", "\\\\") or (separator in ("and", "or") and _many(rows[-1])):
            rows.append([])
        else:
            while c.peek() in ("and", "or", "&"):
                joins.add(c.take())
        if sum(map(len, rows)) > MOST_ITEMS:
            raise TooLarge(f"more than {MOST_ITEMS} items")
    c.leave()
    return _grouped([row for row in rows if row], joins)


def _many(row: list[Node]) -> bool:
    return len(row) > 1 and all(isinstance(n, Relation) for n in row)


def _grouped(rows: list[list[Node]], joins: set[str]) -> Node:
    if not rows:
        raise Unreadable("nothing is written here")
    join = "or" if "or" in joins else "and" if "and" in joins else ""
    items = [row[0] if len(row) == 1 else Group("list", tuple(row)) for row in rows]
    if len(rows) > 1:
        if all(len(row) == 1 for row in rows) or any(len(row) == 1 for row in rows):
            return Group("list", tuple(n for row in rows for n in row), join)
        return Group("list", tuple(items), join)
    row = rows[0]
    return row[0] if len(row) == 1 else Group("list", tuple(row), join)


def item(c: Cursor) -> Node:
    """One value, equation or inequality, with its currency and its unit."""
    sign = ""
    if c.peek() in CURRENCIES and c.peek(1):
        sign = CURRENCIES[c.take()]
    elif c.peek() == "-" and c.peek(1) in CURRENCIES:
        c.t[c.i + 1], sign = "-", CURRENCIES[c.t[c.i + 1]]
        c.i += 1
    label(c)
    node = relation(c)
    if sign and sign != "$":
        return Quantity(node, (sign,))
    return node


def label(c: Cursor) -> None:
    """Step over `(a)` or `a)` in front of a part of an answer."""
    if (
        c.peek() == "("
        and len(c.peek(1)) == 1
        and c.peek(1).isalpha()
        and c.peek(2) == ")"
        and c.peek(3) not in CLOSERS
    ):
        if c.peek(3) not in SEPARATORS and c.i + 3 in c.spaced and c.peek(3) not in ("+", "-", "^", "*", "/"):
            c.i += 3


def relation(c: Cursor) -> Node:
    """A chain of equations or inequalities, or one side alone."""
    sides = [side(c)]
    signs: list[str] = []
    while (sign := RELATIONS.get(c.peek())) is not None:
        if sign in ("mid", "par", "perp"):
            raise Unreadable(f"{c.peek()!r} is not compared")
        c.i += 1
        if sign == "~" and c.peek() == "":
            break
        signs.append(sign)
        sides.append(side(c))
    return Relation(tuple(sides), tuple(signs)) if signs else sides[0]


def side(c: Cursor) -> Node:
    """One side of a relation, with its unit."""
    node = union(c)
    if c.peek() not in SEPARATORS and c.peek() not in CLOSERS and c.peek() not in RELATIONS:
        unit = take_unit(c)
        if unit:
            return Quantity(node, unit)
    return node


def union(c: Cursor) -> Node:
    """Unions, intersections and differences of sets."""
    left = ratio(c)
    while c.peek() in ("\\cup", "\\cap", "\\setminus"):
        op = c.take()[1:]
        left = Op(op, (left, ratio(c)))
    return left


def ratio(c: Cursor) -> Node:
    """`3:4`, also a time of day."""
    parts = [total(c)]
    while c.peek() == ":" and c.peek(1) not in CLOSERS:
        c.i += 1
        parts.append(total(c))
    return Op("ratio", tuple(parts)) if len(parts) > 1 else parts[0]


def total(c: Cursor) -> Node:
    """Sums and differences, with `\\pm`."""
    terms: list[Node] = []
    sign = c.peek()
    if sign in ("+", "-", "\\pm", "\\mp"):
        c.i += 1
        first = product(c)
        terms.append(first if sign == "+" else Op("neg", (first,)) if sign == "-" else Op(sign[1:], (first,)))
    else:
        terms.append(product(c))
    while (sign := c.peek()) in ("+", "-", "\\pm", "\\mp"):
        c.i += 1
        if c.peek() in ("-", "+"):  # `2 + -3`
            sign = "-" if c.take() != sign and sign in "+-" else "+" if sign in "+-" else sign
        term = product(c)
        terms.append(term if sign == "+" else Op("neg", (term,)) if sign == "-" else Op(sign[1:], (term,)))
    return terms[0] if len(terms) == 1 else Op("+", tuple(terms))


_ATOM_SIGNS = frozenset("([{|") | {"\\{", "\\langle", "\\lfloor", "\\lceil"}
_END_OF_PRODUCT = (
    frozenset("+-,;:=<>)]}&")
    | CLOSERS
    | SEPARATORS
    | frozenset(RELATIONS)
    | {"\\pm", "\\mp", "\\cup", "\\cap", "\\setminus"}
)


def product(c: Cursor) -> Node:
    """Products, also of factors that merely stand side by side."""
    left = power(c)
    while True:
        token = c.peek()
        if token in _END_OF_PRODUCT:
            return left
        if token in ("*", "/"):
            c.i += 1
            sign = 1
            while c.peek() in ("-", "+"):
                sign = -sign if c.take() == "-" else sign
            right = power(c)
            right = right if sign > 0 else Op("neg", (right,))
            left = Op(token, (left, right))
        elif token in ("\\bmod", "\\pmod", "\\mod", "mod"):
            c.i += 1
            left = Op("mod", (left, atoms.argument(c, whole=True)))
        elif starts_factor(c, left):
            left = atoms.mixed(c, left) or Op("*", (left, power(c)))
        else:
            return left


def starts_factor(c: Cursor, left: Node) -> bool:
    """Whether what comes next is a factor that stands beside the last one without a sign."""
    token = c.peek()
    first = token[0]
    if first.isdigit() or first == ".":
        return (isinstance(left, Num) and c.i in c.spaced and c.peek(1) == "/") or (
            not isinstance(left, Num) and token != "." and c.t[c.i - 1] not in ("°", "%")
        )
    if token in _ATOM_SIGNS:
        return token != "|" or not c.bars
    if first == "\\":
        return token in atoms.COMMANDS or token[1:] in GREEK or token[1:] in FUNCTIONS or token.startswith("\\begin")
    if first.isalpha():
        return atoms.is_factor_word(c, left)
    return False


def power(c: Cursor) -> Node:
    """An atom with what is behind it: `!`, degrees, per cent, exponents."""
    c.enter()
    node = atoms.atom(c)
    while True:
        token = c.peek()
        if token == "^":
            c.i += 1
            node = _raised(c, node)
        elif token == "!":
            c.i += 1
            node = Op("!!", (node,)) if c.accept("!") else Op("!", (node,))
        elif token == "°":
            c.i += 1
            node = _degrees(c, node)
        elif token == "%":
            c.i += 1
            node = Quantity(node, ("%",)) if c.depth <= 2 else Op("/", (node, Num(100)))
        elif token in ("²", "³"):
            c.i += 1
            node = Op("^", (node, Num(2 if token == "²" else 3)))
        else:
            break
    c.leave()
    return node


def _raised(c: Cursor, base: Node) -> Node:
    if c.peek() == "°" or (c.peek() == "{" and c.peek(1) == "°" and c.peek(2) == "}"):
        c.i += 1 if c.peek() == "°" else 3
        return _degrees(c, base)
    if c.peek() in ("'", "*") or (c.peek() == "{" and c.peek(1) == "'"):
        raise Unreadable("a mark in an exponent")
    exponent = atoms.argument(c, whole=True)
    if isinstance(base, Op) and base.op == "fn" and isinstance(exponent, Num):
        return base
    return Op("^", (base, exponent))


def _degrees(c: Cursor, node: Node) -> Node:
    """Degrees, with minutes and seconds; or a temperature."""
    if c.peek() in ("C", "F", "K") and c.peek(1) in (*CLOSERS, *SEPARATORS, "."):
        return Quantity(node, ("°" + c.take(),))
    if c.peek()[:1].isdigit() and c.peek(1) == "'":
        node = Op("+", (node, Op("/", (Num(int(c.take())), Num(60)))))
        c.i += 1
    return Op("deg", (node,))


__all__ = ["parse", "read", "sequence"]
_ = Sym
