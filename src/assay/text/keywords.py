"""Which of many keywords a text holds, as whole words or anywhere, in one pass over the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from assay.errors import ConfigError, did_you_mean
from assay.text.measure import SPACELESS
from assay.text.patterns import fold

Match = Literal["word", "substring"]
"""Whether a keyword is a word of its own, or may stand inside another."""

_WORD = re.compile(f"[^\\W{SPACELESS}]+")
_SPACES = re.compile(r"\s+")
_FEW = 12  # up to this many, one fast search for each costs less than taking the text apart


class Keywords:
    """A set of keywords to look for. Which are found is the answer, not how often: stuffing gains nothing.

    Example:
        >>> Keywords(["cause", "in fact"]).found_in("Because it is, in  fact, so.")
        ['in fact']
    """

    def __init__(self, keywords: Iterable[str], match: Match = "word", case_sensitive: bool = False) -> None:
        if match not in ("word", "substring"):
            near = did_you_mean(str(match), ("word", "substring"))
            raise ConfigError(f"needed match='word' or match='substring'; found {match!r}.{near}")
        self.match, self.case_sensitive = match, case_sensitive
        self._names: dict[str, str] = {}  # as looked for -> as given
        for keyword in keywords:
            folded = _SPACES.sub(" ", fold(keyword, case_sensitive)).strip()
            if not folded:
                raise ConfigError(f"needed a keyword; found {keyword!r}, which is in every text. Leave it out.")
            self._names.setdefault(folded, keyword)
        self._spaced = any(" " in k for k in self._names)
        self._bounded = {k: _bounds(k) for k in self._names} if match == "word" else {}
        self._single = {k for k in self._names if match == "word" and _WORD.fullmatch(k)}
        self._rest = [k for k in self._names if k not in self._single]

    def __len__(self) -> int:
        return len(self._names)

    def found_in(self, text: str) -> list[str]:
        """The keywords that the text holds, as they were given and in that order."""
        return self.found_in_folded(fold(text, self.case_sensitive))

    def found_in_folded(self, text: str) -> list[str]:
        """The same for a text that went through `fold` already, where several sets look at one text."""
        if not self._names:
            return []
        if self._spaced:
            text = _SPACES.sub(" ", text)
        if len(self._names) <= _FEW:
            return [name for k, name in self._names.items() if k in text and self._stands(k, text)]
        held = self._single.intersection(_WORD.findall(text)) if self._single else set[str]()
        held.update(k for k in self._rest if k in text and self._stands(k, text))
        return [name for k, name in self._names.items() if k in held] if held else []

    def _stands(self, keyword: str, text: str) -> bool:
        """Whether the keyword stands somewhere as a word of its own."""
        if self.match == "substring":
            return True
        left, right = self._bounded[keyword]
        size, at = len(keyword), text.find(keyword)
        while at >= 0:
            end = at + size
            if not (left and at and _joins(text[at - 1])) and not (right and end < len(text) and _joins(text[end])):
                return True
            at = text.find(keyword, at + 1)
        return False


def _bounds(keyword: str) -> tuple[bool, bool]:
    """Whether each end of a keyword is of a word that could go on: not in `C++`, nor in a script without spaces."""
    return bool(_WORD.match(keyword[0])), bool(_WORD.match(keyword[-1]))


def _joins(c: str) -> bool:
    return (c.isalnum() or c == "_") and (c.isascii() or bool(_WORD.match(c)))
