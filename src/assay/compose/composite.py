"""The weighted sum, and what becomes of a row where a component was not scored."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal, TypeAlias, cast

from assay.compose import lazy as laziness
from assay.compose.flow import NO_STEP, Ask, Batch, Composition, Flow, folded, free_name, unscored
from assay.compose.lazy import Column
from assay.compose.schedule import Schedule, weight_at
from assay.errors import ConfigError
from assay.reward import Contract, Per, as_reward
from assay.types import RewardOutput

Policy: TypeAlias = Literal["reweight", "skip", "drop_group", "impute"] | float
"""What becomes of a row whose component was not scored.

`reweight`: the other components of its sign carry its weight; where none that pays is left, the row is not scored.
`skip`: the row is not scored. `drop_group`: nor is its group. `impute`: the mean of that component over the row's group
stands in. A number: that number stands in.
"""


@dataclass(frozen=True, slots=True)
class Term:
    """One component of a composite: a reward, its weight, and what becomes of a row where it was not scored."""

    reward: Any
    weight: float | Schedule = 1.0
    name: str = ""
    on_missing: Policy | None = None
    """None: the composite's own policy."""


class CompositeReward(Composition):
    """The weighted sum of its components: 1 where all of them are 1 and the weights sum to 1, 0 where all are 0.

    Terms are `(reward, weight)` pairs, or a mapping of names to rewards or pairs. Any finite weight is taken: negative
    for a penalty, 0 to watch without paying; they need not sum to 1. NaN and infinities are refused. A weight may be
    a schedule over training steps. Each component's raw output is kept in `components`. With `lazy`, dear components
    (those that declare a `cost`, or are async) are asked last and only where they can matter; see `lazy.py`.

    Example:
        >>> reward = CompositeReward({"short": (lambda response: len(response) < 9, 0.5), "yes": ("y".__eq__, 0.5)})
        ... # doctest: +SKIP

    Hacked by: the component that is easiest to raise; give it a small weight, or make it a `Gate`.
    """

    def __init__(
        self,
        terms: Sequence[Any] | Mapping[str, Any],
        on_missing: Policy = "reweight",
        name: str = "composite",
        lazy: bool | Literal["group"] = False,
    ) -> None:
        self.name = name
        self.lazy: bool | Literal["group"] = _lazy(lazy)
        self.why_not_asked = "lazy" if lazy else ""
        self.on_missing: Policy = _policy(on_missing)
        self.terms = _terms(terms)
        self.children = {t.name: t.reward for t in self.terms}
        self.follows_steps = any(not isinstance(t.weight, float) for t in self.terms)
        self._fixed = None if self.follows_steps else self.weights(0)
        policies = {self.on_missing if t.on_missing is None else t.on_missing for t in self.terms}
        grouped = lazy == "group" or bool(policies & {"drop_group", "impute"})
        self.contract = Contract(per=Per.GROUP if grouped else None, range=self._range())

    def weights(self, step: int) -> dict[str, float]:
        """Each component's weight at a training step."""
        return {t.name: weight_at(t.weight, step) for t in self.terms}

    def flow(self, batch: Batch) -> Flow:
        """Score every component on every row, then sum."""
        rows = range(len(batch.trajectories))
        if self.lazy:
            columns = yield from self._lazily(batch)
        else:
            columns = yield [Ask(t.name, t.reward, rows) for t in self.terms]
        names = [t.name for t in self.terms]
        parts = [dict(zip(names, row, strict=False)) for row in zip(*columns, strict=True)]
        missing = _Missing(self, batch, parts)
        if self._fixed is not None:
            outputs = _sums(self._fixed, zip(*columns, strict=True), parts, missing)
        else:
            outputs = [self._fold(batch, i, part, missing) for i, part in enumerate(parts)]
        return missing.drop_groups(outputs)

    def _lazily(self, batch: Batch) -> Generator[list[Ask], list[Column], list[Column]]:
        policies = {t.name: self.on_missing if t.on_missing is None else t.on_missing for t in self.terms}
        weights = [self._fixed or self.weights(batch.step_of(i) or 0) for i in range(len(batch.trajectories))]
        return (yield from laziness.Terms(batch, self.children, policies, weights, self.lazy == "group").ask())

    def _fold(self, batch: Batch, i: int, parts: dict[str, RewardOutput], missing: _Missing) -> RewardOutput:
        if (step := batch.step_of(i)) is None:
            return RewardOutput(None, components=parts, error=NO_STEP)
        weights, total = self.weights(step), 0.0
        for name, part in parts.items():
            if part.reward is None:
                return missing.fold(i, parts, weights)
            total += weights[name] * part.reward
        return folded(total, {"weights": weights}, parts)

    def _range(self) -> tuple[float, float] | None:
        ranges = [t.reward.contract.range for t in self.terms]
        if self._fixed is None or any(r is None for r in ranges):
            return None
        pairs = [(w * r[0], w * r[1]) for w, r in zip(self._fixed.values(), ranges, strict=True) if r]
        return sum(min(p) for p in pairs), sum(max(p) for p in pairs)


def _sums(
    weights: Mapping[str, float],
    rows: Iterable[tuple[RewardOutput, ...]],
    parts: list[dict[str, RewardOutput]],
    missing: _Missing,
) -> list[RewardOutput]:
    """The weighted sum of every row, in one loop that makes no more than a row needs; the weights are told once."""
    values, told = tuple(weights.values()), dict(weights)
    outputs: list[RewardOutput] = []
    for row, part in zip(rows, parts, strict=True):
        total = 0.0
        for weight, output in zip(values, row, strict=False):
            if (reward := output.reward) is None:
                outputs.append(missing.fold(len(outputs), part, weights))
                break
            total += weight * reward
        else:
            outputs.append(folded(total, {"weights": told}, part))
    return outputs


