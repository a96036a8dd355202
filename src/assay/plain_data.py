"""What was scored as plain data: an output as a dict, anything at all as JSON, rows as lines of JSONL or cells of
Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from assay.types import Outcome, RewardOutput


def to_dict(output: RewardOutput) -> dict[str, Any]:
    """An output as plain data, without what is empty."""
    data: dict[str, Any] = {"reward": output.reward, "outcome": str(output.outcome)}
    if output.error:
        data["error"] = output.error
    if output.metadata:
        data["metadata"] = output.metadata
    if output.token_rewards:
        data["token_rewards"] = output.token_rewards
    if output.seconds:
        data["seconds"] = round(output.seconds, 9)
    if output.components:
        data["components"] = {name: to_dict(part) for name, part in output.components.items()}
    return data


def from_dict(data: Mapping[str, Any]) -> RewardOutput:
    """The output that `to_dict` wrote."""
    return RewardOutput(
        data["reward"],
        token_rewards=list(data.get("token_rewards", ())),
        metadata=dict(data.get("metadata", ())),
        components={name: from_dict(part) for name, part in data.get("components", {}).items()},
        outcome=Outcome(data["outcome"]),
        error=data.get("error", ""),
        seconds=data.get("seconds", 0.0),
    )


def to_json(value: Any) -> str:
    """JSON of anything: what JSON cannot say (NaN, sets, arrays, objects, cycles) is told as text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except (ValueError, TypeError, RecursionError):
        return json.dumps(_sayable(value, 0), ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    try:
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, set | frozenset):
            return sorted(cast("set[Any]", value), key=str)
        return str(value)
    except Exception:  # noqa: BLE001  (an author's object may not even be able to say what it is)
        return f"<{type(value).__name__}>"


def _sayable(value: Any, depth: int) -> Any:
    if depth > 40:
        return "..."
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _sayable(v, depth + 1) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_sayable(v, depth + 1) for v in cast("Sequence[Any]", value)]
    return value


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A row for Parquet: nested cells are JSON text there, for their shape differs from row to row."""
    return {k: to_json(v) if _is_nested(v) else v for k, v in record.items()}


def _is_nested(value: Any) -> bool:
    too_large = type(value) is int and abs(value) >> 63 > 0  # for a cell
    return too_large or isinstance(value, dict | list | tuple)


def frame(polars: Any, rows: list[dict[str, Any]]) -> Any:
    """Flat rows as a table."""
    try:
        return polars.DataFrame(rows, infer_schema_length=None, strict=False)
    except UnicodeEncodeError:  # half a character in some cell: it cannot be written in UTF-8, and is a sign instead
        whole = [{_whole(k): _whole(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
        return polars.DataFrame(whole, infer_schema_length=None, strict=False)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def line_of(record: Mapping[str, Any]) -> str:
    """A row for JSONL."""
    text = to_json(record)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character: escaped, so that the file is UTF-8 and the row comes back as it was
        text = json.dumps(json.loads(text))
    return text + "\n"


def unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of Parquet as it was written. Nested cells are JSON text there; but a response may well be JSON itself."""
    return {k: _maybe_messages(v) if k in _SPOKEN else _maybe_json(v) for k, v in row.items()}


_SPOKEN = frozenset({"prompt", "response", "completion"})


def _maybe_messages(value: Any) -> Any:
    found = _maybe_json(value) if isinstance(value, str) and value[:1] == "[" else value
    messages = isinstance(found, list) and found and all(isinstance(m, dict) and "role" in m for m in found)
    return found if messages else value


def _maybe_json(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "[{" and value[-1:] in "]}":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
