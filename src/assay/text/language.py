"""Which language a text is in: by its script where the script says it, else by py3langid (extra `text`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from assay.errors import ConfigError, did_you_mean, require
from assay.text.fences import code_spans
from assay.text.measure import SCRIPTS, script_counts

OWN_SCRIPT = {
    "bn": ("bengali",),
    "el": ("greek",),
    "gu": ("gujarati",),
    "he": ("hebrew",),
    "hy": ("armenian",),
    "ja": ("han", "hiragana", "katakana"),
    "ka": ("georgian",),
    "km": ("khmer",),
    "kn": ("kannada",),
    "ko": ("hangul",),
    "lo": ("lao",),
    "ml": ("malayalam",),
    "my": ("burmese",),
    "pa": ("gurmukhi",),
    "ta": ("tamil",),
    "te": ("telugu",),
    "th": ("thai",),
    "zh": ("han",),
}
"""Languages that their script tells: of the languages written in it, each is by far the most written."""

_MATH = re.compile(r"\$\$[^$]*\$\$|\$[^$\n]*\$|\\\((?:[^\\\n]|\\(?![()]))*+\\\)|https?://\S+|</?[a-z_]{1,20}>")
_CODE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[^\n]*$|`[^`\n]*`", re.MULTILINE)
_PIECES, _PIECE = 40, 1000  # how many pieces of a text are classified at most, and the characters of one
_ENOUGH = 120  # fewer characters say little: short lines are put together


def prose(text: str) -> str:
    """The text without code, formulas, links and tags, whose letters are Latin in any language."""
    spans = code_spans(text)
    starts, ends = [0, *(end for _, _, end in spans)], [*(start for _, start, _ in spans), len(text)]
    text = " ".join(text[a:b] for a, b in zip(starts, ends, strict=True))
    return _MATH.sub(" ", _CODE.sub(" ", text))


def language_shares(text: str) -> dict[str, float]:
    """The share of each language in a text, classified piece by piece; of a long text, pieces at even distances.

    Example:
        >>> language_shares("This is an English sentence, and quite a plain one.")
        {'en': 1.0}
    """
    classify = _classifier()
    weights: dict[str, int] = {}
    for piece in _pieces(text):
        if letters := sum(script_counts(piece).values()):
            language = classify(piece)[0]
            weights[language] = weights.get(language, 0) + letters
    total = sum(weights.values())
    return {language: weight / total for language, weight in weights.items()} if total else {}


def share_of_language(text: str, language: str) -> float:
    """The share of a text that is in a language (an ISO 639-1 code), from 0 to 1."""
    scripts = OWN_SCRIPT.get(language)
    if scripts is None:
        return language_shares(text).get(language, 0.0)
    counts = script_counts(text)
    kana = counts.get("hiragana", 0) + counts.get("katakana", 0)
    if language == "ja" and not kana:
        return 0.0  # Han alone is Chinese
    if language == "zh" and kana:
        counts = {**counts, "han": max(0, counts.get("han", 0) - 2 * kana)}  # kana make the characters around Japanese
    total = sum(script_counts(text).values())
    return sum(counts.get(s, 0) for s in scripts) / total if total else 0.0


def main_script(text: str) -> str:
    """The script that most letters are of; empty where there is no letter."""
    counts = script_counts(text)
    return max(counts, key=lambda name: counts[name]) if counts else ""


def primary(language: str) -> str:
    """The language of a code with a region or a script: `pt` of `pt-BR`, `zh` of `zh_Hans`."""
    return re.split("[-_]", language.strip().lower(), maxsplit=1)[0]


def check_language(language: str) -> None:
    """Refuse what is no language that can be told."""
    if language not in OWN_SCRIPT and language not in (known := _languages()):
        raise ConfigError(
            f"needed a language as ISO 639-1 code (en, de, zh ...); found {language!r}.{did_you_mean(language, known)}"
        )


def check_script(script: str) -> None:
    """Refuse what is no script that is told apart."""
    if script not in SCRIPTS:
        raise ConfigError(f"needed a script of {', '.join(SCRIPTS)}; found {script!r}.{did_you_mean(script, SCRIPTS)}")


def _pieces(text: str) -> list[str]:
    if len(text) > _PIECES * _PIECE:
        return [text[i : i + _PIECE] for i in range(0, len(text), len(text) // _PIECES)]
    pieces = [""]
    for line in text.split("\n"):
        if len(pieces[-1]) < _ENOUGH:
            pieces[-1] += f"{line}\n"
        else:
            pieces.append(line)
    if len(pieces) > 1 and len(pieces[-1]) < _ENOUGH:
        pieces[-2:] = ["\n".join(pieces[-2:])]
    return pieces


@functools.cache
def _classifier() -> Callable[[str], tuple[str, Any]]:
    return require("py3langid", "text", "telling a language").classify


@functools.cache
def _languages() -> frozenset[str]:
    rank = require("py3langid", "text", "telling a language").rank
    return frozenset(str(language) for language, _ in rank("a"))
