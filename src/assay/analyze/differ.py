"""Several rewards on the same rollouts, with no labels: who disagrees with whom, and how often each is wrong.

Two verifiers that agree may be wrong together, but three that err independently give themselves away: how often each
pattern of verdicts occurs fixes how often each of them is wrong (Dawid and Skene, 1979). Where verifiers share their
mistakes these figures are too kind; the rows on which they differ are the ones to look at either way.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.errors import ConfigError
from assay.types import RewardOutput

Pattern = tuple[int | None, ...]
"""The verdicts on one row: 1, 0, or None where a reward gave none."""

MOST = 200


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rewards."""

    a: str
    b: str
    both: int
    """Rows on which both gave a verdict."""
    only_a: int
    """a says yes, b says no."""
    only_b: int
    kappa: float
    """Cohen's: agreement beyond chance."""
    rows: tuple[int, ...]
    """The rows on which they differ; the first ones."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How often one reward is wrong, estimated without labels."""

    name: str
    positive: float
    """The share of rows that it passes."""
    false_positive: float
    """Of the rows that are wrong, the share it passes."""
    false_negative: float
    """Of the rows that are right, the share it fails."""
    false_positive_interval: tuple[float, float]
    false_negative_interval: tuple[float, float]
    """Where they lie with 95 %, by drawing the rows again."""
    silent: int
    """Rows on which it gave no verdict."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What several rewards say of the same rollouts."""

    rows: int
    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    patterns: tuple[tuple[Pattern, int, tuple[int, ...]], ...]
    """Each pattern of verdicts, how often it occurs, and its first rows; the disputed ones first."""
    prevalence: float | None
    """The share of rows that are right, estimated."""
    estimates: tuple[Estimate, ...]
    """Empty with fewer than three rewards: two cannot give each other away."""


def verdicts(outputs: Sequence[RewardOutput], threshold: float = 0.5) -> list[int | None]:
    """Yes or no for each output; None where it was not scored."""
    return [None if o.reward is None else int(o.reward >= threshold) for o in outputs]


def differ(columns: Mapping[str, Sequence[int | None]], resamples: int = 100) -> Difference:
    """Compare verdicts: a column of 1, 0 or None for each reward, over the same rows."""
    names = tuple(columns)
    if len(names) < 2:
        raise ConfigError(f"needed at least two rewards to hold against each other; found {len(names)}.")
    rows = list(zip(*columns.values(), strict=True))
    counts = Counter(rows)
    places: dict[Pattern, list[int]] = {}
    for i, pattern in enumerate(rows):
        if len(places.setdefault(pattern, [])) < MOST:
            places[pattern].append(i)
    ordered = sorted(counts, key=lambda p: (-len({v for v in p if v is not None}), -counts[p]))
    estimates, prevalence = _estimates(names, counts, resamples) if len(names) > 2 else ((), None)
    return Difference(
        rows=len(rows),
        names=names,
        pairs=tuple(_pair(columns, a, b) for a, b in itertools.combinations(names, 2)),
        patterns=tuple((p, counts[p], tuple(places[p])) for p in ordered),
        prevalence=prevalence,
        estimates=estimates,
    )


def _pair(columns: Mapping[str, Sequence[int | None]], a: str, b: str) -> Pair:
    table: Counter[tuple[int, int]] = Counter()
    rows: list[int] = []
    for i, (x, y) in enumerate(zip(columns[a], columns[b], strict=True)):
        if x is None or y is None:
            continue
        table[x, y] += 1
        if x != y and len(rows) < MOST:
            rows.append(i)
    n = sum(table.values())
    same = (table[0, 0] + table[1, 1]) / max(1, n)
    yes_a, yes_b = (table[1, 0] + table[1, 1]) / max(1, n), (table[0, 1] + table[1, 1]) / max(1, n)
    chance = yes_a * yes_b + (1 - yes_a) * (1 - yes_b)
    kappa = 1.0 if chance >= 1.0 else (same - chance) / (1.0 - chance)
    return Pair(a, b, n, table[1, 0], table[0, 1], kappa, tuple(rows))


