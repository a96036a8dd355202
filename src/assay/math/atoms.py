"""The atoms of the grammar: what can stand alone or between two signs, and the names among them."""

from __future__ import annotations

from assay.math.brackets import BRACKETS, argument, bracket
from assay.math.cursor import Cursor
from assay.math.functions import COMMANDS, environment, function
from assay.math.limits import TooLarge, Unreadable
from assay.math.names import FUNCTIONS, GREEK, NUMBER_WORDS, RELATIONS, SCALES, VARIANTS
from assay.math.numbers import based, number
from assay.math.tree import Group, Node, Num, Op, Sym
from assay.math.unit_words import is_unit_word, unit_follows

WORDS_OF_TEXT = frozenset(
    [
        "no",
        "on",
        "it",
        "is",
        "if",
        "as",
        "at",
        "be",
        "by",
        "do",
        "go",
        "he",
        "in",
        "me",
        "my",
        "of",
        "so",
        "to",
        "up",
        "us",
        "we",
        "an",
        "or",
        "per",
        "the",
        "and",
        "for",
        "not",
        "are",
        "was",
        "has",
        "all",
        "any",
        "two",
        "one",
        "six",
        "ten",
        "its",
        "day",
        "out",
        "odd",
        "new",
        "old",
        "can",
        "may",
        "you",
        "who",
        "how",
        "now",
        "see",
        "way",
        "day",
        "let",
        "our",
        "his",
        "her",
        "she",
        "him",
        "too",
        "yes",
        "none",
    ]
)
"""Short words that are never a product of variables."""


def atom(c: Cursor) -> Node:
    """What can stand alone, or between two signs."""
    token = c.t[c.i]
    if not token:
        raise Unreadable("it breaks off")
    first = token[0]
    if first.isdecimal() or (first == "." and len(token) > 1):
        return number(c)
    if first.isalpha():
        return word(c)
    if token in BRACKETS:
        node = BRACKETS[token](c)
        if c.t[c.i] == "_" and isinstance(node, Num) and isinstance(node.value, int) and c.t[c.i - 1] == ")":
            if node.value.bit_length() > _LONGEST_INDEX:
                raise TooLarge("a number of many digits in a base")
            return based(c, str(node.value))  # `(101)_2`
        return node
    if first == "\\":
        return command(c)
    if token in ("-", "+"):
        c.i += 1
        node = c.grammar.power(c)
        return Op("neg", (node,)) if token == "-" else node
    if token == "$":
        c.i += 1
        return atom(c)
    raise Unreadable(f"{token!r} is not understood")


def _is_text(token: str) -> bool:
    return token in WORDS_OF_TEXT or (token.istitle() and token.lower() in WORDS_OF_TEXT)


def _glued(c: Cursor) -> bool:
    """Whether the word that was just taken stands in a formula, as in `v_0t+at^2`."""
    return c.peek() in ("^", "_", "²", "³") or (c.i > 1 and c.t[c.i - 2] in ("+", "-", "/") and c.i - 1 not in c.spaced)


def is_factor_word(c: Cursor, left: Node) -> bool:
    """Whether the word here is a factor, and no unit and no text."""
    token = c.peek()
    if token in RELATIONS or token in ("and", "or", "mod", "to") or not token.isascii():
        return False
    if (token == "min" and c.peek(1) not in ("(", "{", "\\{", "_")) or (token == "sec" and not c.peek(1)):
        return False
    if token in FUNCTIONS or token == "pi" or token == "oo":
        return True
    if unit_follows(c, left):
        return False
    if len(token) == 1:
        return True
    if c.i in c.upright or is_unit_word(token):
        return False
    return bool(_split_function(token)) or (len(token) <= 3 and not _is_text(token)) or token.isupper()


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
    if token in _SETS:
        return name(c, _SETS[token]) if c.peek() == "_" else Sym(token)
    if token in GREEK:
        return name(c, token)
    split = _split_function(token)
    if split:
        c.i -= 1
        c.split(split)
        return word(c)
    if len(token) > 4 or (_is_text(token) and not _glued(c)) or not token.isascii() or (len(token) > 2 and c.n == 1):
        raise Unreadable(f"{token!r} is a word")
    if len(token) == 4 and not token.isupper():
        raise Unreadable(f"{token!r} is a word")
    if len(token) == 3 and token.istitle() and c.i in c.spaced and c.peek().isalpha() and len(c.peek()) > 1:
        raise Unreadable(f"{token!r} is a name")
    c.i -= 1
    c.split(token)  # several variables side by side: an exponent belongs to the last
    return word(c)


_SETS = {"Reals": "R", "Integers": "Z", "Naturals": "N", "Rationals": "Q", "Complexes": "C"}


def _split_function(token: str) -> tuple[str, str] | None:
    if len(token) < 4 or not token.islower():
        return None
    for size in (6, 4, 3, 2):
        if token[:size] in FUNCTIONS and len(token) > size and len(token) <= size + 2:
            return token[:size], token[size:]
    return None


_INVERSE_OF = ["^", "{", "-", "1", "}", "("]


def name(c: Cursor, letter: str) -> Node:
    """A variable with its primes and its index, and what it is applied to."""
    while c.peek() == "'":
        letter += c.take()
    if c.peek() == "_":
        return _indexed(c, letter)
    if letter in "fgh" and c.t[c.i : c.i + 6] == _INVERSE_OF:
        c.i += 5
        return _applied(c, letter + "^-1")
    if c.peek() == "(" and (letter in "fgh" or letter[0].isupper() or letter[-1] == "'" or _defined(c)):
        return _applied(c, letter)
    return Sym(letter)


def _defined(c: Cursor) -> bool:
    """Whether it is a function that is being defined: `y(x) = ...`."""
    return c.i == 1 and c.peek(1) in _ARGUMENTS and c.peek(2) == ")" and c.peek(3) == "="


_ARGUMENTS = frozenset("xtnzθ")
_LONGEST_INDEX = 1000


def _indexed(c: Cursor, letter: str) -> Node:
    c.i += 1
    start = c.i
    try:
        index = argument(c, whole=c.peek().isdecimal())
    except Unreadable:
        c.retry(start)
        index = argument(c, whole=True, text=True)
    if isinstance(index, Num) and letter in ("C", "A", "P") and c.peek() == "^":
        return _choose(c, letter, index)
    if letter == "log":
        return index
    if isinstance(index, Num) and index.value.numerator.bit_length() > _LONGEST_INDEX:
        raise TooLarge("an index of many digits")
    if isinstance(index, (Num, Sym)):
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
