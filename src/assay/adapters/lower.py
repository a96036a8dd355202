"""From an output to what a trainer can take that knows no "not scored": a number that was chosen, never a stray 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.compose import Composition
from assay.contract import Per
from assay.engine import leaves
from assay.errors import ConfigError
from assay.reward import RewardFunction, call_of
from assay.types import RewardOutput

SCORED = "scored"
"""The key that says 1.0 where the number is the reward's, 0.0 where it is the stand-in."""


def number(output: RewardOutput, unscored: float) -> float:
    """The reward, or the stand-in."""
    return unscored if output.reward is None else output.reward


def stand_in(unscored: float) -> float:
    """Check the number that stands for "not scored"."""
    if not math.isfinite(unscored):
        raise ConfigError(f"unscored is the number that a trainer gets for what was not scored; found {unscored}.")
    return float(unscored)


def figures(output: RewardOutput, names: Sequence[str], unscored: float) -> dict[str, float]:
    """Numbers to log, the same keys for every sample: each component, and whether the sample was scored."""
    parts = {name: output.components.get(name) for name in names}
    found = {name: unscored if part is None else number(part, unscored) for name, part in parts.items()}
    return {**found, SCORED: float(output.reward is not None)}


def part_names(reward: RewardFunction) -> list[str]:
    """The components that a reward's outputs may have."""
    return list(reward.children) if isinstance(reward, Composition) else []


def needs_groups(reward: RewardFunction) -> bool:
    """Whether some part of the reward must see all responses to a prompt together."""
    if any(part.contract.per is Per.GROUP for part in _tree(reward)):
        return True
    return any(call_of(leaf).per is Per.GROUP for leaf in leaves(reward))


def refuse_groups(reward: RewardFunction, trainer: str, instead: str) -> None:
    """Refuse a reward that needs whole groups where samples come one by one: never a group that is silently a part."""
    if needs_groups(reward):
        raise ConfigError(
            f"reward {reward.name!r} looks at all responses to a prompt together, and {trainer} sends them one by "
            f"one. {instead}"
        )


def columns_of(given: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """Columns (lists and arrays with a value for each row) as rows; what is no column is left out."""
    lists = {name: _plain(values) for name, values in given.items()}
    fitting = {name: v for name, v in lists.items() if isinstance(v, list | tuple) and len(v) == size}
    return [{name: values[i] for name, values in fitting.items()} for i in range(size)]


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def _tree(reward: RewardFunction) -> Iterator[RewardFunction]:
    yield reward
    if isinstance(reward, Composition):
        for child in reward.children.values():
            yield from _tree(child)
