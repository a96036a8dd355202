"""Which of many keywords a text holds, as whole words or anywhere, in one pass over the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Literal

from assay.errors import ConfigError, did_you_mean
from assay.text.measure import SPACELESS
from assay.text.patterns import fold

Match = Literal["word", "substring"]
"""Whether a keyword is a word of its own, or may stand inside another."""

_WORD = re.compile(f"[^\\W{SPACELESS}]+")
_SPACES = re.compile(r"\s+")
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff\u0f00-\u0fff]"
)
"""Where a text may hold marks that belong to the letter before them, which `\\w` does not know."""
_FEW = 12  # up to this many, one fast search for each costs less than taking the text apart


class Keywords:
    """A set of keywords to look for. Which are found is the answer, not how often: stuffing gains nothing.

    Example:
        >>> Keywords(["cause", "in fact"]).found_in("Because it is, in  fact, so.")
        ['in fact']
    """

    def __init__(self, keywords: Iterable[Any], match: Match = "word", case_sensitive: bool = False) -> None:
        if match not in ("word", "substring"):
            near = did_you_mean(str(match), ("word", "substring"))
            raise ConfigError(f"needed match='word' or match='substring'; found {match!r}.{near}")
        self.case_sensitive = case_sensitive
        names: dict[str, str] = {}  # as looked for -> as given
        for keyword in keywords:
            if not isinstance(keyword, str):
                raise ConfigError(f"needed keywords as text; found {type(keyword).__name__} {keyword!r:.40}.")
            folded = _SPACES.sub(" ", fold(keyword, case_sensitive)).strip()
            if not folded:
                raise ConfigError(f"needed a keyword; found {keyword!r}, which is in every text. Leave it out.")
            names.setdefault(folded, keyword)
        words = match == "word"
        self._sought = [
            (k, name, words and _is_of_word(k[0]), words and _is_of_word(k[-1])) for k, name in names.items()
        ]
        self._spaced = any(" " in k for k in names)
        self._single = frozenset(k for k in names if words and _WORD.fullmatch(k))

    def __len__(self) -> int:
        return len(self._sought)

    def found_in(self, text: str) -> list[str]:
        """The keywords that the text holds, as they were given and in that order."""
        return self.found_in_folded(fold(text, self.case_sensitive))

    def found_in_folded(self, text: str) -> list[str]:
        """The same for a text that went through `fold` already, where several sets look at one text."""
        if self._spaced:
            text = _SPACES.sub(" ", text)
        if len(self._sought) <= _FEW or not self._single or (not text.isascii() and _MARKS.search(text)):
            return [name for k, name, left, right in self._sought if _stands(k, left, right, text)]
        there = self._single.intersection(_WORD.findall(text))
        return [
            name
            for k, name, left, right in self._sought
            if k in there or (k not in self._single and _stands(k, left, right, text))
        ]


def _stands(keyword: str, left: bool, right: bool, text: str) -> bool:
    """Whether the keyword stands somewhere, and no word goes on beyond the ends that are said to be of a word."""
    at = text.find(keyword)
    while at >= 0:
        end = at + len(keyword)
        if not (left and at and _is_of_word(text[at - 1])) and not (
            right and end < len(text) and _is_of_word(text[end])
        ):
            return True
        at = text.find(keyword, at + 1)
    return False


def _is_of_word(c: str) -> bool:
    """Whether a word could go on here: not at the end of `C++`, nor in a script without spaces."""
    if c.isascii():
        return c.isalnum() or c == "_"
    return bool(_WORD.match(c)) or unicodedata.category(c)[0] == "M"
