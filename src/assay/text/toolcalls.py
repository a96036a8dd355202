"""Read the tool calls of a conversation, whatever their spelling: OpenAI's messages, or tags in the text.

{"role": "assistant", "tool_calls": [{"function": {"name": "add", "arguments": "{\\"a\\": 1}"}}]}
<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.text.extract import after_thinking
from assay.text.jsons import NotJson, canonical, parse_json

OPEN, CLOSE = "<tool_call>", "</tool_call>"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: its name, and each argument in canonical JSON, so that equal calls compare equal."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What two equal calls share."""
        return self.name, tuple(sorted(self.arguments.items()))


@dataclass(slots=True)
class ToolCalls:
    """The calls of a conversation in order, and what looked like a call and was none."""

    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    faults: list[str] = field(default_factory=list[str])

    def add(self, raw: Any) -> None:
        """Read one call of any spelling, or note what is wrong with it."""
        try:
            self.calls.append(_read(raw))
        except NotJson as error:
            self.faults.append(f"{error!s:.200}")


def calls_in_messages(messages: Iterable[Mapping[str, Any]]) -> ToolCalls:
    """The calls that the assistant made in these turns: in `tool_calls`, or in tags where a turn has none.

    Example:
        >>> turn = {"role": "assistant", "content": '<tool_call>{"name": "now", "arguments": {}}</tool_call>'}
        >>> calls_in_messages([turn]).calls
        [ToolCall(name='now', arguments={})]
    """
    found = ToolCalls()
    for message in messages:
        if message.get("role") != "assistant":
            continue
        calls: Sequence[Any] = message.get("tool_calls") or ()
        for raw in calls:
            found.add(raw)
        content = message.get("content")
        if not calls and isinstance(content, str) and OPEN in content:
            _from_text(after_thinking(content), found)  # a call that is only thought of is none
    return found


def calls_in_truth(truth: Any) -> ToolCalls:
    """The calls that were expected: a list of calls or one, as data or as JSON text."""
    found = ToolCalls()
    if isinstance(truth, str):
        try:
            truth = parse_json(truth) if truth.strip() else []
        except NotJson as error:
            found.faults.append(f"{error!s:.200}")
            return found
    for raw in [truth] if isinstance(truth, Mapping) else truth:
        found.add(raw)
    return found


def _from_text(text: str, found: ToolCalls) -> None:
    at = text.find(OPEN)
    while at >= 0:
        start = at + len(OPEN)
        end, again = text.find(CLOSE, start), text.find(OPEN, start)
        if end < 0 or 0 <= again < end:
            found.faults.append(f"{OPEN} is not closed")
        else:
            found.add(text[start:end])
        if end < 0:
            return
        at = again


def _read(raw: Any) -> ToolCall:
    if isinstance(raw, str):
        raw = parse_json(raw)
    if not isinstance(raw, Mapping):
        raise NotJson(f"a call is an object with 'name' and 'arguments'; found {type(raw).__name__}")
    call: Mapping[str, Any] = raw.get("function") if isinstance(raw.get("function"), Mapping) else raw  # type: ignore[assignment]
    name, arguments = call.get("name"), call.get("arguments", call.get("parameters"))
    if not isinstance(name, str) or not name:
        raise NotJson("a call has no 'name'")
    if isinstance(arguments, str):
        arguments = parse_json(arguments) if arguments.strip() else {}
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise NotJson(f"the arguments of {name!r} are no object but {type(arguments).__name__}")
    return ToolCall(name, {str(key): canonical(value) for key, value in arguments.items()})
