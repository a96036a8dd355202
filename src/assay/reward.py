"""What a reward is, and how anything an author writes becomes one.

A reward is a plain function, or a class that overrides one method. `as_reward` is the only conversion there is: it
reads the signature once and leaves the function as it stands. Nothing here calls a reward: that is the Engine's work.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self, cast

from assay.calling import ARGUMENTS, PLURALS, Call, read_signature
from assay.contract import Contract, Per, name_of, name_of_class
from assay.errors import ConfigError, did_you_mean
from assay.types import RewardOutput, Trajectory

__all__ = ["Contract", "FunctionReward", "Per", "RewardFunction", "as_reward", "call_of"]


class _DerivedName:
    """`LengthReward` is named 'length' unless it, or an instance, says otherwise."""

    def __get__(self, instance: object, owner: type) -> str:
        return name_of_class(owner)


_named: dict[str, weakref.ref[Any]] = {}


class _CallableName:
    """What trainers call a reward in their logs: its name, or name_2, name_3 ... where another one has that already.

    TRL merges two functions of one name into one curve, without a word. The name stays from the first time that it is
    asked for, also through pickling, and an instance may set its own.
    """

    def __get__(self, instance: Any, owner: type) -> str:
        if instance is None:
            return owner.__name__
        taken = {name for name, ref in _named.items() if (other := ref()) is not None and other is not instance}
        names = itertools.chain([instance.name], (f"{instance.name}_{k}" for k in itertools.count(2)))
        name = next(name for name in names if name not in taken)
        _named[name] = weakref.ref(instance)
        instance.__dict__["__name__"] = name
        return name


class RewardFunction:
    """The base of every reward. A subclass overrides one of three; the others follow from it.

        def compute_reward(self, trajectory) -> RewardOutput | float | None       one
        def compute_rewards(self, trajectories) -> list[...]                      a batch, or with `per` a group
        def __call__(self, trajectories, ground_truths) -> list[float]            a batch, in the oldest shape

    Either of the first two may be `async def`. No `super().__init__()` is needed.
    """

    name: str = cast("str", _DerivedName())
    __name__: str = cast("str", _CallableName())
    contract: Contract = Contract()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if _overridden(cls) is None:
            raise TypeError(
                f"{cls.__name__} cannot be used as it is: a reward overrides compute_reward(self, trajectory), "
                f"compute_rewards(self, trajectories) or __call__(self, trajectories, ground_truths).{_near(cls)}"
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
def overrides(cls: type) -> bool:
    """Whether a class says how it scores, in any of the ways it may."""
    return _overridden(cls) is not None


def _near(cls: type) -> str:
    """A method of the author's that is nearly one of those that are looked for: ` It has ...`."""
    own = [name for name in vars(cls) if callable(getattr(cls, name)) and not name.startswith("__")]
    for name in own:
        if hint := did_you_mean(name, _METHODS):
            return f" It has {name!r}.{hint}"
    return ""


def _overridden(cls: type) -> str | None:
    """Which of the three a class overrides: the batch one first, where it has both."""
    for method in ("flow", *_METHODS):
        if method == "flow":
            if hasattr(cls, "flow"):
                return "flow"
        elif getattr(cls, method) is not getattr(RewardFunction, method):
            return method
    return None


def call_of(reward: RewardFunction) -> Call:
    """How the Engine calls this reward."""
    if isinstance(reward, FunctionReward):
        return reward.call
    method = _overridden(type(reward))
    fn = cast("Callable[..., Any]", getattr(reward, method or "compute_reward"))
    is_async = inspect.iscoroutinefunction(fn)
    contract = reward.contract
    if method == "__call__":
        return dataclasses.replace(_call_of_class(type(reward)), fn=fn)
    per = Per.TRAJECTORY if method == "compute_reward" else contract.per or Per.BATCH
    return Call(fn, per, is_async=is_async, plain=True)


@functools.cache
def _call_of_class(cls: type) -> Call:
    """How the `__call__` of a class is called: by the names that it uses, or in the order of the oldest shape."""
    unbound = functools.partial(cast("Callable[..., Any]", cls.__call__), None)
    known = {*ARGUMENTS, *PLURALS}
    named = [p.name for p in inspect.signature(unbound).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    rename = dict(zip(named, ("trajectories", "ground_truths"), strict=False)) if not known & set(named) else {}
    return read_signature(unbound, Contract(per=Per.BATCH, rename=rename))


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
        self.contract = dataclasses.replace(own, **declared) if declared else own
        self.name = name or getattr(fn, "__reward_name__", "") or name_of(fn)
        self.call = read_signature(fn, self.contract)

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        """Score one trajectory; a failure is raised."""
        return _engine().score_one(self, trajectory)

    def __getstate__(self) -> dict[str, Any]:
        return {"fn": self.fn, "contract": self.contract, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fn, self.contract, self.name = state["fn"], state["contract"], state["name"]
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
            return FunctionReward(cast("Callable[..., Any]", fn), name=name_of(obj))
    if callable(obj):
        return FunctionReward(cast("Callable[..., Any]", obj))
    hint = f" What has a name is loaded: assay.load_reward({obj!r:.80})." if isinstance(obj, str) else ""
    raise ConfigError(
        f"needed a reward: a function, a RewardFunction, or an object with compute_reward(trajectory); "
        f"found {f'{obj!r:.80}' if type(obj).__repr__ is not object.__repr__ else f'a {type(obj).__name__}'}."
        f"{hint or _near(type(obj))}"
    )
