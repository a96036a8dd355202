"""A Run on disk: a header, and one row for each trajectory with its output whole.

`RunWriter` writes parts, each whole or not at all, and joins them at the end into one JSONL or Parquet file with a
header beside it. `Run` reads that file back. A row is the rollout's own columns, then:

    reward    outcome    error    seconds    reward/<component> ...    lineage    detail (the whole output as JSON)
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.compose.lineage import lineage
from assay.errors import ConfigError, InputError, did_you_mean, require
from assay.plain_data import flat, frame, from_dict, line_of, to_dict, unpacked
from assay.reward import RewardFunction
from assay.rollouts import Rollouts, Row
from assay.types import RewardOutput, Trajectory

SCHEMA = 1
ROW_GROUP = 1 << 26
"""Bytes of the rows that go into one row group of a Parquet file."""
OWN_COLUMNS = ("reward", "outcome", "error", "seconds", "lineage", "detail")


@dataclass
class RunWriter:
    """Writes a Run: `with RunWriter("scored.parquet", header) as run: run.write(rows, outputs)`.

    With `resume=True` it goes on where an earlier one was stopped, by whatever way: `done` rows are there already.
    """

    path: Path
    header: Mapping[str, Any]
    resume: bool = False
    reward: RewardFunction | None = None
    """Its lineage is written with each row, and its state (running means) with each part."""
    count: int = 0
    done: int = 0
    """Rows that an earlier run has written."""
    _part: int = 0
    _largest: int = 0
    """Bytes of a row, in the part where rows are largest."""

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if self.path.suffix not in (".jsonl", ".parquet"):
            raise ConfigError(f"--output needs a name that ends in .jsonl or .parquet; found {str(self.path)!r}.")
        if self.path.suffix == ".parquet":
            require("polars", "report", "writing Parquet")
        self.parts = self.path.with_name(self.path.name + ".parts")

    def __enter__(self) -> RunWriter:
        found = self.resume and self._find_parts()
        if not found:
            shutil.rmtree(self.parts, ignore_errors=True)
            self.parts.mkdir(parents=True)
            _write(self.parts / "header.json", json.dumps(self.header, indent=1))
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        # also after Ctrl-C or an error: what is scored is kept, and the parts too, so that it can be resumed
        if self.count:
            self._join()
            ended = {"schema": SCHEMA, "rows": self.count, "complete": kind is None}
            _write(header_path(self.path), json.dumps({**self.header, **ended}, indent=1))
        if kind is None or not self.count:
            _remove(self.parts)

    def _find_parts(self) -> bool:
        if not (self.parts / "header.json").exists():
            return False
        for left in self.parts.glob("*.tmp"):  # it was writing this when it was stopped
            left.unlink()
        numbers = sorted(_numbered(part) for part in self.parts.glob(f"*{self.path.suffix}"))
        if [number for number, _ in numbers] != list(range(len(numbers))):
            raise InputError(f"{self.parts} lacks parts in the middle; it cannot be resumed. Score anew: no --resume.")
        self.done = self.count = sum(rows for _, rows in numbers)
        self._part = len(numbers)
        state = self.parts / f"{self._part - 1:08d}.state.json"
        if self.reward is not None and state.exists():
            _load_states(self.reward, json.loads(state.read_text()))
        return True

    def settle_header(self) -> None:
        """From now on the parts are of this header's reward."""
        _write(self.parts / "header.json", json.dumps(self.header, indent=1))

    def written(self) -> Iterator[tuple[Path, list[tuple[Row, Trajectory, RewardOutput]]]]:
        """The parts of an earlier run with their rows, to be scored again in part."""
        for part in sorted(self.parts.glob(f"*{self.path.suffix}")):
            rows = list(_rows(part))
            yield part, [(_own(row), Trajectory.of(_own(row)), output_of(row, part)) for row in rows]

    def rewrite(self, part: Path, rows: Sequence[Row], outputs: Sequence[RewardOutput]) -> None:
        """Put other outputs in the place of a part's."""
        self._write_part(part, [self._record(row, output) for row, output in zip(rows, outputs, strict=True)])

    def write(self, rows: Sequence[Row], outputs: Sequence[RewardOutput]) -> None:
        """Write one part: rows and their outputs, in order."""
        records = [self._record(row, output) for row, output in zip(rows, outputs, strict=True)]
        if self.reward is not None and (states := states_of(self.reward)):
            _write(self.parts / f"{self._part:08d}.state.json", json.dumps(states))
        self._write_part(self.parts / f"{self._part:08d}-{len(records)}{self.path.suffix}", records)
        self._part += 1
        self.count += len(records)

    def _write_part(self, part: Path, records: Sequence[Row]) -> None:
        if self.path.suffix == ".jsonl":
            _write(part, "".join(line_of(record) for record in records))
            return
        polars = require("polars", "report", "writing Parquet")
        table = frame(polars, [flat(r) for r in records])
        self._largest = max(self._largest, int(table.estimated_size()) // max(1, table.height))
        temporary = part.with_suffix(".tmp")
        table.write_parquet(temporary)
        os.replace(temporary, part)

    def _record(self, row: Row, output: RewardOutput) -> dict[str, Any]:
        record = {
            (f"input/{k}" if k in OWN_COLUMNS or k.startswith(("reward/", "input/")) else k): v for k, v in row.items()
        }
        record["reward"] = output.reward
        record["outcome"] = str(output.outcome)
        record["error"] = output.error
        record["seconds"] = round(output.seconds, 9)
        for name, part in output.components.items():
            record[f"reward/{name}"] = part.reward
        if self.reward is not None and output.components:
            record["lineage"] = lineage(self.reward, output)
        record["detail"] = to_dict(output)
        return record

    def _join(self) -> None:
        temporary = self.path.with_name(self.path.name + ".tmp")
        try:
            self._joined(temporary)
        except OSError:  # the disk is full: half of a copy helps nobody, the parts stay
            temporary.unlink(missing_ok=True)
            raise
        os.replace(temporary, self.path)

    def _joined(self, temporary: Path) -> None:
        parts = sorted(self.parts.glob(f"*{self.path.suffix}"))
        if self.path.suffix == ".jsonl":
            with temporary.open("wb") as out:
                for part in parts:
                    with part.open("rb") as file:
                        shutil.copyfileobj(file, out)
        else:
            polars = require("polars", "report", "writing Parquet")
            frames = [polars.scan_parquet(part) for part in parts]
            whole = polars.concat(frames, how="diagonal_relaxed")
            whole.sink_parquet(temporary, row_group_size=self._rows_together())

    def _rows_together(self) -> int:
        """Rows of one row group: of large rows few, for whole groups are held in memory."""
        return min(1 << 17, max(16, ROW_GROUP // max(1, self._largest)))


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
        return _rows(Path(self.path))

    def __iter__(self) -> Iterator[tuple[Trajectory, RewardOutput]]:
        for row in self.rows():
            yield Trajectory.of(_own(row)), output_of(row, self.path)

    def scored_rows(self) -> Iterator[tuple[Row, RewardOutput]]:
        """The rollouts' own columns, and the output of each."""
        for row in self.rows():
            yield _own(row), output_of(row, self.path)


NO_RUN = "Make one: assay score ROLLOUTS --reward ... --output scored.parquet"


def check_scored(path: Path) -> None:
    """Raise where there is no Run at a path: nothing, a folder, or another kind of file. Reads the first row only."""
    if path.is_dir():
        raise InputError(f"{path} is a directory; needed a scored file. {NO_RUN}")
    if not path.is_file():
        if any(path.with_name(path.name + ".parts").glob("*")):
            return  # it is being written
        around = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"there is no scored file {path}.{did_you_mean(path.name, around)}")
    if path.suffix == ".parquet" and not is_whole_parquet(path):
        raise InputError(f"{path} is no whole Parquet file; needed a scored file. {NO_RUN}")
    try:
        columns = Rollouts(path).columns()
    except InputError:
        raise InputError(f"{path} is no scored file. {NO_RUN}") from None
    if "detail" not in columns:
        raise InputError(f"{path} is no scored file: its rows have {columns[:8]} and no 'detail'. {NO_RUN}")


def is_whole_parquet(path: Path) -> bool:
    """Whether the mark of Parquet stands at both ends: a file that was cut has lost the second."""
    with path.open("rb") as file:
        begins = file.read(4)
        file.seek(max(0, path.stat().st_size - 4))
        return begins == file.read(4) == b"PAR1"


def output_of(row: Row, path: str | Path) -> RewardOutput:
    """The output that a row of a Run carries."""
    detail = row.get("detail")
    if detail is None:
        raise InputError(f"{path} is no scored file: it has no column 'detail'. {NO_RUN}")
    return from_dict(json.loads(detail) if isinstance(detail, str) else detail)


def _rows(path: Path) -> Iterator[Row]:
    rows = iter(Rollouts(path))
    return map(unpacked, rows) if path.suffix == ".parquet" else rows


def _own(row: Row) -> Row:
    """The rollout's own columns."""
    return {k.removeprefix("input/"): v for k, v in row.items() if k not in OWN_COLUMNS and not k.startswith("reward/")}


def _numbered(part: Path) -> tuple[int, int]:
    number, _, rows = part.stem.partition("-")
    return int(number), int(rows)


def states_of(reward: RewardFunction, path: str = "") -> dict[str, Any]:
    """What the parts of a reward have to remember from one batch to the next, by path."""
    found: dict[str, Any] = {}
    if callable(save := getattr(reward, "state_dict", None)):
        found[path] = save()
    for name, child in getattr(reward, "children", {}).items():
        found.update(states_of(child, f"{path}/{name}"))
    return found


def _load_states(reward: RewardFunction, states: Mapping[str, Any], path: str = "") -> None:
    if path in states and callable(load := getattr(reward, "load_state_dict", None)):
        load(states[path])
    for name, child in getattr(reward, "children", {}).items():
        _load_states(child, states, f"{path}/{name}")


def _remove(parts: Path) -> None:
    """Take a folder of parts away at once: half a folder would look like a run that was stopped."""
    gone = parts.with_name(parts.name + ".gone")
    shutil.rmtree(gone, ignore_errors=True)
    if parts.exists():
        os.replace(parts, gone)
    shutil.rmtree(gone, ignore_errors=True)


def stopped_header(path: Path) -> dict[str, Any] | None:
    """The header of a run to this file that was stopped; None where there is none."""
    found = path.with_name(path.name + ".parts") / "header.json"
    return json.loads(found.read_text()) if found.exists() else None


def header_path(path: Path) -> Path:
    """Where a Run's header lies: beside it."""
    return path.with_name(path.name + ".header.json")


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
