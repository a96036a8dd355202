"""Human labels of a Run's rows: one JSON line each, as the page saves them and a script may write them.

    {"prompt": "What is 2 + 2?", "response": "4", "label": 1}

A row is found by `key`, where a line has one, or by its prompt and response. The last line for a row counts, and a
label of null takes an earlier one back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.analyze.table import Array, Table, key_of, numpy
from assay.errors import InputError
from assay.rollouts import Rollouts


def read_labels(path: Path) -> dict[int, float]:
    """The labels in a file, by the key of their row."""
    found: dict[int, float] = {}
    for number, record in enumerate(Rollouts(path), 1):
        label = record.get("label")
        if label is None and "label" in record:
            found.pop(label_key(record), None)
        elif isinstance(label, int | float):
            found[label_key(record)] = float(label)
        else:
            raise InputError(f"{path}, row {number}: needed a number in 'label'; found {label!r}.")
    return found


def label_key(record: Mapping[str, Any]) -> int:
    """The key of the row that a label is for; see `key_of`."""
    key = record.get("key")
    if isinstance(key, str):
        return int(key, 16)
    prompt, response = (text if isinstance(text := record.get(name), str) else "" for name in ("prompt", "response"))
    return key_of(prompt, response)


def labels_of(table: Table, path: Path) -> Array:
    """The label of each row; NaN where it has none."""
    np = numpy()
    labels = np.full(table.rows, np.nan)
    given = read_labels(path)
    if given:
        keys = np.array(sorted(given), dtype=np.uint64)
        place = np.searchsorted(keys, table.keys).clip(max=len(keys) - 1)
        known = keys[place] == table.keys
        labels[known] = np.array([given[int(key)] for key in keys])[place[known]]
    return labels


def labels_beside(run: Path) -> Path:
    """Where the labels of a Run are kept, unless somebody says another place."""
    return run.with_name(run.name + ".labels.jsonl")


def labels_if_any(table: Table, run: Path) -> Array | None:
    """The labels that lie beside a Run; None where there are none."""
    path = labels_beside(run)
    return labels_of(table, path) if path.exists() else None
