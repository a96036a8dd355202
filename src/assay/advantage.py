"""Rewards in, advantages out: the estimators of the field as small pure functions of plain lists.

    >>> GRPOAdvantage(scale="none")([1.0, 0.0, 0.0, 1.0], num_generations=4)
    [0.5, -0.5, -0.5, 0.5]

The rewards of one prompt stand together: `num_generations` of them for each, or `groups` names each reward's prompt.
A sample that was not scored (None or NaN) takes no part in its group's statistics and gets the advantage 0; `scored`
is the mask that keeps it out of the loss as well, which a zero alone does not (it would still count in the mean).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from assay.types import RewardOutput

Reward: TypeAlias = float | None
Scale: TypeAlias = Literal["group", "batch", "none"]

EPSILON = 1e-4
"""Added to a standard deviation before it divides, as TRL does: a group that agrees has the advantage 0."""


def scored(rewards: Sequence[Reward]) -> list[bool]:
    """The mask: True where there is a reward, False where a sample was not scored.

    >>> scored([1.0, None, float("nan")])
    [True, False, False]
    """
    return [r is not None for r in _read(rewards)]


def leave_one_out(
    rewards: Sequence[Reward], num_generations: int | None = None, *, groups: Sequence[Hashable] | None = None
) -> list[float]:
    """Each sample's baseline: the mean reward of the others of its group.

    A sample that has no scored companion is its own baseline, so that its advantage is 0.

    >>> leave_one_out([3.0, 0.0, 0.0], num_generations=3)
    [0.0, 1.5, 1.5]
    """
    numbers = _read(rewards)
    baselines = [0.0] * len(numbers)
    for members in _groups(len(numbers), num_generations, groups):
        known = [r for i in members if (r := numbers[i]) is not None]
        total = math.fsum(known)
        for i in members:
            if (own := numbers[i]) is not None:
                baselines[i] = (total - own) / (len(known) - 1) if len(known) > 1 else own
    return baselines


@dataclass(frozen=True)
class GRPOAdvantage:
    """Group relative policy optimisation: how far a reward is from its group's mean, in standard deviations.

    >>> [round(a, 2) for a in GRPOAdvantage()([1.0, 0.0, None, 0.5], num_generations=4)]
    [1.0, -1.0, 0.0, 0.0]
    """

    scale: Scale = "group"
    """What divides the difference: the group's standard deviation, the batch's, or nothing."""
    epsilon: float = EPSILON

    def __call__(
        self,
        rewards: Sequence[Reward],
        num_generations: int | None = None,
        scale: Scale | None = None,
        *,
        groups: Sequence[Hashable] | None = None,
    ) -> list[float]:
        """One advantage for each reward, in order. `scale` overrides the estimator's own for this call."""
        numbers = _read(rewards)
        members = _groups(len(numbers), num_generations, groups)
        differences = _per_group(numbers, members, _centre)
        return _scaled(differences, numbers, members, scale or self.scale, self.epsilon)


@dataclass(frozen=True)
class DrGRPOAdvantage:
    """Dr. GRPO ("GRPO done right"): the distance from the group's mean, not divided by anything.

    Its other half, the loss that is not divided by the response's own length, is the trainer's.

    >>> DrGRPOAdvantage()([1.0, 0.0], num_generations=2)
    [0.5, -0.5]
    """

    def __call__(
        self,
        rewards: Sequence[Reward],
        num_generations: int | None = None,
        *,
        groups: Sequence[Hashable] | None = None,
    ) -> list[float]:
        """One advantage for each reward, in order."""
        return GRPOAdvantage(scale="none")(rewards, num_generations, groups=groups)


@dataclass(frozen=True)
class RLOOAdvantage:
    """REINFORCE leave-one-out: a reward minus the mean of the others of its group, which keeps the baseline unbiased.

    >>> RLOOAdvantage()([3.0, 0.0, 0.0], num_generations=3)
    [3.0, -1.5, -1.5]
    """

    scale: Scale = "none"
    """What divides the difference: nothing, or (as Twinkle has it) the group's standard deviation, or the batch's."""
    epsilon: float = EPSILON

    def __call__(
        self,
        rewards: Sequence[Reward],
        num_generations: int | None = None,
        scale: Scale | None = None,
        *,
        groups: Sequence[Hashable] | None = None,
    ) -> list[float]:
        """One advantage for each reward, in order. `scale` overrides the estimator's own for this call."""
        numbers = _read(rewards)
        members = _groups(len(numbers), num_generations, groups)
        baselines = leave_one_out(numbers, num_generations, groups=groups)
        differences = [None if r is None else r - b for r, b in zip(numbers, baselines, strict=True)]
        return _scaled(differences, numbers, members, scale or self.scale, self.epsilon)


