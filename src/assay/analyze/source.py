"""A Run's file as something to be read twice: once through for its columns, then row by row where somebody looks.

A Run that is still being written is a folder of parts; they are read in order as one file, and their rows keep their
numbers when the parts are joined.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.analyze.table import Chunk, Table, assemble, measure
from assay.errors import InputError, did_you_mean, require
from assay.record import Run
from assay.rollouts import Row

STRIDE = 1 << 22
"""Bytes of JSONL that are measured at a time."""

ROWS = 4_096
"""Rows of Parquet that are measured at a time."""

ALONE = 24 << 20
"""A file smaller than this is read by one process: a second one costs more to start than it saves."""


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
        if not self.files():
            around = [p.name for p in self.path.parent.iterdir()] if self.path.parent.is_dir() else []
            raise InputError(f"there is no scored file {self.path}.{did_you_mean(self.path.name, around)}")

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

    def more(self) -> Iterator[Chunk]:
        """Measure what has not been measured yet, one chunk at a time."""
        if self.parquet:
            yield from self._more_parquet()
            return
        base = 0
        for file in self.files():
            end = base + file.stat().st_size
            while self.done < end:
                lines, starts, stop = _lines(file, self.done - base, self.done - base + STRIDE)
                self.offsets.extend(base + s for s in starts)
                self.done = base + stop if stop > self.done - base else end
                if lines:
                    yield measure(lines)
            base = end

    def _more_parquet(self) -> Iterator[Chunk]:
        polars = require("polars", "report", "reading Parquet")
        frames = [polars.scan_parquet(file) for file in self.files()]
        whole = polars.concat(frames, how="diagonal_relaxed")
        total = int(whole.select(polars.len()).collect().item())
        while self.done < total:
            rows = whole.slice(self.done, ROWS).collect().to_dicts()
            self.done += len(rows)
            yield measure(rows)

    def table(self, workers: int = 2) -> Table:
        """The whole Run as columns. A large file is measured by several processes."""
        size = sum(file.stat().st_size for file in self.files())
        if workers > 1 and size > ALONE:
            chunks = self._measured_by(workers)
        else:
            chunks = list(self.more())
        if not chunks:
            raise InputError(f"{self.path} holds no rows.")
        return assemble(chunks, Run(self.path).header)

    def _measured_by(self, workers: int) -> list[Chunk]:
        jobs = self._jobs()
        # spawned, not forked: polars and numpy own threads that a fork would leave in the middle of something
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            measured = list(pool.map(_measure_job, jobs))
        chunks = [chunk for chunk, _, _ in measured]
        for (_, starts, stop), (_, base, _, _) in zip(measured, jobs, strict=True):
            self.offsets.extend(base + s for s in starts)
            self.done = max(self.done, base + stop)
        return [chunk for chunk in chunks if chunk.rows]

    def _jobs(self) -> list[tuple[Path, int, int, int]]:
        """(file, where it begins in the whole, from, to): pieces that one process measures."""
        jobs: list[tuple[Path, int, int, int]] = []
        base = 0
        for file in self.files():
            if self.parquet:
                polars = require("polars", "report", "reading Parquet")
                size, step = int(polars.scan_parquet(file).select(polars.len()).collect().item()), ROWS
            else:
                size, step = file.stat().st_size, STRIDE
            jobs += [(file, base, at, min(size, at + step)) for at in range(0, size, step)]
            base += size
        return jobs

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
            taken = whole.slice(first, last - first + 1).collect().to_dicts()
            found |= dict(zip(range(first, last + 1), taken, strict=True))
        return [found[number] for number in numbers]

    def texts(self, size: int = 512) -> Iterator[tuple[int, list[Row]]]:
        """All rows in order, some at a time, with the number of the first."""
        total = self.done if self.parquet else len(self.offsets)
        for start in range(0, total, size):
            yield start, self.rows(range(start, min(total, start + size)))


def _measure_job(job: tuple[Path, int, int, int]) -> tuple[Chunk, list[int], int]:
    file, _, start, stop = job
    if file.suffix == ".parquet":
        polars = require("polars", "report", "reading Parquet")
        rows = polars.scan_parquet(file).slice(start, stop - start).collect().to_dicts()
        return measure(rows), [], stop
    lines, starts, end = _lines(file, start, stop)
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
