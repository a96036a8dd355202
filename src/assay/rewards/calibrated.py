"""A reward in the words of people: its score through the map that `assay calibrate` fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.compose.flow import Ask, Batch, Composition, Flow, distinct, unscored
from assay.llm.calibration import MonotoneMap
from assay.reward import Contract, as_reward
from assay.types import RewardOutput


class Calibrated(Composition):
    """What people would give for what this reward gives: 1 where the map's highest label is 1, 0 where its lowest is 0.

    `map` is the file that `assay calibrate` wrote, or a `MonotoneMap`. The map never turns an order round; scores
    beyond those it was fitted on get its first or last label. The raw score is kept in `components`.

    >>> from assay import score
    >>> kinder = Calibrated(lambda response: 0.5, MonotoneMap((0.0, 1.0), (0.4, 1.0)))
    >>> score(kinder, ["Hello"])[0].reward
    0.7

    Hacked by: whatever hacks the reward inside; a calibration moves scores and finds nothing out.
    """

    made_of = ("reward",)

    def __init__(self, reward: Any, map: str | Path | MonotoneMap) -> None:
        self.reward = as_reward(reward)
        self.map = map if isinstance(map, MonotoneMap) else MonotoneMap.read(map)
        self.children = distinct([self.reward])
        self.name = self.reward.name
        self.contract = Contract(range=(self.map.labels[0], self.map.labels[-1]))

    def flow(self, batch: Batch) -> Flow:
        """Score, then map."""
        ((name, reward),) = self.children.items()
        (raw,) = yield [Ask(name, reward, range(len(batch.trajectories)))]
        return [self._fold({name: part}, part.reward) for part in raw]

    def _fold(self, parts: dict[str, RewardOutput], value: float | None) -> RewardOutput:
        if value is None:
            return unscored(parts)
        return RewardOutput(self.map(value), metadata={"uncalibrated": value}, components=parts)
