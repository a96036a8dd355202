"""From an output to what a trainer can take that knows no "not scored": a number that was chosen, never a stray 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.compose import Composition
from assay.engine import needs_groups, needs_steps
from assay.errors import ConfigError
from assay.reward import RewardFunction
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


def refuse_groups(reward: RewardFunction, trainer: str, instead: str) -> None:
    """Refuse a reward that needs whole groups where samples come one by one: never a group that is silently a part."""
    if needs_groups(reward):
        raise ConfigError(
            f"reward {reward.name!r} looks at all responses to a prompt together, and {trainer} sends them one by "
            f"one. {instead}"
        )


def refuse_steps(reward: RewardFunction, trainer: str) -> None:
    """Refuse a reward that changes with the training step where the step is not told: it would never leave step 0."""
    if needs_steps(reward):
        raise ConfigError(
            f"reward {reward.name!r} changes with the training step, which {trainer} does not tell: it would stay at "
            f"step 0. Give one stage of it, with fixed weights."
        )


def columns_of(given: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """Columns (lists and arrays with a value for each row) as rows; what is no column is left out."""
    lists = {name: _plain(values) for name, values in given.items()}
    fitting = {name: v for name, v in lists.items() if isinstance(v, list | tuple) and len(v) == size}
    return [{name: values[i] for name, values in fitting.items()} for i in range(size)]


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values
