"""Rewards of length: a target, the overlong penalty, and the two that reward short right answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from assay.calling import missing_column
from assay.contract import Contract, Per
from assay.errors import ConfigError, MissingColumn, did_you_mean
from assay.reward import RewardFunction, as_reward
from assay.text.measure import count_words
from assay.types import RewardOutput, Trajectory

Unit = Literal["words", "chars", "tokens"]
"""What a length is counted in."""


@dataclass
class LengthReward(RewardFunction):
    """1 at the target length, falling to 0 with the distance from it; 0 outside of min_length and max_length.

    gaussian: `exp(-(length - target)² / (2 tolerance²))`, so the tolerance is the sigma. linear: 1 inside the
    tolerance, then straight down to 0 at twice the tolerance. With no target: 1 between min_length and max_length.

    Example:
        >>> LengthReward(target=4, tolerance=2)(["exactly four words here"])
        [1.0]

    Hacked by: filler. It counts words and does not read them: use it beside a reward that reads.
    """

    target_length: float | None = None
    """The length that scores 1."""
    tolerance: float | None = None
    """How far off is still good; a quarter of the target where it is not given."""
    reward_type: Literal["gaussian", "linear"] = "gaussian"
    """How the score falls with the distance."""
    unit: Unit = "words"
    """What is counted; tokens needs rollouts that carry them."""
    min_length: float | None = None
    """Shorter scores 0."""
    max_length: float | None = None
    """Longer scores 0."""
    target: float | None = None
    """The same as target_length, for short."""

    contract = Contract()

    def __post_init__(self) -> None:
        if self.reward_type not in ("gaussian", "linear"):
            raise ConfigError(
                f"reward 'length' needs reward_type 'gaussian' or 'linear'; found {self.reward_type!r}."
                f"{did_you_mean(str(self.reward_type), ('gaussian', 'linear'))}"
            )
        _check_unit("length", self.unit)
        target = self.target if self.target_length is None else self.target_length
        _check_length("length", "target_length", target)
        if self.target not in (None, target):
            raise ConfigError(
                f"reward 'length' needs one target; found target_length={target:g} and target={self.target:g}."
            )
        if target is None and self.min_length is None and self.max_length is None:
            raise ConfigError(
                "reward 'length' needs target_length, min_length or max_length; found none. Give one: target=200."
            )
        self.target_length = self.target = target
        if self.tolerance is None:
            self.tolerance = target / 4 if target else 1.0
        bounds = (("tolerance", self.tolerance), ("min_length", self.min_length), ("max_length", self.max_length))
        for what, value in bounds:
            _check_length("length", what, value)
        if self.min_length is not None and self.max_length is not None and self.min_length > self.max_length:
            raise ConfigError(
                f"reward 'length' needs min_length <= max_length; found {self.min_length:g} and {self.max_length:g}."
            )

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        unit = self.unit
        length = count_words(trajectory.response) if unit == "words" else _length(trajectory, unit, self.name)
        metadata = {"length": length, "unit": unit}
        if self.min_length is not None and length < self.min_length:
            return RewardOutput(0.0, metadata={**metadata, "too": "short"})
        if self.max_length is not None and length > self.max_length:
            return RewardOutput(0.0, metadata={**metadata, "too": "long"})
        return RewardOutput(self._closeness(length), metadata=metadata)

    def _closeness(self, length: float) -> float:
        target, tolerance = self.target_length, self.tolerance or 0.0
        if target is None or length == target:
            return 1.0
        if tolerance == 0:
            return 0.0
        off = abs(length - target) / tolerance
        if self.reward_type == "gaussian":
            return math.exp(-0.5 * off * off)
        return min(1.0, max(0.0, 2.0 - off))


@dataclass
class OverlongPenalty(RewardFunction):
    """0 while the response is short enough, falling to -1 over the last `cache` tokens before max_length, then -1.

    DAPO's soft overlong punishment (arXiv 2503.14476, equation 13).

    Example:
        >>> OverlongPenalty(max_length=10, cache=4, unit="words")(["w " * 5, "w " * 8, "w " * 11])
        [0.0, -0.5, -1.0]

    Hacked by: stopping early, so weigh it below the reward for being right.
    """

    max_length: int
    """The length from which on the penalty is -1: the trainer's max_completion_length."""
    cache: int = 0
    """Over how many tokens before max_length it grows from 0 to -1."""
    unit: Unit = "tokens"
    """What is counted; tokens needs rollouts that carry them."""

    contract = Contract(range=(-1.0, 0.0))

    def __post_init__(self) -> None:
        _check_unit("overlong_penalty", self.unit)
        for what, value in (("max_length", self.max_length), ("cache", self.cache)):
            _check_length("overlong_penalty", what, value)
        if not 0 <= self.cache <= self.max_length:
            raise ConfigError(
                f"reward 'overlong_penalty' needs 0 <= cache <= max_length; found cache={self.cache}, "
                f"max_length={self.max_length}."
            )

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        length = _length(trajectory, self.unit, self.name)
        over = length - (self.max_length - self.cache)
        penalty = 0.0 if over <= 0 else -1.0 if length > self.max_length else -over / self.cache
        return RewardOutput(penalty, metadata={"length": length, "unit": self.unit, "over": max(0, over)})


