"""One reward changed by a rule: a gate before it, bounds around it, a small bonus on top."""

from __future__ import annotations

import math
from typing import Any

from assay.compose.flow import Ask, Batch, Composition, Flow, distinct, unscored
from assay.errors import ConfigError
from assay.reward import Contract, as_reward
from assay.types import RewardOutput


class Gate(Composition):
    """The reward where the requirement holds, `otherwise` (0.0) where it does not: both must be good.

    Example: `Gate(MathReward(), require=FormatReward(), at_least=0.8)`. The reward is not called for rows whose gate is
    shut. Where the requirement itself was not scored, neither is the row.

    Hacked by: meeting the requirement exactly and no more; the gate asks for nothing beyond it.
    """

    why_not_asked = "gate"

    def __init__(self, reward: Any, require: Any, at_least: float = 1.0, otherwise: float = 0.0) -> None:
        self.reward, self.require = as_reward(reward), as_reward(require)
        self.at_least, self.otherwise = float(at_least), float(otherwise)
        if not (math.isfinite(self.at_least) and math.isfinite(self.otherwise)):
            raise ConfigError(f"Gate needs finite numbers; found at_least={at_least}, otherwise={otherwise}.")
        self.children = distinct([self.require, self.reward])
        self.name = self.reward.name
        inner = self.reward.contract.range
        self.contract = Contract(range=inner and (min(inner[0], self.otherwise), max(inner[1], self.otherwise)))

    def flow(self, batch: Batch) -> Flow:
        """The requirement first; the reward only where it holds."""
        gate, gated = self.children
        (required,) = yield [Ask(gate, self.require, range(len(batch.trajectories)))]
        open_rows = [i for i, r in enumerate(required) if r.reward is not None and r.reward >= self.at_least]
        (inner,) = yield [Ask(gated, self.reward, open_rows)]
        scored = dict(zip(open_rows, inner, strict=True))
        return [self._fold({gate: r}, gated, scored.get(i)) for i, r in enumerate(required)]

    def _fold(self, parts: dict[str, RewardOutput], gated: str, inner: RewardOutput | None) -> RewardOutput:
        (gate, required), *_ = parts.items()
        if required.reward is None:
            return unscored(parts, {"gate": f"{gate} was not scored"})
        if inner is None:
            said = f"{gate} {required.reward:.3g} < {self.at_least:.3g}"
            parts[gated] = RewardOutput(None, metadata={"gated": True}, error=f"not called: {said}")
            return RewardOutput(self.otherwise, metadata={"gate": f"shut: {said}"}, components=parts)
        parts[gated] = inner
        if inner.reward is None:
            return unscored(parts, {"gate": "open"})
        return RewardOutput(inner.reward, metadata={"gate": "open"}, components=parts)


class Clip(Composition):
    """The reward, held between `low` and `high`. The raw value is kept in `components`.

    Example: `Clip(RewardModel(...), -5.0, 5.0)`.

    Hacked by: anything beyond the bounds looks the same, so a policy has no reason to come back from there.
    """

    def __init__(self, reward: Any, low: float = 0.0, high: float = 1.0) -> None:
        if not low < high:
            raise ConfigError(f"Clip needs low < high; found low={low}, high={high}.")
        self.reward, self.low, self.high = as_reward(reward), float(low), float(high)
        self.name = self.reward.name
        self.children = {self.reward.name: self.reward}
        self.contract = Contract(range=(self.low, self.high))

    def flow(self, batch: Batch) -> Flow:
        """Score, then hold."""
        (raw,) = yield [Ask(self.reward.name, self.reward, range(len(batch.trajectories)))]
        return [self._fold(part) for part in raw]

    def _fold(self, part: RewardOutput) -> RewardOutput:
        parts = {self.reward.name: part}
        if part.reward is None:
            return unscored(parts)
        held = min(self.high, max(self.low, part.reward))
        return RewardOutput(held, metadata={"clipped": held != part.reward}, components=parts)


class Shaped(Composition):
    """The base reward plus a bonus that can move it by at most `limit`: shaping that cannot outweigh the task.

    Example: `Shaped(MathReward(), bonus=CompositeReward([(LengthReward(300), 0.1), (RepetitionReward(), 0.1)]))`.
    A bonus that was not scored leaves the base alone, and the output says so.

    Hacked by: raising the bonus where the base is out of reach; `limit` is what that can earn.
    """

    def __init__(self, base: Any, bonus: Any, limit: float = 0.2) -> None:
        if not 0 < limit < math.inf:
            raise ConfigError(f"Shaped needs a limit above 0; found {limit}.")
        self.base, self.bonus, self.limit = as_reward(base), as_reward(bonus), float(limit)
        self.name = self.base.name
        self.children = distinct([self.base, self.bonus])
        inner = self.base.contract.range
        self.contract = Contract(range=inner and (inner[0] - self.limit, inner[1] + self.limit))

    def flow(self, batch: Batch) -> Flow:
        """Score both, add the bonus within its limit."""
        rows = range(len(batch.trajectories))
        base, bonus = self.children
        columns = yield [Ask(base, self.base, rows), Ask(bonus, self.bonus, rows)]
        return [self._fold({base: b, bonus: s}, b, s) for b, s in zip(*columns, strict=True)]

    def _fold(self, parts: dict[str, RewardOutput], base: RewardOutput, bonus: RewardOutput) -> RewardOutput:
        if base.reward is None:
            return unscored(parts)
        if bonus.reward is None:
            said = f"no bonus: {bonus.error or bonus.outcome}"
            return RewardOutput(base.reward, metadata={"missing": said}, components=parts)
        shaping = min(self.limit, max(-self.limit, bonus.reward))
        return RewardOutput(base.reward + shaping, metadata={"shaping": shaping}, components=parts)
