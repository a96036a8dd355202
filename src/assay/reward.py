"""What a reward is, and how anything an author writes becomes one.

A reward is a plain function, or a class that overrides one method. `as_reward` is the only conversion there is: it
reads the signature once and leaves the function as it stands. The parameter names decide how it is called:

    def short(response): ...                        once a trajectory
    def exact(completions, solution, **kwargs): ... once a batch (a plural name), columns as lists
    def best(group): ...                            once a prompt's group

Nothing here calls a reward: that is the Engine's work.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, TypeVar, cast

from assay.errors import ConfigError, MissingColumn, WrongOutput, did_you_mean
from assay.types import Outcome, RewardOutput, Trajectory

F = TypeVar("F", bound=Callable[..., Any])


class Per(StrEnum):
    """How many trajectories one call of a reward takes."""

    TRAJECTORY = "trajectory"
    GROUP = "group"  # all responses to one prompt
    BATCH = "batch"  # as many as there are, or `max_batch`


@dataclass(frozen=True, slots=True)
class Contract:
    """What a reward declares of itself. The Engine reads it; nothing wraps anything."""

    per: Per | None = None
    """None: what the overridden method or the parameter names say."""
    timeout: float | None = None
    """Seconds that one trajectory may take. A plain function with a timeout runs in a worker that can be killed."""
    workers: bool = False
    """Run in worker processes: for work that is heavy, may crash, or is not trusted."""
    memory_mb: int | None = None
    """What a worker may use before it is stopped."""
    concurrency: int = 64
    """Calls of an async reward in flight at once."""
    max_batch: int = 0
    """The most trajectories in one batch call; 0 is as many as there are."""
    retries: int = 0
    """Further tries after an `InfraError`."""
    deterministic: bool = True
    """False: the same trajectory may score differently, so equal ones are not scored once."""
    range: tuple[float, float] | None = (0.0, 1.0)
    """Where the reward lies; None is anywhere."""
    cost: float = 0.0
    """How dear one call is, beside others: cheap ones go first."""
    version: str = ""
    """Part of the cache key, for what the code does not show: a model, a prompt, a data file."""
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameter name -> what fills it, where the author's word means something else here."""


def reward(name: str = "", **declared: Any) -> Callable[[F], F]:
    """Mark a function with its `Contract`. The function itself is returned, unchanged.

    Example: `@reward(timeout=1.0, workers=True)` above `def slow(response): ...`.
    """
    contract = _contract(declared)

    def mark(fn: F) -> F:
        fn.__contract__ = contract  # type: ignore[attr-defined]
        if name:
            fn.__reward_name__ = name  # type: ignore[attr-defined]
        return fn

    return mark


def _contract(declared: Mapping[str, Any]) -> Contract:
    known = [f.name for f in dataclasses.fields(Contract)]
    for key in declared:
        if key not in known:
            raise ConfigError(f"a reward declares {', '.join(known)}; found {key!r}.{did_you_mean(key, known)}")
    return Contract(**declared)


class _DerivedName:
    """`LengthReward` is named 'length' unless it, or an instance, says otherwise."""

    def __get__(self, instance: object, owner: type) -> str:
        stem = re.sub(r"(?<=.)Reward(Function)?$", "", owner.__name__)
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", stem).lower()


