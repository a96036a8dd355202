"""The reward for JSON that fits a schema."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.calling import missing_column
from assay.contract import Contract
from assay.errors import ConfigError, require
from assay.reward import RewardFunction
from assay.text.jsons import NotJson, find_json, parse_json
from assay.types import RewardOutput, Trajectory


@dataclass
class JsonSchemaReward(RewardFunction):
    """1 when the response is JSON that fits the schema, 0 when it is no JSON; `partial` when it is JSON that does not.

    The JSON is the whole response, or its last closed code block. A key that comes twice, NaN, and nesting without end
    are no JSON. A schema may not point outside of itself: nothing is fetched. Needs the extra `text`.

    Example:
        >>> schema = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}
        >>> JsonSchemaReward(schema)(['{"age": 4}', '{"age": "four"}', "four"])
        [1.0, 0.0, 0.0]

    Hacked by: empty values of the right type. Say minLength, minItems, minimum in the schema.
    """

    schema: Mapping[str, Any] | str | bool | None = None
    """The JSON schema, as a mapping or as JSON text; None: each row's column `column` holds it."""
    column: str = "schema"
    """The column with the schema of a row, where none is given."""
    partial: float = 0.0
    """What JSON that does not fit scores."""

    _text: str = field(init=False, repr=False, compare=False)

    contract = Contract()

    def __post_init__(self) -> None:
        if not 0.0 <= self.partial <= 1.0:
            raise ConfigError(f"reward 'json_schema' needs partial from 0 to 1; found {self.partial}.")
        if self.schema is not None:
            self._text = _as_text(self.schema)
            _validator(self._text)
        else:
            self.contract = Contract(columns=(self.column,))

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        if self.schema is None and trajectory.metadata.get(self.column) is None:
            raise missing_column(self.name, self.column, trajectory)
        validator = _validator(_as_text(trajectory.metadata[self.column]) if self.schema is None else self._text)
        try:
            value = parse_json(find_json(trajectory.response))
        except NotJson as error:
            return RewardOutput(0.0, metadata={"json": False, "valid": False, "why": f"{error!s:.200}"})
        error = _first_error(validator, value)
        if not error:
            return RewardOutput(1.0, metadata={"json": True, "valid": True})
        return RewardOutput(self.partial, metadata={"json": True, "valid": False, "why": error})


def _first_error(validator: Any, value: Any) -> str:
    """What does not fit, and where; empty where all does."""
    if validator.is_valid(value):
        return ""
    try:
        error = next(iter(validator.iter_errors(value)))
    except (ValueError, StopIteration) as refused:  # nested deeper than it follows
        return f"{refused!s:.200}" or "it is nested too deep"
    where = "/".join(map(str, error.instance_path))
    return f"{'/' + where}: {error.message}"[:200]


def _as_text(schema: Any) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema, sort_keys=True, default=str)


@functools.lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    rust = require("jsonschema_rs", "text", "checking JSON against a schema")
    try:
        return rust.validator_for(parse_json(schema), retriever=_fetch_nothing)
    except ValueError as error:  # no JSON, or no schema
        first = str(error).strip().split("\n")[0]
        raise ConfigError(f"needed a JSON schema; found {schema:.80}: {first}") from None


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"a schema may not fetch {uri}; put it under $defs")
