"""Rewards brought to one scale: within the group, by what has been seen so far, or by known bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.compose.flow import Ask, Batch, Composition, Flow, folded, unscored
from assay.errors import ConfigError
from assay.reward import Contract, Per, as_reward
from assay.types import RewardOutput

EPSILON = 1e-6
"""Added to a standard deviation, so that a group of equals becomes zeros and not a division by zero."""


class Normalize(Composition):
    """The reward on a common scale; the raw value is kept in `components`.

    `"group"`: z-score within the GRPO group (needs whole groups). `"running"`: z-score by the mean and deviation of
    all that was scored so far, this batch included; its state is saved with `state_dict()`. `"minmax"`: `low` becomes
    0 and `high` becomes 1 (by default the reward's declared range).

    Rows that were not scored count in no mean, and stay not scored.

    Hacked by: nothing of its own; but a z-score makes a small difference within a group as large as a great one.
    """

    def __init__(
        self,
        reward: Any,
        kind: Literal["group", "running", "minmax"] = "group",
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        if kind not in ("group", "running", "minmax"):
            raise ConfigError(f"Normalize knows 'group', 'running' and 'minmax'; found {kind!r}.")
        self.reward, self.kind = as_reward(reward), kind
        self.name = self.reward.name
        self.children = {self.reward.name: self.reward}
        self.low, self.high = self._bounds(low, high) if kind == "minmax" else (0.0, 1.0)
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.contract = Contract(
            per=Per.GROUP if kind == "group" else None,
            range=(0.0, 1.0) if kind == "minmax" else None,
            deterministic=kind != "running",
        )

    def _bounds(self, low: float | None, high: float | None) -> tuple[float, float]:
        declared = self.reward.contract.range or (None, None)
        low = declared[0] if low is None else low
        high = declared[1] if high is None else high
        if low is None or high is None or not low < high:
            raise ConfigError(
                f"Normalize(..., 'minmax') needs low < high, and {self.reward.name!r} declares no range of its own; "
                f"found low={low}, high={high}. Pass both."
            )
        return float(low), float(high)

    def flow(self, batch: Batch) -> Flow:
        """Score, then scale."""
        (raw,) = yield [Ask(self.reward.name, self.reward, range(len(batch.trajectories)))]
        scaled = self._scale(batch, [part.reward for part in raw])
        return [self._fold(part, value) for part, value in zip(raw, scaled, strict=True)]

    def _fold(self, part: RewardOutput, value: float | None) -> RewardOutput:
        parts = {self.reward.name: part}
        return unscored(parts) if value is None else folded(value, {}, parts)

    def _scale(self, batch: Batch, raw: Sequence[float | None]) -> list[float | None]:
        if self.kind == "minmax":
            width = self.high - self.low
            return [None if r is None else min(1.0, max(0.0, (r - self.low) / width)) for r in raw]
        if self.kind == "running":
            self._see([r for r in raw if r is not None])
            return [_z(r, self.mean, self.deviation) for r in raw]
        scaled: list[float | None] = [None] * len(raw)
        for rows in batch.groups().values():
            scored = [r for i in rows if (r := raw[i]) is not None]
            mean = sum(scored) / len(scored) if scored else 0.0
            deviation = math.sqrt(sum((r - mean) * (r - mean) for r in scored) / len(scored)) if scored else 0.0
            for i in rows:
                scaled[i] = _z(raw[i], mean, deviation)
        return scaled

    @property
    def deviation(self) -> float:
        """The standard deviation of all that was seen."""
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    def _see(self, values: Sequence[float]) -> None:
        for value in values:  # Welford's update: one pass, no large sums of squares to cancel
            delta = value - self.mean
            mean = self.mean + delta / (self.count + 1)
            squares = self.squares + delta * (value - mean)
            if math.isfinite(squares):  # what is too large to be counted must not be the end of all counting
                self.count, self.mean, self.squares = self.count + 1, mean, squares

    def state_dict(self) -> dict[str, float]:
        """What a checkpoint has to keep: count, mean, and sum of squared deviations."""
        return {"count": self.count, "mean": self.mean, "squares": self.squares}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Go on from a saved state."""
        self.count, self.mean, self.squares = int(state["count"]), float(state["mean"]), float(state["squares"])


def _z(value: float | None, mean: float, deviation: float) -> float | None:
    return None if value is None else (value - mean) / (deviation + EPSILON)
