"""The shape of a response in tags: `<think>...</think><answer>...</answer>`, each once, in order, closed, none inside
another.

A chat template may have written the first opening tag into the prompt; the response then starts inside it, and a reader
that insists on seeing it scores every response 0.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias

Outside: TypeAlias = bool | Literal["after"]
"""Whether text may stand around the tags, or stands after them."""

_OUTSIDE = "there is text outside the tags"
_STOPS = re.compile(r"\s*(?:<\|[a-z_]{2,20}\|>|</s>|<end_of_turn>)\s*")
"""The token that ended the turn: some trainers leave it in the response."""
_ENOUGH = 64
"""More tags than this are wrong whatever follows, so nobody reads on."""


@dataclass(slots=True)
class Tagged:
    """What a response holds of the tags that it should hold."""

    contents: dict[str, str] = field(default_factory=dict[str, str])
    """Tag -> what stands in it, for each that is there once, closed, in its place and not in another."""
    faults: list[str] = field(default_factory=list[str])
    """What is wrong, in words."""
    opened: bool = False
    """Whether the first opening tag was left to the chat template."""


def read_tags(text: str, tags: Sequence[str], opened: bool | None = None, outside: Outside = False) -> Tagged:
    """Read the tags in order, each once. What is wrong is in `faults`.

    `opened`: the chat template wrote the first opening tag; None: it did where the closing tag comes first.
    `outside`: whether text may stand around the tags; "after": it must stand after the last one, and nowhere else.

    Example:
        >>> read_tags("<think>hm</think><answer>4</answer>", ["think", "answer"]).contents
        {'think': 'hm', 'answer': '4'}
        >>> read_tags("<think>hm", ["think"]).faults
        ['<think> is not closed']
    """
    pattern, expected = _shape(tuple(tags))
    read = Tagged()
    if pattern.findall(text) == expected:  # the usual case: nothing is wrong with the tags themselves
        end = 0
        for tag in tags:
            start = text.index(f"<{tag}>", end)
            if start > end and outside is not True and not text[end:start].isspace():
                read.faults = [_OUTSIDE]
            end = text.index(f"</{tag}>", start)
            read.contents[tag] = text[start + len(tag) + 2 : end]
            end += len(tag) + 3
        if outside is not True and (fault := _fault_after(text[end:], tags[-1], outside)):
            read.faults.append(fault)
        return read
    return _read_with_faults(text, tags, opened, outside)


def _read_with_faults(text: str, tags: Sequence[str], opened: bool | None, outside: Outside) -> Tagged:
    pattern, _ = _shape(tuple(tags))
    marks = [(m.group(), m.start(), m.end()) for m in islice(pattern.finditer(text), _ENOUGH)]
    read = Tagged()
    first = tags[0]
    if opened is not False and (not marks or marks[0][0] != f"<{first}>"):
        closes_first = bool(marks) and marks[0][0] == f"</{first}>"
        if opened or closes_first:
            marks.insert(0, (f"<{first}>", 0, 0))
            read.opened = True
    seen = [mark for mark, _, _ in marks]
    last = 0
    for tag in tags:
        if fault := _fault(tag, seen):
            read.faults.append(fault)
            continue
        at = seen.index(f"<{tag}>")
        if seen[at + 1] != f"</{tag}>":
            read.faults.append(f"{seen[at + 1]} stands inside <{tag}>")
            continue
        if at < last:
            read.faults.append(f"<{tag}> is out of order")
            continue
        last = at
        read.contents[tag] = text[marks[at][2] : marks[at + 1][1]]
    if outside is not True and not read.faults:
        if _has_text_before_the_last(text, marks):
            read.faults.append(_OUTSIDE)
        elif fault := _fault_after(text[marks[-1][2] :], tags[-1], outside):
            read.faults.append(fault)
    return read


def count_marks(text: str, tags: Sequence[str]) -> dict[str, int]:
    """How often each opening and closing tag stands in the text.

    Example:
        >>> count_marks("<think>a</think></think>", ["think"])
        {'<think>': 1, '</think>': 2}
    """
    return {mark: text.count(mark) for tag in tags for mark in (f"<{tag}>", f"</{tag}>")}


def _fault(tag: str, seen: list[str]) -> str:
    opens, closes = seen.count(f"<{tag}>"), seen.count(f"</{tag}>")
    if not opens and not closes:
        return f"<{tag}> is missing"
    if opens > 1 or closes > 1:
        return f"<{tag}> stands more than once"
    if not closes:
        return f"<{tag}> is not closed"
    if not opens:
        return f"</{tag}> closes what was not opened"
    if seen.index(f"</{tag}>") < seen.index(f"<{tag}>"):
        return f"</{tag}> comes before <{tag}>"
    return ""


def _fault_after(rest: str, tag: str, outside: Outside) -> str:
    blank = not rest or rest.isspace() or bool(_STOPS.fullmatch(rest))
    if outside == "after":
        return f"nothing stands after </{tag}>" if blank else ""
    return "" if blank else _OUTSIDE


def _has_text_before_the_last(text: str, marks: list[tuple[str, int, int]]) -> bool:
    # without a fault the marks come in pairs: the gaps run from each closing tag to the next opening one
    ends = [0, *(end for _, _, end in marks[1:-1:2])]
    starts = [start for _, start, _ in marks[::2]]
    return any(text[end:start].strip() for end, start in zip(ends, starts, strict=True))


@functools.lru_cache(maxsize=256)
def _shape(tags: tuple[str, ...]) -> tuple[re.Pattern[str], list[str]]:
    """What finds the tags, and what it finds where all is well."""
    pattern = re.compile(f"</?(?:{'|'.join(map(re.escape, tags))})>")
    return pattern, [mark for tag in tags for mark in (f"<{tag}>", f"</{tag}>")]
