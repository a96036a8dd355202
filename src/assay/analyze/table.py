"""A Run as columns: numbers for every row, and where its text lies. Every finding is computed from one of these.

A row costs some 150 bytes here whatever its text weighs, so a million rows fit; texts are read again when somebody
looks at them (`assay.analyze.source`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from assay.analyze.features import BITS, NUMBERS, features_of, turns_of
from assay.analyze.nearby import signature
from assay.analyze.tree import ABSENT, GATED, inferred_shape, leaves, node_values, schedule_of
from assay.errors import InputError, require
from assay.record import NO_RUN, OWN_COLUMNS
from assay.rollouts import Row
from assay.types import Outcome, Trajectory

Array: TypeAlias = Any
"""A numpy array; numpy is of the extra `report` and imported late."""

OUTCOMES = tuple(str(o) for o in Outcome)
"""An outcome's code is its place here."""

STATES = (*OUTCOMES, "gated", "absent", "not asked")
"""The state of a component: an outcome; or a gate was shut, or it is not stored for this row, or there was no need."""

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
    keys: Array
    """Uint64: the same for the same prompt and response, in any Run."""
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
        """The configured weight of each component, where the Run says it; of a scheduled one its mean over the rows."""
        return {path: float(numpy().mean(weight)) for path, weight in self.weight_columns().items()}

    def weight_columns(self) -> dict[str, Any]:
        """The same; where a weight is scheduled, an array with the weight at each row's step."""
        return {path: weight for path, weight in leaves(self.shape, self._weight_at).items() if path in self.parts}

    def _weight_at(self, shape: Mapping[str, Any], name: str) -> Any:
        schedule = shape.get("schedules", {}).get(name)
        if schedule is None:
            return float(shape["weights"][name])
        steps, place = numpy().unique(numpy().maximum(self.step, 0), return_inverse=True)
        at = schedule_of(schedule).at
        return numpy().array([at(int(step)) for step in steps])[place.ravel()]

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

    rows: int
    columns: dict[str, Array]
    """As `Table` has them; components are `value/<path>` and `state/<path>`, groups are places in `groups`."""
    groups: list[tuple[bytes, str]]
    """A key that is the same for the same group in any chunk, and a title."""
    reasons: dict[str, int]
    complaints: dict[str, Complaint]
    shape: dict[str, Any]


def measure(rows: Iterable[Row]) -> Chunk:
    """Measure rows: everything that has to look at a row as a whole happens here, once."""
    found = _Columns()
    for row in rows:
        found.add(row)
    return found.chunk()


class _Columns:
    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in (*_PLAIN, "numbers", "signature")}
        self.groups: dict[bytes, tuple[int, str]] = {}
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
        place = self.groups.get(key)
        if place is None:
            asked = " ".join(t.prompt[:400].split())[:160]
            title = f"{t.group[:40]} · {asked}" if t.group and asked else asked or t.group[:160]
            place = self.groups[key] = (len(self.groups), title)
        step = t.metadata.get("step")
        add = self.columns
        add["reward"].append(detail["reward"])
        add["outcome"].append(_CODES[detail["outcome"]])
        add["seconds"].append(detail.get("seconds", 0.0))
        add["step"].append(int(step) if isinstance(step, int | float) and step == step else -1)
        add["group"].append(place[0])
        add["numbers"].append(found.numbers)
        add["bits"].append(found.bits)
        add["key"].append(key_of(t.prompt, t.response))
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
        if len(cells) < self.rows:
            cells.extend([nothing] * (self.rows - len(cells)))
        cells.append(value)

    def chunk(self) -> Chunk:
        """What was gathered, as arrays."""
        np = numpy()
        cells, arrays = self.columns, dict[str, Array]()
        for name, kind in _PLAIN.items():
            arrays[name] = np.array(cells[name], dtype=kind)
        numbers = np.array(cells["numbers"], dtype=np.float32).reshape(-1, len(NUMBERS))
        arrays |= {f"number/{name}": numbers[:, k].copy() for k, name in enumerate(NUMBERS)}
        signatures = b"".join(cells["signature"]) or np.zeros(0, dtype="<u4")
        arrays["signature"] = np.frombuffer(signatures, dtype="<u4").reshape(-1, 16)
        for name, values in cells.items():
            kind, _, path = name.partition("/")
            if kind == "part":
                values.extend([(None, ABSENT)] * (self.rows - len(values)))
                arrays[f"value/{path}"] = np.array([v for v, _ in values], dtype=np.float64)
                arrays[f"state/{path}"] = np.array([s for _, s in values], dtype=np.uint8)
            elif kind == "own":
                values.extend([None] * (self.rows - len(values)))
                arrays[name] = np.array(values, dtype=np.float64)
        groups = [(key, title) for key, (_, title) in self.groups.items()]
        return Chunk(self.rows, arrays, groups, self.reasons, self.complaints, self.shape)

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
_PLAIN = {"reward": "f8", "outcome": "u1", "seconds": "f4", "step": "i4", "group": "i4", "bits": "u4", "key": "u8"}
_CODES = {str(outcome): code for code, outcome in enumerate(Outcome)}


