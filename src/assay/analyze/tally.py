"""What a scoring run paid, counted as it goes by: memory does not grow with the rows."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.types import FAILURES, Outcome, RewardOutput, Trajectory

SAMPLE = 100_000
"""How many values the histogram and the quantiles are drawn from, at most; a uniform sample of all."""

FEW = 5
"""So many different values are told one by one and not in bins: a reward is often just 0 or 1."""


@dataclass
class Column:
    """One series of rewards: the whole, or a component."""

    count: int = 0
    mean: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    missing: int = 0
    sample: array[float] = field(default_factory=lambda: array("d"))
    _squares: float = 0.0
    _random: random.Random = field(default_factory=lambda: random.Random(0))

    def add(self, value: float | None) -> None:
        """Count one value; None is one that was not scored."""
        if value is None:
            self.missing += 1
            return
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self._squares += delta * (value - self.mean)
        self.low, self.high = min(self.low, value), max(self.high, value)
        if len(self.sample) < SAMPLE:
            self.sample.append(value)
        elif (place := self._random.randrange(self.count)) < SAMPLE:
            self.sample[place] = value

    @property
    def std(self) -> float:
        """The standard deviation of all that was scored."""
        return math.sqrt(self._squares / self.count) if self.count else 0.0

    def share(self, value: float) -> float:
        """Which share of the scored has just this value."""
        return sum(v == value for v in self.sample) / len(self.sample) if self.sample else 0.0

    def histogram(self, bins: int = 10) -> list[tuple[float, float, int]]:
        """`(from, to, count)` for equal bins between the lowest and the highest value of the sample; where there are
        few values, for each of them."""
        if not self.sample:
            return []
        low, high = min(self.sample), max(self.sample)
        values = Counter(itertools.islice(self.sample, 4 * FEW))
        if len(values) <= FEW and len(values := Counter(self.sample)) <= FEW:
            return [(value, value, values[value]) for value in sorted(values)]
        width = (high - low) / bins
        counts = Counter(min(bins - 1, int((v - low) / width)) for v in self.sample)
        return [(low + i * width, low + (i + 1) * width, counts[i]) for i in range(bins)]


@dataclass(order=True)
class Case:
    """One scored row, kept because it is among the best or the worst."""

    key: float
    row: int
    trajectory: Trajectory = field(compare=False)
    output: RewardOutput = field(compare=False)


@dataclass
class Tally:
    """Counts chunks of scored rows: `tally.add(trajectories, outputs)`."""

    keep: int = 3
    """How many of the best and of the worst are kept whole."""
    total: Column = field(default_factory=Column)
    components: dict[str, Column] = field(default_factory=dict[str, Column])
    weights: dict[str, float] = field(default_factory=dict[str, float])
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    reasons: Counter[str] = field(default_factory=Counter[str])
    first_with: dict[str, int] = field(default_factory=dict[str, int])
    """A reason -> the number of the first row that has it, from 1."""
    groups: int = 0
    flat_groups: int = 0
    """Groups of several rows whose rewards are all the same: they give a GRPO policy no gradient."""
    rows: int = 0
    _best: list[Case] = field(default_factory=list[Case])
    _worst: list[Case] = field(default_factory=list[Case])

    def add(self, trajectories: Sequence[Trajectory], outputs: Sequence[RewardOutput]) -> None:
        """Count a chunk; neighbours of one group are in one chunk."""
        for t, output in zip(trajectories, outputs, strict=True):
            self.total.add(output.reward)
            self.outcomes[output.outcome] += 1
            if output.reward is None:
                self._note(output.error)
            else:
                self._keep(t, output)
            for name, part in output.components.items():
                self.components.setdefault(name, Column()).add(part.reward)
                if part.outcome in FAILURES and output.reward is not None:
                    self._note(f"component {name!r}: {part.error}")
            self.rows += 1
        if outputs and "weights" in outputs[-1].metadata:
            self.weights = outputs[-1].metadata["weights"]
        pairs = zip(trajectories, outputs, strict=True)
        for _, members in itertools.groupby(pairs, key=lambda pair: pair[0].group_id):
            rewards = [o.reward for _, o in members if o.reward is not None]
            self.groups += 1
            self.flat_groups += len(rewards) > 1 and max(rewards) == min(rewards)

    def _note(self, reason: str) -> None:
        # a reason that names its row differs from row to row: no more of them are kept than a person would read
        if len(self.reasons) < 1000 or reason in self.reasons:
            self.reasons[reason] += 1
            self.first_with.setdefault(reason, self.rows + 1)

    def _keep(self, t: Trajectory, output: RewardOutput) -> None:
        reward = output.reward or 0.0
        for heap, key in ((self._best, reward), (self._worst, -reward)):
            if len(heap) < self.keep:
                heapq.heappush(heap, Case(key, -self.rows, t, output))
            elif key > heap[0].key:
                heapq.heapreplace(heap, Case(key, -self.rows, t, output))

    @property
    def best(self) -> list[Case]:
        """The highest rewards, the highest first."""
        return sorted(self._best, reverse=True)

    @property
    def worst(self) -> list[Case]:
        """The lowest rewards, the lowest first."""
        return sorted(self._worst, reverse=True)

    @property
    def not_scored(self) -> int:
        """Rows without a number."""
        return self.total.missing
