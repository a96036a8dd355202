"""The vocabulary on one page: what is scored, and what comes of it. Standard library only.

A `Trajectory` is one finished rollout; a `RewardOutput` is what a reward says of it. One real row:

    {"prompt": "What is 2 + 2?", "response": "2 + 2 is \\\\boxed{4}", "ground_truth": "4", "group": "q17"}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias, cast

Message: TypeAlias = Mapping[str, Any]
"""One turn in OpenAI's shape: `role`, `content`, and for tools `tool_calls` or `tool_call_id`."""


class Outcome(StrEnum):
    """How the scoring of one trajectory ended. `SCORED` carries a number; the others say why there is none.

    A failure may carry the number that a stated policy gives for it: the lowest score for a response that is
    unscorable on purpose, what `--on-failure 0` says. It is counted as a failure all the same.
    """

    SCORED = "scored"
    ABSTAINED = "abstained"  # the reward does not apply here: no gold, another task, a gate that is shut
    TIMEOUT = "timeout"  # it was stopped at its deadline
    GRADER_ERROR = "grader_error"  # the reward itself failed, or returned what is no reward
    INFRA_ERROR = "infra_error"  # what it depends on failed: a server, a worker, a model


FAILURES = frozenset({Outcome.TIMEOUT, Outcome.GRADER_ERROR, Outcome.INFRA_ERROR})
"""The outcomes that are nobody's intention. Abstaining is one, so it is not among them."""


@dataclass(slots=True)
class Tokens:
    """The sampled tokens of a response, when the trainer has them."""

    ids: Sequence[int]
    """Token ids as sampled."""
    offsets: Sequence[tuple[int, int]] = ()
    """For each id the characters `[start, end)` of the response that it stands for."""
    mask: Sequence[bool] = ()
    """True where the policy wrote the token, False for tool output. Empty: all of them."""


@dataclass(slots=True, eq=False)
class Trajectory(Mapping[str, Any]):
    """One finished rollout: what was asked, what came back, what is known to be right.

    `Trajectory(response="4")` is enough, and so is `Trajectory(messages=[...])`. It also reads like a mapping, so
    that code written for dict rows works on it: `t["ground_truth"]`, `t["messages"]`, `t["any_column"]`.
    Two trajectories are equal when the same was asked and the same came back.
    """

    prompt: str = ""
    """What was asked: the last user turn, when messages were given."""
    response: str = ""
    """What came back: the last assistant turn after that, when messages were given."""
    messages: Sequence[Message] = ()
    """The whole conversation as it was given; empty when prompt and response were. See `conversation`."""
    ground_truth: Any = None
    """What is known to be right, in whatever form the reward reads."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Every other column of the row."""
    group: str = ""
    """The id of the prompt: responses with the same id are one GRPO group. Empty: the prompt itself is the id."""
    tokens: Tokens | None = None
    """The sampled tokens, when the trainer has them."""

    def __post_init__(self) -> None:
        if self.messages and not self.response:
            self.response = text_of(_last(completion_of(self.messages), "assistant"))
        if self.messages and not self.prompt:
            self.prompt = text_of(_last(self.messages, "user"))

    @classmethod
    def of(cls, row: Any) -> Trajectory:
        """Read a row of any of the shapes people have: a trajectory, a mapping, a list of messages, a response."""
        if isinstance(row, Trajectory):
            return row
        if isinstance(row, str):
            return cls(response=row)
        if isinstance(row, Mapping):
            return _from_mapping(row)
        if isinstance(row, Sequence) and all(isinstance(m, Mapping) and "role" in m for m in row):
            return cls(messages=list(row))
        raise TypeError(
            f"needed a row: a Trajectory, a mapping, a list of messages or a response as str; found "
            f"{type(row).__name__}. Pass Trajectory(response=...) or a dict with the key 'response'."
        )

    @property
    def conversation(self) -> Sequence[Message]:
        """The messages, made from prompt and response where none were given."""
        if self.messages:
            return self.messages
        asked = [{"role": "user", "content": self.prompt}] if self.prompt else []
        return [*asked, {"role": "assistant", "content": self.response}]

    @property
    def completion(self) -> Sequence[Message]:
        """The turns after the last user turn: what the policy and its tools wrote."""
        return completion_of(self.conversation)

    @property
    def group_id(self) -> str:
        """The GRPO group: the given id, or else the prompt."""
        return self.group or self.prompt

    def lent(self) -> Trajectory:
        """The same row to be handed to a stranger: what it writes into it stays with it."""
        messages = [dict(m) for m in self.messages] if self.messages else ()
        return Trajectory(
            self.prompt, self.response, messages, self.ground_truth, dict(self.metadata), self.group, self.tokens
        )

    def __getitem__(self, key: str) -> Any:
        if key in _FIELDS:
            return self.conversation if key == "messages" else getattr(self, key)
        return self.metadata[key]

    def __contains__(self, key: object) -> bool:
        return key in _FIELDS or key in self.metadata

    def __iter__(self) -> Iterator[str]:
        yield from _FIELDS
        yield from (key for key in self.metadata if key not in _FIELDS)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        other = Trajectory.of(other)
        if not self.messages and not other.messages:
            return (self.prompt, self.response) == (other.prompt, other.response)
        return list(self.conversation) == list(other.conversation)

    __hash__ = None  # pyright: ignore


_FIELDS = ("prompt", "response", "messages", "ground_truth", "metadata", "group")


