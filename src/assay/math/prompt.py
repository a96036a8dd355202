"""The answers to one prompt: those that say the same are judged once, and described when that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.math.grade import Grade, grade_answer
from assay.math.verdict import Options, read_gold
from assay.text.extract import FinalAnswer

_SHOWN = 200


@dataclass(slots=True)
class Judged:
    """What was decided about one answer, however often it is given."""

    grade: Grade
    gold: str
    """The first of the gold answers."""
    words: dict[str, Any] | None = None
    """What is said of it, put together when it is first asked for."""

    def describe(self, found: FinalAnswer | None) -> dict[str, Any]:
        """Plain data: what was found and how, what it was compared with, and what was decided by which rule."""
        if self.words is None:
            grade, verdict = self.grade, self.grade.verdict
            gold = read_gold(self.gold) if verdict is None else verdict.gold
            self.words = {
                "extracted": grade.found.text[:_SHOWN] if grade.found else None,
                "how": None,
                "canonical": None if verdict is None else verdict.answer.canonical,
                "gold": gold.text[:_SHOWN],
                "gold_canonical": gold.canonical,
                "rule": grade.rule,
                "reason": grade.reason,
            }
        return self.words | {"how": found.how if found else None}


class Prompt:
    """One prompt's gold answers, and what was decided so far about the answers that were given to it."""

    __slots__ = ("golds", "known", "options", "problem", "strict")

    def __init__(self, golds: Sequence[str], options: Options, strict: bool, problem: str = "") -> None:
        self.golds = golds
        self.options = options
        self.strict = strict
        self.problem = problem
        """Why the gold cannot be read; empty where it can."""
        self.known: dict[Any, Judged] = {}

    def judge(self, found: FinalAnswer | None) -> Judged:
        """What is decided about a final answer. It depends on what it says, and only where it has rivals on how."""
        said: Any = None if found is None else (found.text, found.how, found.rivals) if found.rivals else found.text
        judged = self.known.get(said)
        if judged is None:
            judged = self.known[said] = Judged(self._grade(found), self.golds[0])
        return judged

    def _grade(self, found: FinalAnswer | None) -> Grade:
        if found is None:
            return Grade(False, None, None, "no answer", "no final answer is stated")
        return grade_answer(found, self.golds, self.options, self.strict)