@dataclass
class CosineLengthReward(RewardFunction):
    """Right answers score max_correct when short, min_correct when long; wrong ones rise from min_wrong to max_wrong.

    The cosine reward of "Demystifying Long Chain-of-Thought" (arXiv 2502.03373), as TRL and open-r1 have it. Beyond
    max_length it stays at its last value, where open-r1's swings back, or is `exceeded` where that is given.

    Example:
        >>> rows = [{"response": "x" * 500, "correct": True}, {"response": "x" * 500, "correct": False}]
        >>> CosineLengthReward(max_length=1000)(rows)
        [0.75, -0.75]

    Hacked by: whatever fools the verdict on correctness that it is given.
    """

    max_length: int = 1000
    """The length at which the cosine has come to its end."""
    min_correct: float = 0.5
    """A right answer of max_length."""
    max_correct: float = 1.0
    """A right answer of no length."""
    min_wrong: float = -1.0
    """A wrong answer of no length."""
    max_wrong: float = -0.5
    """A wrong answer of max_length."""
    exceeded: float | None = None
    """What a response of max_length or more scores, right or wrong: the paper's penalty for running out of room."""
    correct: Any = "correct"
    """Who says what is right: the column that holds it, or a reward."""
    threshold: float = 0.5
    """From what value on that is a yes."""
    unit: Unit = "chars"
    """What is counted: tokens in the paper and in TRL, characters in open-r1."""

    def __post_init__(self) -> None:
        _check_unit("cosine_length", self.unit)
        _check_length("cosine_length", "max_length", self.max_length)
        if not self.max_length:
            raise ConfigError("reward 'cosine_length' needs max_length above 0; found 0.")
        values = [self.min_correct, self.max_correct, self.min_wrong, self.max_wrong]
        if self.exceeded is not None:
            values.append(self.exceeded)
        self.contract = Contract(range=(min(values), max(values)), columns=_columns(self.correct))

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        verdicts = _verdicts(trajectories, self.correct, self.name)
        return [
            verdict if verdict.reward is None else self._scaled(t, verdict.reward >= self.threshold)
            for t, verdict in zip(trajectories, verdicts, strict=True)
        ]

    def _scaled(self, trajectory: Trajectory, right: bool) -> RewardOutput:
        try:
            length = _length(trajectory, self.unit, self.name)
        except MissingColumn as error:  # one row's lack is not its neighbours'
            return RewardOutput.failed(error.outcome, str(error))
        metadata = {"length": length, "unit": self.unit, "correct": right}
        if self.exceeded is not None and length >= self.max_length:
            return RewardOutput(self.exceeded, metadata={**metadata, "too": "long"})
        at_end, at_start = (self.min_correct, self.max_correct) if right else (self.max_wrong, self.min_wrong)
        cosine = math.cos(min(1.0, length / self.max_length) * math.pi)
        return RewardOutput(at_end + 0.5 * (at_start - at_end) * (1.0 + cosine), metadata=metadata)


