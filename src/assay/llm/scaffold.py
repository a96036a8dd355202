"""Form around next to nothing: headings with nothing below, items that only point elsewhere, a statement said twice.

Headings and lists are a fine form for an answer. They are form and nothing else where there are more of them than
statements; then the statements are shown without them.
"""

from __future__ import annotations

import re

_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s+(.*?)#*|\*\*([^*\n]{1,60}?)\*\*:?|([A-Z][\w' -]{1,40}):)\s*$")
_LABEL = r"(?:\*\*([^*\n]{1,60}?)\*\*\s*[:–-]\s*|([A-Z][\w' -]{1,40}\d?):\s+)"
_ITEM = re.compile(rf"^\s{{0,8}}(?:[-*+•]\s+|\(?\d{{1,3}}[.)]\s+)?\s*{_LABEL}?(.*?)\s*$")
_POINTS_ELSEWHERE = re.compile(
    r"\W*(?:(?:please )?(?:see|refer to|cf)\b.{0,40}|(?:see )?above|ibid|idem|ditto|n/?a|none|tbd"
    r"|(?:as|like) (?:above|below|before|stated|mentioned|noted|discussed|described|said)\b.{0,20}"
    r"|same (?:as|here)\b.{0,30}"
    r"|this (?:section|part|point) (?:summari[sz]es|covers|discusses|describes|explains)\b.{0,40})?\W*",
    re.IGNORECASE,
)
_ASKED_FOR_FORM = re.compile(
    r"\b(?:heading|headline|section|outline|template|table|list|bullet|markdown|structure|format|report|essay|article|readme"
    r"|toc|table of contents|title|letter|poem|song|lyrics|code|yaml|json|html)",
    re.IGNORECASE,
)
MOST_STATEMENTS = 2
"""A text that says more than this is no mere form."""
_PLAIN = re.compile(r"[^\W_]+")


def without_scaffold(text: str, prompt: str) -> str:
    """The text without headings and items that hold nothing, where these are more than its one or two statements.

    >>> without_scaffold("# Overview\\n## Details\\nTea is a drink.\\n## Conclusion\\n**Tea is a drink.**", "")
    'Tea is a drink.'
    >>> without_scaffold("# Tea\\nTea is a drink.\\n# Milk\\nMilk is one too.", "")
    '# Tea\\nTea is a drink.\\n# Milk\\nMilk is one too.'
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not 1 < len(lines) <= 60 or "```" in text or _ASKED_FOR_FORM.search(prompt):
        return text
    if sum(len(line) > 100 for line in lines) > MOST_STATEMENTS:
        return text
    statements: list[str] = []
    said: set[str] = set()
    hollow = 0
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if _HEADING.match(line) or _heads_a_table(line, below):
            hollow += 1
            continue
        for label, statement in _statements_in(line):
            plain = " ".join(_PLAIN.findall(statement.lower()))
            hollow += label[-1:].isdigit()
            if plain in said or (_POINTS_ELSEWHERE.fullmatch(statement) and (plain or label)):
                hollow += 1
            elif plain:
                said.add(plain)
                statements.append(statement)
        if len(statements) > MOST_STATEMENTS:
            return text
    return "\n".join(statements) if hollow > len(statements) > 0 else text


def _heads_a_table(line: str, below: str) -> bool:
    return "|" in line and "-" in below and not below.strip("|-: \t")


def _statements_in(line: str) -> list[tuple[str, str]]:
    """What a line states, each with the label before it."""
    if line.lstrip().startswith("|"):
        label, *cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
        return [(label, cell) for cell in cells] or [("", label)]
    match = _ITEM.match(line)
    return [(match[1] or match[2] or "", match[3])] if match else [("", line)]