def detail_of(row: Row) -> dict[str, Any]:
    """The whole output of a row, as plain data."""
    detail = row.get("detail")
    if isinstance(detail, str):
        return json.loads(detail)
    if isinstance(detail, dict):
        return detail
    raise InputError(f"this is no scored file: a row has {list(row)[:8]} and no column 'detail'. {NO_RUN}")


def key_of(prompt: str, response: str) -> int:
    """A number that is the same for the same prompt and response, in any Run."""
    said = f"{prompt}\0{response}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(said, digest_size=8).digest(), "little")


def trajectory_of(row: Row) -> Trajectory:
    """The rollout of a row, without what the scoring added."""
    own = {k.removeprefix("input/"): v for k, v in row.items() if k not in OWN_COLUMNS and not k.startswith("reward/")}
    return Trajectory.of(own)


@dataclass
class Assembly:
    """Chunks put together as they come, in order; a table of all of them at any time."""

    header: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rows: int = 0
    titles: list[str] = field(default_factory=list[str])
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    complaints: dict[str, Complaint] = field(default_factory=lambda: dict[str, Complaint]())
    shape: dict[str, Any] = field(default_factory=dict[str, Any])
    _chunks: list[Chunk] = field(default_factory=list[Chunk])
    _places: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        np = numpy()
        places: list[int] = []
        for key, title in chunk.groups:
            place = self._places.setdefault(key, len(self.titles))
            if place == len(self.titles):
                self.titles.append(title)
            places.append(place)
        chunk.columns["group"] = np.array(places, dtype=np.int32)[chunk.columns["group"]]
        for reason, count in chunk.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        for name, found in chunk.complaints.items():
            kept = self.complaints.setdefault(name, Complaint(found.part, found.reason))
            kept.count += found.count
            kept.rows = [*kept.rows, *(self.rows + row for row in found.rows)][:5]
        self.shape = max(self.shape, chunk.shape, key=_size)
        self._chunks.append(chunk)
        self.rows += chunk.rows

    def table(self, start: int = 0) -> Table:
        """All rows from `start` on; group codes and titles are those of the whole."""
        np = numpy()
        if len(self._chunks) > 1 and start == 0:
            self._chunks = [self._joined()]
        columns = self._joined().columns if start == 0 else self._after(start)
        paths = [name.removeprefix("value/") for name in columns if name.startswith("value/")]
        own = [name.removeprefix("own/") for name in columns if name.startswith("own/")][:MAX_COLUMNS]
        return Table(
            reward=columns["reward"],
            outcome=columns["outcome"],
            seconds=columns["seconds"],
            step=columns["step"],
            group=columns["group"],
            groups=list(self.titles),
            parts={path: Part(columns[f"value/{path}"], columns[f"state/{path}"]) for path in paths},
            numbers={name: columns[f"number/{name}"] for name in NUMBERS},
            bits=columns["bits"],
            signatures=columns["signature"],
            keys=columns["key"],
            own={name: columns[f"own/{name}"] for name in own if np.isfinite(columns[f"own/{name}"]).any()},
            reasons=dict(self.reasons),
            complaints=dict(self.complaints),
            header=dict(self.header),
            shape=dict(self.header.get("shape") or self.shape),
        )

    def _joined(self) -> Chunk:
        if len(self._chunks) < 2:
            return self._chunks[0] if self._chunks else measure(())
        columns = _join(self._chunks)
        return Chunk(self.rows, columns, [], {}, {}, self.shape)

    def _after(self, start: int) -> dict[str, Array]:
        chunks, left = list[Chunk](), self.rows - start
        for chunk in reversed(self._chunks):
            chunks.insert(0, chunk)
            left -= chunk.rows
            if left <= 0:
                break
        skipped = sum(c.rows for c in chunks) - (self.rows - start)
        return {name: values[skipped:] for name, values in _join(chunks).items()}


def _join(chunks: Sequence[Chunk]) -> dict[str, Array]:
    np = numpy()
    names = dict.fromkeys(name for chunk in chunks for name in chunk.columns)
    return {name: np.concatenate([_cells(chunk, name) for chunk in chunks]) for name in names}


def _cells(chunk: Chunk, name: str) -> Array:
    np = numpy()
    if name in chunk.columns:
        return chunk.columns[name]
    if name.startswith("state/"):
        return np.full(chunk.rows, ABSENT, dtype=np.uint8)
    return np.full(chunk.rows, np.nan)


def assemble(chunks: Iterable[Chunk], header: Mapping[str, Any] | None = None) -> Table:
    """One table of chunks that were measured apart, in their order."""
    whole = Assembly(dict(header or {}))
    for chunk in chunks:
        whole.add(chunk)
    return whole.table()


def _size(shape: Mapping[str, Any]) -> int:
    return 1 + sum(_size(child) for child in shape.get("children", {}).values())


assert len(OUTCOMES) == GATED