@dataclass
class GroupLengthReward(RewardFunction):
    """0.5 for the group's shortest response when it is right, -0.5 for its longest; a wrong one never above 0.

    Kimi k1.5's length reward (arXiv 2501.12599, section 2.3.3): `0.5 - (length - min) / (max - min)` over the
    responses to one prompt, at most 0 where the answer is wrong, and 0 for all when they are equally long.

    Example:
        >>> rows = [{"prompt": "2+2?", "response": "4", "correct": True},
        ...         {"prompt": "2+2?", "response": "it is 4", "correct": True}]
        >>> GroupLengthReward()(rows)
        [0.5, -0.5]

    Hacked by: whatever fools the verdict on correctness that it is given.
    """

    correct: Any = "correct"
    """Who says what is right: the column that holds it, or a reward."""
    threshold: float = 0.5
    """From what value on that is a yes."""
    unit: Unit = "chars"
    """What is counted."""

    contract = Contract(per=Per.GROUP, range=(-0.5, 0.5))

    def __post_init__(self) -> None:
        _check_unit("group_length", self.unit)
        self.contract = Contract(per=Per.GROUP, range=(-0.5, 0.5), columns=_columns(self.correct))

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        lengths = [_length(t, self.unit, self.name) for t in trajectories]
        shortest, longest = min(lengths, default=0), max(lengths, default=0)
        outputs: list[RewardOutput] = []
        for verdict, length in zip(_verdicts(trajectories, self.correct, self.name), lengths, strict=True):
            if verdict.reward is None:
                outputs.append(verdict)
                continue
            right = verdict.reward >= self.threshold
            share = 0.5 - (length - shortest) / (longest - shortest) if longest > shortest else 0.0
            metadata = {"length": length, "shortest": shortest, "longest": longest, "correct": right}
            outputs.append(RewardOutput(share if right else min(0.0, share), metadata=metadata))
        return outputs


def _check_length(name: str, what: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"reward {name!r} needs a number for {what}; found {value!r}.")
    if not 0 <= value < math.inf:
        raise ConfigError(f"reward {name!r} needs {what} of 0 or more; found {value!r}.")


def _check_unit(name: str, unit: str) -> None:
    if unit not in (units := get_args(Unit)):
        raise ConfigError(f"reward {name!r} needs unit {units}; found {unit!r}.{did_you_mean(unit, units)}")


def _length(trajectory: Trajectory, unit: Unit, name: str) -> int:
    if unit == "words":
        return count_words(trajectory.response)
    if unit == "chars":
        return len(trajectory.response)
    tokens = trajectory.tokens
    if tokens is None:
        raise MissingColumn(
            f"reward {name!r} with unit='tokens' needs the trajectory's tokens; the row has none. Pass "
            f"tokens=Tokens(ids=...), or count unit='words' or 'chars'."
        )
    return sum(map(bool, tokens.mask)) if tokens.mask else len(tokens.ids)


def _columns(correct: Any) -> tuple[str, ...]:
    return (correct,) if isinstance(correct, str) else ()


def _verdicts(trajectories: Sequence[Trajectory], correct: Any, name: str) -> list[RewardOutput]:
    """Whether each answer is right, as a number, or why that is not known."""
    if not isinstance(correct, str):
        # the base's own method: through the Engine, whatever form the reward has, and all at once
        outputs: list[RewardOutput] = RewardFunction.compute_rewards(as_reward(correct), trajectories)
        return outputs
    return [_stated(t, correct, name) for t in trajectories]


def _stated(trajectory: Trajectory, column: str, name: str) -> RewardOutput:
    value = trajectory.metadata.get(column)
    if value is None:
        return RewardOutput.failed(MissingColumn.outcome, str(missing_column(name, column, trajectory)))
    if isinstance(value, int | float) and math.isfinite(value):
        return RewardOutput(float(value))
    found = f"{type(value).__name__} {value!r:.60}"
    return RewardOutput.failed(
        MissingColumn.outcome, f"reward {name!r} needs a number or a bool in {column!r}; found {found}."
    )
