"""verifiers 0.1 to 0.3: a Rubric from a reward, and a reward from a Rubric. See `verifiers.py`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.adapters.lower import number, part_names, refuse_steps, stand_in
from assay.compose import CompositeReward
from assay.contract import Contract, Per
from assay.engine import needs_groups, score
from assay.errors import MissingExtra
from assay.reward import RewardFunction, as_reward
from assay.types import RewardOutput, Trajectory

GROUP_NAMES = {"states", "prompts", "completions", "answers", "tasks", "infos"}
"""The parameter names by which a Rubric knows a function that takes the whole group."""


def rubric(reward: Any, *, unscored: float) -> Any:
    """A Rubric (verifiers 0.1 to 0.3) that scores with this reward, and shows its components as metrics."""
    made, instead = as_reward(reward), stand_in(unscored)
    refuse_steps(made, "verifiers")

    def scored(state: Any) -> RewardOutput:
        if "assay" not in state:
            (state["assay"],) = score(made, [from_state(state)])
        return state["assay"]

    def total(state: Any) -> float:
        return number(scored(state), instead)

    def group_total(states: Sequence[Any]) -> list[float]:
        rows = [from_state(state) for state in states]
        for row in rows:
            row.group = "one"  # what verifiers hands over together is one prompt's
        for state, output in zip(states, score(made, rows), strict=True):
            state["assay"] = output
        return [number(state["assay"], instead) for state in states]

    def part(name: str) -> Callable[[Any], float]:
        def of_state(state: Any) -> float:
            found = scored(state).components.get(name)
            return instead if found is None else number(found, instead)

        of_state.__name__ = name
        return of_state

    first: Any = group_total if needs_groups(made) else total
    first.__name__ = made.name
    names = part_names(made)
    return _legacy().Rubric(funcs=[first, *map(part, names)], weights=[1.0, *(0.0 for _ in names)])


def from_state(state: Mapping[str, Any]) -> Trajectory:
    """A v0 state as a trajectory: `answer` is the ground truth, `info` holds the columns."""
    info = state.get("info")
    columns: dict[str, Any] = dict(info) if isinstance(info, Mapping) else {}
    columns["answer"] = columns["ground_truth"] = state.get("answer")
    asked, said = state.get("prompt") or "", state.get("completion") or ""
    return Trajectory.of({**columns, "prompt": _all_plain(asked), "response": _all_plain(said)})


def from_rubric(their: Any) -> CompositeReward:
    """A composite of a Rubric's functions with their weights. What fails in one is not scored, and no 0."""
    pairs = zip(their.funcs, their.weights, strict=True)
    objects = dict(getattr(their, "class_objects", {}))
    return CompositeReward([(_RubricFunction(fn, objects), float(weight)) for fn, weight in pairs], name="rubric")


class _RubricFunction(RewardFunction):
    """One function of a Rubric, called as a Rubric calls it."""

    def __init__(self, fn: Callable[..., Any], objects: Mapping[str, Any]) -> None:
        self.fn, self.objects = fn, dict(objects)
        self.name = getattr(fn, "__name__", type(fn).__name__)
        parameters = inspect.signature(fn).parameters
        self.asks = None if any(p.kind is p.VAR_KEYWORD for p in parameters.values()) else set(parameters)
        self.of_group = bool(GROUP_NAMES & set(parameters))
        self.contract = Contract(per=Per.GROUP, range=None)

    async def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[Any]:
        """The group's scores."""
        states = [_state(t) for t in trajectories]
        if self.of_group:
            lists = {f"{k}s": [s[k] for s in states] for k in ("prompt", "completion", "answer", "task", "info")}
            return list(await self._call({**self.objects, **lists, "states": states}))
        return [await self._call({**self.objects, **state, "state": state}) for state in states]

    async def _call(self, given: dict[str, Any]) -> Any:
        value = self.fn(**{k: v for k, v in given.items() if self.asks is None or k in self.asks})
        return await value if inspect.isawaitable(value) else value


def _state(t: Trajectory) -> dict[str, Any]:
    chat = list(t.conversation)
    answer: Any = t.ground_truth if t.ground_truth is not None else t.metadata.get("answer", "")
    own = {"prompt": chat[: len(chat) - len(t.completion)], "completion": list(t.completion), "answer": answer}
    return {**t.metadata, **own, "info": t.metadata, "task": t.metadata.get("task", "default"), "trajectory": []}


def _legacy() -> Any:
    for module in ("verifiers.legacy", "verifiers"):
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        if hasattr(found, "Rubric"):
            return found
    raise MissingExtra("a Rubric needs verifiers before 0.4: pip install 'verifiers<0.4'. For 0.4 use task_reward().")


def plain(message: Any) -> dict[str, Any]:
    """A message of verifiers' own type as a mapping."""
    return dict(message) if isinstance(message, Mapping) else message.model_dump(exclude_none=True)


def _all_plain(said: Any) -> Any:
    return said if isinstance(said, str) else [plain(m) for m in said]
