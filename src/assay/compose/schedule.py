"""Weights that change with the training step. They are data: they pickle, print and can be read in a log."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError


class Schedule(ABC):
    """A weight as a function of the training step."""

    @abstractmethod
    def at(self, step: int) -> float:
        """The weight at a step."""


def weight_at(weight: float | Schedule, step: int) -> float:
    """A weight at a step, whether or not it is scheduled."""
    return weight.at(step) if isinstance(weight, Schedule) else weight


@dataclass(frozen=True)
class Linear(Schedule):
    """From `start` to `end` over `steps` training steps, beginning at `after`; constant before and behind.

    >>> [Linear(0.0, 1.0, steps=100).at(step) for step in (0, 25, 500)]
    [0.0, 0.25, 1.0]
    """

    start: float
    end: float
    steps: int
    after: int = 0

    def __post_init__(self) -> None:
        _finite(self.start, self.end, self.steps, self.after)

    def at(self, step: int) -> float:
        """The weight at a step."""
        return self.start + (self.end - self.start) * _share(step, self.after, self.steps)


@dataclass(frozen=True)
class Cosine(Schedule):
    """From `start` to `end` along half a cosine: slow, fast, slow."""

    start: float
    end: float
    steps: int
    after: int = 0

    def __post_init__(self) -> None:
        _finite(self.start, self.end, self.steps, self.after)

    def at(self, step: int) -> float:
        """The weight at a step."""
        eased = (1.0 - math.cos(math.pi * _share(step, self.after, self.steps))) / 2.0
        return self.start + (self.end - self.start) * eased


@dataclass(frozen=True)
class Steps(Schedule):
    """Constant pieces: `Steps([(0, 0.1), (1000, 0.5)])` is 0.1 until step 1000, then 0.5."""

    pieces: Sequence[tuple[int, float]]

    def __post_init__(self) -> None:
        ordered = tuple(sorted((int(start), float(weight)) for start, weight in self.pieces))
        if not ordered or ordered[0][0] > 0:
            raise ConfigError(f"Steps needs a piece that starts at step 0; found {list(self.pieces)}.")
        _finite(*(weight for _, weight in ordered))
        object.__setattr__(self, "pieces", ordered)

    def at(self, step: int) -> float:
        """The weight at a step."""
        return [weight for start, weight in self.pieces if start <= step or start == self.pieces[0][0]][-1]


def _finite(*numbers: float) -> None:
    if not all(math.isfinite(number) for number in numbers):
        raise ConfigError(f"a schedule needs finite numbers; found {list(numbers)}.")


def _share(step: int, after: int, steps: int) -> float:
    if steps <= 0:
        return 1.0 if step >= after else 0.0
    return min(1.0, max(0.0, (step - after) / steps))
