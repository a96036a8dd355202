"""Statements that are denied (`the answer is not 7`) or only supposed (`if the answer were 7`)."""

from __future__ import annotations

import re
from functools import lru_cache

_OPEN = r"[\s$\\(\[*:=\"'`]*"
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot\s+be|rather\s+than|instead\s+of|other\s+than|unlike|except)|n['’]t"
    r"|\b(?:wrong|incorrect|mistaken)\s+(?:answers?|results?|values?|choices?|solutions?)(?:\s+(?:here|would\s+be|are|was))?"
    r"|\b(?:nicht|no\s+es|n['’]est\s+pas|não\s+é|non\s+è|не)|不(?:是|为|等于))"
    r"(?:\s+(?:equal\s+to|equals?|simply|just|be|the|an?|answer|is|exactly|really|final|correct|necessarily|as))*"
    + _OPEN
    + r"$",
    re.I,
)
_SUPPOSED_BEFORE = re.compile(
    r"(?:\b(?:if|suppose|supposing|assume|assuming|imagine|unless|pretend)\b[^.!?\n,;:]{0,60}"
    r"\b(?:answer|result|solution|value|it)\b[^.!?\n,;:]{0,30}"
    r"|(?<!or\s)\b(?:maybe|perhaps|possibly|might\s+be|could\s+be|may\s+be|could\s+have\s+been|would\s+have\s+been|for\s+example|e\.g\."
    r"|podría\s+ser|pourrait\s+être|könnte|может\s+быть)"
    r"(?:\s+(?:it|is|the|answer|even|just|say))*|(?:可能|也许|或许)是?)" + _OPEN + r"$",
    re.I,
)
_ASSUMED_BEFORE = re.compile(
    r"\b(?:were|let)\s+the\s+(?:answer|result|value)\s+(?:be\s+)?"
    + _OPEN
    + r"$|\b(?:suppose|supposing|assume|assuming|imagine|pretend)\s+(?:that\s+)?\$?\\?\w{1,5}\s*="
    + _OPEN
    + r"$",
    re.I,
)
_DOUBTED = re.compile(
    r"\b(?:might|may|could|would|tempt\w*\s+to)\s+(?:\w+\s+)?(?:think|guess|believe|expect|say|conclude)\b"
    r"|\b(?:nobody|no\s+one)\b|\bcommon\s+(?:mistake|error)|\b(?:many|some|most)\s+(?:students|people|would)\b|\bfalse\s+that\b"
    r"|\bnot\s+(?:sure|certain|true|clear|believe|think|the\s+case)\b|\bn['’]t\s+(?:think|believe|sure)\b|\bunsure\b"
    r"|(?<!\bwe\s)(?<!\bi\s)\b(?:claim(?:s|ed)|wrong(?:ly)?|mistaken(?:ly)?|naive(?:ly)?|falsely|doubt)\b",
    re.I,
)
_CONDITION = re.compile(r"\b(?:if|had|were)\b", re.I)
_SENTENCE = re.compile(r"[.!?](?=\s)|\n|;|,\s*(?:but|so|therefore|thus|hence|and\s+so)\b")


def doubted(text: str, start: int, lead: str) -> bool:
    """Whether the sentence in which a statement begins at `start` says it with a doubt, or as what would be."""
    before = text[_last_stop(text, start - 160 if start > 160 else 0, start) : start]
    return len(before) > 3 and _doubted_before(before, "would" in lead)


@lru_cache(maxsize=4096)
def _doubted_before(before: str, would: bool) -> bool:
    if not _maybe_doubted(before.lower()) and not would:
        return False
    sentence = _SENTENCE.split(before)[-1]
    if len(sentence) < 4:
        return False
    return bool(_DOUBTED.search(sentence)) or (would and bool(_CONDITION.search(sentence)))


def _last_stop(text: str, start: int, end: int) -> int:
    """Behind the last full stop between two places, so that little is left to be looked at; that of `e.g.` is none."""
    stop = text.rfind(". ", start, end)
    return stop + 1 if stop > 0 and text[stop - 1] != "g" else start