class RewardFunction(ABC):
    """The base of every reward. A subclass overrides one of three; the others follow from it.

        def compute_reward(self, trajectory) -> RewardOutput | float | None       one
        def compute_rewards(self, trajectories) -> list[...]                      a batch, or with `per` a group
        def __call__(self, trajectories, ground_truths) -> list[float]            a batch, in the oldest shape

    Either of the first two may be `async def`. No `super().__init__()` is needed.
    """

    name: str = cast(str, _DerivedName())
    contract: ClassVar[Contract] = Contract()

    def __new__(cls, *args: Any, **kwargs: Any) -> RewardFunction:
        if _overridden(cls) is None:
            raise TypeError(
                f"{cls.__name__} cannot be used as it is: a reward overrides compute_reward(self, trajectory), "
                f"compute_rewards(self, trajectories) or __call__(self, trajectories, ground_truths)."
            )
        return super().__new__(cls)

    def compute_reward(self, trajectory: Trajectory) -> Any:
        """Score one trajectory. A failure is raised here, for there is no batch to carry it."""
        return _engine().score_one(self, trajectory)

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> Any:
        """Score a batch, in order. A failure is carried in its row's output."""
        return _engine().score(self, trajectories)

    def __call__(
        self,
        trajectories: Sequence[Any] | None = None,
        ground_truths: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[Any]:
        """The trainers' face: a list in, a list of numbers out.

        With `trajectories` (and `ground_truths`): floats, NaN where not scored. With TRL's keywords (`prompts=`,
        `completions=`, a list for each dataset column): floats, None where not scored, as TRL understands it.
        """
        return _engine().call(self, trajectories, ground_truths, columns)


def _engine() -> Any:
    # The one arrow that points up: a reward that is called by itself goes through the Engine like any other.
    import assay.engine as engine

    return engine


_METHODS = ("compute_rewards", "compute_reward", "__call__")


@functools.cache
def _overridden(cls: type) -> str | None:
    """Which of the three a class overrides: the batch one first, where it has both."""
    for method in ("flow", *_METHODS):
        if method == "flow":
            if hasattr(cls, "flow"):
                return "flow"
        elif getattr(cls, method) is not getattr(RewardFunction, method):
            return method
    return None


# -- how a reward is called ------------------------------------------------------------------------------------------


def _query(t: Trajectory) -> str:
    return t.prompt + t.response


def _trl_completion(t: Trajectory) -> Any:
    return list(completion) if (completion := t.completion if t.messages else None) is not None else t.response


def _trl_prompt(t: Trajectory) -> Any:
    return list(t.messages[: len(t.messages) - len(t.completion)]) if t.messages else t.prompt


ARGUMENTS: dict[str, Callable[[Trajectory], Any]] = {
    "trajectory": lambda t: t,
    "response": lambda t: t.response,
    "prompt": lambda t: t.prompt,
    "messages": lambda t: t.conversation,
    "completion": lambda t: t.completion,
    "ground_truth": lambda t: t.ground_truth,
    "metadata": lambda t: t.metadata,
    "tokens": lambda t: t.tokens,
    # the same things as other trainers call them
    "solution_str": lambda t: t.response,  # verl
    "extra_info": lambda t: t.metadata.get("extra_info", t.metadata),  # verl
    "data_source": lambda t: t.metadata.get("data_source", ""),  # verl
    "query": _query,  # OpenRLHF
    "label": lambda t: t.metadata.get("label", t.ground_truth),  # OpenRLHF
    # what people call the trajectory when it is the only thing they take
    "t": lambda t: t,
    "traj": lambda t: t,
    "sample": lambda t: t,
    "rollout": lambda t: t,
    "row": lambda t: t,
}
"""The one table of argument names: what each is filled with. Any other name is a column of the row."""

PLURALS: dict[str, Callable[[Trajectory], Any]] = {
    "trajectories": ARGUMENTS["trajectory"],
    "responses": ARGUMENTS["response"],
    "ground_truths": ARGUMENTS["ground_truth"],
    "prompts": _trl_prompt,  # strings, or messages where the rows had messages: TRL's own rule
    "completions": _trl_completion,
    "completion_ids": lambda t: list(t.tokens.ids) if t.tokens else [],
    "queries": _query,
    "labels": ARGUMENTS["label"],
    "solution_strs": ARGUMENTS["response"],
    "extra_infos": ARGUMENTS["extra_info"],
    "data_sources": ARGUMENTS["data_source"],
    "metadatas": ARGUMENTS["metadata"],
}
"""Plural names: the function is called once a batch and gets a list."""

CONTEXT = ("step", "trainer_state", "log_extra", "log_metric")
"""Names that come from the call and not from the row: the training step and TRL's helpers."""


@dataclass(frozen=True, slots=True)
class Call:
    """How one reward is called: read once from its signature."""

    fn: Callable[..., Any]
    per: Per
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rest: bool = False
    is_async: bool = False
    plain: bool = False
    """The one argument is the trajectory, or the list of them: nothing to look up."""
    rename: Mapping[str, str] = field(default_factory=dict[str, str])

    def columns(self) -> list[str]:
        """The dataset columns that the reward cannot do without."""
        known = (*ARGUMENTS, *PLURALS, *CONTEXT, "group")
        return [s for p in self.required if (s := self.rename.get(p, p)) not in known]


def call_of(reward: RewardFunction) -> Call:
    """How the Engine calls this reward."""
    if isinstance(reward, FunctionReward):
        return reward.call
    method = _overridden(type(reward))
    fn = cast("Callable[..., Any]", getattr(reward, method or "compute_reward"))
    is_async = inspect.iscoroutinefunction(fn)
    contract = reward.contract
    if method == "__call__":
        return Call(fn, Per.BATCH, required=("trajectories", "ground_truths"), is_async=is_async)
    per = Per.TRAJECTORY if method == "compute_reward" else contract.per or Per.BATCH
    return Call(fn, per, is_async=is_async, plain=True)


def read_signature(fn: Callable[..., Any], contract: Contract) -> Call:
    """Read from a function's parameter names how it is to be called."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        raise ConfigError(f"{fn!r} has no readable signature. Wrap it: def my_reward(response): ...") from None
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
    rename = dict(contract.rename)
    for p in named:
        if p.annotation in (Trajectory, "Trajectory"):
            rename.setdefault(p.name, "trajectory")
    if not named:
        raise ConfigError(
            f"{_callable_name(fn)} names no parameter, so nothing says what it takes. Name what it needs: "
            f"def my_reward(response, ground_truth): ..."
        )
    sources = {rename.get(p.name, p.name) for p in named}
    per = contract.per or (
        Per.GROUP if "group" in sources else Per.BATCH if sources & PLURALS.keys() else Per.TRAJECTORY
    )
    return Call(
        fn,
        per,
        required=tuple(p.name for p in named if p.default is p.empty),
        optional=tuple(p.name for p in named if p.default is not p.empty),
        rest=rest,
        is_async=_is_async(fn),
        plain=per is Per.TRAJECTORY and [rename.get(p.name, p.name) for p in named] == ["trajectory"] and not rest,
        rename=rename,
    )


def arguments(call: Call, name: str, batch: Sequence[Trajectory], context: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of one call for these trajectories."""
    take = _taker(call, name, batch, context)
    found: dict[str, Any] = {}
    for parameter in call.required:
        found[parameter] = take(call.rename.get(parameter, parameter))
    for parameter in call.optional:
        source = call.rename.get(parameter, parameter)
        if source in ARGUMENTS or source in PLURALS or context.get(source) is not None or source in batch[0].metadata:
            found[parameter] = take(source)
    if call.rest:
        used = {call.rename.get(p, p) for p in found}
        for column in batch[0].metadata:
            if column not in used and column not in found and all(column in t.metadata for t in batch):
                found[column] = take(column)
    return found


def _taker(
    call: Call, name: str, batch: Sequence[Trajectory], context: Mapping[str, Any]
) -> Callable[[str], Any]:
    single = call.per is Per.TRAJECTORY

    def take(source: str) -> Any:
        if source == "group":
            return list(batch) if call.per is Per.GROUP else batch[0].group_id
        if source in CONTEXT:
            return context.get(source)
        if call.per is not Per.TRAJECTORY and (plural := PLURALS.get(source)):
            return [plural(t) for t in batch]
        if get := ARGUMENTS.get(source):
            # in a group call a singular name is the group's own: its prompt, its ground truth
            return get(batch[0]) if single or call.per is Per.GROUP else [get(t) for t in batch]
        values = [_column(t, source, name) for t in batch]
        return values[0] if single else values

    return take


def _column(t: Trajectory, column: str, name: str) -> Any:
    try:
        return t.metadata[column]
    except KeyError:
        raise missing_column(name, column, t) from None


ALIASES = {
    "ground_truth": ("solution", "answer", "label", "target", "reference", "gold", "expected", "final_answer"),
    "response": ("completion", "output", "generation", "generated_text", "text", "prediction", "answer"),
    "prompt": ("question", "query", "problem", "instruction", "input"),
}
"""What other data sets call these columns: for the hint in an error, never for a guess."""


def missing_column(name: str, column: str, row: Mapping[str, Any]) -> MissingColumn:
    """The error for a column that a reward needs and the row does not have."""
    has = [key for key in row if key != "metadata" and row[key] not in (None, "", ())]
    near = [a for a in ALIASES.get(column, ()) if a in has]
    hint = f" Rename it: --rename {near[0]}={column}" if near else did_you_mean(column, has)
    return MissingColumn(
        f"reward {name!r} needs {column!r}; the row has {has}.{hint or f' Add the column {column!r}, or rename one.'}"
    )


# -- anything -> a reward --------------------------------------------------------------------------------------------


class FunctionReward(RewardFunction):
    """A function as a reward: it scores what the function returns, None where the function abstains.

    Example:
        >>> FunctionReward(fn=lambda response: 1.0 if "because" in response else 0.0)(["yes, because"])
        [1.0]

    Hacked by: whatever the function does not look at.
    """

    def __init__(self, fn: Callable[..., Any], name: str = "", **declared: Any) -> None:
        self.fn = fn
        own: Contract = getattr(fn, "__contract__", None) or getattr(type(fn), "contract", None) or Contract(range=None)
        self.contract = dataclasses.replace(own, **declared) if declared else own  # type: ignore[misc]
        self.name = name or getattr(fn, "__reward_name__", "") or _callable_name(fn)
        self.call = read_signature(fn, self.contract)

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        """Score one trajectory; a failure is raised."""
        return _engine().score_one(self, trajectory)

    def __getstate__(self) -> dict[str, Any]:
        return {"fn": self.fn, "contract": self.contract, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.call = read_signature(self.fn, self.contract)

    def __repr__(self) -> str:
        return f"FunctionReward({self.name})"


def as_reward(obj: Any) -> RewardFunction:
    """Turn what an author wrote into a reward. The only conversion there is, and idempotent.

    Takes a reward, a function of any of the known forms (sync or async), a bound method, a partial, an object with
    `compute_reward`, `compute_rewards` or `__call__`.
    """
    if isinstance(obj, RewardFunction):
        return obj
    if isinstance(obj, type):
        raise ConfigError(f"needed a reward; found the class {obj.__name__}. Make one: {obj.__name__}(...)")
    for method in ("compute_rewards", "compute_reward"):
        if callable(fn := getattr(obj, method, None)):
            return FunctionReward(cast("Callable[..., Any]", fn), name=_object_name(obj))
    if callable(obj):
        return FunctionReward(cast("Callable[..., Any]", obj))
    raise ConfigError(
        f"needed a reward: a function, a RewardFunction, or an object with compute_reward(trajectory); "
        f"found {type(obj).__name__} {obj!r:.80}."
    )


def _callable_name(fn: Any) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    own = getattr(fn, "__name__", "")
    return own if own and own != "<lambda>" else "function" if own else _object_name(fn)


def _object_name(obj: Any) -> str:
    name = getattr(obj, "name", None)
    return name if isinstance(name, str) and name else _DerivedName().__get__(obj, type(obj))


def _is_async(fn: Any) -> bool:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(type(fn), "__call__", None))


# -- anything returned -> an output ----------------------------------------------------------------------------------


def as_output(value: Any, name: str) -> RewardOutput:
    """Read what an author returned for one trajectory. What is no reward raises `WrongOutput`, and is never a zero."""
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return RewardOutput(_finite(float(value), name))
    if kind is RewardOutput:
        if value.reward is not None:
            value.reward = _finite(_number(value.reward, name), name)
        return value
    if value is None:
        return RewardOutput(None, error=f"reward {name!r} abstained")
    if isinstance(value, Mapping):
        return _from_dict(cast("Mapping[str, Any]", value), name)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        return RewardOutput(_maybe(value[0], name), metadata=dict(cast("Mapping[str, Any]", value[1])))
    if isinstance(value, RewardOutput) or hasattr(value, "reward"):  # another library's output type
        return RewardOutput(_maybe(value.reward, name), metadata=dict(getattr(value, "metadata", None) or {}))
    return RewardOutput(_finite(_number(value, name), name))


def _from_dict(value: Mapping[str, Any], name: str) -> RewardOutput:
    key = next((k for k in ("score", "reward") if k in value), None)
    if key is None:
        raise WrongOutput(f"reward {name!r} returned a dict without 'score' or 'reward'; its keys are {list(value)}.")
    return RewardOutput(_maybe(value[key], name), metadata={k: v for k, v in value.items() if k != key})


def _maybe(value: Any, name: str) -> float | None:
    return None if value is None else _finite(_number(value, name), name)


def _number(value: Any, name: str) -> float:
    if not isinstance(value, str | bytes):
        try:
            return float(value)  # numpy scalars and 0-d tensors too
        except (TypeError, ValueError):
            pass
    raise WrongOutput(
        f"reward {name!r} returned {type(value).__name__} {value!r:.60}; needed a number, None (not scored), "
        f"a RewardOutput, or a dict with 'score'."
    )


def _finite(number: float, name: str) -> float:
    if not math.isfinite(number):
        raise WrongOutput(f"reward {name!r} returned {number}; needed a finite number, or None for 'not scored'.")
    return number


def failure(error: BaseException, name: str) -> RewardOutput:
    """The output that stands for an exception: its outcome and its message, never a number."""
    outcome = getattr(error, "outcome", Outcome.GRADER_ERROR)
    text = str(error) if isinstance(error, Exception) and hasattr(error, "outcome") else f"{type(error).__name__}: {error}"
    prefix = "" if f"{name!r}" in text else f"reward {name!r}: "
    return RewardOutput.failed(outcome, prefix + text)
