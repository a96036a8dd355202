"""TRL: GRPOTrainer, RLOOTrainer and AsyncGRPO.

Any reward is a TRL reward function as it stands: `GRPOTrainer(reward_funcs=[MathReward()])`. For a composite, so that
TRL draws a curve for each component:

    funcs, weights = reward_funcs(composite)
    GRPOTrainer(reward_funcs=funcs, args=GRPOConfig(reward_weights=weights, ...), ...)

The composite is scored once a batch between them. What is optimised is exactly what the composite says: a row that it
does not score is None in every function, which TRL takes as "no reward"; for a component that lacks a row which the
composite does score, the function returns what the composite put in its place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from assay.adapters.ranks import whole_groups
from assay.compose import CompositeReward, Composition
from assay.engine import check_columns, from_trl, needs_groups, needs_steps, score, tell
from assay.errors import ConfigError
from assay.reward import RewardFunction, as_reward
from assay.types import RewardOutput, Trajectory

Aggregation = Literal["sum_then_normalize", "normalize_then_sum", "sum"]
Observer = Callable[[Sequence[Trajectory], Sequence[RewardOutput]], None]


class RewardFuncs(NamedTuple):
    """What TRL takes: the functions, and a weight for each (`GRPOConfig.reward_weights`)."""

    funcs: list[Callable[..., list[float | None]]]
    weights: list[float]


def reward_funcs(
    reward: Any,
    *,
    num_generations: int | None = None,
    aggregation: Aggregation = "sum_then_normalize",
    observe: Observer | None = None,
) -> RewardFuncs:
    """One function for each component, with its weight.

    A composition that is no plain weighted sum (a gate, a curriculum, scheduled weights) becomes one function for the
    whole, of weight 1, and one of weight 0 for each part, to be looked at. `num_generations` says which rows are a
    group by their place, as TRL orders them; without it a group is a prompt. `aggregation` is TRL's
    `multi_objective_aggregation`: with "normalize_then_sum" (GDPO) a component that was not scored stays None. "sum" is
    for AsyncGRPO, which knows no weights: each function says its weighted part, and every weight is 1.
    `observe` is called with every batch once it is scored.
    """
    reward = as_reward(reward)
    if aggregation == "sum" and needs_steps(reward):
        raise ConfigError(f"reward {reward.name!r} changes with the training step, which AsyncGRPO does not tell.")
    shared = _Shared(reward, num_generations, observe, summed=aggregation == "sum")
    if isinstance(reward, CompositeReward) and not reward.follows_steps:
        shared.weights = reward.weights(0)
        shared.stand_ins = aggregation != "normalize_then_sum"
        weights = [1.0 if shared.summed else weight for weight in shared.weights.values()]
        return RewardFuncs([_Part(shared, name) for name in shared.weights], weights)
    if aggregation == "normalize_then_sum" and isinstance(reward, CompositeReward):
        raise ConfigError("TRL's normalize_then_sum needs fixed weights; this composite has some that change.")
    parts = list(reward.children) if isinstance(reward, Composition) and not shared.summed else []
    whole = reward.name if reward.name not in parts else f"{reward.name}_total"
    shared.functions = 1 + len(parts)
    return RewardFuncs([_Part(shared, "", whole), *(_Part(shared, n) for n in parts)], [1.0, *(0.0 for _ in parts)])


class _Part:
    """One component as TRL sees it: a named, picklable function that reads the shared score of the batch."""

    def __init__(self, shared: _Shared, key: str, name: str = "") -> None:
        self.shared, self.key = shared, key
        self.__name__ = name or key

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """The component's rewards, None where the row has none."""
        return self.shared.rewards(self.key, {"completions": completions, **columns})


@dataclass
class _Scored:
    completions: Sequence[Any]  # held, so that no other batch can come to stand at its address
    read: set[str] = field(default_factory=set[str])
    outputs: list[RewardOutput] = field(default_factory=list[RewardOutput])
    lock: Any = field(default_factory=threading.Lock)


@dataclass
class _Shared:
    """Scores each batch once, whichever of the functions is called first, from however many threads."""

    reward: RewardFunction
    num_generations: int | None
    observe: Observer | None = None
    weights: dict[str, float] = field(default_factory=dict[str, float])
    stand_ins: bool = False
    summed: bool = False
    """Whether the functions say their weighted parts, for a trainer that only adds them up."""
    functions: int = 0
    """How many functions read a batch, where there are no weights."""
    batches: list[_Scored] = field(default_factory=list[_Scored])
    lock: Any = field(default_factory=threading.Lock)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "batches": [], "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=threading.Lock())

    def rewards(self, key: str, columns: dict[str, Any]) -> list[float | None]:
        """What one function returns for a batch."""
        batch = self._batch(key, columns["completions"])
        with batch.lock:
            if not batch.outputs and len(batch.completions):
                batch.outputs = self._score(columns)
        values = [self._value(key, output) for output in batch.outputs]
        weight = self.weights.get(key, 1.0) if self.summed else 1.0
        return values if weight == 1.0 else [None if v is None else weight * v for v in values]

    def _batch(self, key: str, completions: Sequence[Any]) -> _Scored:
        with self.lock:
            known = (b for b in self.batches if b.completions is completions and key not in b.read)
            batch = next(known, None)
            if batch is None:  # a new batch, or the same one asked for again: then it is scored again
                self.batches = [*self.batches[-63:], batch := _Scored(completions)]
            batch.read.add(key)
            if len(batch.read) == (len(self.weights) or self.functions):
                self.batches = [b for b in self.batches if b is not batch]
            return batch

    def _score(self, columns: dict[str, Any]) -> list[RewardOutput]:
        rows, context = from_trl(columns)
        if rows:
            check_columns(self.reward, rows[0])
        step = getattr(context.get("trainer_state"), "global_step", None)
        whole, mine = rows, slice(0, len(rows))
        if needs_groups(self.reward):
            prompts = columns.get("prompts") or [row.prompt for row in rows]
            whole, mine = whole_groups(rows, prompts, self.num_generations)
        outputs = score(self.reward, whole, step=step, context=context)[mine]
        tell(self.reward.__name__, outputs, context)
        if self.observe is not None:
            self.observe(rows, outputs)
        return outputs

    def _value(self, key: str, output: RewardOutput) -> float | None:
        if output.reward is None or not key:
            return output.reward
        part = output.components.get(key)
        if part is not None and part.reward is not None:
            return part.reward
        if not self.stand_ins or not self.weights[key]:
            return None
        present = {n: p.reward for n, p in output.components.items() if p.reward is not None}
        rest = output.reward - sum(self.weights[n] * r for n, r in present.items())
        lacking = sum(w for n, w in self.weights.items() if n not in present)
        return rest / lacking if lacking else None
