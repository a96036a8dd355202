"""The reward for calling the right tools with the right arguments, over one turn or many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from assay.calling import missing_column
from assay.contract import Contract
from assay.errors import ConfigError, RewardError, did_you_mean
from assay.reward import RewardFunction
from assay.text.toolcalls import ToolCall, calls_in_messages, calls_in_truth
from assay.types import RewardOutput, Trajectory

How = Literal["exact", "arguments", "jaccard"]


@dataclass
class ToolCallReward(RewardFunction):
    """1 when the calls are those of the ground truth, 0 when none of them is; `match` says what lies between.

    exact: 1 or 0. jaccard: the calls that both have over the calls that either has, names and arguments together.
    arguments: each expected call earns the share of its arguments that the call of that name got right. Calls too many
    cost in all three. Expected calls are the ground truth: a list of `{"name", "arguments"}`, in OpenAI's shape, or as
    JSON; `[]` says that no tool is to be called. Made calls are read from the messages, or from `<tool_call>` tags.

    Example:
        >>> call = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
        >>> row = {"response": call, "ground_truth": [{"name": "add", "arguments": {"a": 1, "b": 3}}]}
        >>> ToolCallReward()([row]), ToolCallReward(match="arguments")([row])
        ([0.0], [0.5])

    Hacked by: the right call without the work around it; whether its result was used is not looked at.
    """

    match: How = "exact"
    """What counts when the calls are not all the same."""
    ordered: bool = False
    """Whether the calls must come in the order of the ground truth."""
    turns: Literal["completion", "all"] = "completion"
    """completion: the turns after the last user turn. all: every turn, where users speak between calls."""
    column: str = "ground_truth"
    """Where the expected calls are."""

    contract = Contract(columns=("ground_truth",))

    def __post_init__(self) -> None:
        if self.match not in (known := get_args(How)):
            raise ConfigError(
                f"reward 'tool_call' needs match of {known}; found {self.match!r}.{did_you_mean(self.match, known)}"
            )
        if self.turns not in ("completion", "all"):
            raise ConfigError(f"reward 'tool_call' needs turns 'completion' or 'all'; found {self.turns!r}.")
        self.contract = Contract(columns=(self.column,))

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        expected = _expected(trajectory, self.column, self.name)
        made = calls_in_messages(trajectory.conversation if self.turns == "all" else trajectory.completion)
        metadata: dict[str, Any] = {"calls": [c.name for c in made.calls][:50], "expected": [c.name for c in expected]}
        if made.faults:
            metadata["faults"] = made.faults[:10]
        surplus = len(made.faults)  # what looks like a call and cannot be read is a call that is wrong
        if not expected and not made.calls and not surplus:
            return RewardOutput(float(bool(trajectory.response.strip())), metadata=metadata)
        exact = not surplus and _same(made.calls, expected, self.ordered)
        if exact or self.match == "exact" or not expected:
            return RewardOutput(float(exact), metadata=metadata)
        if self.match == "jaccard":
            score = _jaccard(made.calls, expected, surplus)
        else:
            score, metadata["arguments"] = _arguments(made.calls, expected, surplus)
        if self.ordered and score == 1.0:  # the same calls in another order
            score = 0.5
        return RewardOutput(score, metadata=metadata)


def _expected(trajectory: Trajectory, column: str, name: str) -> list[ToolCall]:
    truth = trajectory.get(column)
    if truth is None:
        raise missing_column(name, column, trajectory)
    if not isinstance(truth, str | Mapping | Sequence):
        raise RewardError(f"reward {name!r} needs tool calls in {column!r}; found {type(truth).__name__}.")
    read = calls_in_truth(truth)
    if read.faults:
        raise RewardError(f"reward {name!r} needs tool calls in {column!r}; found one that is none: {read.faults[0]}.")
    return read.calls


def _same(made: Sequence[ToolCall], expected: Sequence[ToolCall], ordered: bool) -> bool:
    mine, theirs = [c.key for c in made], [c.key for c in expected]
    return mine == theirs if ordered else Counter(mine) == Counter(theirs)


def _jaccard(made: Sequence[ToolCall], expected: Sequence[ToolCall], surplus: int) -> float:
    mine, theirs = Counter(c.key for c in made), Counter(c.key for c in expected)
    return (mine & theirs).total() / ((mine | theirs).total() + surplus)


def _arguments(made: Sequence[ToolCall], expected: Sequence[ToolCall], surplus: int) -> tuple[float, list[float]]:
    """The share of arguments that are right, and that of each expected call. Each made call stands for one at most."""
    left: dict[str, list[ToolCall]] = {}
    for call in made[: 10 * len(expected) + 100]:  # beyond so many the score is as good as nothing anyway
        left.setdefault(call.name, []).append(call)
    shares: list[float] = []
    for wanted in expected:
        candidates = left.get(wanted.name, [])
        best = max(candidates, key=lambda call: _share(call, wanted), default=None)
        if best is None:
            shares.append(0.0)
            continue
        candidates.remove(best)
        shares.append(_share(best, wanted))
    return sum(shares) / max(len(expected), len(made) + surplus), shares


def _share(call: ToolCall, wanted: ToolCall) -> float:
    names = call.arguments.keys() | wanted.arguments.keys()
    if not names:
        return 1.0
    right = sum(call.arguments.get(n) == wanted.arguments.get(n) for n in names)
    return right / len(names)
