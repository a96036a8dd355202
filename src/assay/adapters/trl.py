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

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from assay.compose import CompositeReward, Composition
from assay.engine import check_columns, from_trl, needs_groups, score
from assay.errors import ConfigError
from assay.reward import RewardFunction, as_reward
from assay.types import RewardOutput, Trajectory

Aggregation = Literal["sum_then_normalize", "normalize_then_sum"]
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
    `multi_objective_aggregation`: with "normalize_then_sum" (GDPO) a component that was not scored stays None.
    `observe` is called with every batch once it is scored.
    """
    reward = as_reward(reward)
    shared = _Shared(reward, num_generations, observe)
    if isinstance(reward, CompositeReward) and all(isinstance(t.weight, float) for t in reward.terms):
        shared.weights = reward.weights(0)
        shared.stand_ins = aggregation == "sum_then_normalize"
        return RewardFuncs([_Part(shared, name) for name in shared.weights], list(shared.weights.values()))
    if aggregation != "sum_then_normalize" and isinstance(reward, CompositeReward):
        raise ConfigError("TRL's normalize_then_sum needs fixed weights; this composite has some that change.")
    parts = list(reward.children) if isinstance(reward, Composition) else []
    whole = reward.name if reward.name not in parts else f"{reward.name}_total"
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
        return [self._value(key, output) for output in batch.outputs]

    def _batch(self, key: str, completions: Sequence[Any]) -> _Scored:
        with self.lock:
            known = (b for b in self.batches if b.completions is completions and key not in b.read)
            batch = next(known, None)
            if batch is None:  # a new batch, or the same one asked for again: then it is scored again
                self.batches = [*self.batches[-63:], batch := _Scored(completions)]
            batch.read.add(key)
            if len(batch.read) == (len(self.weights) or len(_children(self.reward)) + 1):
                self.batches = [b for b in self.batches if b is not batch]
            return batch

    def _score(self, columns: dict[str, Any]) -> list[RewardOutput]:
        rows, context = from_trl(columns)
        if rows:
            check_columns(self.reward, rows[0])
        step = getattr(context.get("trainer_state"), "global_step", None)
        grouped = needs_groups(self.reward)
        everyone, mine = _gathered(rows) if grouped else (rows, slice(0, len(rows)))
        if grouped:
            everyone, mine = _name_groups(everyone, mine, self.num_generations)
        outputs = score(self.reward, everyone, step=step, context=context)[mine]
        log(outputs, context)
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


def _children(reward: RewardFunction) -> Mapping[str, RewardFunction]:
    return reward.children if isinstance(reward, Composition) else {}


def _gathered(rows: list[Trajectory]) -> tuple[list[Trajectory], slice]:
    """The rows of all ranks, and which of them are this rank's: TRL may split a group over ranks."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return rows, slice(0, len(rows))
    parts: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(parts, rows)
    start = sum(len(part) for part in parts[: distributed.get_rank()])
    return [row for part in parts for row in part], slice(start, start + len(rows))


def _name_groups(rows: list[Trajectory], mine: slice, num_generations: int | None) -> tuple[list[Trajectory], slice]:
    """Give each row its group, and keep only the groups in which this rank has a row."""
    if num_generations is not None and len(rows) % num_generations:
        raise ConfigError(
            f"a reward needs whole groups of {num_generations} responses; the batch has {len(rows)} on all ranks "
            f"together. Make per_device_train_batch_size x ranks a multiple of num_generations."
        )
    for i, row in enumerate(rows):
        by_place = str(i // num_generations) if num_generations else ""
        row.group = by_place or row.group or json.dumps(list(row.messages[:-1]) or row.prompt, default=str)
    own = {row.group for row in rows[mine]}
    before = sum(row.group in own for row in rows[: mine.start])
    kept = [row for row in rows if row.group in own]
    return kept, slice(before, before + mine.stop - mine.start)


_QUANTILES = {"min": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "max": 1.0}


def log(outputs: Sequence[RewardOutput], context: Mapping[str, Any]) -> None:
    """To TRL's completions table outcomes and details, the same columns every batch; to its metrics rates and spread."""
    extra, metric = context.get("log_extra"), context.get("log_metric")
    if extra:
        extra("outcome", [str(output.outcome) for output in outputs])
        extra("why", [output.error for output in outputs])
        extra("details", [details(output) for output in outputs])
    if metric and outputs:
        metric("assay/unscored", sum(output.reward is None for output in outputs) / len(outputs))
        metric("assay/seconds", sum(output.seconds for output in outputs))
        known = sorted(output.reward for output in outputs if output.reward is not None)
        for name, share in _QUANTILES.items() if known else ():
            metric(f"assay/reward/{name}", known[round((len(known) - 1) * share)])
        for name in outputs[0].components:
            parts = [output.components.get(name) for output in outputs]
            metric(f"assay/{name}/unscored", sum(p is None or p.reward is None for p in parts) / len(outputs))


def details(output: RewardOutput) -> str:
    """What was extracted and matched, as JSON: the output's own metadata and that of its components; or nothing."""
    found: dict[str, Any] = {key: value for key, value in output.metadata.items() if key != "weights"}
    for name, part in output.components.items():
        if part.metadata:
            found[name] = part.metadata
    return _json(found) if found else ""


_json = json.JSONEncoder(ensure_ascii=False, default=str).encode  # made once: json.dumps would make one each time
