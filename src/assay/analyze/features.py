"""What a response looks like, as a row of numbers and yes-or-no marks: bounded work on any text.

Lengths are of the whole text. Everything else is measured on its first and last `HEAD` characters, so that a response
of a megabyte costs as much as one of a page.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.analyze.hollow import LONGEST, MOST_WORDS, hollow
from assay.analyze.pleas import speaks_to_judge
from assay.text.measure import words

HEAD = 6_000
"""Characters from each end of a response that are looked at."""

KINDS = (
    "empty",
    "has_box",
    "has_tags",
    "has_code",
    "truncated",
    "refusal",
    "not_english",
    "lists",
    "many_turns",
)
"""What kind of response it is; the bit of a kind is its place here."""

MARKS = (
    "invisible",
    "to_the_judge",
    "many_answers",
    "gold_copied",
    "hollow",
)
"""What should not be in an honest response; the bits go on after those of `KINDS`."""

BITS = (*KINDS, *MARKS)

NUMBERS = ("length", "words", "repetition", "echo", "stuffing", "substance", "variety")
"""The measures of a text, in the order in which `Features.numbers` holds them."""


@dataclass(slots=True)
class Features:
    """The measures of one response."""

    numbers: tuple[float, ...]
    """One for each of `NUMBERS`."""
    bits: int
    """The kinds and marks that hold."""


_INVISIBLE = re.compile("[\u00ad\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_TAGS = ("<think", "<answer", "<reasoning", "<solution", "<thought", "<tool_call")
_REFUSAL_WORDS = ("sorry", "unable", "not able", "cannot", "can't", "can not", "won't", "how", "as an ai", "decline")
_REFUSAL = re.compile(
    r"\b(i('m| am) (sorry|unable|not able)|i (cannot|can't|can not|won't|don't know how)|as an ai\b|i must decline)",
    re.I,
)
_LIST_LINE = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s", re.MULTILINE)
_BOX = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_ENGLISH = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been but by can did do does for from had has have he her his how i if in is it its
        me my no not of on or our she so some than that the their them then there these they this to was we were
        what when where which who will with would you your each more all""",
    )
)
_OTHERS = frozenset(
    re.findall(
        r"\w+",
        """der die das und ist ein eine nicht zu mit den von auf für le la les de des du et un une est pas que pour
        dans sur el los las y en es por con para se una il di che e per non o da em um uma não com os""",
    )
)
_FUNCTION_WORDS = _ENGLISH | _OTHERS
_FORM = re.compile(r"[<#{`]|\\boxed|\*\*")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SPACED = dict.fromkeys(map(ord, ".,;:!?\"'()*<>/=`{}[]#_|\\"), " ")


def features_of(prompt: str, response: str, gold: Any = None, turns: int = 1) -> Features:
    """Measure one response.

    Example:
        >>> found = features_of("What is 2 + 2?", "It is \\\\boxed{4}.", "4")
        >>> "has_box" in names_of(found.bits)
        True
    """
    text = response if len(response) <= 2 * HEAD else f"{response[:HEAD]}\n{response[-HEAD:]}"
    lowered = text.lower()
    bare = lowered.translate(_SPACED)
    plain = bare.split() if text.isascii() else words(bare)
    counts = Counter(plain)
    share = len(response) / max(1, len(text))
    numbers = (
        float(len(response)),
        float(round(len(plain) * share)),
        repetition(text),
        echo(prompt, text),
        stuffing(*_unfenced(lowered, plain, counts)),
        float(len(plain)) if "<think" not in lowered else float(_reasoned(bare, lowered)),
        len(counts) / len(plain) if plain else 1.0,
    )
    return Features(numbers, _kinds(text, lowered, turns, counts, len(plain)) | _marks(text, lowered, gold, len(plain)))


def names_of(bits: int) -> list[str]:
    """The names of the kinds and marks that are set."""
    return [name for k, name in enumerate(BITS) if bits >> k & 1]


def repetition(text: str) -> float:
    """How much of the text its own beginning foretells: 0 for none of it, near 1 for a loop.

    Prose of any length packs to about half its size or more; what packs far better says the same thing again.
    """
    if len(text) < 200:
        return 0.0
    raw = text.encode("utf-8", "replace")
    packed = len(zlib.compress(raw, 1)) / len(raw)
    usual = 0.62 - 0.05 * min(6.0, len(raw) / 2000)  # longer prose packs better
    return round(min(1.0, max(0.0, 1.0 - packed / usual)), 4)


def echo(prompt: str, text: str) -> float:
    """How much of the response is the prompt said again, word for word: 1 where that is half of it or more.

    Looks for eight places of the prompt, of forty characters each.
    """
    asked = prompt.strip()
    if len(asked) < 60:
        return 0.0
    gap = (len(asked) - 40) / 7
    found = sum(asked[(at := int(k * gap)) : at + 40] in text for k in range(8))
    return found / 8 * min(1.0, 2 * len(asked) / max(1, len(text)))


