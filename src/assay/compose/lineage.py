"""How a component's raw number became what was paid: raw -> gated -> clipped -> scheduled -> weighted -> normalised."""

from __future__ import annotations

from typing import Any

from assay.compose.composite import CompositeReward
from assay.compose.flow import Composition
from assay.compose.normalize import Normalize
from assay.compose.rules import Clip, Gate, Shaped
from assay.reward import RewardFunction
from assay.types import RewardOutput

_STAGES: dict[type, str] = {Gate: "gated", Clip: "clipped", Normalize: "normalised", Shaped: "shaped"}


def lineage(reward: RewardFunction, output: RewardOutput) -> dict[str, dict[str, float | None]]:
    """For each component by its path the numbers that its raw one became on the way up, in order.

    Under a composite the stages are `scheduled`, the weight at the row's step, and `weighted`, its share of the sum.
    """
    return dict(_walk(reward, output, ""))


def _walk(reward: RewardFunction, output: RewardOutput, path: str) -> list[tuple[str, dict[str, float | None]]]:
    if not isinstance(reward, Composition):
        return [(path or reward.name, {"raw": output.reward})]
    found: list[tuple[str, dict[str, float | None]]] = []
    weights: dict[str, Any] = output.metadata.get("weights") or {}
    for name, child in reward.children.items():
        part = output.components.get(name)
        if part is None:
            continue
        for below, stages in _walk(child, part, f"{path}/{name}" if path else name):
            if isinstance(reward, CompositeReward):
                weight = weights.get(name)
                stages["scheduled"] = weight
                known = weight is not None and part.reward is not None
                stages["weighted"] = weight * part.reward if known else None  # pyright: ignore
            elif name == _carried(reward) and type(reward) in _STAGES:
                stages[_STAGES[type(reward)]] = output.reward
            found.append((below, stages))
    return found


def _carried(reward: Composition) -> str:
    """The child that a rule changes: behind a gate's requirement, before a bonus."""
    names = list(reward.children)
    return names[-1] if isinstance(reward, Gate) else names[0]
