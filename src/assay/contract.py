"""What a reward declares of itself, as data: the Engine reads it, nothing wraps anything."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from assay.errors import ConfigError, did_you_mean

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
    gpus: float = 0.0
    """Devices that one copy of it takes; on a cluster there are as many copies as there are devices."""
    inputs: tuple[str, ...] | None = None
    """What the score depends on, where that is less than the whole row: rows that agree in it are scored once."""
    columns: tuple[str, ...] = ()
    """Columns that it cannot do without; a function's come from its parameter names."""

    def __post_init__(self) -> None:
        if self.per is not None:
            object.__setattr__(self, "per", Per(self.per))  # "group" is as good as Per.GROUP


def declare(name: str = "", **declared: Any) -> Callable[[F], F]:
    """Mark a function with its `Contract`. The function itself is returned, unchanged.

    Example: `@declare(timeout=1.0, workers=True)` above `def slow(response): ...`.
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


@functools.lru_cache(maxsize=1024)
def name_of_class(cls: type) -> str:
    """`LengthReward` -> 'length', `GRPOJudge` -> 'grpo_judge'."""
    stem = re.sub(r"(?<=.)Reward(Function)?$", "", cls.__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", stem).lower()


def name_of(obj: Any) -> str:
    """What to call a function or an object in a report: its own name, where it has one."""
    while isinstance(obj, functools.partial):
        obj = obj.func
    own = getattr(obj, "__name__", "")
    if own:
        return "function" if own == "<lambda>" else own
    name = getattr(obj, "name", None)
    return name if isinstance(name, str) and name else name_of_class(type(obj))


def is_async(fn: Any) -> bool:
    """Whether calling it gives something to await: a coroutine function, a partial of one, an async `__call__`."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(type(fn), "__call__", None))  # noqa: B004