def stuffing(plain: list[str], counts: Counter[str]) -> float:
    """How much like a list of keywords it reads: 1 for words that no sentence holds together, 0 for prose.

    Looks at the alphabetic words of the whole and of its end, where a list is put after an answer; says nothing (0) for
    fewer than fifteen of them, and for fewer than thirty only where not one word holds others together.
    """
    whole = _unheld(counts, len(plain))
    if whole < 0.6 and len(plain) >= TAIL + 30:
        return max(whole, _unheld(Counter(plain[-TAIL:]), TAIL, usual=0.04))
    return whole


TAIL = 60
"""Words at the end that are looked at by themselves."""


def _unheld(counts: Counter[str], total: int, usual: float = 0.12) -> float:
    """How far the share of function words stays below what prose in any of these languages has, from 0 to 1."""
    if total < 15:
        return 0.0
    holding = sum(counts[w] for w in _FUNCTION_WORDS & counts.keys())
    if holding > usual * total or (total < 30 and holding):
        return 0.0
    content = {w: n for w, n in counts.items() if w.isalpha() and len(w) < 20 and w not in _FUNCTION_WORDS}
    alphabetic = holding + sum(content.values())
    few = 0.95 if total < 30 or usual < 0.1 else 0.75
    if alphabetic < few * total or not all(map(str.isascii, content)):
        return 0.0
    return round(max(0.0, 1.0 - holding / alphabetic / usual), 4)


def _unfenced(lowered: str, plain: list[str], counts: Counter[str]) -> tuple[list[str], Counter[str]]:
    """The words outside of fenced code: names in a program are held together by other things than words."""
    if "```" not in lowered:
        return plain, counts
    outside = words(_FENCED.sub(" ", lowered).translate(_SPACED))
    return outside, Counter(outside)


def _reasoned(bare: str, lowered: str) -> int:
    """How many words stand inside <think>; `bare` is `lowered` with its punctuation blanked out."""
    start = lowered.index("<think") + 7
    end = lowered.find("</think>", start)
    return len(words(bare[start : end if end >= 0 else None]))


def _kinds(text: str, lowered: str, turns: int, counts: Counter[str], size: int) -> int:
    opened = [lowered.count(f"<{tag}>") - lowered.count(f"</{tag}>") for tag in ("think", "answer")]
    ended, head = text.rstrip(), lowered[:300]
    cut = max(opened) > 0 or lowered.count("```") % 2 == 1 or lowered.count("\\boxed{") > len(_BOX.findall(text)) * 3
    latin = text.isascii() or sum(map(str.isascii, text)) > 0.7 * len(text)
    holds = (
        not ended,
        "\\boxed" in text,
        "<" in text and any(tag in lowered for tag in _TAGS),
        "```" in text or "\ndef " in text or text.startswith("def "),
        cut or (len(ended) > 400 and ended[-1].isalpha()),
        any(word in head for word in _REFUSAL_WORDS) and _REFUSAL.search(head) is not None,
        not latin or _in_another_language(counts, size),
        text.count("\n") >= 3 and len(_LIST_LINE.findall(text)) >= 4,
        turns > 1,
    )
    return sum(1 << k for k, held in enumerate(holds) if held)


def _in_another_language(counts: Counter[str], size: int) -> bool:
    """Whether what holds its sentences together is not English; too short a text says nothing."""
    if size < 12:
        return False
    english, other = (sum(counts[w] for w in known & counts.keys()) for known in (_ENGLISH, _OTHERS))
    return other > 1.5 * english and other > 0.12 * size


def _marks(text: str, lowered: str, gold: Any, size: int) -> int:
    boxes = set(_BOX.findall(text)) if "\\boxed" in text else set[str]()
    answers = {a.strip() for a in _ANSWER.findall(text)} if "<answer>" in lowered else set[str]()
    holds = (
        not text.isascii() and len(_INVISIBLE.findall(text)) > 2,
        speaks_to_judge(lowered),
        len(boxes) >= 4 or len(answers) >= 3,
        isinstance(gold, str) and len(gold) >= 60 and gold.strip() in text,
        size < MOST_WORDS and len(text) <= LONGEST and _FORM.search(lowered) is not None and hollow(lowered),
    )
    return sum(1 << (len(KINDS) + k) for k, held in enumerate(holds) if held)


def turns_of(row: Mapping[str, Any]) -> int:
    """How many turns of the policy a row holds."""
    messages = row.get("messages")
    if not isinstance(messages, list):
        return 1
    return max(1, sum(1 for m in messages if isinstance(m, Mapping) and m.get("role") == "assistant"))
