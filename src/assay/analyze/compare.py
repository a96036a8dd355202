"""The same rollouts under two rewards, or two versions of one: what changed, flips first, and what the policy feels."""

from __future__ import annotations

from dataclasses import dataclass

from assay.analyze.attribution import Estimator, advantages
from assay.analyze.table import OUTCOMES, Array, Table, numpy
from assay.errors import InputError, require

MOST = 200


@dataclass(frozen=True, slots=True)
class Change:
    """One row in both Runs."""

    row_a: int
    row_b: int
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Delta:
    """One series (the total, a component) in both Runs, on the rows scored in both."""

    name: str
    count: int
    before: float
    after: float
    changed: float
    """The share of rows whose number is another one."""
    mean: float
    """The mean of after - before."""
    interval: tuple[float, float]
    """Where that mean lies with 95 %, groups taken as wholes."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two Runs of the same rollouts."""

    paired: int
    only_a: int
    only_b: int
    deltas: tuple[Delta, ...]
    threshold: float
    up: tuple[Change, ...]
    """From below the threshold to it or above; the largest change first."""
    down: tuple[Change, ...]
    ups: int
    downs: int
    largest: tuple[Change, ...]
    outcomes: dict[str, int]
    """`scored -> timeout` and the like, where the outcome is another one."""
    spearman: float
    kendall: float
    sign_changes: float
    """The share of rows whose advantage has the other sign."""
    correlation: float
    """Of the two advantages: what of the policy's lesson stays."""


def compare(a: Table, b: Table, threshold: float = 0.5, estimator: Estimator = "grpo") -> Comparison:
    """Compare two Runs row by row; rows belong together where prompt and response are the same."""
    np = numpy()
    rows_a, rows_b = paired(a, b)
    if not len(rows_a):
        raise InputError("the two Runs have no rollout in common: no row has the same prompt and response in both.")
    before, after = a.reward[rows_a], b.reward[rows_b]
    both = (before == before) & (after == after)
    x, y = before[both], after[both]
    delta = np.where(both, after - before, 0.0)
    up, down = both & (before < threshold) & (after >= threshold), both & (before >= threshold) & (after < threshold)
    stats = require("scipy.stats", "report", "comparing Runs")
    told = [advantages(t, estimator)[rows] for t, rows in ((a, rows_a), (b, rows_b))]
    felt = (told[0] != 0) | (told[1] != 0)
    flat = x.std() < 1e-12 or y.std() < 1e-12 if len(x) else True
    shared = [name for name in a.parts if name in b.parts]
    changes = _Changes(rows_a, rows_b, before, after, delta)
    return Comparison(
        paired=len(rows_a),
        only_a=a.rows - len(rows_a),
        only_b=b.rows - len(rows_b),
        deltas=(
            _delta("reward", before, after, a.group[rows_a]),
            *(_delta(n, a.parts[n].value[rows_a], b.parts[n].value[rows_b], a.group[rows_a]) for n in shared),
        ),
        threshold=threshold,
        up=changes.of(np.flatnonzero(up)),
        down=changes.of(np.flatnonzero(down)),
        ups=int(up.sum()),
        downs=int(down.sum()),
        largest=changes.of(np.flatnonzero(np.abs(delta) > 1e-12)),
        outcomes=_outcomes(a.outcome[rows_a], b.outcome[rows_b]),
        spearman=1.0 if flat else float(stats.spearmanr(x, y).statistic),
        kendall=1.0 if flat else float(stats.kendalltau(x, y).statistic),
        sign_changes=float((told[0] * told[1] < 0)[felt].mean()) if felt.any() else 0.0,
        correlation=_correlation(told[0][felt], told[1][felt]),
    )


def paired(a: Table, b: Table) -> tuple[Array, Array]:
    """The rows that are the same rollout, in the order of `a`; the n-th of equal ones with the n-th."""
    np = numpy()
    key_a, key_b = _numbered(a.keys), _numbered(b.keys)
    order = np.argsort(key_b, kind="stable")
    place = np.searchsorted(key_b[order], key_a)
    place[place == len(order)] = 0
    found = order[place] if len(order) else np.zeros(len(key_a), dtype=int)
    same = key_b[found] == key_a if len(order) else np.zeros(len(key_a), dtype=bool)
    return np.flatnonzero(same), found[same]


def _numbered(keys: Array) -> Array:
    """Keys in which equal ones differ by which occurrence they are."""
    np = numpy()
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else np.zeros(0, dtype=int)
    sizes = np.diff(np.r_[starts, len(keys)])
    nth = np.empty(len(keys), dtype=np.uint64)
    nth[order] = (np.arange(len(keys)) - np.repeat(starts, sizes)).astype(np.uint64)
    return keys + nth * np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class _Changes:
    rows_a: Array
    rows_b: Array
    before: Array
    after: Array
    delta: Array

    def of(self, places: Array) -> tuple[Change, ...]:
        np = numpy()
        order = places[np.argsort(-np.abs(self.delta[places]), kind="stable")][:MOST]
        return tuple(
            Change(int(self.rows_a[i]), int(self.rows_b[i]), _number(self.before[i]), _number(self.after[i]))
            for i in order
        )


def _delta(name: str, before: Array, after: Array, group: Array) -> Delta:
    np = numpy()
    both = (before == before) & (after == after)
    if not both.any():
        return Delta(name, 0, 0.0, 0.0, 0.0, 0.0, (0.0, 0.0))
    difference = after[both] - before[both]
    _, codes = np.unique(group[both], return_inverse=True)
    # responses to one prompt are not independent: the interval is over groups
    sums, counts = np.bincount(codes.ravel(), weights=difference), np.bincount(codes.ravel())
    mean = float(difference.mean())
    clusters = len(sums)
    residual = sums - mean * counts
    half = 1.96 * float(np.sqrt((residual**2).sum() * clusters / max(1, clusters - 1))) / len(difference)
    changed = float((np.abs(difference) > 1e-12).mean())
    return Delta(
        name,
        len(difference),
        float(before[both].mean()),
        float(after[both].mean()),
        changed,
        mean,
        (mean - half, mean + half),
    )


def _outcomes(a: Array, b: Array) -> dict[str, int]:
    np = numpy()
    other = a != b
    pairs, counts = np.unique(np.stack([a[other], b[other]], axis=1), axis=0, return_counts=True)
    return {f"{OUTCOMES[x]} -> {OUTCOMES[y]}": int(n) for (x, y), n in zip(pairs, counts, strict=True)}


def _correlation(a: Array, b: Array) -> float:
    np = numpy()
    if len(a) < 2 or a.std() < 1e-12 or b.std() < 1e-12:
        return 1.0 if len(a) and np.allclose(a, b) else 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _number(value: Array) -> float | None:
    return float(value) if value == value else None
