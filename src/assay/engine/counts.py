"""What an engine has done, counted: outcomes, calls, and the calls that were saved and why."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.types import Outcome, RewardOutput


@dataclass
class Count:
    """Of one component."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    """How its rows ended."""
    calls: int = 0
    """Rows that the reward really was called for."""
    saved: Counter[str] = field(default_factory=Counter[str])
    """Rows that it was not called for, by the reason: 'duplicate', 'cache', 'lazy', 'gate'."""
    retries: int = 0
    """Further tries after an infra error."""
    seconds: float = 0.0
    """What the calls took, added up."""


@dataclass
class Counts:
    """Of an engine, by component. Safe from several threads."""

    of: dict[str, Count] = field(default_factory=dict[str, Count])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getitem__(self, name: str) -> Count:
        with self._lock:
            return self.of.setdefault(name, Count())

    def ended(self, name: str, outputs: Sequence[RewardOutput], calls: int) -> None:
        """Count how rows ended, and how many of them the reward was called for."""
        count, ended = self[name], [output.outcome for output in outputs]
        scored = ended.count(Outcome.SCORED)
        with self._lock:
            if scored:
                count.outcomes["scored"] += scored
            if scored < len(ended):
                count.outcomes.update(outcome.value for outcome in ended if outcome is not Outcome.SCORED)
            count.calls += calls
            count.seconds += sum([output.seconds for output in outputs])

    def saved(self, name: str, why: str, rows: int) -> None:
        """Count rows that the reward was not called for."""
        if rows:
            self[name].saved[why] += rows

    def lines(self) -> list[str]:
        """What there is to say at the end of a run: a line for each component that had trouble, or saved calls."""
        said: list[str] = []
        for name, count in self.of.items():
            parts = [f"{n:,} {outcome}" for outcome, n in count.outcomes.items() if outcome != "scored"]
            parts += [f"{n:,} calls saved ({why})" for why, n in count.saved.items()]
            if count.retries:
                parts.append(f"{count.retries:,} retries")
            if parts:
                said.append(f"{name}: {', '.join(parts)}")
        return said
