"""Templates of an answer's last words: `The answer is [NUM].`, with a slot for what is to be filled in.

    [NUM]     a number: 4, -3.5, 1,000, 3/4, 50%, $20
    [WORD]    one word
    [LETTER]  one letter that stands alone, as in a multiple choice
    [TEXT]    anything that is not blank, over any number of lines

A response matches when it ends with the template. Everything here is linear in the response: a pattern's parts are
bounded, and `[TEXT]` is whatever lies between the first place where the part before it matches and the next.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from assay.errors import ConfigError

SLOTS = {
    "NUM": r"(?<![\w.])[-+\u2212]?\$?\d{1,64}+(?:,\d{3}){0,20}+(?:\.\d{1,64}+)?+"
    r"(?:[eE][-+]?\d{1,4}+|/\d{1,64}+)?+%?",
    "WORD": r"(?<!\w)[^\W_][\w'’\-]{0,63}+",
    "LETTER": r"(?<!\w)[^\W\d_](?!\w)",
}
"""What each slot but [TEXT] matches."""

_SLOT = re.compile(r"\[([A-Z]+|num|word|letter|text)\]")
_LONGEST = 1000


class Fit(IntEnum):
    """How well a response fits a template."""

    NONE = 0
    PARTIAL = 1  # its slot and what follows end the response, or its words are there without what fills the slot
    EXACT = 2  # the response ends with it


@dataclass(frozen=True, slots=True)
class Template:
    """A template, read: the parts between its [TEXT] slots, each a pattern of bounded length."""

    source: str
    parts: tuple[str, ...]
    tail: str
    """From the last slot that says something (a number, a letter) to the end; empty where there is none."""
    words: tuple[str, ...] = field(default=())
    """The words of the template outside its slots."""

    def fit(self, text: str) -> Fit:
        """How well the text fits."""
        text = text.rstrip()
        if self._ends(text):
            return Fit.EXACT
        if self.tail and _at_end(self.tail, text, 0) >= 0:
            return Fit.PARTIAL
        if self.words and _in_order(self.words, text):
            return Fit.PARTIAL
        return Fit.NONE

    def _ends(self, text: str) -> bool:
        start = 0
        for i, part in enumerate(self.parts[:-1]):
            found = _compile(part).search(text, start)
            if not found or (i and not text[start : found.start()].strip()):
                return False
            start = found.end()
        last = self.parts[-1]
        end = _at_end(last, text, start) if last else len(text)
        return end >= 0 and (len(self.parts) == 1 or bool(text[start:end].strip()))


@functools.lru_cache(maxsize=256)
def read_template(source: Any) -> Template:
    """Read a template, or say what is wrong with it.

    Example:
        >>> read_template("The answer is [NUM].").fit("2 + 2 = 4. The answer is 4.").name
        'EXACT'
    """
    if not isinstance(source, str) or not source.strip() or len(source) > _LONGEST:
        raise ConfigError(
            f"needed a template of 1 to {_LONGEST} characters, as 'The answer is [NUM].'; found {source!r:.60}."
        )
    parts, tail, literals, at = [""], "", list[str](), 0
    for slot in _SLOT.finditer(source):
        kind = slot.group(1).upper()
        if kind not in (*SLOTS, "TEXT"):
            known = ", ".join(f"[{name}]" for name in (*SLOTS, "TEXT"))
            raise ConfigError(f"needed the slots {known} in the template; found [{kind}] in {source!r:.80}.")
        literal = source[at : slot.start()]
        at = slot.end()
        literals.append(literal)
        parts[-1] += _literal(literal)
        tail += _literal(literal) if tail else ""
        if kind == "TEXT":
            parts.append("")
            tail = ""
        else:
            parts[-1] += SLOTS[kind]
            tail = SLOTS[kind] if kind in ("NUM", "LETTER") else ""
    parts[-1] += _literal(source[at:].rstrip())
    tail += _literal(source[at:].rstrip()) if tail else ""
    literals.append(source[at:])
    words = tuple(w for literal in literals for w in re.findall(r"\w+", literal))
    return Template(source, tuple(parts), tail, words)


def _literal(text: str) -> str:
    pieces = [re.escape(piece) for piece in re.split(r"\s+", text)]
    pattern = r"\s{1,8}".join(pieces)
    # a word of the template is no part of a longer word of the response
    return (r"(?<!\w)" if text[:1].isalnum() else "") + pattern + (r"(?!\w)" if text[-1:].isalnum() else "")


def _at_end(part: str, text: str, start: int) -> int:
    """Where the part begins that ends the text, or -1. Only the end is looked at: a part is of bounded length."""
    window = max(start, len(text) - 2 * _LONGEST)
    found = _compile(part + r"\Z").search(text, window)
    return found.start() if found else -1


def _in_order(words: tuple[str, ...], text: str) -> bool:
    lowered, at = text.lower(), 0
    for word in words:
        at = _word_at(lowered, word.lower(), at)
        if at < 0:
            return False
        at += len(word)
    return True


def _word_at(text: str, word: str, start: int) -> int:
    found = _compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(text, start)
    return found.start() if found else -1


@functools.lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
