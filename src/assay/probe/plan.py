"""The capacity plan: from a sample of rollouts, what it takes that scoring hides behind generation.

A step's batch is drawn from the sample again and again; for each number of workers (or requests in flight) each
response goes to the one that is free first, and the last to be done counts. So stragglers show, as in no mean.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.contract import Per
from assay.engine import Engine, check_columns, leaves
from assay.engine import score as score_rows
from assay.errors import ConfigError, InputError
from assay.load import load_reward
from assay.probe.example import rows_of
from assay.reward import RewardFunction, call_of
from assay.types import FAILURES, Trajectory

SAMPLE = 256
"""How many rows are scored, where nobody says."""
DRAWS = 40
"""How many steps are played for each number of workers."""
MOST = 4096
"""More workers, or requests in flight, than this are not looked for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One reward's share of the time."""

    name: str
    mean: float
    """Seconds a response."""
    p99: float
    worst: float
    waits: bool
    """Whether it is awaited (a judge) and not computed."""
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a step's scoring takes, and what it needs to hide behind generation."""

    reward: str
    rows: int
    batch: int
    step_seconds: float
    mean: float
    p50: float
    p99: float
    worst: float
    serial_seconds: float
    """One step's batch, one response after another."""
    straggler_share: float
    """The share of the time that the slowest hundredth of the responses takes."""
    duplicates: float
    """The share of the responses that stand there a second time: they are scored once."""
    workers: int | None
    """How many worker processes score a batch within the step, 95 times of 100; None where no number does."""
    in_flight: int | None
    """How many requests in flight do so for what is awaited; None where nothing is, or no number does."""
    requests_a_minute: float
    """What is asked of a judge meanwhile."""
    parts: list[Part] = field(default_factory=list[Part])
    slowest: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """The slowest responses: seconds, and how they begin."""

    @property
    def hides(self) -> bool:
        """Whether there is a number of workers with which scoring is done before the next batch is there."""
        computed = all(part.waits for part in self.parts) or self.workers is not None
        awaited = not any(part.waits for part in self.parts) or self.in_flight is not None
        return computed and awaited

    def to_json(self) -> str:
        """The plan as one JSON object."""
        return json.dumps({**asdict(self), "hides": self.hides}, ensure_ascii=False, indent=1)


def plan(
    reward: Any,
    rows: Iterable[Any],
    *,
    batch: int,
    step_seconds: float,
    sample: int = SAMPLE,
    timeout: float | None = None,
    seed: int = 0,
) -> Plan:
    """Score a sample of rollouts and work out what a training step needs.

    `batch` is how many responses a step scores, `step_seconds` how long the generation takes behind which that is to
    hide. The sample is drawn evenly from the first rows.
    """
    if batch < 1 or not step_seconds > 0:
        raise ConfigError(
            f"needed a batch of 1 or more and a step of more than 0 s; found {batch} and {step_seconds:g}."
        )
    reward = load_reward(reward)
    given = list(rows)
    if not given:
        raise InputError("needed rollouts to plan with; found none.")
    trajectories = _sample(rows_of(given), sample, seed)
    check_columns(reward, Trajectory.of(given[0]))
    timed = [_timed(leaf, trajectories, timeout) for leaf in leaves(reward)]
    totals = [sum(seconds[i] for _, seconds in timed) for i in range(len(trajectories))]
    computed = _summed([seconds for part, seconds in timed if not part.waits], len(trajectories))
    awaited = _summed([seconds for part, seconds in timed if part.waits], len(trajectories))
    calls = sum(part.waits for part, _ in timed)
    ordered = sorted(totals)
    stragglers = ordered[-max(1, len(ordered) // 100) :]
    slowest = sorted(zip(totals, trajectories, strict=True), key=lambda pair: -pair[0])[:3]
    return Plan(
        reward=reward.name,
        rows=len(trajectories),
        batch=batch,
        step_seconds=step_seconds,
        mean=sum(totals) / len(totals),
        p50=quantile(ordered, 0.5),
        p99=quantile(ordered, 0.99),
        worst=ordered[-1],
        serial_seconds=batch * sum(totals) / len(totals),
        straggler_share=sum(stragglers) / sum(totals) if sum(totals) else 0.0,
        duplicates=1.0 - len({(t.prompt, t.response) for t in trajectories}) / len(trajectories),
        workers=_fewest(computed, batch, step_seconds, seed) if any(computed) else 0,
        in_flight=_fewest(awaited, batch, step_seconds, seed) if any(awaited) else None,
        requests_a_minute=batch * calls / step_seconds * 60.0,
        parts=[part for part, _ in timed],
        slowest=[(seconds, t.response[:80]) for seconds, t in slowest],
    )


def _sample(rows: Sequence[Trajectory], most: int, seed: int) -> list[Trajectory]:
    if len(rows) <= most:
        return list(rows)
    return [rows[i] for i in sorted(random.Random(seed).sample(range(len(rows)), most))]


def _timed(leaf: RewardFunction, rows: Sequence[Trajectory], timeout: float | None) -> tuple[Part, list[float]]:
    engine = Engine(timeout=timeout)
    score_rows(leaf, rows[:1], engine=engine)  # what is loaded at the first call is no part of a step
    outputs = score_rows(leaf, rows, engine=engine)
    waits = call_of(leaf).is_async
    seconds = [max(0.0, output.seconds) for output in outputs]
    if call_of(leaf).per is not Per.TRAJECTORY:
        seconds = _spread(leaf, rows, engine, sum(seconds))
    ordered = sorted(seconds)
    failed = sum(output.outcome in FAILURES for output in outputs)
    mean = sum(seconds) / len(seconds)
    return Part(leaf.name, mean, quantile(ordered, 0.99), ordered[-1], waits, failed), seconds


def _spread(leaf: RewardFunction, rows: Sequence[Trajectory], engine: Engine, whole: float) -> list[float]:
    """What each row takes where a batch tells one time for all: as they are one by one, their sum that of the batch."""
    singles: list[float] = []
    for row in rows:
        started = time.perf_counter()
        score_rows(leaf, [row], engine=engine)
        singles.append(time.perf_counter() - started)
    return [single * whole / sum(singles) for single in singles]


def _summed(columns: Sequence[Sequence[float]], size: int) -> list[float]:
    return [sum(column[i] for column in columns) for i in range(size)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of the sorted values lies."""
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1 if share else 0)]


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last is done, where each goes to the worker that is free first."""
    free = [0.0] * min(workers, len(seconds))
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free, default=0.0)


def _fewest(sample: Sequence[float], batch: int, step_seconds: float, seed: int) -> int | None:
    """The smallest number of workers with which 95 of 100 batches are done within the step."""
    draw = random.Random(seed)
    steps = [draw.choices(sample, k=batch) for _ in range(DRAWS)]

    def enough(workers: int) -> bool:
        late = sum(makespan(step, workers) > step_seconds for step in steps)
        return late <= 0.05 * DRAWS

    low, high = 0, 1
    while not enough(high):
        low, high = high, high * 2
        if high > min(MOST, 2 * batch):
            return None  # one response alone takes longer than the step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
