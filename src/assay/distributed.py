"""The same Engine on a Ray cluster: Ray Data streams the rows, a pool of actors scores them, the Run is the same.

    for rows, outputs in distributed.score_file("rewards.py:math", "rollouts.jsonl", Cluster(address="auto")):
        run.write(rows, outputs)

The driver cuts the file into pieces of some hundred rows at the borders of groups, and looks at nothing but those
borders. Actors read their pieces themselves (the file must be readable on every node), so that what travels is outputs.
A piece whose actor or node dies is scored again elsewhere; pieces come back in order.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from assay.engine import Engine, leaves, score
from assay.engine.remote import decode, encode, read_plain, write_plain
from assay.errors import ConfigError, InputError, require
from assay.load import load_reward
from assay.reward import RewardFunction, call_of
from assay.rollouts import Rollouts, Row, read_line, renamed, why_not_scored
from assay.types import RewardOutput, Trajectory

ROWS_PER_CALL: Final = 512
"""Rows in one call of an actor: a call costs Ray about half a millisecond, whatever is in it."""
CHEAP: Final = 100e-6
"""Seconds a row below which Ray costs more than it brings: the local engine is advised."""


@dataclass(frozen=True)
class Cluster:
    """Which cluster, and how much of it."""

    address: str | None = None
    """None: a local one, started for this; 'auto': the one that this machine belongs to."""
    actors: int | None = None
    """None: one for each processor; for rewards that need devices, one for each of those."""
    rows_per_call: int = ROWS_PER_CALL


@dataclass(frozen=True)
class Piece:
    """Some neighbouring rows of a file: bytes of a JSONL file, or row numbers of a Parquet file."""

    start: int
    end: int
    rows: int


@dataclass(frozen=True)
class Order:
    """What an actor is told once."""

    reward: Any
    """A spec that any node can load, or the reward itself."""
    path: str
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    engine: Engine = field(default_factory=Engine)
    share: float = 1.0
    """This actor's part of a judge's concurrency."""
    to_score: bool = True
    """Whether a row without a response is broken; see `Rollouts`."""


def score_file(
    reward: Any, rollouts: Rollouts, cluster: Cluster | None = None, engine: Engine | None = None, skip: int = 0
) -> Iterator[tuple[list[Row], list[RewardOutput]]]:
    """Score a file on a cluster: rows and their outputs, piece by piece and in order; `skip` rows are passed over.

    `reward` is a spec as on the command line, which every node loads for itself, or a reward that pickles.
    """
    ray = require("ray", "ray", "scoring on a cluster")
    require("ray.data", "ray", "scoring on a cluster")
    cluster = cluster or Cluster()
    started = not ray.is_initialized()
    if started:
        _start(ray, cluster)
    try:
        yield from _stream(ray, reward, rollouts, cluster, engine or Engine(), skip)
    finally:
        if started:
            ray.shutdown()


def _start(ray: Any, cluster: Cluster) -> None:
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it tells of what it mends itself
    quiet = {"include_dashboard": False, "num_cpus": cluster.actors or os.cpu_count()} if not cluster.address else {}
    ray.init(address=cluster.address, logging_level=logging.WARNING, log_to_driver=False, **quiet)


def _stream(
    ray: Any, reward: Any, rollouts: Rollouts, cluster: Cluster, engine: Engine, skip: int
) -> Iterator[tuple[list[Row], list[RewardOutput]]]:
    loaded = load_reward(reward)
    count, gpus = _actors(ray, loaded, cluster)
    path = str(Path(rollouts.path).resolve())
    order = Order(reward, path, dict(rollouts.rename), engine, 1.0 / count, rollouts.to_score)
    pieces = [{"start": p.start, "end": p.end} for p in pieces_of(rollouts, cluster.rows_per_call, skip)]
    if not pieces:
        return
    data = ray.data
    context = data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    scored = data.from_items(pieces, override_num_blocks=len(pieces)).map_batches(
        _Scorer,
        fn_constructor_args=(list(sys.path), ray.cloudpickle.dumps(order)),
        batch_size=1,
        compute=data.ActorPoolStrategy(size=count),
        num_cpus=0 if gpus else 1,
        num_gpus=gpus or None,
        max_restarts=-1,
        max_task_retries=-1,
    )
    for batch in scored.iter_batches(batch_size=1, batch_format="numpy", prefetch_batches=1):
        for payload in batch["scored"]:
            rows, broken, outputs = read_plain(payload)
            rollouts.broken += broken
            yield rows, decode(outputs)


def _actors(ray: Any, reward: RewardFunction, cluster: Cluster) -> tuple[int, float]:
    """How many actors there are to be, and the devices that each takes."""
    resources = ray.cluster_resources()
    gpus = max((leaf.contract.gpus for leaf in leaves(reward)), default=0.0)
    if gpus and resources.get("GPU", 0) >= gpus:
        return cluster.actors or int(resources["GPU"] / gpus), gpus
    limits = [leaf.contract.concurrency for leaf in leaves(reward) if call_of(leaf).is_async]
    count = cluster.actors or max(1, int(resources.get("CPU", 1)))
    return min([count, *limits]), 0.0  # a judge's limit holds for the cluster: each actor takes its part of it


class _Scorer:
    """What an actor is: it loads the reward once, and scores pieces."""

    def __init__(self, paths: list[str], order: bytes) -> None:
        sys.path.extend(path for path in paths if path not in sys.path)  # what the driver can import, so can we
        told: Order = pickle.loads(order)  # noqa: S301  (our own driver sent it)
        os.environ["ASSAY_CORES"] = "1"  # the workers of this actor's engine: there is one actor for each processor
        self.order, self.engine = told, replace(told.engine, share=told.share)
        self.reward = load_reward(told.reward)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        found: list[bytes] = []
        for start, end in zip(batch["start"], batch["end"], strict=True):
            broken: list[str] = []
            rows = list(rows_of(self.order, int(start), int(end), broken))
            outputs = score(self.reward, [Trajectory.of(row) for row in rows], engine=self.engine)
            found.append(write_plain((rows, broken, encode(outputs))))
        return {"scored": found}


# -- pieces of files -------------------------------------------------------------------------------------------------


def pieces_of(rollouts: Rollouts, rows: int, skip: int = 0) -> Iterator[Piece]:
    """Cut a file into pieces of about `rows` rows; neighbours of one group stay together."""
    path = Path(rollouts.path)
    if str(rollouts.path) == "-":
        raise ConfigError("--engine ray needs a file that every node can read; found standard input.")
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    with path.open("rb") as file:
        first = file.read(64).lstrip()
    if first[:4] == b"PAR1":
        yield from _parquet_pieces(rollouts, rows, skip)
    elif first[:1] == b"[":
        raise ConfigError(f"--engine ray reads JSONL and Parquet; {path} is a JSON array.")
    else:
        yield from _line_pieces(rollouts, rows, skip)


def _line_pieces(rollouts: Rollouts, rows: int, skip: int) -> Iterator[Piece]:
    start = at = count = good = 0
    group = ""
    with Path(rollouts.path).open("rb") as file:
        for line in file:
            if rollouts.limit is not None and good >= rollouts.limit:
                break
            if line.strip():
                skipped = good < skip
                if skipped or rollouts.limit is not None:  # counted as they are written: without those that are broken
                    good += _group(line, rollouts) is not None
                if skipped:
                    start = at + len(line)
                elif count < rows - 1:  # far from a border: nothing of the line matters
                    count += 1
                else:
                    found = _group(line, rollouts)
                    here = group if found is None else found
                    if count >= rows and (here != group or count >= 8 * rows):
                        yield Piece(start, at, count)
                        start, count = at, 0
                    group, count = here, count + 1
            at += len(line)
    if count:
        yield Piece(start, at, count)


def _group(line: bytes, rollouts: Rollouts) -> str | None:
    """The group of a line's row; None where it is no row that can be scored."""
    row = read_line(line, "", [])
    row = None if row is None else renamed(row, rollouts.rename)
    return None if row is None or (rollouts.to_score and why_not_scored(row)) else Trajectory.of(row).group_id


