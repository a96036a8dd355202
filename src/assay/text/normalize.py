"""Bring two texts to where only what they say differs: case, width, spaces, punctuation, articles."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from assay.text.measure import words

# What has a meaning in an answer stays: a decimal point, a thousands comma, a minus, a percent sign, C++ and C#.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MINUS = re.compile(r"(?<!\w)[\u2212\u2013\u2010-](?=[\d.])")
_PUNCTUATION = re.compile(r"(?<!\d)[.,](?!\d)|(?<=\d)[.,](?!\d)|(?<!\d)[,](?=\d)|[^\w\s.,%#+<>=/^$€£¥&@*\u2212-]")
_DASHES = re.compile(r"(?<=\w)[-\u2212/](?=[^\W\d])|-(?!\d)|\u2212(?!\d)")
_ARTICLES = re.compile(r"(?<!\w)(?:an?|the)\s+(?=\w{2})")


def normalize(text: str, articles: bool = False) -> str:
    """The text in one form: NFKC, lower case, single spaces, without punctuation that carries no meaning.

    `articles` keeps English articles; by default they are dropped where a word follows, so that the choice "A" stays.

    Example:
        >>> [normalize(t) for t in ("The  Eiffel Tower.", "1,000", "-3.5 %", "A", "don't!")]
        ['eiffel tower', '1000', '-3.5 %', 'a', 'dont']
    """
    text = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    text = _MINUS.sub("-", _THOUSANDS.sub("", text))
    text = _PUNCTUATION.sub("", _DASHES.sub(" ", text))
    if not articles:
        text = _ARTICLES.sub("", text)
    return " ".join(text.split())


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
