"""What stands before a value and only names it: `(a)`, `Area =`, `Total cost:`."""

from __future__ import annotations

from assay.math.cursor import CLOSERS, SEPARATORS, Cursor
from assay.math.names import FUNCTIONS, GREEK
from assay.math.tree import Node, Relation, Sym


def named(said: Sym, node: Node) -> Node:
    if isinstance(node, Relation) or said.name.rsplit(" ", 1)[-1] in _SAYS_NOTHING:
        return node
    return Relation((said, node), ("=",))


_SAYS_NOTHING = frozenset(
    {
        "answer",
        "answers",
        "ans",
        "result",
        "solution",
        "solutions",
        "value",
        "total",
        "therefore",
        "thus",
        "hence",
        "so",
    }
)
_LONGEST_LABEL = 8


def worded_label(c: Cursor) -> Sym | None:
    """Step over the words in front of a value, as in `Area = 24` or `Total cost: 17 dollars`; a name for the value."""
    k = c.i
    while c.t[k].isalpha() and c.t[k] not in SEPARATORS and k - c.i < _LONGEST_LABEL:
        k += 1
    words = c.t[c.i : k]
    if c.t[k] not in ("=", ":") or not any(len(w) > 2 and not w.isupper() and w not in GREEK for w in words):
        return None
    if c.t[k + 1] in CLOSERS or (len(words) == 1 and _split_or_known(words[0])):
        return None
    c.i = k + 1
    return Sym(" ".join(words).lower())


def _split_or_known(word: str) -> bool:
    """Whether a word is a product or a function rather than a name in words: `abc = 1`, `max`."""
    return len(word) < 4 and not word.istitle() and word not in FUNCTIONS and word.lower() not in _SAYS_NOTHING


def label(c: Cursor) -> Sym | None:
    """Step over `(a)` in front of a part of an answer; a name for that part."""
    letter = c.peek(1)
    if c.peek() != "(" or c.peek(2) != ")" or len(letter) != 1 or not letter.isalpha():
        return None
    if c.peek(3) in _NOT_LABELLED or c.i + 3 not in c.spaced:
        return None
    c.i += 3
    return Sym(f"part {letter.lower()}")


_NOT_LABELLED = SEPARATORS | CLOSERS | frozenset({"+", "-", "^", "*", "/"})
