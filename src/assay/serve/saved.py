"""What somebody says of a Run's rows while they look at it: labels, and rows made into tests, kept beside the Run."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.analyze.labels import labels_of
from assay.analyze.source import Source
from assay.analyze.table import Table, key_of, trajectory_of
from assay.errors import AssayError
from assay.plain_data import to_json
from assay.record import OWN_COLUMNS

ADDED = frozenset({*OWN_COLUMNS, "lineage"})
"""Columns that the scoring added to a row; a test has none of them."""


@dataclass
class Saved:
    """The two files, and the one writer of them."""

    source: Source
    labels: Path
    cases: Path
    _saving: threading.Lock = field(default_factory=threading.Lock)

    def label(self, row: int, label: float | None) -> str:
        """Keep a label; None takes an earlier one back. Says what was done."""
        t = trajectory_of(self.source.rows([row])[0])
        record: dict[str, Any] = {
            "row": row + 1,
            "group": t.group or None,
            "key": f"{key_of(t.prompt, t.response):016x}",
        }
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        record |= {"prompt": t.prompt, "response": t.response, "label": label, "at": now}
        return self._append(self.labels, record)

    def case(self, row: int, expected: float) -> str:
        """Keep a row, whole, with the score that it should get."""
        given = self.source.rows([row])[0]
        own = {
            name.removeprefix("input/"): value
            for name, value in given.items()
            if name not in ADDED and not name.startswith("reward/")
        }
        return self._append(self.cases, {**own, "expected": expected})

    def given(self, table: Table) -> list[tuple[int, float]]:
        """The rows that have a label, and the labels."""
        if not self.labels.exists():
            return []
        try:
            labels = labels_of(table, self.labels)
        except (AssayError, OSError, ValueError):
            return []  # a file that somebody else writes: the page works without it
        return [(int(row), float(labels[row])) for row in (labels == labels).nonzero()[0]]

    def _append(self, path: Path, record: Mapping[str, Any]) -> str:
        with self._saving:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="replace") as file:
                file.write(to_json(record) + "\n")
        return f"written to {path}"
