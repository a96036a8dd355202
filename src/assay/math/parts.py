"""Answers in several labelled parts: `(a) 5 m, (b) 7 s` against `length = 5 m; time = 7 s`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SPLIT = re.compile(r"[;\n]|,(?!\d{3}(?!\d))|\band\b")
_SPACES = re.compile(r"[^\S\n]+")
_LETTER = re.compile(r"\s*(?:part\s+)?\(?(?:[a-hA-H]|i{1,3}|iv|v|\d)\)\s*:?\s*", re.I)
_LABEL = re.compile(
    r"(?:[A-Za-z](?=_)|[A-Za-z][A-Za-z'\-])[A-Za-z .'\-]{0,60}?(?:\([^()]{0,30}\)\s*)?(?::|=|\b(?:is|are|was)\b)"
    r"\s*(?:approximately|about)?\s*(?=[-+$(\\\d.]|[A-Z])"
)
_MARKED = re.compile(r"[,;\s]*(?<![\w^])\([a-h]\)\s*")
"""`(a)`, `(b)` and so on where each begins a part."""
_MOST = 12


def parts(text: str) -> list[str]:
    """The parts without their labels; empty where there are no several parts, or none has a label."""
    if len(text) > 600 or "\\begin" in text or not _parted(text):
        return []
    text = _MARKED.sub(";", text) if len(_MARKED.findall(text)) > 1 else text
    pieces = [p for p in map(str.strip, _SPLIT.split(_SPACES.sub(" ", text).strip().rstrip("."))) if p]
    if not 2 <= len(pieces) <= _MOST:
        return []
    bare = [_LABEL.sub("", _LETTER.sub("", p, count=1), count=1).strip() for p in pieces]
    return bare if all(bare) else []


def _parted(text: str) -> bool:
    """Whether there may be several parts at all."""
    return "," in text or ";" in text or "and" in text or "\n" in text or text.count("(") > 1


def same_parts(gold: str, answer: str, same: Callable[[str, str], bool]) -> bool:
    """Whether two answers in as many parts agree in each of them, in order."""
    g = parts(gold)
    a = parts(answer) if g else []
    if len(g) != len(a) or not g or not (_labelled(gold, g) or _labelled(answer, a)):
        return False
    if not all(re.search(r"\d", p) for p in g):
        return False
    return all(same(x, y) for x, y in zip(g, a, strict=True))


def _labelled(text: str, bare: Sequence[str]) -> bool:
    return sum(map(len, bare)) + 4 * len(bare) - 2 < len(text) or bool(_LETTER.match(text))
