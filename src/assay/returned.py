"""What came back from an author's code, read as an output. What is no reward is an error, never a zero."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

from assay.errors import WrongOutput
from assay.types import Outcome, RewardOutput


def as_output(value: Any, name: str) -> RewardOutput:
    """Read what an author returned for one trajectory. What is no reward raises `WrongOutput`, and is never a zero."""
    kind = type(value)
    if kind is RewardOutput:
        given = value.reward
        if given is not None and not (type(given) is float and isfinite(given)):
            value.reward = _finite(_number(given, name), name)
        return value
    if kind is float or kind is int or kind is bool:
        return RewardOutput(_finite(float(value), name))
    if value is None:
        return RewardOutput(None, error=f"reward {name!r} abstained")
    if isinstance(value, Mapping):
        return _from_dict(cast("Mapping[str, Any]", value), name)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        return RewardOutput(_maybe(value[0], name), metadata=dict(cast("Mapping[str, Any]", value[1])))
    if (given := getattr(value, "reward", value)) is not value:  # another library's output type
        return RewardOutput(_maybe(given, name), metadata=dict(getattr(value, "metadata", None) or {}))
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
    if not isfinite(number):
        raise WrongOutput(f"reward {name!r} returned {number}; needed a finite number, or None for 'not scored'.")
    return number


def failure(error: BaseException, name: str) -> RewardOutput:
    """The output that stands for an exception: its outcome and its message, never a number."""
    outcome = getattr(error, "outcome", Outcome.GRADER_ERROR)
    text = (
        str(error) if isinstance(error, Exception) and hasattr(error, "outcome") else f"{type(error).__name__}: {error}"
    )
    prefix = "" if f"{name!r}" in text else f"reward {name!r}: "
    return RewardOutput.failed(outcome, prefix + text)
