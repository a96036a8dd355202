r"""Boxes: `\boxed{...}` and `\fbox{...}` with balanced braces, the last one first."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_BOXES = 32
"""How many boxes from the end are looked at."""
LONGEST = 20_000
"""A statement longer than this is not one."""
_BRACE = re.compile(r"\\.|[{}]", re.S)
_FLAT = r"[^{}\\]*+(?:\\[^{}\\][^{}\\]*+)*+"
_NESTED = rf"{_FLAT}(?:\{{{_FLAT}\}}{_FLAT})*+"
_PLAIN_BOX = re.compile(rf"\\(?:boxed|fbox)[ \t\n]*\{{({_FLAT}(?:\{{{_NESTED}\}}{_FLAT})*+)\}}")
"""A box with up to two levels of braces in it, none of them escaped: nearly every one."""
_UNBRACED = re.compile(r"[A-Za-z0-9.]+")
_ESCAPED = re.compile(r"\\[{}]")


@dataclass(slots=True)
class Span:
    """A statement in its place: `text[start:end]` is the whole mark, `inner` what it says."""

    start: int
    end: int
    inner: str
    how: str = "boxed"


def closing_brace(text: str, start: int) -> int:
    """The index of the brace that closes the one at `start`; -1 where none does."""
    depth, position = 1, start + 1
    while True:
        end = text.find("}", position)
        if end < 0:
            return -1
        depth += text.count("{", position, end) - 1
        if not depth:
            break
        position = end + 1
    if text.find("\\", start, end + 1) < 0 or not _ESCAPED.search(text, start, end + 1):
        return end
    closing = _closing(text, start)
    return closing if closing >= 0 else end  # `{34.5\\}`: the brace that closes has a backslash by mistake


def _closing(text: str, start: int) -> int:
    """The same where some braces are escaped, and so are no braces."""
    depth = 0
    for m in _BRACE.finditer(text, start):
        mark = m.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return m.start()
    return -1


def last_boxed(text: str, before: int | None = None) -> Span | None:
    r"""The last complete `\boxed{...}` or `\fbox{...}` that begins before an index."""
    limit = len(text) if before is None else before
    for _ in range(MOST_BOXES):
        start = text.rfind("\\boxed", 0, limit)
        start = max(start, text.rfind("\\fbox", max(start, 0), limit))
        if start < 0:
            return None
        plain = _PLAIN_BOX.match(text, start, start + LONGEST)
        span = Span(start, plain.end(), plain[1]) if plain else _box_at(text, start)
        if span is not None and span.inner and not span.inner.isspace():
            return span
        limit = start
    return None


def boxed(text: str) -> str | None:
    r"""What the last `\boxed{...}` says; None where there is no complete one.

    >>> boxed(r"\boxed{\sqrt{2}} is right")
    '\\sqrt{2}'
    """
    span = last_boxed(text)
    return span.inner if span else None


def _box_at(text: str, start: int) -> Span | None:
    i = start + (6 if text.startswith("\\boxed", start) else 5)
    while i < len(text) and text[i] in " \t\n":
        i += 1
    if i >= len(text):
        return None
    if text[i] != "{":  # `\boxed 7`
        m = _UNBRACED.match(text, i)
        return Span(start, m.end(), m.group()) if m and i > start + 5 else None
    # A box that holds almost the whole response is no answer; the bound keeps 20,000 open braces cheap.
    end = closing_brace(text, i) if len(text) - i <= LONGEST else closing_brace(text[: i + LONGEST], i)
    return Span(start, end + 1, text[i + 1 : end]) if end > 0 else None
