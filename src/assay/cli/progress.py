"""Long work shows how far it is: a bar on a terminal, a plain line now and then elsewhere; and what it passed over."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from assay.report.terminal import console

EVERY = 5.0
"""Seconds between two plain lines."""

SILENCE = 10.0
"""Seconds without a row, after which a hint is given once."""


def tell_broken(broken: Sequence[str]) -> None:
    """Say which rows of a file were passed over: the first of them, and how many there are."""
    for line in broken[:5]:
        print(f"assay: {line}", file=sys.stderr)
    if len(broken) > 5:
        print(f"assay: and {len(broken) - 5:,} more rows that could not be read", file=sys.stderr)


class Counted:
    """`with Counted(total) as progress: progress.advance(rows)`; to standard error."""

    def __init__(self, total: int | None, what: str = "scored", quiet: bool = False, if_stuck: str = "") -> None:
        self.total, self.what, self.done = total, what, 0
        self.if_stuck = if_stuck
        """What to say where nothing comes back for a while."""
        self._ended = threading.Event()
        self.started = self.told = time.perf_counter()
        self.quiet = quiet
        self.bar = self._bar() if sys.stderr.isatty() and not quiet else None

    def _bar(self) -> Progress:
        columns = ("{task.description}", BarColumn(), TextColumn("{task.completed:,} of {task.fields[of]}"))
        return Progress(
            *columns, TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), console=console(stderr=True)
        )

    def __enter__(self) -> Counted:
        if self.bar:
            self.bar.start()
            of = f"{self.total:,}" if self.total else "?"
            self.task = self.bar.add_task(self.what, total=self.total, rate="", of=of)
        if self.if_stuck:
            threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._ended.set()
        if self.bar:
            self.bar.stop()
        elif not self.quiet and (self.done or error is None):
            self._tell(last=error is None)

    def _watch(self) -> None:
        seen = 0
        while not self._ended.wait(SILENCE):
            if seen == self.done:
                if self.bar:
                    self.bar.console.print(self.if_stuck)
                else:
                    print(self.if_stuck, file=sys.stderr)
                return
            seen = self.done

    @property
    def rate(self) -> float:
        """Rows a second since the start."""
        return self.done / max(1e-9, time.perf_counter() - self.started)

    def advance(self, rows: int) -> None:
        """So many rows more are done."""
        self.done += rows
        if self.bar:
            self.bar.update(self.task, advance=rows, rate=f"{self.rate:,.0f}/s")
        elif not self.quiet and time.perf_counter() - self.told > EVERY:
            self._tell()

    def _tell(self, last: bool = False) -> None:
        self.told = time.perf_counter()
        # the total is a count of lines, and a line may be blank or broken: at the end it says nothing
        total = self.total if not last or self.done == self.total else None
        of = f" of {total:,}" if total else ""
        left = f", {(total - self.done) / self.rate:,.0f} s left" if total and 0 < self.done < total else ""
        print(f"{self.what} {self.done:,}{of} rows, {self.rate:,.0f}/s{left}", file=sys.stderr)
