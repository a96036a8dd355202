"""Rollouts on disk, read as a stream: JSONL (also gzipped), a JSON array, or Parquet. A broken line is told and passed
over.

Memory does not grow with the file: rows come in chunks, and a chunk never cuts through neighbours of one group.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final, cast

from assay.calling import ALIASES
from assay.errors import InputError, did_you_mean, require
from assay.types import Trajectory, answered

Row = dict[str, Any]

CHUNK_CHARACTERS: Final = 1 << 26
"""Characters of prompts and responses in one chunk."""


@dataclass
class Rollouts:
    """A file of rollouts. Iterate to get its rows; `broken` fills up with the lines that could not be read.

    Example: `for row in Rollouts("rollouts.jsonl", rename={"solution": "ground_truth"}): ...`
    """

    path: str | Path
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    """Column in the file -> the name that the reward knows it by."""
    limit: int | None = None
    to_score: bool = False
    """Whether the rows are to be scored by what came back: then those that hold no response are broken, too."""
    broken: list[str] = field(default_factory=list[str])

    def __iter__(self) -> Iterator[Row]:
        good = 0
        for n, row in enumerate(self._rows(), 1):
            if self.limit is not None and good >= self.limit:
                return
            if n == 1:
                self._check_rename(row)
            row = renamed(row, self.rename)
            if self.to_score and (trouble := why_not_scored(row)):
                if n == 1:
                    self._check_response(row)
                self.broken.append(f"{self._name()}, row {n}: {trouble}")
                continue
            good += 1
            yield row
        if not good and self.broken:
            raise InputError(f"{self._name()} holds no row that can be scored. The first trouble: {self.broken[0]}")

    def _name(self) -> str:
        return "standard input" if str(self.path) == "-" else str(self.path)

    def _check_response(self, first: Row) -> None:
        """Raise where it looks like a file without a response, and not like a row without one."""
        if any(column in first for column in ("response", "completion", "messages")):
            return
        near = next((name for name in ALIASES["response"] if name in first), "")
        advice = (
            f"Rename it: --rename {near}=response" if near else "Rename the column that it is: --rename NAME=response"
        )
        raise InputError(f"the first row of {self._name()} has no 'response'; it has {list(first)}. {advice}")

    def _check_rename(self, first: Row) -> None:
        for column, name in self.rename.items():
            if column not in first:
                raise InputError(
                    f"--rename {column}={name}: the first row of {self.path} has no column {column!r}; it has "
                    f"{list(first)}.{did_you_mean(column, first)} (The form is --rename COLUMN_IN_THE_FILE=NAME.)"
                )

    def columns(self) -> list[str]:
        """The columns of the first row; nothing more is read."""
        if _is_parquet(path := _existing(self.path)):
            with _parquet(path) as polars:
                return list(polars.scan_parquet(path).collect_schema().names())
        return list(next(self._rows(), ()))

    @property
    def packed(self) -> bool:
        """Whether the file is gzipped: it can be read from its beginning only."""
        return not self._is_stream() and _is_gzip(_existing(self.path))

    def size(self) -> int | None:
        """How many rows there are, where that is cheap to know; for a progress bar."""
        if self._is_stream():
            return self.limit
        path = _existing(self.path)
        if _is_parquet(path):
            with _parquet(path) as polars:
                rows = int(polars.scan_parquet(path).select(polars.len()).collect().item())
        elif self.packed:
            return self.limit
        else:
            with path.open("rb") as file:
                rows = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        return rows if self.limit is None else min(rows, self.limit)

    def _is_stream(self) -> bool:
        """Whether it can be read only once: standard input, a pipe as of `<(zcat rollouts.jsonl.gz)`."""
        path = Path(self.path)
        return str(path) == "-" or path.is_fifo() or path.is_char_device()

    def _rows(self) -> Iterator[Row]:
        if str(self.path) == "-":
            return self._lines(sys.stdin.buffer, self._name())
        path = _existing(self.path)
        if self._is_stream():
            return self._file_lines(path.open("rb"))
        if _is_parquet(path):
            return _parquet_rows(path)
        first = _beginning(path)
        if not first:
            raise InputError(f"{path} is empty; needed one JSON object a line.")
        if b"\0" in first:
            raise InputError(f"{path} is not text; needed JSONL (one JSON object a line) or Parquet.")
        if _looks_like_csv(first):
            raise InputError(
                f"{path} looks like CSV; needed JSONL (one JSON object a line) or Parquet. This makes it: "
                f"python -c \"import polars; polars.read_csv('{path}').write_ndjson('{path.with_suffix('.jsonl')}')\""
            )
        return _json_array(path) if first[:1] == b"[" else self._file_lines(_opened(path))

    def _file_lines(self, opened: BufferedIOBase) -> Iterator[Row]:
        with opened as file:
            try:
                yield from self._lines(file, self._name())
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                self.broken.append(
                    f"{self._name()}: the compressed file is cut or damaged, and what follows is not read ({error})"
                )

    def _lines(self, file: Iterable[bytes], where: str) -> Iterator[Row]:
        good = 0
        for number, line in enumerate(file, 1):
            if line.strip() and (row := read_line(line, f"{where}, line {number}", self.broken)) is not None:
                good += 1
                yield row
        if not good:
            first = f" The first trouble: {self.broken[0]}" if self.broken else ""
            raise InputError(f"{where} holds no rows; needed one JSON object a line.{first}")


def read_line(line: bytes, where: str, broken: list[str]) -> Row | None:
    """The row of one line of JSONL; one that cannot be read is told in `broken`."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        broken.append(f"{where}: {_not_json(error)}")
        return None
    if not isinstance(row, dict):
        broken.append(f"{where}: needed an object {{...}}, found {type(row).__name__}")
        return None
    return cast("Row", row)