@dataclass(slots=True)
class _Missing:
    """Folds the rows that lack a component, by each component's stated policy."""

    composite: CompositeReward
    batch: Batch
    parts: list[dict[str, RewardOutput]]
    dropped: set[str] = field(default_factory=set[str])
    groups: dict[str, list[int]] | None = None

    def fold(self, i: int, parts: dict[str, RewardOutput], weights: Mapping[str, float]) -> RewardOutput:
        """Fold one row that lacks something, and say in its metadata what was lacking and what was done."""
        values = {name: part.reward for name, part in parts.items() if part.reward is not None}
        said: dict[str, str] = {}
        policies: set[Policy] = set()
        for name, part in parts.items():
            if part.reward is None and "lazy" in part.metadata:
                said[name] = part.error
                if (stand_in := part.metadata["lazy"]) is not None:
                    values[name] = stand_in
            elif part.reward is None:
                policy = self._policy(name)
                said[name] = f"{part.outcome}: {part.error or 'no reason given'} ({policy})"
                stand_in = self._group_mean(i, name) if policy == "impute" else policy
                if isinstance(stand_in, float):
                    values[name] = stand_in
                elif weights[name]:
                    policies.add(policy)
        metadata: dict[str, Any] = {"weights": dict(weights), "missing": said}
        if policies - {"reweight"} or not any(weights[name] for name in values):
            if "drop_group" in policies:
                self.dropped.add(self.batch.trajectories[i].group_id)
            return unscored(parts, metadata)
        total = _carried(values, weights) if policies else sum(weights[name] * value for name, value in values.items())
        if total is None:
            return unscored(parts, metadata)
        return folded(total, metadata, parts)

    def _policy(self, name: str) -> Policy:
        for term in self.composite.terms:
            if term.name == name and term.on_missing is not None:
                return term.on_missing
        return self.composite.on_missing

    def _group_mean(self, i: int, name: str) -> float | None:
        if self.groups is None:
            self.groups = self.batch.groups()
        parts = [self.parts[k][name].reward for k in self.groups[self.batch.trajectories[i].group_id]]
        scored = [r for r in parts if r is not None]
        return sum(scored) / len(scored) if scored else None

    def drop_groups(self, outputs: list[RewardOutput]) -> list[RewardOutput]:
        """Take the number from every row of a group that is to be dropped."""
        why = "dropped with its group: a component was not scored for another row of it"
        for i, t in enumerate(self.batch.trajectories if self.dropped else ()):
            if t.group_id in self.dropped and (whole := outputs[i]).reward is not None:
                outputs[i] = RewardOutput(None, metadata=whole.metadata, components=whole.components, error=why)
        return outputs


def _carried(values: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    """The sum where the rest carries the weight of what is lacking: what pays for what pays, penalties for penalties.

    A penalty that nothing can stand for is left out; where nothing that pays is known there is no sum.
    """
    total = 0.0
    for sign in (1.0, -1.0):
        whole = sum(w for w in weights.values() if w * sign > 0)
        there = sum(weights[name] for name in values if weights[name] * sign > 0)
        if there:
            total += whole / there * sum(weights[n] * value for n, value in values.items() if weights[n] * sign > 0)
        elif whole > 0:
            return None
    return total


def _lazy(lazy: Any) -> bool | Literal["group"]:
    if lazy in (True, False) or lazy == "group":
        return lazy
    raise ConfigError(f"lazy is True, False or 'group'; found {lazy!r}.")


def _terms(terms: Any) -> tuple[Term, ...]:
    if isinstance(terms, Mapping):
        given = [_term(value, name) for name, value in cast("Mapping[str, Any]", terms).items()]
    elif isinstance(terms, str) or not isinstance(terms, Iterable):
        raise ConfigError(f"a composite is made of (reward, weight) pairs: [(reward, 0.7), ...]; found {terms!r:.80}.")
    else:
        given = [
            _term(tuple(cast("list[Any]", value)) if isinstance(value, list) else value, "")
            for value in cast("Iterable[Any]", terms)
        ]
    if not given:
        raise ConfigError("a composite needs at least one (reward, weight) pair; found none.")
    named: dict[str, Term] = {}
    for term in given:
        name = free_name(term.name, named)
        named[name] = replace(term, name=name)
    return tuple(named.values())


def _term(value: Any, name: str) -> Term:
    given = value if isinstance(value, Term) else Term(*value) if isinstance(value, tuple) else Term(value)
    reward = as_reward(given.reward)
    weight: Any = given.weight
    if type(weight) is not bool and isinstance(weight, Real) and math.isfinite(weight):  # numpy's numbers too
        weight = float(weight)
    elif not isinstance(weight, Schedule):
        raise ConfigError(
            f"component {name or reward.name!r} needs a finite weight, or a schedule such as Linear(0, 1, steps=100); "
            f"found {weight!r}."
        )
    on_missing = None if given.on_missing is None else _policy(given.on_missing)
    return Term(reward, weight, name or given.name or reward.name, on_missing)


def _policy(policy: Any) -> Policy:
    if isinstance(policy, int | float) and not isinstance(policy, bool) and math.isfinite(policy):
        return float(policy)
    if policy in ("group_mean", {"impute": "group_mean"}):
        return "impute"
    if policy in ("reweight", "skip", "drop_group", "impute"):
        return policy
    raise ConfigError(f"on_missing is 'reweight', 'skip', 'drop_group', 'impute' or a number; found {policy!r}.")
