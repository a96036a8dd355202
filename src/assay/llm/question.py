"""What is asked of a judge, typed: a question has allowed answers and nothing else is an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to decide, and the answers that there are, each worth a number."""

    name: str
    """How the verdict is called in the metadata."""
    text: str
    """What to decide."""
    labels: tuple[str, ...]
    """The allowed answers, from the lowest to the highest where they have an order."""
    values: tuple[float, ...]
    """What each is worth."""
    meanings: tuple[str, ...] = ()
    """What each means, where the label does not say it."""
    ordered: bool = False
    """The answers are levels of a scale."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The answers as a judge writes them: themselves where one token each is likely, or else letters."""
        if all(re.fullmatch(r"\d|[A-Za-z]|[a-z]{2,7}", label) for label in self.labels):
            return self.labels
        return tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(self.labels)])


def scale(low: int, high: int, text: str, name: str = "score", meanings: Mapping[int, str] | None = None) -> Question:
    """A question answered by a whole number of a scale; worth 0 at its low end and 1 at its high end.

    >>> scale(1, 3, "How good is it?").values
    (0.0, 0.5, 1.0)
    """
    if not (low < high <= low + 25):
        raise ConfigError(f"needed a scale of 2 to 26 whole numbers, low before high; found {low} to {high}.")
    levels = range(low, high + 1)
    said = tuple((meanings or {}).get(level, "") for level in levels)
    values = tuple((level - low) / (high - low) for level in levels)
    return Question(name, text, tuple(map(str, levels)), values, said if any(said) else (), ordered=True)


def yes_no(text: str, name: str) -> Question:
    """A question answered by yes (worth 1) or no (worth 0)."""
    return Question(name, text, ("no", "yes"), (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric: what must hold, and how much it weighs. A negative weight is a pitfall."""

    text: str
    weight: float = 1.0
    scale: tuple[int, int] | None = None
    """None: yes or no. Else it is graded from low to high."""
    name: str = ""

    @classmethod
    def of(cls, value: Any) -> Criterion:
        """Read a criterion: a text, a (text, weight) pair, or a mapping as rubric data sets have it."""
        if isinstance(value, Criterion):
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Mapping):
            text = next((value[k] for k in ("text", "criterion", "description", "title") if value.get(k)), None)
            weight = next((value[k] for k in ("weight", "points", "score") if value.get(k) is not None), 1.0)
            if isinstance(text, str) and isinstance(weight, int | float):
                levels = value.get("scale")
                return cls(text, float(weight), tuple(levels) if levels else None, str(value.get("name") or ""))
        elif isinstance(value, Sequence) and len(value) == 2 and isinstance(value[0], str):
            return cls(value[0], float(value[1]))
        raise ConfigError(
            f"needed a criterion: a text, (text, weight), or a mapping with 'text' and 'weight'; found {value!r:.120}."
        )

    def question(self, name: str) -> Question:
        """The question that a judge is asked about this criterion."""
        text = f"Does the response meet this criterion? {self.text}"
        if self.scale is None:
            return yes_no(text, name)
        return scale(*self.scale, f"How well does the response meet this criterion? {self.text}", name)


def rubric_of(criteria: Sequence[Any]) -> list[tuple[Criterion, Question]]:
    """The criteria of a rubric with the question each asks; names that come twice get a number."""
    found = [Criterion.of(value) for value in criteria]
    if not any(criterion.weight > 0 for criterion in found):
        raise ConfigError("a rubric needs a criterion with a positive weight: without one nothing can be earned.")
    named: dict[str, Criterion] = {}
    for i, criterion in enumerate(found, 1):
        named[criterion.name if criterion.name and criterion.name not in named else f"c{i}"] = criterion
    return [(criterion, criterion.question(name)) for name, criterion in named.items()]


def weighted(rubric: Sequence[tuple[Criterion, Question]], values: Mapping[str, float]) -> float:
    """What a rubric's verdicts come to: earned weight over the weight that can be earned, never below 0."""
    earned = sum(criterion.weight * values[question.name] for criterion, question in rubric)
    possible = sum(criterion.weight for criterion, _ in rubric if criterion.weight > 0)
    return min(1.0, max(0.0, earned / possible))


@dataclass(slots=True)
class Verdict:
    """A judge's answer to one question."""

    label: str
    """The answer given, or the likeliest one."""
    value: float
    """What it is worth; the expectation where probabilities are known."""
    read: str
    """How it was read: decisions, logprobs, schema or text."""
    probabilities: dict[str, float] = field(default_factory=dict[str, float])
    reason: str = ""
    mass: float = 1.0
    """The probability that fell on the allowed answers at all."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        shown: dict[str, Any] = {"label": self.label, "value": self.value, "read": self.read}
        if self.probabilities:
            shown |= {"probabilities": self.probabilities, "mass": round(self.mass, 6)}
        if self.reason:
            shown["reason"] = self.reason
        return shown


def chosen(question: Question, label: str, read: str, reason: str = "") -> Verdict:
    """The verdict of a judge that named one answer."""
    return Verdict(label, question.values[question.labels.index(label)], read, reason=reason)


def expected(question: Question, probabilities: Mapping[str, float], read: str) -> Verdict:
    """The verdict of a judge whose probabilities are known: the expectation over the answers."""
    total = sum(probabilities.values())
    shares = {label: probabilities.get(label, 0.0) / total for label in question.labels}
    value = sum(shares[label] * worth for label, worth in zip(question.labels, question.values, strict=True))
    return Verdict(max(shares, key=shares.__getitem__), value, read, {k: round(v, 6) for k, v in shares.items()})
