"""Bring two texts to where only what they say differs: case, width, spaces, punctuation, articles."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from assay.text.measure import words

# What has a meaning in an answer stays: a decimal point, a thousands comma, a sign, a ratio, a percent sign, C++ and
# C#, and every symbol (≤ is not ≥, and one emoji is not another). Punctuation goes.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SIGN = re.compile(r"(?<!\w)-(?=[\d.\\$({]|[^\W\d_](?![^\W\d_]))")
_HYPHENS = re.compile(r"(?<=\w)[-/](?=[^\W\d])|(?<!\d )-(?!\d)")
_PUNCTUATION = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|(?<![\w)])\*+(?=\S)|(?<=\S)\*+(?![\w(])|[!\"';?`~]")
_DOT_FIRST = re.compile(r"(?<![\w.])\.(?=\d)")
_BRACKETS = re.compile(r"[\\()\[\]{}]+")
_FORMULA = re.compile(r"\$([^$\n]{1,500})\$(?!\d)")
_ARTICLES = re.compile(r"(?<!\w)(?:an?|the)\s+(?=\w{2})")
_RAISED = str.maketrans({**{c: f"^{i}" for i, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}, "⁻": "^-"})
_DIGIT_BEFORE_PART = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_MEANT = frozenset("‰‱′″§")


class _Folded(dict[int, str | None]):
    """What becomes of a character beyond ASCII; each is looked up in the Unicode tables once."""

    def __missing__(self, code: int) -> str | None:
        c = chr(code)
        kind = unicodedata.category(c)
        if kind == "Pd" or c == "\u2212":
            found: str | None = "-"
        elif c == "\u2044":
            found = "/"
        elif (kind[0] == "P" and c not in _MEANT) or kind == "Cf" or 0xFE00 <= code <= 0xFE0F:
            found = None
        else:
            found = c
        return self.setdefault(code, found)


_FOLDED = _Folded({code: chr(code) for code in range(128)})


def normalize(text: str, articles: bool = False) -> str:
    """The text in one form: NFKC, lower case, single spaces, without punctuation that carries no meaning.

    `articles` keeps English articles; by default they are dropped where a word follows, so that the choice "A" stays.

    Example:
        >>> [normalize(t) for t in ("The  Eiffel Tower.", "1,000", "-3.5 %", "A", "don't!", "10²", "**x ≤ 3**")]
        ['eiffel tower', '1000', '-3.5 %', 'a', 'dont', '10^2', 'x ≤ 3']
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _DIGIT_BEFORE_PART.sub(" ", text.translate(_RAISED))).translate(_FOLDED)
    text = _THOUSANDS.sub("", text.casefold())
    if "$" in text:
        text = _FORMULA.sub(r"\1", text)
    if "-" in text or "/" in text:
        text = _HYPHENS.sub(" ", _SIGN.sub("\u2212", text)).replace("\u2212", "-")
    text = _BRACKETS.sub(" ", _PUNCTUATION.sub("", _DOT_FIRST.sub("0.", text)))
    if not articles:
        text = _ARTICLES.sub("", text)
    return " ".join(text.split()).replace("- ", "-")


def overlap(said: str, gold: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the words that two normalised texts share, each counted as often as it comes.

    Example:
        >>> overlap("paris france", "paris")
        (0.5, 1.0, 0.6666666666666666)
    """
    mine, theirs = words(said), words(gold)
    if not mine or not theirs:
        same = float(mine == theirs)
        return same, same, same
    shared = (Counter(mine) & Counter(theirs)).total()
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def common_subsequence(a: str, b: str) -> int:
    """The length of the longest common subsequence of two texts; linear in `b` for an `a` of moderate length.

    Example:
        >>> common_subsequence("colour", "color")
        5
    """
    places: dict[str, int] = {}
    for i, c in enumerate(a):
        places[c] = places.get(c, 0) | 1 << i
    full = (1 << len(a)) - 1
    state = full  # Hyyro's bit vector: a zero for each character of `a` that is in the subsequence so far
    for c in b:
        met = state & places.get(c, 0)
        state = ((state + met) | (state - met)) & full
    return len(a) - state.bit_count()
