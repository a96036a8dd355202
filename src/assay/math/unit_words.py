"""Reading a unit behind a value: which words are one, how far they go, and units written as physics writes them."""

from __future__ import annotations

from assay.math.cursor import Cursor
from assay.math.tree import Node, Num, Op, Quantity, Sym, walk
from assay.math.units import UNITS, known_unit

_PLURAL_ONLY = frozenset(["units", "unit", "people", "person", "ways", "way"])
_HALVES = frozenset(["am", "pm", "AM", "PM", "sq", "cu"])
_GREEK = {"\\mu": "μ", "\\Omega": "Ω", "\\ohm": "Ω", "\\AA": "Å"}


def is_unit_word(word: str) -> bool:
    """Whether a word of two letters or more is the name of a unit."""
    if not word.isascii():
        return True
    return len(word) > 1 and (word in UNITS or word.lower() in UNITS or word in _PLURAL_ONLY or word in _HALVES)


def unit_follows(c: Cursor, left: Node) -> bool:
    """Whether what stands behind a value is its unit: words up to the end of the item, and no expression."""
    token = c.peek()
    if not token.isascii():
        return True
    if not (token[:1].isalpha() or token in _GREEK):
        return False
    if not _plain_value(left):
        return c.i in c.upright and token in UNITS and token not in ("d", "e", "T") and _unit_to_the_end(c)
    if len(token) > 1 and (is_unit_word(token) or len(token) > 3):
        return True
    if len(token) == 3 and token.islower() and c.i in c.spaced and c.i == c.n - 1:
        return True  # `1/2 cup`
    if token in _GLUED and isinstance(left, Num) and not c.braced and _unit_to_the_end(c):
        return True
    if c.i not in c.upright and (
        c.braced or c.i not in c.spaced or token not in UNITS or c.peek(1) in ("_", "(", "+", "-", "*")
    ):
        return False
    if token in ("e", "i", "pi"):
        return False
    return c.i in c.upright or _unit_to_the_end(c)


_GLUED = ("g", "L", "J", "V", "W")
"""Letters that are a unit even where they stand close to a number, as in `264g`."""


def _plain_value(node: Node) -> bool:
    return all(isinstance(n, (Num, Op, Quantity)) or (isinstance(n, Sym) and n.name in ("pi", "e")) for n in walk(node))


def _unit_to_the_end(c: Cursor) -> bool:
    k = c.i
    while k < c.n and (
        c.t[k] in UNITS
        or (c.t[k].isalpha() and (len(c.t[k]) > 1 or (k > c.i and c.t[k].isupper())))
        or c.t[k] in ("/", "^", "{", "}", "-", "*", "2", "3", "1", "4")
        or (c.t[k].isdecimal() and c.t[k + 1] in UNITS)  # `3 h 20 min`
    ):
        k += 1
    return k == c.n or c.t[k] in (",", ";", "and", "or", ")", "]", "\\}", "}")


_STOPS = frozenset(
    {",", ";", "and", "or", "", "=", ")", "]", "\\}", "\\\\", "\\approx", "}", "<", ">", "<=", ">=", "+"}
)
_DENIALS = frozenset(
    {
        "not",
        "wrong",
        "incorrect",
        "never",
        "isn",
        "no",
        "false",
        "impossible",
        "more",
        "less",
        "fewer",
        "than",
        "at",
        "most",
        "least",
        "before",
        "cannot",
        "root",
        "factorial",
        "if",
        "when",
        "but",
        "except",
        "answer",
        "otherwise",
        "remainder",
        "tens",
        "tenths",
        "hundredths",
        "thousandths",
    }
)
"""Words that no unit has: with them a number says something else."""


def take_unit(c: Cursor) -> tuple[str, ...]:
    """The words of the unit here; steps over them. Empty where there is none, or where a new expression begins."""
    start = c.i
    exact = _exact_unit(c)
    if exact and c.peek() in _STOPS and not (c.peek() == "and" and _measured(c)):
        return exact
    c.i = start
    depth, words = 0, list[str]()
    while c.i < c.n:
        token = c.peek()
        if depth == 0 and token in _STOPS and not (token == "and" and _measured(c)):
            break
        if token == "{" or token == "(":
            depth += 1
        elif token == "}" or token == ")":
            depth -= 1
        elif _is_unit_token(token):
            if token != ".":
                words.append(token)
        else:
            c.i = start
            return ()
        c.i += 1
    if not any(w[:1].isalpha() or w in _GREEK or w == "Ω" for w in words) or not _DENIALS.isdisjoint(words):
        c.i = start
        return ()
    return tuple(words)


def _measured(c: Cursor) -> bool:
    """`3 hours and 20 minutes`."""
    before, after = c.t[c.i - 1], c.peek(2)
    return c.peek(1)[:1].isdecimal() and after in UNITS and before in UNITS and before != after


def _is_unit_token(token: str) -> bool:
    return token[:1].isalnum() or token in _MARKS or token in _GREEK


