"""Read JSON that a model wrote: strictly, and bounded. What JSON's own standard leaves open is refused here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay.text.fences import code_blocks


class NotJson(ValueError):
    """What was wrong with it, in words."""


def parse_json(text: str) -> Any:
    """Parse one JSON value, or raise `NotJson`: also for a key that comes twice, NaN, and nesting without end.

    Example:
        >>> parse_json('{"a": [1, 2]}')
        {'a': [1, 2]}
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise NotJson("it is nested too deep") from None
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(str(error)) from None


def find_json(text: str) -> str:
    """The JSON of a response: all of it, or its last closed code block when that is marked json or not marked at all.

    Example:
        >>> find_json("Here it is:\\n```json\\n[1]\\n```")
        '[1]'
    """
    whole = text.strip()
    if whole[:1] in ("{", "["):
        return whole
    blocks = [code for language, code in code_blocks(text) if language in ("", "json")]
    return blocks[-1].strip() if blocks else whole


def canonical(value: Any) -> str:
    """One spelling for equal values: keys in order, 1.0 as 1, a JSON text inside a string left as it is.

    Example:
        >>> canonical({"b": 1.0, "a": None}) == canonical({"a": None, "b": 1})
        True
    """
    try:
        return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, default=str)
    except RecursionError:
        raise NotJson("it is nested too deep") from None


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))
        raise NotJson(f"the key {twice!r:.60} comes twice")
    return found


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is no JSON")
