"""How much of what is in a text, in any script: words, sentences, n-grams, the share of a script.

All of it is linear in the text. A word is what stands between spaces; in scripts that are written without spaces
(Chinese, Japanese, Thai, Lao, Khmer, Burmese) every character is one, so that lengths and n-grams mean something there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
)
"""The characters, as the inside of a regular expression's class, that are words of their own."""

SCRIPTS: Mapping[str, str] = {
    "latin": "A-Za-zªºÀ-ÖØ-öø-ʸᴀ-ᵿḀ-ỿⱠ-Ɀ꜠-ꟿﬀ-ﬆＡ-Ｚａ-ｚ",
    "cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "han": "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
    "hiragana": "\u3041-\u309f",
    "katakana": "\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9d",
    "hangul": "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "devanagari": "\u0900-\u097f\ua8e0-\ua8ff",
    "bengali": "\u0980-\u09ff",
    "gurmukhi": "\u0a00-\u0a7f",
    "gujarati": "\u0a80-\u0aff",
    "tamil": "\u0b80-\u0bff",
    "telugu": "\u0c00-\u0c7f",
    "kannada": "\u0c80-\u0cff",
    "malayalam": "\u0d00-\u0d7f",
    "thai": "\u0e00-\u0e7f",
    "lao": "\u0e80-\u0eff",
    "burmese": "\u1000-\u109f",
    "khmer": "\u1780-\u17ff",
    "georgian": "\u10a0-\u10ff\u1c90-\u1cbf",
    "armenian": "\u0530-\u058f",
    "ethiopic": "\u1200-\u139f",
}
"""The scripts that are told apart, each as the inside of a regular expression's class."""

LONGEST_WORD = 127
"""What is longer without a space is no word but a run of characters: a loop hides in it, or a script we do not know."""

_SPACELESS = re.compile(f"[{SPACELESS}]")
_PIECES = re.compile(f"[{SPACELESS}]|[^\\s{SPACELESS}]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_SCRIPT_RUNS = {name: re.compile(f"[{inside}]+") for name, inside in SCRIPTS.items()}
_SHORT = r"(?<!\b(?:Mr|Ms|Dr|St|Jr|Sr|vs|cf)\.)(?<!\b(?:Mrs|e\.g|i\.e|Inc|Ltd)\.)(?<!\bProf\.)"
"""Abbreviations whose full stop ends no sentence."""
_SENTENCE_END = re.compile(r"(?:(?:[!?…؟]|\." + _SHORT + r")(?:[\"'”’)\]*_]{0,3})(?=\s|\Z))|[。！？।॥]|\n\s*\n")


def words(text: str) -> list[str]:
    """The words of a text, in order and as they stand.

    Example:
        >>> words("two words, 三个字")
        ['two', 'words,', '三', '个', '字']
    """
    if text.isascii() or not _SPACELESS.search(text):
        return text.split()
    return _PIECES.findall(text)


def count_words(text: str) -> int:
    """How many words there are."""
    return len(text.split() if text.isascii() else words(text))


def sentences(text: str) -> list[str]:
    """The sentences of a text: split after a full stop of any script, or at an empty line.

    Example:
        >>> sentences("It is 3.14. Is it? 是的。")
        ['It is 3.14.', 'Is it?', '是的。']
    """
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [s for s in found if s and any(c.isalnum() for c in s)]


def repeated_share(pieces: Sequence[str], n: int) -> float:
    """The share of the n-grams that stood before in the text: 0 where none did, or where there is no n-gram.

    Example:
        >>> repeated_share("a b c a b c".split(), 3)
        0.25
    """
    total = len(pieces) - n + 1
    if total <= 0:
        return 0.0
    return 1.0 - len(set(zip(*[pieces[i:] for i in range(n)], strict=False))) / total


def pieces_of(text: str) -> list[str]:
    """The words for an n-gram count: lower case, and with no word so long that a loop could hide in it."""
    found = words(text.lower())
    if not _may_hold_run(text) or len(max(found, key=len, default="")) <= LONGEST_WORD:
        return found
    return [piece for word in found for piece in (word if len(word) > LONGEST_WORD else (word,))]


def _may_hold_run(text: str) -> bool:
    # a run of more than 127 fills one of these blocks of 64; this asks less of a text than the length of each word
    block = (LONGEST_WORD + 1) // 2
    for start in range(0, len(text) - block + 1, block):  # noqa: SIM110 - half the time of any() here
        if " " not in text[start : start + block]:
            return True
    return False


def script_counts(text: str) -> dict[str, int]:
    """How many letters of each script there are; letters of no script that is told apart count as 'other'.

    Example:
        >>> script_counts("da, да")
        {'latin': 2, 'cyrillic': 2}
    """
    letters = "".join(_LETTERS.findall(text))
    if not letters:
        return {}
    if letters.isascii():
        return {"latin": len(letters)}
    found: dict[str, int] = {}
    for name, runs in _SCRIPT_RUNS.items():
        if count := sum(map(len, runs.findall(letters))):
            found[name] = count
    if (other := len(letters) - sum(found.values())) > 0:
        found["other"] = other
    return found


def script_share(text: str, scripts: Sequence[str]) -> float:
    """The share of the letters that belong to one of these scripts; 0 where there is no letter."""
    counts = script_counts(text)
    total = sum(counts.values())
    return sum(counts.get(s, 0) for s in scripts) / total if total else 0.0