_MARKS = ("/", "^", "-", "*", ".", "_", "°", "%", "'", "²", "³", "and", "$")

# -- units as physics writes them ------------------------------------------------------------------------------------

_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_BEHIND = {"²": 2, "squared": 2, "³": 3, "cubed": 3}
_DEEPEST = 6


def _exact_unit(c: Cursor) -> tuple[str, ...]:
    """A product of known units with their powers, such as `kg`, `m^-3`; empty where it is none."""
    powers = _product(c, 0)
    return tuple(name if n == 1 else f"{name}^{n}" for name, n in powers) if powers else ()


_Powers = list[tuple[str, int]]


def _product(c: Cursor, depth: int) -> _Powers:
    """Units side by side, with signs between them or without, up to where no unit follows."""
    found: _Powers = []
    sign = 1
    while depth < _DEEPEST:
        token = c.peek()
        behind = token in ("/", "per", "*", "-") and bool(found or token in ("/", "per"))
        if behind:
            c.i += 1
            sign = -1 if token in ("/", "per") else 1
        factor = _factor(c, depth)
        if not factor:
            c.i -= behind
            break
        found += [(name, sign * n) for name, n in factor]
        sign = 1 if c.peek() == "*" else sign  # `J/mol K` is joules per mole and kelvin
    return found


def _factor(c: Cursor, depth: int) -> _Powers:
    """One unit with its power, a group of them in brackets, or a fraction."""
    token = c.peek()
    if token == "\\frac":
        c.i += 1
        return _fraction(c, depth)
    if token in ("{", "("):
        start = c.i
        c.i += 1
        inside = _product(c, depth + 1)
        if not inside or not c.accept("}" if token == "{" else ")"):
            c.i = start
            return []
    else:
        power = 1
        if token in _POWERS:
            power = _POWERS[token]
            c.i += 1
        name = _name(c)
        if not name:
            c.i -= power > 1
            return []
        inside = [(name, power)]
    n = _raised(c)
    return [(name, power * n) for name, power in inside]


def _fraction(c: Cursor, depth: int) -> _Powers:
    start = c.i - 1
    one = c.peek() == "{" and c.peek(1) == "1" and c.peek(2) == "}"
    top = [("", 0)] if one else _factor(c, depth + 1) if c.peek() == "{" else []
    c.i += 3 if one else 0
    bottom = _factor(c, depth + 1) if top and c.peek() == "{" else []
    if not bottom:
        c.i = start
        return []
    return [f for f in top if f[1]] + [(name, -n) for name, n in bottom]


def _name(c: Cursor) -> str:
    """The name of a unit; a prefix that stands apart is put before it."""
    token = _GREEK.get(c.peek(), c.peek())
    after = _GREEK.get(c.peek(1), c.peek(1))
    if after and (token not in UNITS or token == "μ") and token + after in UNITS:  # `\mu m`, `k m^2`, `electron volts`
        c.i += 2
        return token + after
    if token.isalpha() and known_unit(token) and token not in ("e", "i"):
        c.i += 1
        return token
    if token == "°" and c.peek(1) in ("C", "F", "K"):
        c.i += 2
        return "°" + c.t[c.i - 1]
    if token.isalpha() and len(token) in (2, 3) and token not in _NO_UNITS:  # `Nm`
        for k in range(1, len(token)):
            if token[:k] in UNITS and token[k:] in UNITS:
                c.split([token[:k], token[k:]])
                c.i += 1
                return token[:k]
    if token == "$" or (token and token in UNITS and not token.isascii()):
        c.i += 1
        return token
    return ""


_NO_UNITS = frozenset({"has", "had", "as", "at", "am", "pm", "may", "can", "get", "got"})


def _raised(c: Cursor) -> int:
    """The power behind a unit; 1 where there is none."""
    token = c.peek()
    if token in _BEHIND:
        c.i += 1
        return _BEHIND[token]
    start = c.i
    marked = c.accept("^")
    if not marked and not (token in ("2", "3", "-") and c.i not in c.spaced):
        return 1
    braced = marked and c.accept("{")
    sign = -1 if c.accept("-") else 1
    digit = c.peek()
    if len(digit) == 1 and digit in "1234" and digit:
        c.i += 1
        if not braced or c.accept("}"):
            return sign * int(digit)
    c.i = start
    return 1


def begins_unit(token: str) -> bool:
    """Whether a unit may begin with this token."""
    return token in ("\\frac", "(", "k", "M", "G") or token in _GREEK or known_unit(token) is not None


def units_from(c: Cursor, split: bool) -> tuple[str, ...]:
    """The units from here to the end of the answer; empty where anything else is there. With `split`, `ms^{-1}` is
    metres per second."""
    if split:
        for k in range(c.i, c.n):
            if c.t[k] == "ms" and c.peek(k - c.i + 1) == "^":
                c.i, start = k, c.i
                c.split(["m", "s"])
                c.i = start
                break
    found = _exact_unit(c)
    return found if c.i == c.n else ()
