"""A Run as columns: numbers for every row, and where its text lies. Every finding is computed from one of these.

A row costs some 150 bytes here whatever its text weighs, so a million rows fit; texts are read again when somebody
looks at them (`assay.analyze.source`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from assay.analyze.features import BITS, NUMBERS, features_of, turns_of
from assay.analyze.nearby import signature
from assay.analyze.tree import ABSENT, GATED, inferred_shape, leaves, node_values
from assay.errors import require
from assay.record import OWN_COLUMNS
from assay.rollouts import Row
from assay.types import Outcome, Trajectory

Array: TypeAlias = Any
"""A numpy array; numpy is of the extra `report` and imported late."""

OUTCOMES = tuple(str(o) for o in Outcome)
"""An outcome's code is its place here."""

STATES = (*OUTCOMES, "gated", "absent")
"""The state of a component: an outcome, or not asked because a gate was shut, or not stored for this row."""

MAX_COLUMNS = 12
"""How many of the rollouts' own numeric columns are kept, at most."""


@dataclass(slots=True)
class Part:
    """One component over all rows."""

    value: Array
    """Float64; NaN where it was not scored."""
    state: Array
    """Uint8; the place in `STATES`."""


@dataclass(slots=True)
class Complaint:
    """One reason that a component gave for taking something off, and where."""

    part: str
    reason: str
    count: int = 0
    rows: list[int] = field(default_factory=list[int])
    """The first five."""