@dataclass(frozen=True)
class ReinforcePlusPlusAdvantage:
    """REINFORCE++: normalised over the whole batch; with `baseline`, the group's mean is taken off first.

    >>> [round(a, 2) for a in ReinforcePlusPlusAdvantage()([1.0, 0.0, 0.0, 1.0])]
    [0.87, -0.87, -0.87, 0.87]
    """

    baseline: bool = False
    epsilon: float = EPSILON

    def __call__(
        self,
        rewards: Sequence[Reward],
        num_generations: int | None = None,
        *,
        groups: Sequence[Hashable] | None = None,
    ) -> list[float]:
        """One advantage for each reward, in order. Without `baseline` no groups are needed."""
        numbers = _read(rewards)
        if self.baseline or num_generations is not None or groups is not None:
            members = _groups(len(numbers), num_generations, groups)
            if self.baseline:
                numbers = _per_group(numbers, members, _centre)
        return _whiten(numbers, self.epsilon)


@dataclass(frozen=True)
class GDPOAdvantage:
    """GDPO: each component is normalised in its group on its own, then they are summed and the batch is whitened.

    A component whose numbers are small is heard as well as one whose numbers are large, which a sum taken first
    does not grant. A sample needs one scored component to count; a component that has none for it adds nothing.

    >>> GDPOAdvantage()({"right": [1.0, 0.0], "short": [0.1, 0.1]}, num_generations=2)[0] > 0
    True
    """

    weights: Mapping[str, float] | None = None
    """A weight for each component, by name; 1 where none is given."""
    epsilon: float = EPSILON

    def __call__(
        self,
        components: Mapping[str, Sequence[Reward]],
        num_generations: int | None = None,
        *,
        groups: Sequence[Hashable] | None = None,
    ) -> list[float]:
        """One advantage for each sample, from one list of rewards for each component."""
        columns = {name: _read(values) for name, values in components.items()}
        sizes = {name: len(values) for name, values in columns.items()}
        if len(set(sizes.values())) != 1:
            raise ValueError(f"needed components of one length, one reward for each sample; found {sizes or 'none'}.")
        weights = self.weights or {}
        if unknown := [name for name in weights if name not in columns]:
            raise ValueError(f"weights name {unknown}; the components are {list(columns)}.")
        size = next(iter(sizes.values()))
        members = _groups(size, num_generations, groups)
        total: list[Reward] = [None] * size
        for name, values in columns.items():
            for i, z in enumerate(_per_group(values, members, lambda known: _z_scores(known, self.epsilon))):
                if z is not None:
                    total[i] = (total[i] or 0.0) + weights.get(name, 1.0) * z
        return _whiten(total, self.epsilon)


@dataclass(frozen=True)
class GAE:
    """Generalised advantage estimation over the tokens (or steps) of one trajectory, with a value for each.

    Tokens that the policy did not write (`mask` False: a tool's output) are passed over, as if they were not there.

    >>> GAE(gamma=1.0, lam=1.0)([0.0, 0.0, 1.0], values=[0.5, 0.5, 0.5])
    [0.5, 0.5, 0.5]
    """

    gamma: float = 1.0
    lam: float = 0.95

    def __call__(
        self,
        rewards: Sequence[float],
        values: Sequence[float],
        *,
        mask: Sequence[bool] = (),
        last_value: float = 0.0,
    ) -> list[float]:
        """One advantage for each token. `last_value` is the value after a trajectory that was cut off, not ended."""
        if len(values) != len(rewards) or (mask and len(mask) != len(rewards)):
            raise ValueError(
                f"needed a value (and a mask entry, where a mask is given) for each of {len(rewards)} rewards; "
                f"found {len(values)} values and {len(mask)} mask entries."
            )
        advantages = [0.0] * len(rewards)
        following, running = last_value, 0.0
        for i in range(len(rewards) - 1, -1, -1):
            if mask and not mask[i]:
                continue
            delta = float(rewards[i]) + self.gamma * following - float(values[i])
            running = delta + self.gamma * self.lam * running
            advantages[i], following = running, float(values[i])
        return advantages

    def returns(self, advantages: Sequence[float], values: Sequence[float]) -> list[float]:
        """What the value function is trained towards: the advantage plus the value."""
        return [float(a) + float(v) for a, v in zip(advantages, values, strict=True)]


