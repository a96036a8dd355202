"""Find the named sections of a response: a heading in Markdown, in bold, or on a line of its own, in any case."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BEFORE = re.compile(r"\s{0,8}(?:>\s?)?(#{1,6}\s{0,4})?(?:(?:[-*•]|\d{1,3}[.)]|[ivx]{1,5}[.)])\s{1,4})?([*_]{0,3})\s?")
_AFTER = re.compile(r"\s{0,8}[*_]{0,3}\s{0,4}(?:[:：]|#{0,6}\s*$)")
_AFTER_BOLD = re.compile(r"\s?[:：.]?[*_]{2,3}")
_MARKUP = 32  # the most characters that stand before a heading's first word


def find_sections(text: str, names: Sequence[str]) -> dict[str, bool]:
    """The named sections that are there, and whether something stands under each before the next of them.

    Example:
        >>> find_sections("## Plan\\nadd them\\n**Answer:** 4", ["plan", "Answer", "Proof"])
        {'plan': True, 'Answer': True}
    """
    lowered = text.lower()
    found = {name: place for name in names if (place := _heading(lowered, name.lower().strip()))}
    starts = sorted(start for start, _ in found.values())
    filled: dict[str, bool] = {}
    for name, (start, end) in found.items():
        until = next((s for s in starts if s > start), len(lowered))
        filled[name] = any(c.isalnum() for c in lowered[end:until])
    return filled


def _heading(text: str, name: str) -> tuple[int, int] | None:
    """Where the heading's line starts and where its name ends. Each line is looked at once, so this is linear."""
    at = text.find(name)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if at - start <= _MARKUP and (before := _BEFORE.fullmatch(text, start, at)):
            after = at + len(name)
            bold = len(before.group(2)) >= 2 and _AFTER_BOLD.match(text, after, end)
            if bold or _AFTER.match(text, after, end):
                return start, after
        at = text.find(name, end)
    return None
