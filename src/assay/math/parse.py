r"""Tokens to a tree: a small hand-written parser of LaTeX, ASCII and sloppy mathematics.

    >>> read(r"\frac x2")
    Op(op='/', args=(Sym(name='x'), Num(value=2, places=-1)))

Grammar, loosest first:

    list := relation (("," | ";" | "and" | "or") relation)*     relation := side (sign side)*
    side := sum (":" sum)* (("\\cup" | "\\cap" | "\\setminus") sum)* unit?
    sum := product (("+" | "-" | "\\pm") product)*
    product := power (("*" | "/" | nothing) power)*     power := atom (postfix | "^" exponent)*
"""

from __future__ import annotations

from assay.math import atoms
from assay.math.brackets import argument
from assay.math.cursor import CLOSERS, SEPARATORS, Cursor, Grammar
from assay.math.functions import COMMANDS
from assay.math.labels import label, named, worded_label
from assay.math.lex import Tokens, lex
from assay.math.limits import DEEPEST, MOST_ITEMS, TooLarge, Unreadable
from assay.math.names import FUNCTIONS, GREEK, RELATIONS
from assay.math.numbers import mixed
from assay.math.postfix import POSTFIX, with_postfix
from assay.math.tree import Group, Node, Num, Op, Quantity, Relation, Sym, variables
from assay.math.unit_words import begins_unit, is_unit_word, take_unit, units_from

CURRENCIES = {"£": "£", "€": "€", "¥": "¥", "₹": "₹", "USD": "$", "EUR": "€", "$": "$", "Rs": "₹"}


def read(text: str) -> Node:
    """The tree of an answer that is mathematics; raises `Unreadable` or `TooLarge` where it is not."""
    return parse(lex(text))


def parse(tokens: Tokens) -> Node:
    """The tree of tokens."""
    c = Cursor(tokens, GRAMMAR)
    node = sequence(c)
    if c.i < c.n:
        raise Unreadable(f"{c.peek()!r} is not understood here")
    return node


_LONGEST_MEASURED = 60
_NEVER_MEASURED = frozenset({"+", "=", "_", ",", "<", ">", "x", "y", "n", "sin", "cos"})
_BEGINS_VALUE = ("-", ".", "(", "\\frac", "\\sqrt", "$")


def parse_measured(tokens: Tokens, split: bool = False) -> Quantity | None:
    """A number and units behind it as physics writes them, such as `9.8 \\frac{m}{s^2}`; None for anything else."""
    words = tokens.tokens
    if not 1 < len(words) <= _LONGEST_MEASURED or not (words[0][0].isdecimal() or words[0] in _BEGINS_VALUE):
        return None
    if not _NEVER_MEASURED.isdisjoint(words):
        return None
    for k in range(1, len(words)):
        if not begins_unit(words[k]) or words[k - 1] == "°":
            continue
        rest = Tokens(words[k:], spaced={i - k for i in tokens.spaced if i >= k})
        unit = units_from(Cursor(rest, GRAMMAR), split)
        if unit:
            end = k - 1 if words[k - 1] == "*" else k
            value = parse(Tokens(words[:end], spaced=tokens.spaced))
            return Quantity(value, unit) if isinstance(value, (Num, Op)) and not variables(value) else None
    return None


def sequence(c: Cursor) -> Node:
    """A list of relations; one of them alone is itself."""
    c.enter()
    t = c.t
    while t[c.i] in SEPARATORS or (t[c.i] == ":" and not c.i):
        c.i += 1
    if t[c.i] in CLOSERS:
        raise Unreadable("nothing is written here")
    first = item(c)
    c.leave()
    if t[c.i] not in SEPARATORS:
        return first
    c.enter()
    node = _list(c, first)
    c.leave()
    return node


def _list(c: Cursor, first: Node) -> Node:
    """The rest of a list. A semicolon, a new line, or `and` between equations begins a new row."""
    rows: list[list[Node]] = [[first]]
    joins: set[str] = set()
    count = 1
    while (separator := c.peek()) in SEPARATORS:
        c.i += 1
        joins.add(separator)
        if separator in (";", "\\\\") or (separator in ("and", "or") and _many(rows[-1])):
            rows.append([])
        while c.peek() in SEPARATORS:
            joins.add(c.take())
        if c.peek() in CLOSERS:
            break
        rows[-1].append(item(c))
        count += 1
        if count > MOST_ITEMS:
            raise TooLarge(f"more than {MOST_ITEMS} items")
    return _grouped([row for row in rows if row], joins)


def _many(row: list[Node]) -> bool:
    return len(row) > 1 and all(isinstance(n, Relation) for n in row)


