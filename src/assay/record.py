"""A Run on disk: a header, and one row for each trajectory with its output whole.

`RunWriter` writes parts, each whole or not at all, and joins them at the end into one JSONL or Parquet file with a
header beside it. `Run` reads that file back. A row is the rollout's own columns, then:

    reward    outcome    error    seconds    reward/<component> ...    detail (the whole output as JSON)
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from assay.errors import ConfigError, InputError, require
from assay.rollouts import Rollouts, Row
from assay.types import Outcome, RewardOutput, Trajectory

SCHEMA = 1
OWN_COLUMNS = ("reward", "outcome", "error", "seconds", "detail")


@dataclass
class RunWriter:
    """Writes a Run: `with RunWriter("scored.parquet", header) as run: run.write(rows, outputs)`."""

    path: Path
    header: Mapping[str, Any]
    count: int = 0
    _part: int = 0
    _renamed: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if self.path.suffix not in (".jsonl", ".parquet"):
            raise ConfigError(f"--output needs a name that ends in .jsonl or .parquet; found {str(self.path)!r}.")
        if self.path.suffix == ".parquet":
            require("polars", "report", "writing Parquet")
        self.parts = self.path.with_name(self.path.name + ".parts")

    def __enter__(self) -> RunWriter:
        shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir(parents=True)
        return self

    def __exit__(self, *exc: object) -> None:
        # also after Ctrl-C or an error: what is scored is kept
        if self.count:
            self._join()
            _write(header_path(self.path), json.dumps({**self.header, "schema": SCHEMA, "rows": self.count}, indent=1))
        shutil.rmtree(self.parts, ignore_errors=True)

    def write(self, rows: Sequence[Row], outputs: Sequence[RewardOutput]) -> None:
        """Write one part: rows and their outputs, in order."""
        records = [self._record(row, output) for row, output in zip(rows, outputs, strict=True)]
        part = self.parts / f"{self._part:08d}{self.path.suffix}"
        if self.path.suffix == ".jsonl":
            _write(part, "".join(to_json(record) + "\n" for record in records))
        else:
            polars = require("polars", "report", "writing Parquet")
            frame = polars.DataFrame([_flat(r) for r in records], infer_schema_length=None, strict=False)
            temporary = part.with_suffix(".tmp")
            frame.write_parquet(temporary)
            os.replace(temporary, part)
        self._part += 1
        self.count += len(records)

    def _record(self, row: Row, output: RewardOutput) -> dict[str, Any]:
        record = {(f"input/{k}" if k in OWN_COLUMNS or k.startswith("reward/") else k): v for k, v in row.items()}
        record["reward"] = output.reward
        record["outcome"] = str(output.outcome)
        record["error"] = output.error
        record["seconds"] = round(output.seconds, 9)
        for name, part in output.components.items():
            record[f"reward/{name}"] = part.reward
        record["detail"] = to_dict(output)
        return record

    def _join(self) -> None:
        parts = sorted(self.parts.glob(f"*{self.path.suffix}"))
        temporary = self.path.with_name(self.path.name + ".tmp")
        if self.path.suffix == ".jsonl":
            with temporary.open("wb") as out:
                for part in parts:
                    with part.open("rb") as file:
                        shutil.copyfileobj(file, out)
        else:
            polars = require("polars", "report", "writing Parquet")
            frames = [polars.scan_parquet(part) for part in parts]
            polars.concat(frames, how="diagonal_relaxed").sink_parquet(temporary)
        os.replace(temporary, self.path)


@dataclass
class Run:
    """A scored file, read back: `Run("scored.parquet")`. Iterate for `(trajectory, output)` pairs, in order."""

    path: str | Path

    @property
    def header(self) -> dict[str, Any]:
        """What was scored with what; empty where the header is not beside the file."""
        beside = header_path(Path(self.path))
        return json.loads(beside.read_text()) if beside.exists() else {}

    def rows(self) -> Iterator[Row]:
        """The rows as they stand in the file."""
        return iter(Rollouts(self.path))

    def __iter__(self) -> Iterator[tuple[Trajectory, RewardOutput]]:
        for row in self.rows():
            detail = row.get("detail")
            if detail is None:
                raise InputError(f"{self.path} is no scored file: it has no column 'detail'. Make one: assay score")
            own = {
                k.removeprefix("input/"): _maybe_json(v)
                for k, v in row.items()
                if k not in OWN_COLUMNS and not k.startswith("reward/")
            }
            yield Trajectory.of(own), from_dict(json.loads(detail) if isinstance(detail, str) else detail)


def header_path(path: Path) -> Path:
    """Where a Run's header lies: beside it."""
    return path.with_name(path.name + ".header.json")


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
    except (ValueError, RecursionError):
        return json.dumps(_sayable(value, 0), ensure_ascii=False, allow_nan=False, default=str)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(cast("set[Any]", value), key=str)
    return str(value)


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


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    # nested cells are JSON text in Parquet: their shape differs from row to row, a column's must not
    return {k: to_json(v) if isinstance(v, dict | list | tuple) else v for k, v in record.items()}


def _maybe_json(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "[{" and value[-1:] in "]}":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
