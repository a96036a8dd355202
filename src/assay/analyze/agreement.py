"""How well a reward agrees with what is held to be right: human labels, a column, a second reward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.analyze.table import Array, numpy
from assay.errors import require


@dataclass(frozen=True, slots=True)
class Bin:
    """One stretch of rewards, and how often rows in it are right."""

    low: float
    high: float
    count: int
    mean: float
    right: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """A reward beside a reference, on the rows that have both."""

    count: int
    auc: float | None
    """The chance that a right row is paid more than a wrong one; None where the reference is not two-valued."""
    spearman: float
    kendall: float
    alpha: float
    """Krippendorff's alpha for interval data: 1 for the same numbers, 0 for no better than chance."""
    threshold: float
    """From where the reference and the reward count as positive in the confusion."""
    confusion: dict[str, int]
    """tp, fp, fn, tn."""
    false_positives: tuple[int, ...]
    """Rows that are paid and should not be, the best paid first."""
    false_negatives: tuple[int, ...]
    """Rows that should be paid and are not, the worst paid first."""
    calibration: tuple[Bin, ...]
    error: float
    """The expected calibration error: by how much a reward differs from the share that is right, on average."""


def agreement(reward: Array, reference: Array, rows: Array | None = None, threshold: float = 0.5) -> Agreement | None:
    """Hold a reward against a reference; None where fewer than two rows have both."""
    np = numpy()
    stats = require("scipy.stats", "report", "agreement")
    both = np.flatnonzero((reward == reward) & (reference == reference))
    if len(both) < 2:
        return None
    numbers = both if rows is None else rows[both]
    a, b = reward[both], reference[both]
    constant = a.std() < 1e-12 or b.std() < 1e-12
    paid, right = a >= threshold, b >= threshold
    wrongly, missed = np.flatnonzero(paid & ~right), np.flatnonzero(~paid & right)
    bins = _calibration(a, right)
    return Agreement(
        count=len(both),
        auc=area_under_curve(a, right) if len(np.unique(b)) == 2 else None,
        spearman=0.0 if constant else float(stats.spearmanr(a, b).statistic),
        kendall=0.0 if constant else float(stats.kendalltau(a, b).statistic),
        alpha=krippendorff_alpha([a, b], "interval"),
        threshold=threshold,
        confusion={
            "tp": int((paid & right).sum()),
            "fp": len(wrongly),
            "fn": len(missed),
            "tn": int((~paid & ~right).sum()),
        },
        false_positives=tuple(numbers[wrongly[np.argsort(-a[wrongly], kind="stable")]][:100].tolist()),
        false_negatives=tuple(numbers[missed[np.argsort(a[missed], kind="stable")]][:100].tolist()),
        calibration=bins,
        error=sum(b.count * abs(b.mean - b.right) for b in bins) / len(both),
    )


def area_under_curve(scores: Array, right: Array) -> float:
    """The area under the ROC curve, ties counted half; 0.5 where all rows are right, or none.

    Example:
        >>> import numpy as np
        >>> area_under_curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
        0.75
    """
    stats = require("scipy.stats", "report", "agreement")
    positive, negative = int(right.sum()), int((~right).sum())
    if not positive or not negative:
        return 0.5
    ranks = stats.rankdata(scores)
    return float((ranks[right].sum() - positive * (positive + 1) / 2) / (positive * negative))


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]], level: Literal["nominal", "interval"] = "nominal"
) -> float:
    """Krippendorff's alpha of several raters over the same units; a missing rating is None or NaN.

    Example:
        >>> krippendorff_alpha([[1, 2, 3, 3], [1, 2, 3, None]])
        1.0
    """
    np = numpy()
    values = np.array([[math.nan if v is None else float(v) for v in row] for row in ratings], dtype=np.float64)
    known = values == values
    n = known.sum(axis=0)
    kept = n > 1
    values, known, n = values[:, kept], known[:, kept], n[kept]
    total = int(n.sum())
    if total < 2:
        return math.nan
    if level == "interval":
        # within a unit, the sum of squared differences over all pairs is 2 * (m * sum(x^2) - sum(x)^2)
        filled = np.where(known, values, 0.0)
        first, second = filled.sum(axis=0), (filled**2).sum(axis=0)
        observed = float((2 * (n * second - first**2) / (n - 1)).sum())
        expected = float(2 * (total * second.sum() - first.sum() ** 2) / (total - 1))
    else:
        levels = np.unique(values[known])
        counts = np.stack([(values == level_).sum(axis=0) for level_ in levels])
        observed = float(((n**2 - (counts**2).sum(axis=0)) / (n - 1)).sum())
        expected = float((total**2 - (counts.sum(axis=1) ** 2).sum()) / (total - 1))
    return 1.0 if expected <= 0 else 1.0 - observed / expected


def _calibration(scores: Array, right: Array, bins: int = 10) -> tuple[Bin, ...]:
    np = numpy()
    low, high = float(scores.min()), float(scores.max())
    if not (low >= 0.0 and high <= 1.0):
        return ()  # what is no probability cannot be calibrated
    place = np.minimum(bins - 1, (scores * bins).astype(int))
    found: list[Bin] = []
    for k in range(bins):
        mine = place == k
        if mine.any():
            share = float(right[mine].mean())
            found.append(Bin(k / bins, (k + 1) / bins, int(mine.sum()), float(scores[mine].mean()), share))
    return tuple(found)