def why_not_scored(row: Row) -> str:
    """What is wrong with a row that cannot be scored; '' where nothing is."""
    if type(row.get("response")) is str and type(row.get("prompt", "")) is str and "messages" not in row:
        return ""
    try:
        answered(row)
    except TypeError as error:
        return str(error)
    return ""


def whole_rows(path: str | Path) -> Iterator[Row]:
    """The rows of a file of which none may be left out, such as labels: a broken line is an error."""
    rollouts = Rollouts(path)
    for row in rollouts:
        if rollouts.broken:
            break
        yield row
    if rollouts.broken:
        raise InputError(rollouts.broken[0])


def chunks(rows: Iterable[Row], size: int | Callable[[], int]) -> Iterator[list[tuple[Row, Trajectory]]]:
    """Rows with their trajectories, about `size` at a time (asked anew for each chunk); groups' neighbours stay
    together. Of rows that are large there are fewer, so that a chunk is not much more than `CHUNK_CHARACTERS`."""
    chunk: list[tuple[Row, Trajectory]] = []
    ask = size if callable(size) else lambda: size
    most, held = ask(), 0
    for row in rows:
        t = Trajectory.of(row)
        full = max(len(chunk) / most, held / CHUNK_CHARACTERS)
        if full >= 1 and (full >= 8 or t.group_id != chunk[-1][1].group_id):
            yield chunk
            chunk, most, held = [], ask(), 0
        chunk.append((row, t))
        held += len(t.prompt) + len(t.response)
    if chunk:
        yield chunk


def _existing(given: str | Path) -> Path:
    path = Path(given)
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in (".jsonl", ".parquet", ".json"))
        hint = f"; it holds {', '.join(inside[:5])}" if inside else ""
        raise InputError(f"{path} is a directory; needed a JSONL or Parquet file{hint}.")
    if not path.exists():
        around = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"there is no file {path}.{did_you_mean(path.name, around)}")
    return path


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _opened(path: Path) -> BufferedIOBase:
    return gzip.open(path, "rb") if _is_gzip(path) else path.open("rb")


def _beginning(path: Path) -> bytes:
    with _opened(path) as file:
        try:
            return file.read(1 << 16).removeprefix(codecs.BOM_UTF8).lstrip()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path} begins like gzip but cannot be unpacked: {error}") from error


def _looks_like_csv(first: bytes) -> bool:
    """Whether the first line is no JSON but names of columns, and the second has as many cells."""
    if first[:1] in b"[{":
        return False
    lines = first.decode("utf-8", "replace").splitlines()[:2]
    try:
        rows = list(csv.reader(lines))
    except csv.Error:
        return False
    return len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1


def _not_json(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg} at character {error.pos + 1})"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1})"
    return f"not JSON ({error})"


@contextmanager
def _parquet(path: Path) -> Generator[Any]:
    polars = require("polars", "report", "reading Parquet")
    try:
        yield polars
    except polars.exceptions.PolarsError as error:
        raise InputError(f"{path} begins like Parquet but cannot be read: {error}") from error


def _parquet_rows(path: Path) -> Iterator[Row]:
    with _parquet(path) as polars:
        for frame in polars.scan_parquet(path).collect_batches(chunk_size=4096, maintain_order=True):
            yield from frame.iter_rows(named=True)


def _json_array(path: Path) -> Iterator[Row]:
    try:
        with _opened(path) as file:
            rows = json.load(file)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} begins like a JSON array but is none: {_not_json(error)}") from error
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}, item {number}: needed an object {{...}}, found {type(row).__name__}")
        yield row


def renamed(row: Row, rename: Mapping[str, str]) -> Row:
    """A row with its columns by the names that the reward knows."""
    return {rename.get(column, column): value for column, value in row.items()} if rename else row
