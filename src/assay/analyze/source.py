"""A Run's file as something to be read twice: once through for its columns, then row by row where somebody looks.

A Run that is still being written is a folder of parts; they are read in order as one file, and their rows keep their
numbers when the parts are joined.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.analyze.table import Chunk, Table, assemble, measure
from assay.errors import InputError, require
from assay.plain_data import to_json, unpacked
from assay.record import Run, check_scored, stopped_header
from assay.rollouts import Row

STRIDE = 1 << 22
"""Bytes of JSONL that are measured at a time."""

ROWS = 4_096
"""Rows of Parquet that are measured at a time."""

ALONE = 24 << 20
"""A file smaller than this is read by one process: a second one costs more to start than it saves."""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of a file that one process measures: bytes of JSONL, rows of Parquet."""

    file: Path
    base: int
    """Where the file begins in the whole."""
    start: int
    stop: int


@dataclass
class Source:
    """The rows of a Run on disk, by number."""

    path: Path
    offsets: list[int] = field(default_factory=list[int])
    """JSONL: where each row that was measured begins, in the parts as if they were one file."""
    done: int = 0
    """How far the measuring has come: bytes of JSONL, rows of Parquet."""

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        check_scored(self.path)

    @property
    def parquet(self) -> bool:
        """Whether the Run is Parquet; JSONL otherwise."""
        return self.path.suffix == ".parquet"

    def files(self) -> list[Path]:
        """The file, or the parts of one that is still being written."""
        if self.path.is_file():
            return [self.path]
        return sorted(self.path.with_name(self.path.name + ".parts").glob(f"*{self.path.suffix}"))

    @property
    def growing(self) -> bool:
        """Whether the Run is still being written."""
        return not self.path.is_file()

    def identity(self) -> int:
        """A number that is another one once another file stands in this one's place; 0 while it is being written."""
        return self.path.stat().st_ino if self.path.is_file() else 0

    def header(self) -> dict[str, Any]:
        """What the Run says of itself; of one that is still being written, what it said at its start."""
        return Run(self.path).header or stopped_header(self.path) or {}

    def forget(self) -> None:
        """Begin again: the file is another one."""
        self.offsets, self.done = [], 0

    def left(self) -> int:
        """How much has not been measured yet: bytes of JSONL, of Parquet an estimate of them."""
        size = sum(file.stat().st_size for file in self.files())
        return max(0, (self._total_rows() - self.done) * 1000) if self.parquet else size - self.done

    def more(self, stride: int = STRIDE) -> Iterator[Chunk]:
        """Measure what has not been measured yet, one chunk at a time."""
        for job in self._jobs(stride):
            chunk = self._took(job, _measure_job(job))
            if chunk.rows:
                yield chunk

    def more_with(self, pool: Executor) -> Iterator[Chunk]:
        """The same, measured by other processes; chunks come in order."""
        jobs = list(self._jobs(STRIDE))
        for job, measured in zip(jobs, pool.map(_measure_job, jobs), strict=True):
            chunk = self._took(job, measured)
            if chunk.rows:
                yield chunk

    def table(self, workers: int = 2) -> Table:
        """The whole Run as columns. A large file is measured by several processes."""
        header = self.header()
        if workers > 1 and self.left() > ALONE:
            # spawned, not forked: polars and numpy own threads that a fork would leave in the middle of something
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(workers, mp_context=context) as pool:
                table = assemble(self.more_with(pool), header) if self.left() else None
        else:
            table = assemble(self.more(), header) if self.left() else None
        if table is None or not table.rows:
            raise InputError(f"{self.path} holds no rows.")
        return table

    def _took(self, job: Job, measured: tuple[Chunk, list[int], int]) -> Chunk:
        chunk, starts, stop = measured
        self.offsets.extend(job.base + s for s in starts)
        self.done = max(self.done, job.base + stop)
        return chunk

    def _jobs(self, stride: int) -> Iterator[Job]:
        """The pieces that have not been measured, each for one process."""
        base = 0
        for file in self.files():
            size, step = (self._rows_in(file), ROWS) if self.parquet else (file.stat().st_size, stride)
            start = max(0, self.done - base)
            for at in range(start, size, step):
                yield Job(file, base, at, min(size, at + step))
            base += size

    def _rows_in(self, file: Path) -> int:
        polars = require("polars", "report", "reading Parquet")
        return int(polars.scan_parquet(file).select(polars.len()).collect().item())

    def _total_rows(self) -> int:
        return sum(map(self._rows_in, self.files()))

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """These rows, whole, in the order asked."""
        if self.parquet:
            return self._rows_of_parquet(numbers)
        found: dict[int, Row] = {}
        files = [(file, file.stat().st_size) for file in self.files()]
        for number in sorted(set(numbers)):
            at = self.offsets[number]
            for file, size in files:
                if at < size:
                    with file.open("rb") as handle:
                        handle.seek(at)
                        found[number] = json.loads(handle.readline())
                    break
                at -= size
        return [found[number] for number in numbers]

    def _rows_of_parquet(self, numbers: Sequence[int]) -> list[Row]:
        polars = require("polars", "report", "reading Parquet")
        frames = [polars.scan_parquet(file) for file in self.files()]
        whole = polars.concat(frames, how="diagonal_relaxed")
        found: dict[int, Row] = {}
        for first, last in _runs(sorted(set(numbers))):
            taken = map(unpacked, whole.slice(first, last - first + 1).collect().to_dicts())
            found |= dict(zip(range(first, last + 1), taken, strict=True))
        return [found[number] for number in numbers]

    def lines(self) -> Iterator[tuple[int, str]]:
        """All rows in order as JSON in lower case, to look for a text in."""
        if self.parquet:
            total = self.done
            for start in range(0, total, ROWS):
                numbers = range(start, min(total, start + ROWS))
                for number, row in zip(numbers, self.rows(numbers), strict=True):
                    yield number, to_json(row).lower()
            return
        number, at = 0, 0
        for file in self.files():
            with file.open("rb") as handle:
                for line in handle:
                    if number < len(self.offsets) and at == self.offsets[number]:
                        yield number, line.decode("utf-8", "replace").lower()
                        number += 1
                    at += len(line)


def _measure_job(job: Job) -> tuple[Chunk, list[int], int]:
    if job.file.suffix == ".parquet":
        polars = require("polars", "report", "reading Parquet")
        rows = polars.scan_parquet(job.file).slice(job.start, job.stop - job.start).collect().to_dicts()
        return measure(map(unpacked, rows)), [], job.stop
    lines, starts, end = _lines(job.file, job.start, job.stop)
    return measure(lines), starts, end


def _lines(file: Path, start: int, stop: int) -> tuple[list[Row], list[int], int]:
    """The rows whose lines begin in `[start, stop)`, where each begins, and where the next one would."""
    rows: list[Row] = []
    starts: list[int] = []
    with file.open("rb") as handle:
        if start > 0:
            handle.seek(start - 1)
            handle.readline()  # the rest of a line that began before: another piece has it
        at = handle.tell()
        while at < stop and (line := handle.readline()):
            if line.strip() and isinstance(row := _parsed(line), dict):
                rows.append(row)
                starts.append(at)
            at += len(line)
    return rows, starts, at


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None  # the last line of a file that is being written


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring numbers as (first, last)."""
    start = previous = None
    for number in numbers:
        if start is None or previous is None:
            start = number
        elif number > previous + 64:
            yield start, previous
            start = number
        previous = number
    if start is not None and previous is not None:
        yield start, previous
