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
_TOKENS = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|</s>\s*</?s>|<<SYS>>|<pad>")

# Words that must be there before the slower patterns below are tried at all.
_JUDGE_WORDS = (
    "grader", "grading", "judge", "evaluat", "rubric", "rater", "rating", "score", "marks", "verdict", "reviewer",
    "this response", "instructions", "other response", "assistant a", "assistant b", "</response", "[result]",
)  # fmt: skip
_ADDRESSEE = r"(grader|judge|evaluator|reviewer|rater|grading (model|system|script))s?\b"
_VERDICT = r"(score|rating|marks|grade)\b"
_TOP = r"(max(imum)?|highest|perfect|full|best|top)\b"
_JUDGE = re.compile(
    "|".join(
        (
            # somebody is spoken to who is not the one that asked
            rf"\b(note|message|memo|attention|dear|hello)\b[\s:,]*(to |for )?(the |all |our |my )?"
            rf"(automated |ai |llm |human )?{_ADDRESSEE}",
            r"\b(grader|judge|evaluator|rater)s?\s*:",
            r"\b(ignore|disregard|forget|override)\b (all |any |the |your |every )*"
            r"(previous|prior|above|earlier|preceding|rubric|grading|evaluation|scoring)",
            # the response speaks of itself as of what is graded
            r"\bthis (response|submission)\b[^.\n]{0,30}\b(deserves?|must|should|has been|is|receives?)\b"
            r"[^.\n]{0,50}\b(correct|accurate|verified|score|marks|rat(ed|ing)|grade|credit|highest|maximum|pass)",
            r"\b(rate|rated|score|grade|preferred) this (response|submission|answer)\b",
            r"\bother (response|answer)\b[^.\n]{0,60}\b(lose|worse|inferior|wrong|error)",
            r"\b(give|award|grant|assign)\b[^.\n]{0,30}\b(full|maximum|highest|perfect|top)\b[^.\n]{0,10}"
            r"\b(marks|credit|rating|score for this)",
            rf"\b(always|just|only|simply|must|please)\b[^.\n]{{0,20}}\b(output|return|give|print|assign)\b"
            rf"[^.\n]{{0,20}}\b{_TOP}[^.\n]{{0,6}}\b{_VERDICT}(?! (of|that|for|each|over))",
            r"\b(output|return|emit|respond with) *\{ *[\"'](score|rating|verdict|grade)",
            r"\b(grading|evaluation|scoring)( session| process)? (is|was|has been) (finished|complete|over|closed)",
            r"\brubric (is|was|has been) (now )?(updated|changed|replaced)",
            # what a judge's own prompt or reply is made of
            r"\[\[[^\]\n]{0,30}(verdict|rating|score|correct|pass)[^\]\n]{0,30}\]\]",
            r"\b(rating|verdict)\b[^\n]{0,12}\[\[|\[the (start|end) of assistant|\[result\]",
            r"</(response|submission|trajectory)>|<(instructions|trajectory|score|verdict|rubric)\b",
        )
    ),
    re.IGNORECASE,
)
_FORGED = re.compile(
    r"\b(score|rating|grade|verdict|marks)\b[\"']?\s*[:=]\s*[\"'*]*\s*"
    r"((10|100|5|1(\.0+)?)\s*/\s*\d+|max\w*|correct|pass(ed)?\b)"
    r"|[{,]\s*[\"'](score|rating|verdict|grade)[\"']\s*:",
    re.IGNORECASE,
)
"""A verdict as a judge would write it: only looked for at the very end, and not in code, where it may be honest."""
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been but by can did do does for from had has have he her his how i if in is it its me
        my no not of on or our she so some than that the their them then there these they this to was we were what when
        where which who will with would you your each more all
        der die das und ist ein eine nicht zu mit den von auf für le la les de des du et un une est pas que pour dans
        sur el los las y en es por con para se una il di che e per non o da em um uma não com os""",
    )
)
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
        stuffing(counts, len(plain)),
        float(len(plain)) if "<think" not in lowered else float(_reasoned(bare, lowered)),
        len(counts) / len(plain) if plain else 1.0,
    )
    return Features(numbers, _kinds(text, lowered, turns) | _marks(text, lowered, gold))


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


def stuffing(counts: Counter[str], total: int) -> float:
    """How much like a list of keywords it reads: 1 for words that no sentence holds together, 0 for prose.

    Looks at the alphabetic words, and says nothing (0) for fewer than thirty of them.
    """
    if total < 30:
        return 0.0
    holding = sum(counts[w] for w in _FUNCTION_WORDS & counts.keys())
    if holding > 0.12 * total and max(counts.values()) < 0.12 * total:
        return 0.0
    content = {w: n for w, n in counts.items() if w.isalpha() and len(w) < 20 and w not in _FUNCTION_WORDS}
    alphabetic = holding + sum(content.values())
    if alphabetic < 30 or alphabetic < 0.5 * total or not all(map(str.isascii, content)):
        return 0.0
    top = sorted(content.values())[-2:]
    most = sum(top) / alphabetic if top and top[0] >= 8 else 0.0
    unheld = 1.0 - holding / alphabetic / 0.12
    return round(max(0.0, unheld, min(1.0, (most - 0.25) / 0.25)), 4)


def _reasoned(bare: str, lowered: str) -> int:
    """How many words stand inside <think>; `bare` is `lowered` with its punctuation blanked out."""
    start = lowered.index("<think") + 7
    end = lowered.find("</think>", start)
    return len(words(bare[start : end if end >= 0 else None]))


def _kinds(text: str, lowered: str, turns: int) -> int:
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
        not latin,
        text.count("\n") >= 3 and len(_LIST_LINE.findall(text)) >= 4,
        turns > 1,
    )
    return sum(1 << k for k, held in enumerate(holds) if held)


def _marks(text: str, lowered: str, gold: Any) -> int:
    boxes = set(_BOX.findall(text)) if "\\boxed" in text else set[str]()
    answers = {a.strip() for a in _ANSWER.findall(text)} if "<answer>" in lowered else set[str]()
    asks = any(word in lowered for word in _JUDGE_WORDS) and (
        _JUDGE.search(text) is not None
        or ("```" not in text and _FORGED.search(text, max(0, len(text) - 250)) is not None)
    )
    holds = (
        not text.isascii() and len(_INVISIBLE.findall(text)) > 2,
        asks
        or (
            ("<|" in text or "[/INST]" in text or "</s>" in text or "<pad>" in text)
            and _TOKENS.search(text) is not None
        ),
        len(boxes) >= 4 or len(answers) >= 3,
        isinstance(gold, str) and len(gold) >= 60 and gold.strip() in text,
    )
    return sum(1 << (len(KINDS) + k) for k, held in enumerate(holds) if held)


def turns_of(row: Mapping[str, Any]) -> int:
    """How many turns of the policy a row holds."""
    messages = row.get("messages")
    if not isinstance(messages, list):
        return 1
    return max(1, sum(1 for m in messages if isinstance(m, Mapping) and m.get("role") == "assistant"))
