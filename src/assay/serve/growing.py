"""A Run that is measured in the background, from its first rows on, and followed while it is still being written."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from assay.analyze.attribution import Estimator
from assay.analyze.labels import labels_if_any
from assay.analyze.source import Source
from assay.analyze.study import study
from assay.analyze.table import Array, Assembly, Table
from assay.errors import AssayError, InputError
from assay.report.plain import study_as_data

FIRST = 1 << 20
"""Bytes that are measured before the page is shown at all."""

AGAIN = 10.0
"""Seconds between two studies of a Run that grows."""

MOST_FOUND = 20_000
"""How many rows a search finds, at most."""


@dataclass
class Growing:
    """The rows of a Run so far."""

    source: Source
    estimator: Estimator = "grpo"
    correctness: str | None = None
    found: dict[str, Any] | None = None
    """The study as data, once all rows so far were measured."""
    flags: dict[str, Array] = field(default_factory=dict[str, Any])
    """The columns `flags` and `suspicion`, once studied."""
    trouble: str = ""
    _whole: Assembly = field(default_factory=Assembly)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _complete: bool = False
    _file: int = 0
    _studied: int = 0

    @property
    def rows(self) -> int:
        """How many rows were measured."""
        return self._whole.rows

    @property
    def header(self) -> dict[str, Any]:
        """The Run's header, as far as it is written."""
        return dict(self._whole.header)

    @property
    def shape(self) -> dict[str, Any]:
        """How the components make the reward."""
        return dict(self._whole.header.get("shape") or self._whole.shape)

    def state(self) -> dict[str, Any]:
        """How far it is."""
        growing = self.source.growing or not self._complete
        return {
            "rows": self.rows,
            "growing": growing,
            "studied": self._studied,
            "trouble": self.trouble,
            "file": self._file,
        }

    def table(self, start: int = 0) -> Table:
        """The rows from `start` on, as columns."""
        with self._lock:
            return self._whole.table(start)

    def start(self) -> None:
        """Measure the first rows now, and the others in the background."""
        self._whole.header = self.source.header()
        self._file = self.source.identity()
        for chunk in self.source.more(FIRST):
            self._whole.add(chunk)
            break
        if not self.rows and not self.source.growing:
            raise InputError(f"{self.source.path} holds no rows.")
        threading.Thread(target=self._follow, daemon=True, name="assay-view").start()

    def stop(self) -> None:
        """Stop measuring."""
        self._stop.set()

    def _follow(self) -> None:
        studied_at = -AGAIN
        while not self._stop.is_set():
            try:
                self._notice_another_file()
                self._catch_up()
                self._complete = True
                due = time.monotonic() - studied_at > AGAIN or not self.source.growing
                if self.rows and self.rows != self._studied and due:
                    self._study()
                    studied_at = time.monotonic()
            except (AssayError, OSError) as error:  # a file that is being replaced: look again
                self.trouble = str(error)
            self._stop.wait(0.5 if self.source.growing else 2.0)

    def _notice_another_file(self) -> None:
        """Scored anew under the same name: what was measured is of rows that are gone."""
        now = self.source.identity()
        if self._file and now and now != self._file:
            with self._lock:
                self.source.forget()
                self._whole = Assembly(self.source.header())
                self.found, self.flags, self._studied = None, {}, 0
        self._file = now or self._file

    def _catch_up(self) -> None:
        left = self.source.left()
        if left < 8 << 20:
            for chunk in self.source.more():
                self._take(chunk)
            return
        # another process measures, so that this one can answer
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            for chunk in self.source.more_with(pool):
                self._take(chunk)
                if self._stop.is_set():
                    pool.shutdown(wait=False, cancel_futures=True)
                    return

    def _take(self, chunk: Any) -> None:
        with self._lock:
            self._whole.add(chunk)

    def _study(self) -> None:
        table = self.table()
        looked = study(table, self.estimator, self.correctness, labels_if_any(table, self.source.path))
        self.flags = {"flags": looked.flags.bits, "suspicion": looked.flags.suspicion}
        self.found = study_as_data(looked)
        self._studied = table.rows

    def search(self, text: str) -> dict[str, Any]:
        """The rows that hold a text, in any case, anywhere in them."""
        wanted = text.strip().lower()
        if not wanted:
            return {"rows": [], "note": ""}
        forms = {json.dumps(wanted, ensure_ascii=ascii_)[1:-1] for ascii_ in (True, False)}
        found: list[int] = []
        begun = time.monotonic()
        for number, line in self.source.lines():
            if any(form in line for form in forms):
                found.append(number)
            if len(found) >= MOST_FOUND:
                return {"rows": found, "note": f"the first {MOST_FOUND:,} rows that hold it"}
            if number % 1024 == 0 and time.monotonic() - begun > 20:
                return {"rows": found, "note": f"searched the first {number:,} rows in 20 seconds"}
        return {"rows": found, "note": ""}