# -- the arithmetic --------------------------------------------------------------------------------------------------


def _read(rewards: Sequence[Any]) -> list[Reward]:
    """Plain numbers of lists, arrays, tensors and outputs; None where a sample was not scored."""
    numbers: list[Reward] = []
    for i, reward in enumerate(rewards):
        reward = reward.reward if isinstance(reward, RewardOutput) else reward
        try:
            number = None if reward is None else float(reward)
        except (TypeError, ValueError, RuntimeError):
            raise ValueError(
                f"needed one number for each sample, in a flat list, or None; reward {i} is {reward!r:.60}"
            ) from None
        if number is not None and math.isinf(number):
            raise ValueError(f"needed finite rewards, or None for 'not scored'; reward {i} is {number}.")
        numbers.append(None if number is None or math.isnan(number) else number)
    return numbers


def _groups(size: int, num_generations: int | None, groups: Sequence[Hashable] | None) -> list[list[int]]:
    """The positions of each group's members."""
    if groups is not None:
        if len(groups) != size:
            raise ValueError(f"needed a group for each of {size} rewards; found {len(groups)} groups.")
        found: dict[Hashable, list[int]] = {}
        for i, group in enumerate(groups):
            # of a tensor each element is an object of its own, and only its number says which are the same
            found.setdefault(cast("Any", group).item() if hasattr(group, "item") else group, []).append(i)
        return list(found.values())
    if num_generations is None:
        raise ValueError("needed to know which rewards belong to one prompt: give num_generations=... or groups=...")
    if num_generations < 1 or size % num_generations:
        raise ValueError(
            f"{size} rewards do not divide into groups of {num_generations}: the batch was cut, or num_generations "
            f"is not what the sampler used. Uneven groups can be named: groups=[id of each reward's prompt]."
        )
    return [list(range(start, start + num_generations)) for start in range(0, size, num_generations)]


def _per_group(
    numbers: Sequence[Reward], members: list[list[int]], change: Callable[[list[float]], list[float]]
) -> list[Reward]:
    """Apply `change` to the scored numbers of each group; the others stay None."""
    out: list[Reward] = [None] * len(numbers)
    for group in members:
        where = [i for i in group if numbers[i] is not None]
        for i, value in zip(where, change([n for i in where if (n := numbers[i]) is not None]), strict=True):
            out[i] = value
    return out


def _scaled(
    differences: Sequence[Reward], numbers: Sequence[Reward], members: list[list[int]], scale: Scale, epsilon: float
) -> list[float]:
    """The differences over the standard deviation of their group's rewards, or of the batch's; 0 where not scored."""
    if scale == "none":
        spreads: list[Reward] = [1.0] * len(numbers)
    elif scale == "batch":
        spreads = [_std([n for n in numbers if n is not None]) + epsilon] * len(numbers)
    elif scale == "group":
        spreads = _per_group(numbers, members, lambda known: [_std(known) + epsilon] * len(known))
    else:
        raise ValueError(f"needed scale='group', 'batch' or 'none'; found {scale!r}.")
    return [0.0 if d is None or s is None else d / s for d, s in zip(differences, spreads, strict=True)]


def _mean(known: Sequence[float]) -> float:
    return math.fsum(known) / len(known) if known else 0.0


def _std(known: Sequence[float]) -> float:
    """The sample standard deviation (n - 1), as TRL and verl take it; 0 for fewer than two numbers."""
    if len(known) < 2:
        return 0.0
    mean = _mean(known)
    return math.sqrt(math.fsum((x - mean) * (x - mean) for x in known) / (len(known) - 1))


def _centre(known: list[float]) -> list[float]:
    mean = _mean(known)
    return [x - mean for x in known]


def _z_scores(known: list[float], epsilon: float) -> list[float]:
    spread = _std(known) + epsilon
    return [x / spread for x in _centre(known)]


def _whiten(numbers: Sequence[Reward], epsilon: float) -> list[float]:
    """Normalise over the whole batch; 0 where there is no number."""
    known = [n for n in numbers if n is not None]
    mean, spread = _mean(known), _std(known) + epsilon
    return [0.0 if n is None else (n - mean) / spread for n in numbers]