def _parquet_pieces(rollouts: Rollouts, rows: int, skip: int) -> Iterator[Piece]:
    start = at = good = 0
    group = ""
    for at, row in enumerate(Rollouts(rollouts.path, rollouts.rename)):
        if rollouts.limit is not None and good >= rollouts.limit:
            break
        trouble, here = why_not_scored(row) if rollouts.to_score else "", group
        if good < skip:
            start = at + 1
        elif not trouble:
            here = Trajectory.of(row).group_id
            if at - start >= rows and here != group:
                yield Piece(start, at, at - start)
                start = at
        group, good = here, good + (not trouble)
    else:
        at += 1
    if at > start:
        yield Piece(start, at, at - start)


def rows_of(order: Order, start: int, end: int, broken: list[str]) -> Iterator[Row]:
    """The rows of one piece that can be scored; the others are told in `broken`."""
    where = f"{order.path}, behind {start:,}"
    for row in _rows_between(order.path, start, end, where, broken):
        row = renamed(row, order.rename)
        if order.to_score and (trouble := why_not_scored(row)):
            broken.append(f"{where}: {trouble}")
        else:
            yield row


def _rows_between(path: str, start: int, end: int, where: str, broken: list[str]) -> Iterator[Row]:
    with open(path, "rb") as file:
        if file.read(4) == b"PAR1":
            polars = require("polars", "report", "reading Parquet")
            yield from polars.scan_parquet(path).slice(start, end - start).collect().iter_rows(named=True)
            return
        file.seek(start)
        for line in file.read(end - start).split(b"\n"):
            if line.strip() and (row := read_line(line, where, broken)) is not None:
                yield row