def _grouped(rows: list[list[Node]], joins: set[str]) -> Node:
    join = "or" if "or" in joins else "and" if "and" in joins else ""
    items = [row[0] if len(row) == 1 else Group("list", tuple(row)) for row in rows]
    if len(rows) > 1:
        if all(len(row) == 1 for row in rows) or any(len(row) == 1 for row in rows):
            return Group("list", tuple(n for row in rows for n in row), join)
        return Group("list", tuple(items), join)
    row = rows[0]
    return row[0] if len(row) == 1 else Group("list", tuple(row), join)


_ROUGHLY = frozenset({"approximately", "about", "roughly", "nearly", "around", "approx"})


def item(c: Cursor) -> Node:
    """One value, equation or inequality, with its currency and its unit."""
    sign = ""
    if c.t[c.i] in _ROUGHLY:
        c.i += 1
    token = c.t[c.i]
    if token in CURRENCIES and c.peek(1):
        sign = CURRENCIES[c.take()]
        if c.peek() == "." and sign != "$":
            c.i += 1  # `Rs. 500`
    elif token == "-" and c.peek(1) in CURRENCIES:
        c.t[c.i + 1], sign = "-", CURRENCIES[c.t[c.i + 1]]
        c.i += 1
    part = label(c) if token == "(" else None
    if token.lower() in ("matrix", "array", "vector") and c.peek(1) == "(":
        c.i += 1  # `Matrix([[1, 2], [3, 4]])`
    said = worded_label(c) if len(token) > 1 and token.isalpha() else None
    node = relation(c)
    if part is not None:
        return Relation((part, node), ("=",)) if not isinstance(node, Relation) else node
    if said is not None:
        return named(said, node)
    return Quantity(_abbreviated(node), (sign,)) if sign else node


_ABBREVIATED = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}


def _abbreviated(price: Node) -> Node:
    """`$2.5M` as millions."""
    if isinstance(price, Op) and price.op == "*" and isinstance(price.args[0], Num) and isinstance(price.args[1], Sym):
        size = _ABBREVIATED.get(price.args[1].name)
        return price if size is None else Num(price.args[0].value * size)
    return price


def relation(c: Cursor) -> Node:
    """A chain of equations or inequalities, or one side alone."""
    if RELATIONS.get(c.t[c.i]) in ("=", "~", "->"):
        c.i += 1  # `= 5`
    first = side(c)
    if c.t[c.i] not in RELATIONS:
        return first
    sides = [first]
    signs: list[str] = []
    while (sign := RELATIONS.get(c.t[c.i])) is not None:
        if sign == "mid" and c.in_set:
            break
        if sign in ("mid", "par", "perp"):
            raise Unreadable(f"{c.peek()!r} is not compared")
        c.i += 1
        if sign == "~" and c.peek() == "":
            break
        signs.append(sign)
        sides.append(side(c))
    if "in" in signs and isinstance(sides[-1], Sym):
        sides[-1] = _SETS_IN_LETTERS.get(sides[-1].name, sides[-1])
    return Relation(tuple(sides), tuple(signs)) if signs else sides[0]


_SETS_IN_LETTERS = {"Z": Sym("Integers"), "N": Sym("Naturals"), "R": Sym("Reals"), "Q": Sym("Rationals")}


_END_OF_SIDE = SEPARATORS | CLOSERS | frozenset(RELATIONS)


def side(c: Cursor) -> Node:
    """One side of a relation: sets, ratios and sums, with the unit of the last."""
    start = c.i
    node = total(c)
    token = c.t[c.i]
    if token in _END_OF_SIDE:
        return node
    if token == ":" or (token == "to" and c.peek(1)[:1].isdecimal()):
        node = _ratio(c, node)
    while c.t[c.i] in ("\\cup", "\\cap", "\\setminus") or (c.t[c.i] == "U" and _joins_sets(c, node)):
        op = "cup" if c.peek() == "U" else c.peek()[1:]
        c.i += 1
        node = Op(op, (node, total(c)))
    if c.t[c.i] not in _END_OF_SIDE:
        unit = take_unit(c)
        if unit:
            if (c.t[start].isalpha() and len(c.t[start]) > 1 and c.t[start] not in ("pi", "sqrt")) or node == Sym("a"):
                raise Unreadable("it is a text")
            return Quantity(node, unit)
    return node


def _ratio(c: Cursor, first: Node) -> Node:
    """`3:4`, also a time of day."""
    parts = [first]
    while c.peek() in (":", "to") and c.peek(1) not in CLOSERS and not (c.in_set and isinstance(first, Sym)):
        c.i += 1
        parts.append(total(c))
    return Op("ratio", tuple(parts)) if len(parts) > 1 else first


