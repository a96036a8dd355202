"""Statements that are denied (`the answer is not 7`) or only supposed (`if the answer were 7`)."""

from __future__ import annotations

import re

_OPEN = r"[\s$\\(\[*:=\"'`]*"
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot\s+be|rather\s+than|instead\s+of|other\s+than|unlike|except)|n['’]t)"
    r"(?:\s+(?:equal\s+to|equals?|simply|just|be|the|an?|answer|is|exactly|really|final|correct|necessarily|as))*"
    + _OPEN
    + r"$",
    re.I,
)
_SUPPOSED_BEFORE = re.compile(
    r"(?:\b(?:if|suppose|supposing|assume|assuming|imagine|unless|pretend)\b[^.!?\n,;:]{0,60}"
    r"\b(?:answer|result|solution|value|it)\b[^.!?\n,;:]{0,30}"
    r"|\b(?:maybe|perhaps|possibly|might\s+be|could\s+be|may\s+be|could\s+have\s+been|would\s+have\s+been|for\s+example|e\.g\.)"
    r"(?:\s+(?:it|is|the|answer|even|just|say))*)" + _OPEN + r"$",
    re.I,
)
_DENIED_AFTER = re.compile(
    r"[\s$.)\]*\"'`\\]*(?:is|was|would\s+be|were|seems|looks|cannot|can['’]t|isn['’]t|wasn['’]t)\s*"
    r"(?:not\b|n['’]t\b|wrong|incorrect|false|impossible|be\s+(?:right|correct|the\s+answer)|(?:also\s+)?(?:clearly\s+)?"
    r"(?:wrong|incorrect|not\b)|the\s+wrong|an?\s+(?:wrong|incorrect))"
    r"|[\s$.)\]*\"'`\\]*\(?(?:wrong|incorrect)\b",
    re.I,
)


def _maybe_denied(s: str) -> bool:
    return (
        "not" in s or "n't" in s or "n’t" in s or "never" in s or "nor" in s or "neither" in s or "cannot" in s
        or "rather" in s or "instead" in s or "other" in s or "unlike" in s or "except" in s
    )  # fmt: skip


def _maybe_supposed(s: str) -> bool:
    return (
        "if " in s or "suppos" in s or "assum" in s or "imagin" in s or "unless" in s or "preten" in s or "maybe" in s
        or "perhaps" in s or "possibly" in s or " be" in s or " been" in s or "example" in s or "e.g" in s
    )  # fmt: skip


def denied(text: str, start: int, end: int) -> bool:
    # Almost no answer is denied, so the expressions are tried only where one of their words is near.
    before = text[start - 110 if start > 110 else 0 : start].lower()
    if _maybe_denied(before[-40:]) and _DENIED_BEFORE.search(before[-60:]):
        return True
    if _maybe_supposed(before) and _SUPPOSED_BEFORE.search(before):
        return True
    after = text[end : end + 40]
    return len(after) > 4 and bool(_DENIED_AFTER.match(after))
