"""Fenced code blocks, as CommonMark reads them."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\n`]*)$", re.MULTILINE)


def code_blocks(text: str) -> list[tuple[str, str]]:
    """The closed fenced code blocks: (language in lower case, code). A fence that nothing closes is none.

    Example:
        >>> code_blocks("```py\\nx = 1\\n```")
        [('py', 'x = 1\\n')]
    """
    return [(language, text[start:end]) for language, start, end in code_spans(text)]


def code_spans(text: str) -> list[tuple[str, int, int]]:
    """The same blocks as (language, start of the code, its end)."""
    found: list[tuple[str, int, int]] = []
    fence, language, start = "", "", 0
    for m in _FENCE.finditer(text):
        mark, info = m.group(1), m.group(2).strip()
        if not fence:
            fence, language, start = mark, info.split(maxsplit=1)[0].lower() if info else "", m.end() + 1
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not info:
            found.append((language, start, m.start()))
            fence = ""
    return found