def negated(node: Node) -> Node:
    """Minus a value; of a quantity the value in it."""
    return Quantity(negated(node.value), node.unit) if isinstance(node, Quantity) else Op("neg", (node,))


_ADDITIVE = frozenset({"+", "-", "\\pm", "\\mp"})


def total(c: Cursor) -> Node:
    """Sums and differences, with `\\pm`."""
    sign = c.t[c.i]
    if sign in _ADDITIVE:
        c.i += 1
        first = product(c)
        first = first if sign == "+" else negated(first) if sign == "-" else Op(sign[1:], (first,))
    else:
        first = product(c)
    if c.t[c.i] == "-" and (first == _REALS or (isinstance(first, Group) and first.kind == "set")):
        first = _without(c, first)
    if c.t[c.i] not in _ADDITIVE:
        return first
    terms = [first]
    while (sign := c.t[c.i]) in _ADDITIVE:
        c.i += 1
        if c.t[c.i] in ("-", "+") and sign in ("-", "+"):  # `2 + -3`
            sign = "+" if c.take() == sign else "-"
        term = product(c)
        terms.append(term if sign == "+" else Op("neg", (term,)) if sign == "-" else Op(sign[1:], (term,)))
    return Op("+", tuple(terms))


def _without(c: Cursor, whole: Node) -> Node:
    """`\\mathbb{R} - \\{0\\}`: the minus between two sets."""
    while c.t[c.i] == "-" and c.t[c.i + 1] in _OPENS_SET:
        c.i += 1
        whole = Op("setminus", (whole, product(c)))
    return whole


_OPENS_SET = frozenset({"\\{", "{", "[", "("})
_REALS = Sym("Reals")


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
        token = c.t[c.i]
        if token in _END_OF_PRODUCT or (token == "U" and _joins_sets(c, left)):
            return left
        if token == "/" and len(c.t[c.i + 1]) > 1 and is_unit_word(c.t[c.i + 1]) and _written_out(left):
            return left  # `12/hr`
        if token in ("*", "/") or (token == "times" and c.t[c.i + 1][:1].isdecimal()):
            token = "*" if token == "times" else token
            c.i += 1
            sign = 1
            while c.peek() in ("-", "+"):
                sign = -sign if c.take() == "-" else sign
            right = power(c)
            right = right if sign > 0 else Op("neg", (right,))
            left = Op(token, (left, right))
        elif token in ("\\bmod", "\\pmod", "\\mod", "mod"):
            c.i += 1
            left = Op("mod", (left, argument(c, whole=True)))
        elif token == "(" and c.t[c.i + 1] == "mod":
            c.i += 2
            left = Op("mod", (left, total(c)))
            c.expect(")")
        elif starts_factor(c, left):
            whole = mixed(c, left)
            left = Op("*", (left, power(c))) if whole is None else with_postfix(c, whole)
        else:
            return left


def _written_out(node: Node) -> bool:
    """A number, in scientific notation or not."""
    return isinstance(node, Num) or (isinstance(node, Op) and node.op == "*" and isinstance(node.args[0], Num))


def _joins_sets(c: Cursor, left: Node) -> bool:
    """`(0, 1) U (2, 3)`: a capital letter for the sign of a union."""
    return isinstance(left, Group) and c.peek(1) in ("(", "[", "{", "\\{")


def starts_factor(c: Cursor, left: Node) -> bool:
    """Whether what comes next is a factor that stands beside the last one without a sign."""
    token = c.peek()
    first = token[0]
    if first.isdecimal() or first == ".":
        return (isinstance(left, Num) and c.i in c.spaced and c.peek(1) == "/") or (
            not isinstance(left, Num) and token != "." and c.t[c.i - 1] not in ("°", "%")
        )
    if token in _ATOM_SIGNS:
        return token != "|" or not c.bars
    if first == "\\":
        return token in COMMANDS or token[1:] in GREEK or token[1:] in FUNCTIONS or token.startswith("\\begin")
    if first.isalpha():
        return atoms.is_factor_word(c, left)
    return False


def power(c: Cursor) -> Node:
    """An atom with what is behind it: `!`, degrees, per cent, exponents."""
    c.depth += 1
    if c.depth > DEEPEST:
        raise TooLarge(f"more than {DEEPEST} levels")
    node = atoms.atom(c)
    if c.t[c.i] in POSTFIX:
        node = with_postfix(c, node)
    c.depth -= 1
    return node


GRAMMAR = Grammar(sequence, relation, total, product, power, atoms.atom, starts_factor)
