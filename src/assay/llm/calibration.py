"""What a judge's scores mean in the words of people: a monotone map, and how far both agree before it and after."""

from __future__ import annotations

import bisect
import itertools
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class MonotoneMap:
    """A map that never turns an order round: straight between its points, flat beyond them.

    >>> MonotoneMap((0.0, 1.0), (0.2, 0.8))(0.5)
    0.5
    """

    scores: tuple[float, ...]
    labels: tuple[float, ...]

    def __call__(self, score: float) -> float:
        xs, ys = self.scores, self.labels
        if score <= xs[0]:
            return ys[0]
        if score >= xs[-1]:
            return ys[-1]
        k = bisect.bisect_right(xs, score)
        share = (score - xs[k - 1]) / (xs[k] - xs[k - 1])
        return ys[k - 1] + share * (ys[k] - ys[k - 1])

    def save(self, path: str | Path, **about: object) -> None:
        """Write it as JSON, with what it was made from."""
        data = {"scores": self.scores, "labels": self.labels, **about}
        Path(path).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> MonotoneMap:
        """Read a map that `assay calibrate` wrote."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            xs, ys = tuple(map(float, data["scores"])), tuple(map(float, data["labels"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"needed a calibration that `assay calibrate` wrote; {path} is none ({error}).") from None
        rising = all(a < b for a, b in itertools.pairwise(xs))
        if not xs or len(xs) != len(ys) or not rising or any(a > b for a, b in itertools.pairwise(ys)):
            raise ConfigError(f"the calibration in {path} is not monotone; make it anew with `assay calibrate`.")
        return cls(xs, ys)


def fit(scores: Sequence[float], labels: Sequence[float]) -> MonotoneMap:
    """The monotone map nearest to the labels (least squares: pool adjacent violators).

    >>> fit([1, 2, 3, 4], [0.0, 1.0, 0.0, 1.0])(2.5)
    0.5
    """
    if not scores or len(scores) != len(labels):
        raise ConfigError(f"needed a label for each score; found {len(labels)} labels and {len(scores)} scores.")
    merged: dict[float, list[float]] = {}
    for score, label in zip(scores, labels, strict=True):
        merged.setdefault(float(score), []).append(float(label))
    blocks: list[tuple[float, float, list[float]]] = []  # mean, weight, scores
    for x in sorted(merged):
        mean, weight, xs = math.fsum(merged[x]) / len(merged[x]), float(len(merged[x])), [x]
        while blocks and blocks[-1][0] >= mean:
            before, heavy, earlier = blocks.pop()
            mean = (before * heavy + mean * weight) / (heavy + weight)
            weight, xs = heavy + weight, earlier + xs
        blocks.append((mean, weight, xs))
    points = [(x, mean) for mean, _, xs in blocks for x in dict.fromkeys((xs[0], xs[-1]))]
    return MonotoneMap(tuple(x for x, _ in points), tuple(y for _, y in points))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far scores and labels agree."""

    rows: int
    error: float
    """Mean absolute difference."""
    rank: float
    """Spearman's correlation."""
    order: float
    """Of the pairs that people tell apart, the share in the same order; a tie counts half."""


def agreement(scores: Sequence[float], labels: Sequence[float]) -> Agreement:
    """How far scores and labels agree."""
    error = math.fsum(abs(s - y) for s, y in zip(scores, labels, strict=True)) / max(1, len(scores))
    return Agreement(len(scores), error, correlation(ranks(scores), ranks(labels)), _order(scores, labels))


def after(scores: Sequence[float], labels: Sequence[float], folds: int = 5, seed: int = 0) -> Agreement:
    """The agreement of scores mapped by fits that did not see them: what the map is worth on new rows."""
    rows = list(range(len(scores)))
    random.Random(seed).shuffle(rows)
    mapped = [0.0] * len(rows)
    for k in range(folds := min(folds, len(rows))):
        held = set(rows[k::folds])
        rest = [i for i in rows if i not in held] or rows
        fitted = fit([scores[i] for i in rest], [labels[i] for i in rest])
        for i in held:
            mapped[i] = fitted(scores[i])
    return agreement(mapped, labels)


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, the mean rank for equal values."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for k in range(start, end + 1):
            found[order[k]] = (start + end) / 2 + 1
        start = end + 1
    return found


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one side does not vary."""
    n = len(a)
    if n < 2:
        return 0.0
    mean_a, mean_b = math.fsum(a) / n, math.fsum(b) / n
    cross = math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    square = math.fsum((x - mean_a) ** 2 for x in a) * math.fsum((y - mean_b) ** 2 for y in b)
    return cross / math.sqrt(square) if square > 0 else 0.0


_PAIRS = 200_000


def _order(scores: Sequence[float], labels: Sequence[float]) -> float:
    n = len(scores)
    pairs = [(i, j) for i in range(n) for j in range(i)] if n * n < 2 * _PAIRS else _some_pairs(n)
    told = [(i, j) for i, j in pairs if labels[i] != labels[j]]
    if not told:
        return 0.0
    right = sum(
        0.5 if scores[i] == scores[j] else float((scores[i] > scores[j]) == (labels[i] > labels[j])) for i, j in told
    )
    return right / len(told)


def _some_pairs(n: int) -> list[tuple[int, int]]:
    rng = random.Random(0)
    drawn = ((rng.randrange(n), rng.randrange(n)) for _ in range(_PAIRS))
    return [(i, j) for i, j in drawn if i != j]
