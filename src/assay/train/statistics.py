"""What a batch of rewards looks like in numbers, and which kinds of responses get high and low ones."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.types import RewardOutput, Trajectory

BARS = " ▁▂▃▄▅▆▇█"
BINS = 10


@dataclass(frozen=True)
class Moments:
    """A distribution in a line of numbers."""

    count: int
    unscored: int
    mean: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None
    skewness: float | None = None

    @classmethod
    def of(cls, rewards: Sequence[float | None]) -> Moments:
        """Of rewards, None where one was not scored."""
        known = [r for r in rewards if r is not None]
        unscored = len(rewards) - len(known)
        if not known:
            return cls(len(rewards), unscored)
        mean = math.fsum(known) / len(known)
        std = math.sqrt(math.fsum((r - mean) ** 2 for r in known) / len(known))
        # the third moment of near-equal numbers is rounding noise
        third = math.fsum((r - mean) ** 3 for r in known) / len(known)
        skewness = third / std**3 if std > 1e-9 else 0.0
        return cls(len(rewards), unscored, mean, std, min(known), max(known), skewness)

    def line(self) -> str:
        """For a person."""
        figures = (
            ("mean", self.mean),
            ("std", self.std),
            ("min", self.min),
            ("max", self.max),
            ("skew", self.skewness),
        )
        said = [f"{name} {number:.3f}" for name, number in figures if number is not None]
        return "  ".join(said + ([f"not scored {self.unscored} of {self.count}"] if self.unscored else []))


def bars(rewards: Sequence[float | None], low: float = 0.0, high: float = 1.0) -> str:
    """A histogram in ten characters, between `low` and `high` or wherever the rewards go beyond them."""
    known = [r for r in rewards if r is not None]
    low, high = min([low, *known]), max([high, *known])
    counts = [0] * BINS
    for r in known:
        counts[min(BINS - 1, int((r - low) / (high - low) * BINS)) if high > low else 0] += 1
    top = max(counts) or 1
    return "".join(BARS[math.ceil(count / top * (len(BARS) - 1))] for count in counts)


def quartiles(rewards: Sequence[float | None]) -> list[float]:
    """The first quarter's end, the middle, the third quarter's end; nothing of nothing."""
    known = sorted(r for r in rewards if r is not None)
    return [known[round((len(known) - 1) * share)] for share in (0.25, 0.5, 0.75)] if known else []


_SHAPES = (
    (re.compile(r"\d+(?:[.,]\d+)*"), "0"),
    (re.compile(r"[^\W\d_]+"), "a"),
    (re.compile(r"\s+"), " "),
    (re.compile(r"a(?: a)+"), "a.."),
)


_LIST = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]", re.MULTILINE)
_TRAITS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("answer in tags", lambda text: -1 < text.find("<answer>") < text.rfind("</answer>")),
    ("boxed", lambda text: "\\boxed{" in text),
    ("thinking left open", lambda text: text.rfind("<think>") > text.rfind("</think>")),
    ("code", lambda text: "```" in text),
    ("list", _LIST.search),
    ("cut off", lambda text: text.rstrip()[-1:] not in ".!?。！？)]}>*`\"'$"),
)
"""What sets long responses apart; no two of them have one skeleton."""
SHORT = 25
"""Words up to which a response is known by its skeleton."""
READ = 20_000
"""Characters of a response that are looked at, at either end."""


def shape(response: str) -> str:
    """A response's kind. A short one's is its skeleton, with numbers as 0 and words as a: "The answer is 42." is
    "a.. 0."; a long one's is its length and what it has: "51-100 words, boxed, cut off".
    """
    words = len(response.split())
    if words > SHORT:
        ends = response if len(response) <= 2 * READ else f"{response[:READ]} {response[-READ:]}"
        found = [name for name, has in _TRAITS if has(ends)]
        top = SHORT * 2 ** math.ceil(math.log2(words / SHORT))
        return ", ".join([f"{top // 2 + 1}-{top} words", *found])
    for pattern, stands_for in _SHAPES:
        response = pattern.sub(stands_for, response[:2000])
    return response.strip()[:60] or "(empty)"


@dataclass
class Kind:
    """The responses of one shape."""

    shape: str
    count: int = 0
    scored: int = 0
    total: float = 0.0
    example: str = ""

    @property
    def mean(self) -> float:
        """The mean reward of those that were scored."""
        return self.total / self.scored if self.scored else math.nan


@dataclass
class Analysis:
    """Collects a training run's responses by kind; memory grows with the kinds, not with the responses."""

    most_kinds: int = 10_000
    rewards: list[float | None] = field(default_factory=list[float | None])
    kinds: dict[str, Kind] = field(default_factory=dict[str, Kind])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])

    def add(self, rows: Sequence[Trajectory], outputs: Sequence[RewardOutput]) -> None:
        """One scored batch."""
        for row, output in zip(rows, outputs, strict=True):
            self.rewards.append(output.reward)
            self.outcomes[str(output.outcome)] += 1
            if output.reward is None and output.error:
                self.reasons[output.error[:200]] += 1
            name = shape(row.response)
            if name not in self.kinds and len(self.kinds) >= self.most_kinds:
                name = "(other)"
            kind = self.kinds.setdefault(name, Kind(name, example=row.response[:120]))
            kind.count += 1
            if output.reward is not None:
                kind.scored += 1
                kind.total += output.reward

    def to_dict(self) -> dict[str, Any]:
        """The findings, as JSON has them."""
        moments = Moments.of(self.rewards)
        common = [k for k in self.kinds.values() if k.scored and k.count >= max(2, len(self.rewards) // 1000)]
        ordered = sorted(common, key=lambda k: k.mean)
        mean = moments.mean or 0.0
        above, below = [k for k in ordered if k.mean > mean], [k for k in ordered if k.mean < mean]
        variance = moments.std**2 if moments.std is not None else None
        return {
            "rewards": {**asdict(moments), "variance": variance},
            "outcomes": dict(self.outcomes),
            "highest": [_told(k) for k in above[::-1][:10]],
            "lowest": [_told(k) for k in below[:10]],
            "common_failures": [_told(k) for k in sorted(below, key=lambda k: -k.count)[:10]],
            "not_scored": [{"reason": reason, "count": count} for reason, count in self.reasons.most_common(10)],
        }

    def to_markdown(self) -> str:
        """The findings, for a person."""
        found = self.to_dict()
        lines = ["# Reward analysis", "", f"{len(self.rewards)} responses. {Moments.of(self.rewards).line()}", ""]
        variance = found["rewards"]["variance"]
        outcomes = ", ".join(f"{name} {count}" for name, count in found["outcomes"].items())
        lines += [f"Variance {'none' if variance is None else f'{variance:.4g}'}. Outcomes: {outcomes}.", ""]
        titles = {"highest": "Highest rewards", "lowest": "Lowest rewards", "common_failures": "Common failures"}
        for key, title in titles.items():
            head = ["| kind | responses | mean reward | example |", "|---|---|---|---|"]
            rows = [_table_row(k) for k in found[key]]
            lines += [
                f"## {title}",
                "",
                *(head + rows if rows else ["No kind of response that came more than once."]),
                "",
            ]
        if found["not_scored"]:
            lines += ["## Not scored", "", *(f"- {r['count']}: {r['reason']}" for r in found["not_scored"]), ""]
        return "\n".join(lines)


def _told(kind: Kind) -> dict[str, Any]:
    return {"kind": kind.shape, "count": kind.count, "mean": round(kind.mean, 4), "example": kind.example}


def _table_row(kind: dict[str, Any]) -> str:
    def cell(text: str) -> str:
        return "`" + re.sub(r"[`|\s]+", " ", text) + "`"

    return f"| {cell(kind['kind'])} | {kind['count']} | {kind['mean']} | {cell(kind['example'])} |"


def columns(outputs: Iterable[RewardOutput]) -> dict[str, list[float | None]]:
    """The rewards of a batch, and those of each component under `rewards/<name>`."""
    found: dict[str, list[float | None]] = {"rewards": []}
    for i, output in enumerate(outputs):
        found["rewards"].append(output.reward)
        for name, part in output.components.items():
            found.setdefault(f"rewards/{name}", [None] * i).append(part.reward)
    return found