def _maybe_doubted(s: str) -> bool:
    # think, guess, believe, expect, say, conclude; not, n't, unsure; claim, wrong, mistaken, naive, falsely, doubt
    return (
        "not" in s
        or "n't" in s
        or "hink" in s
        or "gues" in s
        or "elie" in s
        or "xpec" in s
        or "say" in s
        or "conc" in s
        or "unsu" in s
        or "clai" in s
        or "wron" in s
        or "mist" in s
        or "naiv" in s
        or "fals" in s
        or "doub" in s
        or "obod" in s
        or "no o" in s
        or "many" in s
        or "some" in s
        or "most" in s
        or not s.isascii()
    )


_DENIED_AFTER = re.compile(
    r"[\s$.)\]*\"'`\\]*(?:is|was|would\s+be|were|seems|looks|cannot|can['’]t|isn['’]t|wasn['’]t)\s*"
    r"(?:not\b|n['’]t\b|wrong|incorrect|false|impossible|be\s+(?:right|correct|the\s+answer)|(?:also\s+)?(?:clearly\s+)?"
    r"(?:wrong|incorrect|not\b)|the\s+wrong|an?\s+(?:wrong|incorrect))"
    r"|[\s$.)\]*\"'`\\]*\(?(?:wrong|incorrect)\b"
    r"|[\s$*}]*(?:ではない|ではありません|じゃない|[이가은는]?\s*아(?:닙니다|니다|니에요))",
    re.I,
)


def denied(text: str, start: int, end: int) -> bool:
    """Whether what stands at `text[start:end]` is denied or only supposed by the words around it."""
    before = text[_last_stop(text, start - 110 if start > 110 else 0, start) : start]
    if _denied_before(before):
        return True
    if ("laim" in before or "hink" in before or "would" in before) and _counterfactual(text, start):
        return True
    return len(text) > end + 4 and bool(_DENIED_AFTER.match(text, end, end + 40))


@lru_cache(maxsize=4096)  # sentences lead to their answers in the same few words
def _denied_before(before: str) -> bool:
    # Almost no answer is, so the expressions are tried only where a part of one of their words is near.
    before = before.lower()
    near = before[-44:]
    if _maybe_denied(near) and _DENIED_BEFORE.search(near):
        return True
    return _maybe_supposed(before, near) and bool(_SUPPOSED_BEFORE.search(before) or _ASSUMED_BEFORE.search(before))


def _counterfactual(text: str, start: int) -> bool:
    """Whether what begins at `start` is what somebody claims, or what would be: `if there were 6, it would be`."""
    sentence = _SENTENCE.split(text[start - 160 if start > 160 else 0 : start])[-1]
    return doubted(text, start, "") or bool(_WERE_WOULD.search(sentence))


_WERE_WOULD = re.compile(r"\b(?:if|had)\b.*\bwere\b.*\bwould\b|\bwere\b.*\bwould\s+have\b", re.S | re.I)


def _maybe_denied(s: str) -> bool:
    # not, cannot, nor, none; never; neither; rather, other than; instead; unlike; except; wrong, incorrect, mistaken
    return (
        "not" in s
        or "nor " in s
        or "n't" in s
        or "nev" in s
        or "nei" in s
        or "han" in s
        or "nst" in s
        or "nli" in s
        or "xce" in s
        or "wrong" in s
        or "ncorr" in s
        or "mista" in s
        or "nicht" in s
        or "no es" in s
        or "est pas" in s
        or not s.isascii()
    )


def _maybe_supposed(s: str, near: str) -> bool:
    # if; suppose; assume; imagine; unless; pretend; were, let the answer be
    # near it: maybe, may be; perhaps; possibly; might, could, would be; for example, e.g.
    return (
        "if " in s
        or "uppos" in s
        or "ssum" in s
        or "magin" in s
        or "unles" in s
        or "reten" in s
        or "were the" in s
        or "let the" in s
        or "may" in near
        or "rhap" in near
        or "ossib" in near
        or "ght be" in near
        or "uld " in near
        or "xamp" in near
        or "e.g" in near
        or not near.isascii()
    )
