"""Which component the policy is really taught by: shares of the advantage, not of the reward.

A reward is only felt through the advantage, so a weight says little: a component that never differs within a group
teaches nothing at any weight, and one that always differs rules at a small one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from assay.advantage import EPSILON
from assay.analyze.groups import guess_correctness
from assay.analyze.stats import compact
from assay.analyze.table import Array, Table, numpy
from assay.errors import ConfigError, did_you_mean

Estimator: TypeAlias = Literal["grpo", "dr_grpo", "rloo", "gdpo"]
ESTIMATORS: tuple[Estimator, ...] = ("grpo", "dr_grpo", "rloo", "gdpo")


@dataclass(frozen=True, slots=True)
class Component:
    """One component's part in the advantage."""

    name: str
    weight: float
    configured: float
    """Its weight as a share of all weights' sizes."""
    share: float
    """Its share of the variance of the advantage within groups; all shares and `rest` sum to 1."""
    flips: float
    """Where correctness alone gives a sign: how often adding this component turns it round."""
    dead: bool
    """It never differs within a group, so that it teaches nothing."""
    silent: float
    """The share of groups in which it does not differ."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What the advantage is made of."""

    estimator: Estimator
    components: tuple[Component, ...]
    rest: float
    """The share that no component's weight explains: gates, clips, policies for what was not scored."""
    correctness: str | None
    """The component whose sign the others are held against."""
    flips: float
    """How often the whole advantage has the other sign than correctness alone would give."""
    overruled: float
    """The share of the advantage's size in groups where correctness does not differ: paid for something else."""
    rows: tuple[int, ...]
    """Rows whose sign is flipped, those with the largest advantage first."""


def attribute(table: Table, estimator: Estimator = "grpo", correctness: str | None = None) -> Attribution | None:
    """Take the advantage apart. None where the reward has no weighted components."""
    np = numpy()
    if estimator not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise ConfigError(f"--estimator is one of {known}; found {estimator!r}.{did_you_mean(estimator, ESTIMATORS)}")
    weights = table.weights()
    if not weights:
        return None
    space = _Space.of(table, estimator)
    pieces = space.pieces(table)
    whole = space.advantage(table)
    power = float((whole * whole).sum())
    right = guess_correctness(table, correctness)
    base = pieces.get(right) if right is not None else None
    flipped = (base * whole < 0) & (np.abs(base) > 1e-9) if base is not None else np.zeros(len(whole), dtype=bool)
    order = np.argsort(-np.abs(whole[flipped]), kind="stable")[:200]
    components = tuple(_component(name, weights, pieces, whole, base, space) for name in weights)
    return Attribution(
        estimator=estimator,
        components=components,
        rest=1.0 - sum(c.share for c in components) if power > 0 else 0.0,
        correctness=right if base is not None else None,
        flips=_share(flipped, np.abs(base) > 1e-9) if base is not None else 0.0,
        overruled=_overruled(base, whole, space) if base is not None else 0.0,
        rows=tuple(map(int, space.rows[flipped][order])),
    )


def weights_for(table: Table, wanted: Mapping[str, float], estimator: Estimator = "grpo") -> dict[str, float]:
    """The weights that give each component a wanted share of the advantage's variance.

    Shares need not sum to 1; a component that is not named keeps what is left, in proportion. The weights' sizes sum
    to what they sum to now, and keep their signs. Found by steps towards the target, so it is close and not exact.
    """
    np = numpy()
    now = table.weights()
    by_end = {name.rpartition("/")[2]: name for name in now}
    wanted = {name if name in now else by_end.get(name, name): share for name, share in wanted.items()}
    for name in wanted:
        if name not in now:
            raise ConfigError(f"there is no component {name!r}; there is {', '.join(now)}.{did_you_mean(name, now)}")
    space = _Space.of(table, estimator, most=40_000)
    values = {name: table.parts[name].value[space.rows] for name in now}
    alive = [name for name in now if np.abs(space.centred(values[name])).max(initial=0.0) > 1e-9]
    centred = {name: space.centred(values[name]) for name in alive}
    weights = {n: (now[n] or 1e-3) for n in alive}
    shares = space.shares(centred, weights)
    left, others = max(0.0, 1.0 - sum(wanted.values())), sum(shares[n] for n in alive if n not in wanted)
    target = {n: wanted.get(n, left * shares[n] / (others or 1.0)) for n in alive}
    size = sum(target.values()) or 1.0
    for _ in range(60):
        shares = space.shares(centred, weights)
        for n in alive:
            weights[n] *= min(2.0, max(0.5, ((target[n] / size + 1e-6) / shares[n]) ** 0.5))
        scale = sum(map(abs, now.values())) / sum(map(abs, weights.values()))
        weights = {n: w * scale for n, w in weights.items()}
    return {n: weights.get(n, 0.0) for n in now}


def shares_under(table: Table, weights: Mapping[str, float], estimator: Estimator = "grpo") -> dict[str, float]:
    """Each component's share of the advantage's variance under these weights, gates and bounds left out.

    Under GRPO every group counts the same, so that a component that is silent in a fifth of them cannot have more than
    four fifths, whatever its weight.
    """
    space = _Space.of(table, estimator)
    centred = {name: space.centred(table.parts[name].value[space.rows]) for name in weights}
    return space.shares(centred, weights)


def advantages(table: Table, estimator: Estimator = "grpo") -> Array:
    """Every row's advantage; 0 where it was not scored or stands alone in its group."""
    np = numpy()
    space = _Space.of(table, estimator)
    out = np.zeros(table.rows)
    out[space.rows] = space.advantage(table)
    return out


