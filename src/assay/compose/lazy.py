"""Cheap components first, and dear ones only where they can still matter.

With `lazy=True` a component is not called for a row that is certain to be unscored (another component of it failed
under the policy `skip`, or of its group under `drop_group`): the rewards are the same as without. With `lazy="group"`
it is also not called where it cannot change the row's place within its group: the order in every group is the same as
without; the number of such a row is not, for the component stands at the middle of its declared range there. The
output says so under `missing`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.compose.flow import Ask, Batch
from assay.reward import RewardFunction, call_of
from assay.types import RewardOutput

Column = list[RewardOutput]


def cost_of(reward: RewardFunction) -> float:
    """How dear a reward is: what its parts declare, added up; a part that waits for something costs at least 1."""
    children: dict[str, RewardFunction] | None = getattr(reward, "children", None)
    if children is not None:
        return sum(cost_of(child) for child in children.values())
    return reward.contract.cost or (1.0 if call_of(reward).is_async else 0.0)


def stages(rewards: dict[str, RewardFunction]) -> list[list[str]]:
    """Component names in the order in which they are asked: the free ones together, then one by one by their cost."""
    dear = sorted((name for name in rewards if cost_of(rewards[name])), key=lambda name: cost_of(rewards[name]))
    free = [name for name in rewards if name not in dear]
    return [free, *([name] for name in dear)] if free else [[name] for name in dear]


@dataclass(slots=True)
class Terms:
    """What is known of a composite's terms for one batch."""

    batch: Batch
    rewards: dict[str, RewardFunction]
    policies: dict[str, Any]
    """Name -> what becomes of a row where the component was not scored."""
    weights: Sequence[dict[str, float]]
    """Of each row."""
    by_order: bool
    """Whether a component is skipped where it cannot change the order within the group."""

    def ask(self) -> Generator[list[Ask], list[Column], list[Column]]:
        """Ask stage by stage; returns a column for each component, in the order of the composite."""
        columns: dict[str, Column] = {}
        everyone = range(len(self.batch.trajectories))
        for names in stages(self.rewards):
            stand_ins = self._not_needed(columns) if columns else {}
            rows = [i for i in everyone if i not in stand_ins]
            answers = yield [Ask(name, self.rewards[name], rows) for name in names]
            for name, outputs in zip(names, answers, strict=True):
                found = dict(zip(rows, outputs, strict=True))
                columns[name] = [found[i] if i in found else self._skipped(name, stand_ins[i]) for i in everyone]
        return [columns[name] for name in self.rewards]

    def _skipped(self, name: str, why: str) -> RewardOutput:
        low, high = self.rewards[name].contract.range or (0.0, 0.0)
        middle = (low + high) / 2 if why == _SETTLED else None
        return RewardOutput(None, metadata={"lazy": middle}, error=f"not called: {why}")

    def _not_needed(self, columns: dict[str, Column]) -> dict[int, str]:
        """Rows for which no further component need be called, with the reason."""
        done: dict[int, str] = {}
        for group in self.batch.groups().values():
            lost = {i for i in group if self._has(columns, i, "skip")}
            if any(self._has(columns, i, "drop_group") for i in group):
                lost = set(group)
            done.update(dict.fromkeys(lost, "the row is not scored in any case"))
            if self.by_order and not lost:
                done.update(dict.fromkeys(self._settled(columns, group), _SETTLED))
        return done

    def _has(self, columns: dict[str, Column], i: int, policy: str) -> bool:
        return any(
            column[i].reward is None and self.weights[i][name] and self.policies[name] == policy
            for name, column in columns.items()
            if "lazy" not in column[i].metadata
        )

    def _settled(self, columns: dict[str, Column], group: Sequence[int]) -> list[int]:
        """Rows whose place in the group no outcome of what is left can change."""
        bounds = [self._bounds(columns, i) for i in group]
        if any(b is None for b in bounds):
            return []
        ordered = sorted((b[0], b[1], i) for b, i in zip(bounds, group, strict=True) if b is not None)
        settled: list[int] = []
        highest = float("-inf")
        for k, (low, high, i) in enumerate(ordered):
            above = ordered[k + 1][0] if k + 1 < len(ordered) else float("inf")
            if highest < low and high < above:
                settled.append(i)
            highest = max(highest, high)
        return settled

    def _bounds(self, columns: dict[str, Column], i: int) -> tuple[float, float] | None:
        """Between what the row's sum must end; None where that is not known."""
        low = high = 0.0
        for name, reward in self.rewards.items():
            weight = self.weights[i][name]
            if name in columns:
                part = columns[name][i]
                value = part.metadata.get("lazy") if part.reward is None else part.reward
                if value is None and weight:
                    return None
                low, high = low + weight * (value or 0.0), high + weight * (value or 0.0)
            elif weight:
                if reward.contract.range is None:
                    return None
                ends = [weight * end for end in reward.contract.range]
                low, high = low + min(ends), high + max(ends)
        return low, high


_SETTLED = "it cannot change the order in the group"
