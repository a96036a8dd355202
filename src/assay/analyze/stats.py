"""How a reward and each of its components are distributed: over all rows, and over training steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.analyze.table import OUTCOMES, STATES, Array, Table, numpy

BINS = 20


@dataclass(frozen=True, slots=True)
class Distribution:
    """One series of rewards: the total, or a component."""

    name: str
    count: int
    """How many have a number."""
    mean: float
    std: float
    low: float
    high: float
    quantiles: dict[str, float]
    """p01, p05, p25, p50, p75, p95, p99."""
    skewness: float
    """Above 0: a long tail of high rewards. 0 where all are equal."""
    kurtosis: float
    """Excess: 0 for a bell, below for two humps, above for rare extremes."""
    at_floor: float
    """The share that has the lowest value."""
    at_ceiling: float
    """The share that has the highest value."""
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    missing: dict[str, int]
    """How many have no number, by the reason's kind."""

    @property
    def share_missing(self) -> float:
        """The share without a number."""
        missing = sum(self.missing.values())
        return missing / max(1, missing + self.count)


@dataclass(frozen=True, slots=True)
class StepPoint:
    """What a stretch of training steps paid."""

    step: int
    rows: int
    mean: float
    std: float
    flat: float
    """The share of its groups whose rewards are all equal."""
    not_scored: float
    length: float
    """The median length of a response, in characters."""
    repetition: float
    """The mean of how much a response says again."""
    vocabulary: float
    """The median of distinct words over the root of all words: what is left of it when a policy's language narrows."""
    parts: dict[str, float]
    """The mean of each component."""


def distribution(name: str, values: Array, states: Array, names: tuple[str, ...] = STATES) -> Distribution:
    """Describe one series; `states` says why a value is missing."""
    np = numpy()
    known = values[values == values]
    codes, counts = np.unique(states[values != values], return_counts=True)
    missing = {names[int(code)]: int(count) for code, count in zip(codes, counts, strict=True)}
    if not len(known):
        return Distribution(name, 0, 0, 0, 0, 0, {}, 0, 0, 0, 0, (), (), missing)
    low, high, mean, std = float(known.min()), float(known.max()), float(known.mean()), float(known.std())
    flat = std <= 1e-12 * max(1.0, abs(mean))
    z = (known - mean) / (1.0 if flat else std)
    marks = (1, 5, 25, 50, 75, 95, 99)
    quantiles = {f"p{q:02d}": float(v) for q, v in zip(marks, np.percentile(known, marks), strict=True)}
    counted, edges = np.histogram(known, bins=BINS, range=(low, high if high > low else low + 1.0))
    return Distribution(
        name=name,
        count=len(known),
        mean=mean,
        std=std,
        low=low,
        high=high,
        quantiles=quantiles,
        skewness=0.0 if flat else float((z**3).mean()),
        kurtosis=0.0 if flat else float((z**4).mean() - 3.0),
        at_floor=float((known == low).mean()),
        at_ceiling=float((known == high).mean()),
        edges=tuple(map(float, edges)),
        counts=tuple(map(int, counted)),
        missing=missing,
    )


def distributions(table: Table) -> list[Distribution]:
    """The total first, then each component."""
    total = distribution("reward", table.reward, table.outcome, OUTCOMES)
    return [total, *(distribution(name, part.value, part.state) for name, part in table.parts.items())]


def over_steps(table: Table, most: int = 60) -> list[StepPoint]:
    """What was paid as training went on; neighbouring steps are taken together where there are more than `most`."""
    np = numpy()
    steps = np.unique(table.step[table.step >= 0])
    if len(steps) < 2:
        return []
    points: list[StepPoint] = []
    for stretch in np.array_split(steps, min(most, len(steps))):
        rows = np.flatnonzero((table.step >= stretch[0]) & (table.step <= stretch[-1]))
        points.append(_point(table, int(stretch[0]), rows))
    return points


def _point(table: Table, step: int, rows: Array) -> StepPoint:
    np = numpy()
    reward = table.reward[rows]
    known = reward[reward == reward]
    low, high = extremes(table.group[rows], reward)
    several = sizes(table.group[rows], reward) > 1
    return StepPoint(
        step=step,
        rows=len(rows),
        mean=float(known.mean()) if len(known) else float("nan"),
        std=float(known.std()) if len(known) else float("nan"),
        flat=float((low == high)[several].mean()) if several.any() else 0.0,
        not_scored=1.0 - len(known) / max(1, len(rows)),
        length=float(np.median(table.numbers["length"][rows])),
        repetition=float(table.numbers["repetition"][rows].mean()),
        vocabulary=float(np.median(table.numbers["variety"][rows] * np.sqrt(table.numbers["words"][rows]))),
        parts={name: mean_of(part.value[rows]) for name, part in table.parts.items()},
    )


def mean_of(values: Array) -> float:
    """The mean of what is known; NaN where nothing is."""
    known = values[values == values]
    return float(known.mean()) if len(known) else float("nan")


def compact(group: Array) -> Any:
    """Group codes as 0, 1, 2, ... without gaps."""
    return numpy().unique(group, return_inverse=True)[1].ravel()


def strata(group: Array, values: Array) -> Array:
    """A code for each pair of group and value."""
    np = numpy()
    levels = np.unique(values, return_inverse=True)[1].ravel().astype(np.int64)
    return compact(group.astype(np.int64) * (int(levels.max(initial=0)) + 1) + levels)


def sizes(group: Array, values: Array) -> Array:
    """How many known values each of the groups present has."""
    np = numpy()
    return np.bincount(compact(group), weights=values == values)


def extremes(group: Array, values: Array) -> tuple[Array, Array]:
    """The lowest and the highest known value of each group present; inf and -inf where none is known."""
    np = numpy()
    codes = compact(group)
    known = values == values
    low = np.full(codes.max() + 1 if len(codes) else 0, np.inf)
    high = np.full(len(low), -np.inf)
    np.minimum.at(low, codes[known], values[known])
    np.maximum.at(high, codes[known], values[known])
    return low, high
