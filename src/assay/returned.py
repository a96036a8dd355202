"""What came back from an author's code, read as an output. What is no reward is an error, never a zero."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, cast

from assay.described import Described
from assay.errors import RewardError, WrongOutput
from assay.types import Outcome, RewardOutput

MOST_WORDS: Final = 4000
"""Characters of an exception's message that are kept."""

_HERE: Final = os.path.dirname(__file__) + os.sep
_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_INSTALLED: Final = {"site-packages", "dist-packages"}


def as_output(value: Any, name: str) -> RewardOutput:
    """Read what an author returned for one trajectory. What is no reward raises `WrongOutput`, and is never a zero."""
    kind = type(value)
    if kind is RewardOutput:
        given = value.reward
        if given is not None and not (type(given) is float and isfinite(given)):
            value.reward = _finite(_number(given, name), name)
        if not is_whole(value):
            _mend(value, name)
        return value
    if kind is float or kind is int or kind is bool:
        return RewardOutput(_finite(float(value), name))
    if value is None:
        return RewardOutput(None, error=f"reward {name!r} abstained: it returned None")
    if kind is Described:
        return value  # by one of Assay's own rewards: whole, and nobody has looked at its metadata so far
    if isinstance(value, RewardOutput):  # a subclass: its own fields, as they stand
        fields = (value.reward, value.token_rewards, value.metadata, value.components, value.outcome, value.error)
        return as_output(RewardOutput(*fields), name)
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


def is_whole(output: RewardOutput) -> bool:
    """Whether every field of an author's output is of the kind that it should be; one with parts is looked at whole."""
    return (
        type(output.metadata) is dict
        and type(output.outcome) is Outcome
        and not output.components
        and type(output.components) is dict
        and type(output.error) is str
        and type(output.token_rewards) is list
        and type(output.seconds) in (float, int)
    )


def _mend(output: RewardOutput, name: str) -> None:
    """Put an author's output right where there is no doubt about what was meant; else say what is wrong with it."""
    output.metadata = dict(output.metadata or {})
    output.components = dict(output.components or {})
    output.token_rewards = list(output.token_rewards or [])
    output.error = str(output.error or "")
    if type(output.seconds) not in (float, int):
        output.seconds = 0.0
    try:
        output.outcome = Outcome(output.outcome)
    except ValueError:
        raise WrongOutput(
            f"reward {name!r} returned a RewardOutput with the outcome {output.outcome!r:.60}; needed one of "
            f"{', '.join(Outcome)}."
        ) from None
    for part, below in output.components.items():
        output.components[part] = as_output(below, f"{name}/{part}")


def failure(error: BaseException, name: str) -> RewardOutput:
    """The output that stands for an exception: its outcome and its message, never a number."""
    stated = getattr(type(error), "outcome", None)  # of the class: an instance may compute it, and fail at that too
    outcome = stated if isinstance(stated, Outcome) else Outcome.GRADER_ERROR
    text = _words_of(error)
    if not (isinstance(error, RewardError) or isinstance(stated, Outcome)):
        text = f"{type(error).__name__}: {text}{place_of(error)}"
    prefix = "" if f"{name!r}" in text else f"reward {name!r}: "
    return RewardOutput.failed(outcome, prefix + text)


def place_of(error: BaseException) -> str:
    """` (my_reward.py, line 4)`: the last line of the author's own that the exception came through."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if is_authors_own(file):
            place = f" ({os.path.basename(file)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place


def is_authors_own(file: str) -> bool:
    """Whether a file of code is an author's: neither ours, nor Python's, nor that of an installed package."""
    return not file.startswith((_HERE, _LIBRARY, "<frozen")) and not _INSTALLED & set(file.split(os.sep))


def _words_of(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as other:  # noqa: BLE001  (a stranger's exception may not even be able to say what it is)
        return f"its message cannot be read ({type(other).__name__})"
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}... ({len(text):,} characters)"