def trajectories_of(rows: Iterable[Any], unanswered: bool = False) -> list[Trajectory]:
    """Read many rows that are to be scored. One row by itself is refused, and so is a table that is iterated by
    columns: a string would be its letters, a dict its keys, a data frame the names of its columns.

    `unanswered`: a row that holds no response will do; for a reward that does not look at it."""
    if isinstance(rows, str | bytes | Mapping):
        raise TypeError(
            f"needed a list of rows; found one {type(rows).__name__}. Pass [row], or score it by itself: "
            f"reward.compute_reward(row)."
        )
    if hasattr(rows, "columns"):
        raise TypeError(
            f"needed a list of rows; found a {type(rows).__name__}, which is iterated by its columns. Pass its rows: "
            f"frame.to_dict('records') (pandas), frame.to_dicts() (polars), table.to_pylist() (pyarrow)."
        )
    read = Trajectory.of if unanswered else answered
    return [row if type(row) is Trajectory else _numbered(i, row, read) for i, row in enumerate(rows)]


def _numbered(i: int, row: Any, read: Callable[[Any], Trajectory]) -> Trajectory:
    try:
        return read(row)
    except TypeError as error:
        raise TypeError(f"row {i}: {error}") from None


def answered(row: Any) -> Trajectory:
    """Read a row that is to be scored. One that holds no response is refused: nothing is not an empty answer."""
    t = Trajectory.of(row)
    if t.response or t is row or isinstance(row, str):
        return t
    given: Any = row if isinstance(row, Mapping) else {}
    said = [_said(given.get(name), name) for name in ("response", "completion")]
    if all(one is None for one in said) and not (t.messages and t.completion):
        raise TypeError("needed a row with a response (or completion, or messages that end in one); it has none.")
    return t


def _from_mapping(row: Mapping[str, Any]) -> Trajectory:
    rest = dict(row)
    extra = rest.pop("metadata", None)
    if isinstance(extra, Mapping):
        rest = {**extra, **rest}
    elif extra is not None:
        rest["metadata"] = extra
    prompt, response = _said(rest.pop("prompt", None), "prompt"), _said(rest.pop("response", None), "response")
    if response is None and rest.get("completion") is not None:
        response = _said(rest.pop("completion"), "completion")
    messages: Any = rest.pop("messages", None)
    messages = () if messages is None else _listed(messages)
    if not messages and (isinstance(prompt, list) or isinstance(response, list)):
        messages = [*_as_messages(prompt, "user"), *_as_messages(response, "assistant")]
    if messages:
        _check_messages(messages)
    group = rest.pop("group", None)
    return Trajectory(
        prompt=prompt if isinstance(prompt, str) else "",
        response=response if isinstance(response, str) else "",
        messages=messages,
        ground_truth=rest.pop("ground_truth", None),
        metadata=rest,
        group="" if _is_missing(group) else str(group),
    )


def _said(value: Any, column: str) -> str | list[Any] | None:
    """What stands in a column of text: the text, or messages as a list; None where nothing does."""
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return None
    value = _listed(value)
    if isinstance(value, list):
        return cast("list[Any]", value)
    raise TypeError(f"needed {column!r} as text or as a list of messages; found {type(value).__name__} {value!r:.60}")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))  # NaN is how pandas has it


def _listed(value: Any) -> Any:
    """A tuple, or an array (as pandas has the lists of a Parquet file), as a list."""
    if isinstance(value, tuple):
        return list(cast("tuple[Any, ...]", value))
    return value.tolist() if hasattr(value, "tolist") else value


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, Sequence) or not all(isinstance(m, Mapping) for m in messages):
        raise TypeError(f"needed messages as a list of {{'role': ..., 'content': ...}}; found {messages!r:.80}")


def _as_messages(said: Any, role: str) -> list[Message]:
    if said is None or said == "":
        return []
    return [{"role": role, "content": said}] if isinstance(said, str) else list(said)


def completion_of(messages: Sequence[Message]) -> Sequence[Message]:
    """The turns after the last user turn."""
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].get("role") == "user":
            return messages[i + 1 :]
    return messages


def text_of(message: Message | None) -> str:
    """The text of one turn; of a turn in parts, the text parts joined."""
    content = message.get("content") if message else None
    if isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else []
    return "".join(str(p.get("text") or "") if isinstance(p, Mapping) else str(p) for p in parts)


def _last(messages: Sequence[Message], role: str) -> Message | None:
    return next((m for m in reversed(messages) if m.get("role") == role), None)


@dataclass(slots=True)
class RewardOutput:
    """What a reward says of one trajectory: a number, or a stated reason why there is none."""

    reward: float | None = None
    """The number; None means not scored. Never a zero that stands for a failure."""
    token_rewards: list[float] = field(default_factory=list)
    """One number a token (or a whitespace word), when the reward is that fine. Empty otherwise."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What the number was made of: sub-scores, what was extracted, what matched, a judge's reply."""
    components: dict[str, RewardOutput] = field(default_factory=dict)
    """The raw outputs of a composite's parts, by name."""
    outcome: Outcome = Outcome.SCORED
    """How the scoring ended. `SCORED` with no reward given is `ABSTAINED`."""
    error: str = ""
    """Why there is no number, in words: what was needed, what was found, what to do."""
    seconds: float = 0.0
    """How long the scoring took, where the engine measured it."""

    def __post_init__(self) -> None:
        if self.reward is None and self.outcome is Outcome.SCORED:
            self.outcome = Outcome.ABSTAINED

    @property
    def scored(self) -> bool:
        """Whether there is a number."""
        return self.reward is not None

    @classmethod
    def failed(cls, outcome: Outcome, error: str, **metadata: Any) -> RewardOutput:
        """An output without a number: how it ended, and why."""
        return cls(None, metadata=metadata, outcome=outcome, error=error)


Score: TypeAlias = float | bool | Mapping[str, Any] | RewardOutput | None
"""What an author may return for one trajectory; None means 'not scored'."""
