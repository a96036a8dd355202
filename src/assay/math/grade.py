"""From a whole response to a verdict: extract the final answer, refuse hedges, compare with the gold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from assay.math.reading import Reading
from assay.math.verdict import DEFAULT, Options, Verdict, judge, read_gold
from assay.text.extract import FinalAnswer, final_answer


@dataclass(slots=True)
class Grade:
    """What was found in a response, and what was decided about it."""

    correct: bool
    found: FinalAnswer | None
    verdict: Verdict | None
    rule: str
    detail: str = ""

    @property
    def reason(self) -> str:
        """What was decided, in words."""
        return self.detail or (self.rule if self.verdict is None else self.verdict.reason)


def extract(response: str) -> str | None:
    r"""The final answer that a response states; None where it states none.

    >>> extract("<think>8?</think> The answer is **7**.")
    '7'
    """
    found = final_answer(response)
    return found.text if found else None


def grade(response: str, golds: Sequence[str], options: Options = DEFAULT, strict: bool = True) -> Grade:
    """Whether a response's final answer is one of the gold answers."""
    found = final_answer(response)
    if found is None:
        return Grade(False, None, None, "no answer", "no final answer is stated")
    return grade_answer(found, golds, options, strict)


def grade_answer(found: FinalAnswer, golds: Sequence[str], options: Options = DEFAULT, strict: bool = True) -> Grade:
    """Whether an answer that was found is one of the gold answers."""
    answer = Reading(found.text)
    verdict: Verdict | None = None
    for gold in golds:
        verdict = judge(answer, read_gold(gold), options)
        if not verdict.equal and found.rivals and not strict:
            verdict = _any_part(found, gold, options) or verdict
        if verdict.equal:
            rival = _rival(found, gold, options) if strict else ""
            if rival:
                reason = f"two different final answers: {found.text[:60]} and {rival[:60]}"
                return Grade(False, found, verdict, "two answers", reason)
            return Grade(True, found, verdict, verdict.rule)
    assert verdict is not None
    return Grade(False, found, verdict, verdict.rule)


def _any_part(found: FinalAnswer, gold: str, options: Options) -> Verdict | None:
    last = found.text.rsplit(", ", 1)[-1]
    verdict = judge(Reading(last), read_gold(gold), options)
    return verdict if verdict.equal else None


def _rival(found: FinalAnswer, gold: str, options: Options) -> str:
    """Another answer in the same breath that is not the gold; boxes that were joined to one list are no rivals."""
    for rival in found.rivals:
        if found.how == "boxed" and rival in found.text:
            continue
        if not judge(Reading(rival), read_gold(gold), options).equal:
            return rival
    return ""


_WORKED = ("\\boxed", "\\fbox", "####", "</answer>", "nswer")
"""What marks a gold that is a worked solution, and no bare answer."""


@lru_cache(maxsize=4096)
def stated_answer(gold: str) -> str:
    """The answer that a gold states: itself, or what stands at the end of a worked solution."""
    if any(mark in gold for mark in _WORKED):
        found = final_answer(gold)
        if found is not None and found.stated:
            return found.text.strip()
    if len(gold) > 30 and _several_sentences(gold):
        found = final_answer(gold)
        if found is not None and not found.rivals:
            return found.text.strip()
    return gold.strip()


def _several_sentences(gold: str) -> bool:
    """Whether a gold is a worked solution of several sentences with several numbers, whose answer it ends on."""
    sentences = [part for part in _SENTENCE_END.split(gold) if " " in part]
    return len(sentences) > 1 and len(_NUMBER.findall(gold)) > 1


_SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z$\\])|\n")
_NUMBER = re.compile(r"\d+")


def correct(response: str, gold: str) -> bool:
    """The shortest form: is the response right?"""
    return grade(response, (stated_answer(gold),)).correct


def tolerant(response: str, gold: str) -> bool:
    """As `correct`, with one per cent of tolerance for real numbers."""
    return grade(response, (stated_answer(gold),), Options(tolerance=0.01)).correct