def within_variance(table: Table) -> float:
    """The variance of rewards within groups (n - 1), over all groups of several."""
    space = _Space.of(table, "dr_grpo")
    centred = space.centred(table.reward[space.rows])
    freedom = float((space.n - 1).sum())
    return float((centred**2).sum()) / freedom if freedom > 0 else 0.0


@dataclass(slots=True)
class _Space:
    """The rows that have an advantage, and how a reward becomes one."""

    estimator: Estimator
    rows: Array
    codes: Array
    n: Array
    spread_of_reward: Array

    @classmethod
    def of(cls, table: Table, estimator: Estimator, most: int | None = None) -> _Space:
        np = numpy()
        rows = np.flatnonzero(table.scored)
        if most is not None and len(rows) > most:
            rows = rows[table.group[rows] % (len(rows) // most + 1) == 0]  # whole groups, spread over the Run
        codes = compact(table.group[rows])
        n = np.bincount(codes)
        several = n[codes] > 1
        rows, codes = rows[several], compact(table.group[rows[several]])
        space = cls(estimator, rows, codes, np.bincount(codes), np.ones(0))
        space.spread_of_reward = space.spread(space.centred(table.reward[rows]))
        return space

    def centred(self, values: Array) -> Array:
        """Less its group's mean; what is not known counts as the mean."""
        np = numpy()
        known = values == values
        filled = np.where(known, values, 0.0)
        count = np.maximum(1, np.bincount(self.codes, weights=known, minlength=len(self.n)))
        mean = np.bincount(self.codes, weights=filled, minlength=len(self.n)) / count
        return np.where(known, filled - mean[self.codes], 0.0)

    def spread(self, centred: Array) -> Array:
        """What the estimator divides by, for each row."""
        np = numpy()
        if self.estimator == "dr_grpo":
            return np.ones(len(centred))
        n = self.n[self.codes]
        if self.estimator == "rloo":
            return (n - 1) / n
        squares = np.bincount(self.codes, weights=centred**2, minlength=len(self.n))
        return np.sqrt(squares / np.maximum(1, self.n - 1))[self.codes] + EPSILON

    def advantage(self, table: Table) -> Array:
        """The advantage of these rows.

        GDPO scales each component before it adds them up, so its whole is the sum of the pieces and not of the rewards.
        """
        np = numpy()
        if self.estimator == "gdpo" and (pieces := self.pieces(table)):
            return np.sum(list(pieces.values()), axis=0)
        return self.centred(table.reward[self.rows]) / self.spread_of_reward

    def pieces(self, table: Table) -> dict[str, Array]:
        """What each weighted component adds to the advantage."""
        np = numpy()
        weights = table.weight_columns()
        return {
            name: self.piece(table.parts[name].value[self.rows], w[self.rows] if isinstance(w, np.ndarray) else w)
            for name, w in weights.items()
        }

    def piece(self, values: Array, weight: Any) -> Array:
        """What one component adds to the advantage; a scheduled weight is one for each row."""
        if self.estimator == "gdpo":
            np = numpy()
            centred, known = self.centred(values), values == values
            count = np.bincount(self.codes, weights=known, minlength=len(self.n))
            squares = np.bincount(self.codes, weights=centred**2, minlength=len(self.n))
            deviation = np.sqrt(squares / np.maximum(1, count - 1)) + EPSILON
            return weight * centred / deviation[self.codes]
        return self.centred(weight * values) / self.spread_of_reward

    def shares(self, centred: Mapping[str, Array], weights: Mapping[str, float]) -> dict[str, float]:
        """Each component's share of the advantage's variance under these weights, and never quite nothing."""
        whole = sum(centred[n] * w for n, w in weights.items())
        scale = self.spread(whole) ** 2
        power = float((whole * whole / scale).sum()) or 1.0
        return {n: max(1e-4, float((centred[n] * w * whole / scale).sum()) / power) for n, w in weights.items()}

    def silent(self, piece: Array) -> Array:
        """For each group, whether the piece is nothing in all of it."""
        np = numpy()
        return np.bincount(self.codes, weights=np.abs(piece) > 1e-9, minlength=len(self.n)) == 0


def _component(
    name: str,
    weights: Mapping[str, float],
    pieces: Mapping[str, Array],
    whole: Array,
    base: Array | None,
    space: _Space,
) -> Component:
    np = numpy()
    piece, power = pieces[name], float((whole * whole).sum())
    silent = space.silent(piece)
    flips = 0.0
    if base is not None and piece is not base:
        told = np.abs(base) > 1e-9
        flips = _share((base * (base + piece) < 0) & told, told)
    return Component(
        name=name,
        weight=weights[name],
        configured=abs(weights[name]) / (sum(map(abs, weights.values())) or 1.0),
        share=float((piece * whole).sum()) / power if power > 0 else 0.0,
        flips=flips,
        dead=bool(silent.all()),
        silent=float(silent.mean()) if len(silent) else 1.0,
    )


def _overruled(base: Array, whole: Array, space: _Space) -> float:
    np = numpy()
    total = float(np.abs(whole).sum())
    return float(np.abs(whole)[space.silent(base)[space.codes]].sum()) / total if total > 0 else 0.0


def _share(some: Array, of: Array) -> float:
    whole = int(of.sum())
    return float(some.sum()) / whole if whole else 0.0
