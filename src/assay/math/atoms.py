"""The atoms of the grammar: numbers, names, brackets, fractions, roots, functions, matrices."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from assay.math.cursor import Cursor
from assay.math.limits import MOST_BITS, TooLarge, Unreadable
from assay.math.names import BASES, FUNCTIONS, GREEK, INVERSE, NUMBER_WORDS, RELATIONS, SCALES, VARIANTS
from assay.math.tree import Group, Matrix, Node, Num, Op, Relation, Sym
from assay.math.units import is_unit_word, unit_follows

WORDS_OF_TEXT = frozenset("no on it is if as at be by do go he in me my of so to up us we an or".split())
"""Words of two letters that are never a product of two variables."""


def atom(c: Cursor) -> Node:
    """What can stand alone, or between two signs."""
    token = c.peek()
    if not token:
        raise Unreadable("it breaks off")
    first = token[0]
    if first.isdigit() or (first == "." and len(token) > 1):
        return number(c)
    if first.isalpha():
        return word(c)
    if token in BRACKETS:
        return BRACKETS[token](c)
    if first == "\\":
        return command(c)
    if token in ("-", "+"):
        c.i += 1
        node = _power(c)
        return Op("neg", (node,)) if token == "-" else node
    if token == "$":
        c.i += 1
        return atom(c)
    raise Unreadable(f"{token!r} is not understood")


def _power(c: Cursor) -> Node:
    from assay.math.parse import power

    return power(c)


def _sequence(c: Cursor) -> Node:
    from assay.math.parse import sequence

    return sequence(c)


# -- numbers ---------------------------------------------------------------------------------------------------------


def number(c: Cursor) -> Node:
    """An integer, a decimal, one with repeating digits, or one in another base."""
    text = c.take()
    if c.peek() == "_" and "." not in text:
        return based(c, text)
    if c.peek() in ("\\overline", "\\bar", "\\dot") and "." in text:
        return _repeating(c, text)
    node = to_number(text)
    if c.peek() in SCALES:
        scale = SCALES[c.take()]
        return Num(node.value * scale)
    if c.peek() == "\\ldots" and "." in text:
        c.i += 1
    return node


def to_number(text: str) -> Num:
    """The exact value of digits as written."""
    if len(text) * 3.33 > MOST_BITS:
        raise TooLarge(f"a number of {len(text):,} digits")
    if text.isdigit():
        return Num(int(text))
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    power = int(exponent or "0") if len(exponent) < 6 else 99_999
    if abs(power) * 3.33 > MOST_BITS:
        raise TooLarge("an exponent of more than five digits")
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals)) * Fraction(10) ** power
    return Num(value.numerator if value.denominator == 1 else value, len(decimals) if not exponent else -1)


def _repeating(c: Cursor, text: str) -> Node:
    c.i += 1
    block = argument(c, whole=True, text=True)
    assert isinstance(block, Sym)
    digits = block.name
    if not digits.isdigit():
        raise Unreadable("repeating digits")
    decimals = len(text.partition(".")[2])
    base = to_number(text).value
    return Num(Fraction(base) + Fraction(int(digits), (10 ** len(digits) - 1) * 10**decimals))


def based(c: Cursor, digits: str) -> Node:
    """A number in a base that its index names: the digits are kept beside the value."""
    c.i += 1
    index = argument(c, whole=True, text=True)
    assert isinstance(index, Sym)
    base = BASES.get(index.name) or (int(index.name) if index.name.isdigit() and len(index.name) < 3 else 0)
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
    if c.peek() == "\\frac" or (c.peek() == "{" and c.peek(2) == "/"):
        part = atom(c)
    elif c.peek().isdigit() and c.peek(1) == "/" and c.peek(2).isdigit():
        part = Op("/", (Num(int(c.peek())), Num(int(c.peek(2)))))
        c.i += 3
    else:
        return None
    if isinstance(part, Op) and part.op == "/" and c.peek() != "^":
        top, bottom = part.args
        if (
            isinstance(top, Num)
            and isinstance(bottom, Num)
            and isinstance(top.value, int)
            and isinstance(bottom.value, int)
        ):
            if 0 < top.value < bottom.value:
                return Num(left.value + Fraction(top.value, bottom.value))
    c.i = start
    if c.peek()[:1].isdigit():
        raise Unreadable("two numbers side by side")
    return None


# -- names -----------------------------------------------------------------------------------------------------------


def is_factor_word(c: Cursor, left: Node) -> bool:
    """Whether the word here is a factor, and no unit and no text."""
    token = c.peek()
    if token in RELATIONS or token in ("and", "or", "mod", "to"):
        return False
    if token == "min" and c.peek(1) not in ("(", "{", "\\{", "_"):
        return False
    if token in FUNCTIONS or token == "pi" or token == "oo":
        return True
    if unit_follows(c, left):
        return False
    if len(token) == 1:
        return True
    if c.i in c.upright or is_unit_word(token):
        return False
    return bool(_split_function(token)) or (len(token) <= 3 and token not in WORDS_OF_TEXT) or token.isupper()


def word(c: Cursor) -> Node:
    """A variable, a function, a constant, or several variables side by side."""
    token = c.take()
    if token in FUNCTIONS and (len(token) > 1):
        return function(c, FUNCTIONS[token])
    if len(token) == 1:
        return name(c, token)
    if token in ("pi", "oo"):
        return Sym(token)
    if token in NUMBER_WORDS and (c.n == 1 or c.peek() in SCALES):
        return Num(NUMBER_WORDS[token] * (SCALES[c.take()] if c.peek() in SCALES else 1))
    if token in ("Reals", "Integers"):
        return Sym(token)
    if token in GREEK:
        return name(c, token)
    split = _split_function(token)
    if split:
        c.i -= 1
        c.t[c.i : c.i + 1] = list(split)
        c.n += 1
        return word(c)
    if len(token) > 4 or token in WORDS_OF_TEXT or not token.isascii() or (len(token) > 2 and c.n == 1):
        raise Unreadable(f"{token!r} is a word")
    if len(token) == 4 and not token.isupper():
        raise Unreadable(f"{token!r} is a word")
    factors: list[Node] = [Sym(letter) for letter in token[:-1]]
    factors.append(name(c, token[-1]))
    node = factors[0]
    for factor in factors[1:]:
        node = Op("*", (node, factor))
    return node


def _split_function(token: str) -> tuple[str, str] | None:
    if len(token) < 4 or not token.islower():
        return None
    for size in (6, 4, 3, 2):
        if token[:size] in FUNCTIONS and len(token) > size and len(token) <= size + 2:
            return token[:size], token[size:]
    return None


def name(c: Cursor, letter: str) -> Node:
    """A variable with its primes and its index, and what it is applied to."""
    while c.peek() == "'":
        letter += c.take()
    if c.peek() == "_":
        return _indexed(c, letter)
    if c.peek() == "(" and (letter in "fgh" or letter[0].isupper() or letter[-1] == "'"):
        return _applied(c, letter)
    return Sym(letter)


def _indexed(c: Cursor, letter: str) -> Node:
    c.i += 1
    start = c.i
    try:
        index = argument(c)
    except Unreadable:
        c.i = start
        index = argument(c, whole=True, text=True)
    if isinstance(index, Num) and letter in ("C", "A", "P") and c.peek() == "^":
        return _choose(c, letter, index)
    if letter == "log":
        return index
    if isinstance(index, Num | Sym):
        label = str(index.value) if isinstance(index, Num) else index.name
        node: Node = Sym(f"{letter}_{label}")
    else:
        node = Op("apply", (Sym(letter + "_"), index))
    if c.peek() == "(" and letter in "fgh" and isinstance(node, Sym):
        return _applied(c, node.name)
    return node


def _choose(c: Cursor, letter: str, index: Num) -> Node:
    c.i += 1
    upper = argument(c, whole=True)
    low, high = (index, upper)
    if isinstance(high, Num) and high.value > low.value:
        low, high = high, index
    return Op("binom" if letter == "C" else "perm", (low, high))


def _applied(c: Cursor, letter: str) -> Node:
    inside = bracket(c)
    items = inside.items if isinstance(inside, Group) else (inside,)
    if letter == "C" and len(items) == 2:
        return Op("binom", items)
    return Op("apply", (Sym(letter), *items))


# -- functions -------------------------------------------------------------------------------------------------------


def function(c: Cursor, fn: str) -> Node:
    """A function with its power, its base and its argument."""
    base: Node | None = None
    exponent: Node | None = None
    for _ in range(2):
        if c.peek() == "_":
            c.i += 1
            base = argument(c, whole=True)
        elif c.peek() == "^":
            c.i += 1
            if c.peek() == "{" and c.peek(1) == "°":
                raise Unreadable("degrees of a function")
            exponent = argument(c, whole=True)
    if fn in ("sqrt", "cbrt") and c.peek() == "[":
        return _root(c)
    inside = function_argument(c, fn)
    args = (
        inside.items if isinstance(inside, Group) and fn in ("max", "min", "gcd", "lcm", "binom", "log") else (inside,)
    )
    if exponent is not None and fn in INVERSE and _is_minus_one(exponent):
        return Op(INVERSE[fn], args)
    node = _built(fn, args, base)
    return node if exponent is None else Op("^", (node, exponent))


def _built(fn: str, args: tuple[Node, ...], base: Node | None) -> Node:
    if fn == "sqrt":
        return Op("root", (args[0], Num(2)))
    if fn == "cbrt":
        return Op("root", (args[0], Num(3)))
    if fn == "exp":
        return Op("^", (Sym("e"), args[0]))
    if fn == "lg":
        return Op("log", (args[0], base or Num(10)))
    if fn == "log2":
        return Op("log", (args[0], Num(2)))
    if fn == "log":
        return Op("log", (args[0], base)) if base is not None else Op("log", args)
    return Op(fn, args)


def _is_minus_one(node: Node) -> bool:
    return isinstance(node, Op) and node.op == "neg" and isinstance(node.args[0], Num) and node.args[0].value == 1


def function_argument(c: Cursor, fn: str) -> Node:
    """What a function is applied to: brackets, or the factors that follow it up to the next function."""
    if c.peek() in ("(", "[", "{", "|", "\\{", "\\lfloor", "\\lceil"):
        opened = c.peek()
        c.enter()
        inside = {"{": braces, "[": bracket, "(": bracket}.get(opened, atom)(c)
        c.leave()
        return inside
    from assay.math.parse import power, starts_factor

    if c.peek() == "-":
        c.i += 1
        return Op("neg", (function_argument(c, fn),))
    c.enter()
    node = power(c)
    while c.peek() and fn != "root" and starts_factor(c, node) and _same_argument(c):
        node = mixed(c, node) or Op("*", (node, power(c)))
    if c.peek() == "/" and isinstance(node, Num | Sym) and c.peek(1)[:1].isdigit() and fn in INVERSE:
        c.i += 1
        node = Op("/", (node, power(c)))  # `\cos \pi/3`
    c.leave()
    return node


def _same_argument(c: Cursor) -> bool:
    token = c.peek().lstrip("\\")
    return (
        token not in FUNCTIONS and token not in ("(", "[", "{", "left") and token not in ("int", "sum", "prod", "lim")
    )


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
        node = argument(c, whole)
        return Op("neg", (node,)) if token == "-" else node
    if token[:1].isdigit() and not whole and len(token) > 1 and token.isdigit():
        c.t[c.i] = token[1:]
        return Num(int(token[0]))
    if token[:1].isdigit() or token[:1] == ".":
        c.i += 1
        return to_number(token)
    if token[:1].isalpha() and len(token) > 1 and token not in FUNCTIONS and token not in ("pi", "oo") and not whole:
        c.t[c.i] = token[1:]
        return Sym(token[0])
    if token[:1].isalpha() and len(token) == 1:
        c.i += 1
        return Sym(token)
    return atom(c)


def _text_argument(c: Cursor) -> str:
    if not c.accept("{"):
        return c.take()
    parts: list[str] = []
    while c.peek() not in ("}", ""):
        parts.append(c.take())
    c.expect("}")
    return " ".join(parts) if all(p.isalpha() for p in parts) else "".join(parts)


# -- brackets --------------------------------------------------------------------------------------------------------


def bracket(c: Cursor) -> Node:
    """Round or square brackets: a value, a tuple or an interval."""
    opened = c.take()
    c.enter()
    bars, c.bars = c.bars, 0
    inside = _sequence(c)
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
    c.expect("{")
    if c.peek() == "}":
        c.i += 1
        if c.n == 2:
            return Group("set", ())
        return atom(c)
    c.enter()
    inside = _sequence(c)
    c.leave()
    if c.peek() in ("\\choose", "\\atop"):
        c.i += 1
        inside = Op("binom", (inside, _sequence(c)))
    if c.peek() == "|" or c.peek() == ":":
        return _condition(c, inside, "}")
    c.expect("}")
    if isinstance(inside, Group) and inside.kind == "list":
        return Group("set", inside.items)
    return inside


def set_of(c: Cursor) -> Node:
    """`\\{1, 2\\}`, or `\\{x | x > 0\\}`."""
    c.i += 1
    if c.peek() in ("\\}", "}"):
        c.i += 1
        return Group("set", ())
    c.enter()
    bars, c.bars = c.bars, 1
    inside = _sequence(c)
    c.bars = bars
    c.leave()
    if c.peek() in ("|", ":", "\\mid"):
        return _condition(c, inside, "\\}")
    if c.take() not in ("\\}", "}"):
        raise Unreadable("a set is not closed")
    return Group("set", inside.items if isinstance(inside, Group) and inside.kind == "list" else (inside,))


def _condition(c: Cursor, head: Node, closing: str) -> Node:
    c.i += 1
    condition = _sequence(c)
    if c.take() not in (closing, "}"):
        raise Unreadable("a set is not closed")
    plain = isinstance(head, Sym) or (isinstance(head, Relation) and head.signs == ("in",))
    return condition if plain else Op("such that", (head, condition))


def bars(c: Cursor) -> Node:
    """`|x|`: an absolute value."""
    c.i += 1
    c.enter()
    c.bars += 1
    inside = _sequence(c)
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
        inside = _sequence(c)
        c.leave()
        c.expect(closing)
        return Op(op, (inside,)) if op else _angled(inside)

    return read


def _angled(inside: Node) -> Node:
    items = inside.items if isinstance(inside, Group) else (inside,)
    return Group("tuple", items, "(", ")")


# -- commands --------------------------------------------------------------------------------------------------------


def command(c: Cursor) -> Node:
    """A LaTeX command that stands for a value."""
    token = c.peek()
    bare = token[1:]
    if token in COMMANDS:
        c.i += 1
        return COMMANDS[token](c)
    if bare in GREEK:
        c.i += 1
        return name(c, VARIANTS.get(bare, bare))
    if bare in FUNCTIONS:
        c.i += 1
        return function(c, FUNCTIONS[bare])
    if token.startswith("\\begin{"):
        return environment(c)
    if bare.isalpha() and not token.startswith("\\end") and bare not in ("text", "over"):
        c.i += 1
        return name(c, bare)
    raise Unreadable(f"{token} is not understood")


def _fraction(c: Cursor) -> Node:
    c.enter()
    top = argument(c)
    bottom = argument(c, whole=c.t[c.i - 1] == "}")
    c.leave()
    return Op("/", (top, bottom))


def _root(c: Cursor) -> Node:
    degree: Node = Num(2)
    if c.accept("["):
        degree = _sequence(c)
        c.expect("]")
    c.enter()
    inside = argument(c, whole=True)
    c.leave()
    return Op("root", (inside, degree))


def _binomial(c: Cursor) -> Node:
    return Op("binom", (argument(c), argument(c, whole=True)))


def _decorated(mark: str) -> Callable[[Cursor], Node]:
    def read(c: Cursor) -> Node:
        inside = argument(c, whole=True)
        if isinstance(inside, Sym):
            return Sym(f"{mark}({inside.name})")
        return Op("apply", (Sym(mark), inside))

    return read


def _skip(c: Cursor) -> Node:
    return _power(c)


def _bounds(c: Cursor) -> tuple[Node | None, Node | None]:
    low: Node | None = None
    high: Node | None = None
    for _ in range(2):
        if c.peek() == "_":
            c.i += 1
            low = argument(c, whole=True)
        elif c.peek() == "^":
            c.i += 1
            high = argument(c, whole=True)
    return low, high


def _series(op: str) -> Callable[[Cursor], Node]:
    def read(c: Cursor) -> Node:
        from assay.math.parse import product

        low, high = _bounds(c)
        body = product(c)
        if isinstance(low, Relation) and low.signs == ("=",) and isinstance(low.sides[0], Sym) and high is not None:
            return Op(op, (low.sides[0], low.sides[1], high, body))
        return Op("apply", (Sym(op), *(n for n in (low, high) if n is not None), body))

    return read


def _integral(c: Cursor) -> Node:
    from assay.math.parse import total

    low, high = _bounds(c)
    return Op("apply", (Sym("integral"), *(n for n in (low, high) if n is not None), total(c)))


def _limit(c: Cursor) -> Node:
    low, _ = _bounds(c)
    return Op("apply", (Sym("lim"), *((low,) if low is not None else ()), _power(c)))


def _constant(node: Node) -> Callable[[Cursor], Node]:
    return lambda c: node


def environment(c: Cursor) -> Node:
    """`\\begin{pmatrix} ... \\end{pmatrix}` and its kin."""
    kind = c.take()[7:].rstrip("}*")
    if kind not in (
        "pmatrix",
        "bmatrix",
        "vmatrix",
        "matrix",
        "array",
        "smallmatrix",
        "Bmatrix",
        "Vmatrix",
        "cases",
        "aligned",
        "align",
    ):
        raise Unreadable(f"{kind} is not understood")
    rows: list[tuple[Node, ...]] = []
    row: list[Node] = []
    from assay.math.parse import relation

    c.enter()
    while not c.peek().startswith("\\end"):
        token = c.peek()
        if token == "&":
            c.i += 1
        elif token == "\\\\" or (token == "," and kind == "cases"):
            c.i += 1
            if row:
                rows.append(tuple(row))
            row = []
        elif not token:
            raise Unreadable("a matrix is not closed")
        else:
            row.append(relation(c))
    c.leave()
    c.i += 1
    if row:
        rows.append(tuple(row))
    if kind in ("cases", "aligned", "align"):
        return Group("list", tuple(n for r in rows for n in r), "and")
    if not rows or len({len(r) for r in rows}) != 1:
        raise Unreadable("the rows of a matrix differ in length")
    matrix = Matrix(tuple(rows))
    return Op("det", (matrix,)) if kind == "vmatrix" else matrix


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

COMMANDS: dict[str, Callable[[Cursor], Node]] = {
    "\\frac": _fraction,
    "\\sqrt": _root,
    "\\binom": _binomial,
    "\\emptyset": _constant(Group("set", ())),
    "\\angle": _skip,
    "\\triangle": _skip,
    "\\measuredangle": _skip,
    "\\sum": _series("sum"),
    "\\prod": _series("prod"),
    "\\int": _integral,
    "\\lim": _limit,
    "\\partial": _constant(Sym("partial")),
    "\\nabla": _constant(Sym("nabla")),
    "\\ldots": _constant(Sym("...")),
    **{f"\\{mark}": _decorated(mark) for mark in ("vec", "hat", "bar", "overline", "tilde", "dot", "ddot", "widehat")},
    **{f"\\{mark}": _decorated("vec") for mark in ("overrightarrow", "overleftarrow", "widetilde", "underline")},
}