@dataclass(slots=True)
class _Model:
    """Right with `prevalence`; each reward passes right rows with `hit` and wrong ones with `slip`."""

    prevalence: float
    hit: list[float] = field(default_factory=list[float])
    slip: list[float] = field(default_factory=list[float])

    def right(self, pattern: Pattern) -> float:
        """The chance that a row with this pattern is right."""
        yes, no = math.log(self.prevalence), math.log(1.0 - self.prevalence)
        for verdict, hit, slip in zip(pattern, self.hit, self.slip, strict=True):
            if verdict is not None:
                yes += math.log(hit if verdict else 1.0 - hit)
                no += math.log(slip if verdict else 1.0 - slip)
        return 1.0 / (1.0 + math.exp(min(700.0, no - yes)))


def fit(counts: Mapping[Pattern, int], size: int, steps: int = 400) -> _Model:
    """The model that makes these patterns most likely, by expectation maximisation from the majority's verdict."""
    model = _Model(0.5, [0.8] * size, [0.2] * size)
    belief = {p: _majority(p) for p in counts}
    total = sum(counts.values())
    for _ in range(steps):
        right = sum(n * belief[p] for p, n in counts.items())
        # one row of each kind is assumed beforehand, so that no estimate is exactly 0 or 1
        fresh = _Model((right + 1) / (total + 2))
        for k in range(size):
            seen = [(p[k], n, belief[p]) for p, n in counts.items() if p[k] is not None]
            fresh.hit.append(_share(sum(n * b for v, n, b in seen if v), sum(n * b for _, n, b in seen)))
            fresh.slip.append(_share(sum(n * (1 - b) for v, n, b in seen if v), sum(n * (1 - b) for _, n, b in seen)))
        moved = max(abs(x - y) for x, y in zip(fresh.hit + fresh.slip, model.hit + model.slip, strict=True))
        model = fresh
        belief = {p: model.right(p) for p in counts}
        if moved < 1e-7:
            break
    return model


def _majority(pattern: Pattern) -> float:
    known = [v for v in pattern if v is not None]
    return 0.5 if not known else min(0.95, max(0.05, sum(known) / len(known)))


def _share(some: float, of: float) -> float:
    return (some + 0.5) / (of + 1.0)


def _estimates(
    names: Sequence[str], counts: Mapping[Pattern, int], resamples: int
) -> tuple[tuple[Estimate, ...], float]:
    model = fit(counts, len(names))
    drawn = [fit(again, len(names), steps=80) for again in _resampled(counts, resamples)]
    found: list[Estimate] = []
    for k, name in enumerate(names):
        known = [(p[k], n) for p, n in counts.items() if p[k] is not None]
        seen = sum(n for _, n in known)
        found.append(
            Estimate(
                name=name,
                positive=sum(n for v, n in known if v) / max(1, seen),
                false_positive=model.slip[k],
                false_negative=1.0 - model.hit[k],
                false_positive_interval=_middle([m.slip[k] for m in drawn]),
                false_negative_interval=_middle([1.0 - m.hit[k] for m in drawn]),
                silent=sum(counts.values()) - seen,
            )
        )
    return tuple(found), model.prevalence


def _resampled(counts: Mapping[Pattern, int], times: int) -> list[dict[Pattern, int]]:
    from assay.analyze.table import numpy

    np = numpy()
    random = np.random.default_rng(0)
    patterns, sizes = list(counts), np.array(list(counts.values()), dtype=float)
    draws = random.multinomial(int(sizes.sum()), sizes / sizes.sum(), size=times)
    return [{p: int(n) for p, n in zip(patterns, draw, strict=True) if n} for draw in draws]


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95 %."""
    if not values:
        return (0.0, 1.0)
    ordered = sorted(values)
    cut = int(0.025 * len(ordered))
    return ordered[cut], ordered[-1 - cut]