@dataclass
class Table:
    """A Run as columns."""

    reward: Array
    """Float64; NaN where the row was not scored."""
    outcome: Array
    """Uint8; the place in `OUTCOMES`."""
    seconds: Array
    step: Array
    """Int32; -1 where the row has no step."""
    group: Array
    """Int32; the place in `groups`."""
    groups: list[str]
    """A short name for each group: its id, or the beginning of its prompt."""
    parts: dict[str, Part]
    """Each component by its path: `format`, or `weighted/format` where composites are nested."""
    numbers: dict[str, Array]
    """Each of `NUMBERS`, float32."""
    bits: Array
    """Uint32; which of `BITS` hold."""
    signatures: Array
    """Uint32, one row of 16 for each response: a MinHash of its text."""
    own: dict[str, Array]
    """The rollouts' own numeric columns, float64; NaN where a row has none."""
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    """Why rows or components were not scored, and how often."""
    complaints: dict[str, Complaint] = field(default_factory=lambda: dict[str, Complaint]())
    """What components said of rows that they gave less than 1, with the numbers left out."""
    header: dict[str, Any] = field(default_factory=dict[str, Any])
    shape: dict[str, Any] = field(default_factory=dict[str, Any])
    """How the components make the reward; see `assay.analyze.tree`."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.reward)

    @property
    def scored(self) -> Array:
        """Where there is a number."""
        return self.reward == self.reward

    def bit(self, name: str) -> Array:
        """Where a kind or a mark of `BITS` holds."""
        return (self.bits >> BITS.index(name)) & 1 == 1

    def weights(self) -> dict[str, float]:
        """The configured weight of each component, where the Run says it."""
        return {path: weight for path, weight in leaves(self.shape).items() if path in self.parts}

    def members(self) -> list[Array]:
        """The row numbers of each group, in the order of `groups`."""
        np = numpy()
        order = np.argsort(self.group, kind="stable")
        cuts = np.searchsorted(self.group[order], np.arange(1, len(self.groups)))
        return np.split(order, cuts) if len(self.groups) else []


def numpy() -> Any:
    """Numpy, or the line that installs it."""
    return require("numpy", "report", "analysing a Run")


@dataclass
class Chunk:
    """Some rows measured, small enough to be sent from one process to another."""

    columns: dict[str, list[Any]]
    groups: dict[bytes, str]
    reasons: dict[str, int]
    complaints: dict[str, Complaint]
    shape: dict[str, Any]


def measure(rows: Iterable[Row]) -> Chunk:
    """Measure rows: everything that has to look at a row as a whole happens here, once."""
    found = _Columns()
    for row in rows:
        found.add(row)
    return Chunk(found.columns, found.groups, found.reasons, found.complaints, found.shape)


class _Columns:
    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in _PLAIN}
        self.groups: dict[bytes, str] = {}
        self.reasons: dict[str, int] = {}
        self.complaints: dict[str, Complaint] = {}
        self.shape: dict[str, Any] = {}
        self.rows = 0

    def add(self, row: Row) -> None:
        detail = detail_of(row)
        t = trajectory_of(row)
        found = features_of(t.prompt, t.response, t.ground_truth, turns_of(row) if t.messages else 1)
        name = t.group_id
        key = blake2b(name.encode("utf-8", "replace"), digest_size=12).digest()
        self.groups.setdefault(key, " ".join(name[:400].split())[:160])
        step = t.metadata.get("step")
        add = self.columns
        add["reward"].append(detail["reward"])
        add["outcome"].append(_CODES[detail["outcome"]])
        add["seconds"].append(detail.get("seconds", 0.0))
        add["step"].append(int(step) if isinstance(step, int | float) and step == step else -1)
        add["group"].append(key)
        add["numbers"].append(found.numbers)
        add["bits"].append(found.bits)
        add["signature"].append(signature(t.response))
        if detail["reward"] is None:
            self._note(detail.get("error") or "no reward given")
        components = detail.get("components")
        if components:
            for path, cell in node_values(detail).items():
                self._put(f"part/{path}", cell, (None, ABSENT))
            self._complain(components, "")
            if self.rows < 8 or self.rows % 64 == 0:
                self.shape = max(self.shape, inferred_shape(detail), key=_size)
        for column, value in t.metadata.items():
            if isinstance(value, int | float) and column != "step":
                self._put(f"own/{column}", float(value), None)
        self.rows += 1

    def _put(self, column: str, value: Any, nothing: Any) -> None:
        cells = self.columns.get(column)
        if cells is None:
            cells = self.columns[column] = []
        cells.extend([nothing] * (self.rows - len(cells)))
        cells.append(value)

    def _complain(self, components: Mapping[str, Any], above: str) -> None:
        for name, part in components.items():
            below = part.get("components")
            if below:
                self._complain(below, f"{above}{name}/")
            elif part["reward"] is None or part["reward"] < 1.0:
                said = part.get("metadata") or part
                said = said.get("reason") or said.get("faults") or part.get("error")
                if said:
                    self._complained(above + name, said)

    def _complained(self, path: str, said: Any) -> None:
        words = "; ".join(map(str, said)) if isinstance(said, list) else str(said)
        reason = _NUMBER.sub("#", words[:400])[:160]
        key = f"{path}: {reason}"
        if key in self.complaints or len(self.complaints) < 500:
            complaint = self.complaints.setdefault(key, Complaint(path, reason))
            complaint.count += 1
            if len(complaint.rows) < 5:
                complaint.rows.append(self.rows)

    def _note(self, reason: str) -> None:
        if len(self.reasons) < 500 or reason in self.reasons:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1


_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_PLAIN = ("reward", "outcome", "seconds", "step", "group", "numbers", "bits", "signature")
_CODES = {str(outcome): code for code, outcome in enumerate(Outcome)}


def detail_of(row: Row) -> dict[str, Any]:
    """The whole output of a row, as plain data."""
    import json

    from assay.errors import InputError

    detail = row.get("detail")
    if isinstance(detail, str):
        return json.loads(detail)
    if isinstance(detail, dict):
        return detail
    raise InputError(
        "this is no scored file: a row has no column 'detail'. Make one: assay score ROLLOUTS -r ... -o OUT"
    )


def trajectory_of(row: Row) -> Trajectory:
    """The rollout of a row, without what the scoring added."""
    from assay.record import _maybe_json

    mine = {
        k.removeprefix("input/"): _maybe_json(v) if k in _NESTED else v
        for k, v in row.items()
        if k not in OWN_COLUMNS and not k.startswith("reward/")
    }
    return Trajectory.of(mine)


_NESTED = frozenset({"messages", "prompt", "response", "completion", "metadata", "ground_truth"})


def assemble(chunks: Sequence[Chunk], header: Mapping[str, Any] | None = None) -> Table:
    """One table of chunks that were measured apart, in their order."""
    np = numpy()
    sizes = [len(c.columns["reward"]) for c in chunks]
    names = list(dict.fromkeys(name for c in chunks for name in c.columns if name not in _PLAIN))
    places: dict[bytes, int] = {}
    titles: list[str] = []
    reasons: dict[str, int] = {}
    complaints: dict[str, Complaint] = {}
    base = 0
    for chunk, size in zip(chunks, sizes, strict=True):
        for key, title in chunk.groups.items():
            if key not in places:
                places[key] = len(titles)
                titles.append(title)
        for reason, count in chunk.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
        for name, found in chunk.complaints.items():
            kept = complaints.setdefault(name, Complaint(found.part, found.reason))
            kept.count += found.count
            kept.rows = [*kept.rows, *(base + row for row in found.rows)][:5]
        base += size

    def whole(name: str, nothing: Any = None) -> list[Any]:
        cells: list[Any] = []
        for chunk, size in zip(chunks, sizes, strict=True):
            mine = chunk.columns.get(name, [])
            cells.extend(mine)
            cells.extend([nothing] * (size - len(mine)))
        return cells

    def part(name: str) -> Part:
        cells = whole(name, (None, ABSENT))
        values = np.array([v for v, _ in cells], dtype=np.float64) if cells else np.zeros(0)
        return Part(values, np.array([s for _, s in cells], dtype=np.uint8))

    numbers = np.array(whole("numbers"), dtype=np.float32).reshape(-1, len(NUMBERS))
    shapes = [c.shape for c in chunks if c.shape]
    own = [name for name in names if name.startswith("own/")][:MAX_COLUMNS]
    return Table(
        reward=np.array(whole("reward"), dtype=np.float64),
        outcome=np.array(whole("outcome"), dtype=np.uint8),
        seconds=np.array(whole("seconds"), dtype=np.float32),
        step=np.array(whole("step"), dtype=np.int32),
        group=np.array([places[key] for key in whole("group")], dtype=np.int32),
        groups=titles,
        parts={name.removeprefix("part/"): part(name) for name in names if name.startswith("part/")},
        numbers={name: numbers[:, k] for k, name in enumerate(NUMBERS)},
        bits=np.array(whole("bits"), dtype=np.uint32),
        signatures=np.frombuffer(b"".join(whole("signature")), dtype="<u4").reshape(-1, 16),
        own={name.removeprefix("own/"): np.array(whole(name), dtype=np.float64) for name in own},
        reasons=reasons,
        complaints=complaints,
        header=dict(header or {}),
        shape=dict((header or {}).get("shape") or max(shapes, key=_size, default={})),
    )


def _size(shape: Mapping[str, Any]) -> int:
    return 1 + sum(_size(child) for child in shape.get("children", {}).values())


assert len(OUTCOMES) == GATED
