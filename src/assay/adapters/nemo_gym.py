"""NeMo Gym: the body of `POST /verify`, which `assay serve SPEC` answers.

The request holds what was asked (`responses_create_params.input`), what came back (`response.output`, in the shape of
OpenAI's Responses API), and the data set's own columns. The answer is the request with `reward` and the components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import InputError
from assay.types import Message, RewardOutput, Trajectory

_OWN = ("responses_create_params", "response", "reward", "reward_components")


def row(body: Mapping[str, Any]) -> Trajectory:
    """The trajectory of a verify request."""
    asked, came = body.get("responses_create_params"), body.get("response")
    if not isinstance(asked, Mapping) or not isinstance(came, Mapping):
        raise InputError(f"needed 'responses_create_params' and 'response'; found {sorted(body)}.")
    given: Any = asked.get("input") or []
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else [_message(i) for i in _items(given)]
    messages += [_message(item) for item in _items(came.get("output") or [])]
    own = {key: value for key, value in body.items() if key not in _OWN}
    metadata = own.pop("verifier_metadata", None)
    columns = {**(metadata if isinstance(metadata, Mapping) else {}), **own}
    return Trajectory.of({**columns, "messages": messages})


def _items(given: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
        raise InputError(f"needed a list of items in the shape of OpenAI's Responses API; found {given!r:.80}.")
    return given


def _message(item: Mapping[str, Any]) -> Message:
    """An item of the Responses API as a chat message."""
    kind = item.get("type", "message")
    if kind == "function_call":
        function = {"name": item.get("name", ""), "arguments": item.get("arguments", "")}
        call = {"id": item.get("call_id", ""), "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    if kind == "function_call_output":
        return {"role": "tool", "content": str(item.get("output", "")), "tool_call_id": item.get("call_id", "")}
    if kind == "reasoning":
        return {"role": "reasoning", "content": _text(item.get("summary") or [])}
    return {"role": item.get("role", "assistant"), "content": _text(item.get("content") or "")}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(str(part.get("text") or "") for part in _items(content))


def answer(body: Mapping[str, Any], output: RewardOutput, unscored: float) -> dict[str, Any]:
    """The verify response: what came, the reward, its components, and how the scoring ended."""
    parts = {name: part.reward for name, part in output.components.items() if part.reward is not None}
    reward = unscored if output.reward is None else output.reward
    said = {"outcome": str(output.outcome), "why": output.error} if output.error else {"outcome": str(output.outcome)}
    return {**body, "reward": reward, "reward_components": parts, **said}
