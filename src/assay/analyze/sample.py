"""A small share of the rows looked at more closely: by a stronger verifier, or by the same judge again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.analyze.attribution import within_variance
from assay.analyze.table import Array, Table, numpy
from assay.errors import ConfigError

Scorer = Callable[[Sequence[int]], Sequence[float | None]]
"""Scores rows by their numbers, in order; None where not scored."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One band of rewards: how many rows it has, how many were looked at, and what came of it."""

    low: float
    high: float
    rows: int
    looked_at: int
    proxy: float
    gold: float


@dataclass(frozen=True, slots=True)
class GoldGap:
    """By how much a reward overstates what a stronger verifier grants."""

    looked_at: int
    failed: int
    gap: float
    """The mean of reward - gold over all rows, estimated."""
    interval: tuple[float, float]
    """Where it lies with 95 %."""
    strata: tuple[Stratum, ...]
    overpaid: tuple[int, ...]
    """Rows paid most beyond their gold."""


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """How much of what the policy is told is the judge's own wavering."""

    looked_at: int
    repeats: int
    noise: float
    """The variance of a judge's verdicts on the same row."""
    spread: float
    """The variance of rewards within a group."""
    signal_to_noise: float
    pair_flips: float
    """The chance that two responses of one group stand the other way round when they are judged again."""
    reliability: dict[int, float]
    """The share of the spread that is signal, if each row were judged n times and averaged."""


def budget_of(text: str, rows: int) -> int:
    """`2%` or `500` as a number of rows.

    Example:
        >>> budget_of("2%", 10_000)
        200
    """
    try:
        share = float(text.removesuffix("%")) / 100 * rows if text.endswith("%") else float(text)
    except ValueError:
        raise ConfigError(f"--budget is a share like 2% or a number of rows; found {text!r}.") from None
    if not share > 0:
        raise ConfigError(f"--budget needs to be above 0; found {text!r}.")
    return max(1, min(rows, round(share)))


def stratified(reward: Array, budget: int, bands: int = 5, seed: int = 0) -> list[tuple[Array, Array]]:
    """Bands of rewards of equal width from low to high, each as (all its rows, those to look at).

    Every band gets the same number as far as it has them, for where few rows are a plain sample would see none.
    """
    np = numpy()
    rows = np.flatnonzero(reward == reward)
    low, high = (float(reward[rows].min()), float(reward[rows].max())) if len(rows) else (0.0, 0.0)
    edges = np.linspace(low, high, bands + 1)[1:-1] if high > low else np.zeros(0)
    place = np.searchsorted(edges, reward[rows], side="right")
    random = np.random.default_rng(seed)
    members = [rows[place == k] for k in range(len(edges) + 1) if (place == k).any()]
    found: list[tuple[Array, Array]] = []
    left = budget
    for k, band in enumerate(sorted(members, key=len)):
        take = min(len(band), max(1, left // (len(members) - k)))
        left -= take
        found.append((band, random.permutation(band)[:take]))
    return sorted(found, key=lambda pair: float(reward[pair[0]].mean()))


def gold_gap(table: Table, scorer: Scorer, budget: int) -> GoldGap:
    """Score a stratified sample by a stronger verifier and estimate the gap over all rows."""
    np = numpy()
    bands = stratified(table.reward, budget)
    asked = [int(row) for _, chosen in bands for row in chosen]
    golds = dict(zip(asked, scorer(asked), strict=True))
    scale = np.array([*(g for g in golds.values() if g is not None), *table.reward[table.reward == table.reward]])
    ends = np.array([scale.min(), scale.max()]) if len(scale) else np.zeros(2)
    strata: list[Stratum] = []
    gap = variance = 0.0
    total = sum(len(band) for band, _ in bands) or 1
    differences: dict[int, float] = {}
    for band, chosen in bands:
        known = [(int(row), g) for row in chosen if (g := golds[int(row)]) is not None]
        reward = table.reward[band]
        if not known:
            continue
        over = np.array([float(table.reward[row]) - g for row, g in known])
        differences |= {row: float(d) for (row, _), d in zip(known, over, strict=True)}
        share = len(band) / total
        gap += share * float(over.mean())
        not_looked_at = 1.0 - len(over) / len(band)
        variance += share**2 * _variance_of_mean(over, reward.mean() - ends) * not_looked_at
        mean = float(np.mean([g for _, g in known]))
        strata.append(
            Stratum(float(reward.min()), float(reward.max()), len(band), len(known), float(reward.mean()), mean)
        )
    worst = sorted(differences, key=lambda row: -differences[row])
    half = 1.96 * math.sqrt(variance)
    failed = sum(g is None for g in golds.values())
    overpaid = tuple(row for row in worst[:100] if differences[row] > 1e-9)
    return GoldGap(len(differences), failed, gap, (gap - half, gap + half), tuple(strata), overpaid)


def _variance_of_mean(values: Array, extremes: Array) -> float:
    """The variance of a mean, as if each extreme had been seen once as well.

    A sample in which nothing differs does not show that nothing ever does; see Agresti and Coull (1998).
    """
    seen = numpy().concatenate([values, extremes])
    return float(seen.var()) / len(seen)


def judge_noise(table: Table, scorer: Scorer, budget: int, repeats: int = 3) -> JudgeNoise:
    """Judge a sample several times and hold its wavering against the spread within groups."""
    np = numpy()
    asked = [int(row) for _, chosen in stratified(table.reward, budget) for row in chosen]
    columns = [scorer(asked) for _ in range(max(2, repeats))]
    answers = np.array([[math.nan if v is None else float(v) for v in column] for column in columns])
    whole = ~np.isnan(answers).any(axis=0)
    noise = float(answers[:, whole].var(axis=0, ddof=1).mean()) if whole.any() else math.nan
    spread = within_variance(table)
    signal = max(0.0, spread - noise)
    known = noise == noise
    return JudgeNoise(
        looked_at=int(whole.sum()),
        repeats=len(columns),
        noise=noise,
        spread=spread,
        signal_to_noise=math.inf if noise == 0 else signal / noise if known else math.nan,
        pair_flips=_pair_flips(table, math.sqrt(noise)) if known else math.nan,
        reliability={n: signal / (signal + noise / n) if signal > 0 else 0.0 for n in (1, 2, 4, 8)} if known else {},
    )


def _pair_flips(table: Table, deviation: float, most: int = 20_000) -> float:
    """Over pairs of one group: the chance that fresh noise on both puts them the other way round."""
    np = numpy()
    if deviation == 0:
        return 0.0
    members = [m[table.scored[m]] for m in table.members()]
    random = np.random.default_rng(0)
    chosen = random.permutation(len(members))[: max(1, most // 8)]
    chances: list[float] = []
    for g in chosen:
        rewards = table.reward[members[int(g)]][:32]
        apart = np.abs(rewards[:, None] - rewards[None, :])[np.triu_indices(len(rewards), 1)]
        chances += [0.5 * math.erfc(float(d) / (2.0 * deviation)) for d in apart if d > 1e-12]
    return sum(chances) / len(chances) if chances else 0.0
