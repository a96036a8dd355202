"""What holds calls back: requests and tokens per minute, one cool-down an endpoint, a budget in money."""

from __future__ import annotations

import asyncio
import email.utils
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import InfraError

LONGEST_BACKOFF = 30.0


class Bucket:
    """So many a minute, let through evenly, in the order of asking; up to one second's worth at once.

    It keeps one number, the time at which everything let through so far will have been paid for.
    """

    def __init__(self, per_minute: float) -> None:
        self._seconds_each = 60.0 / per_minute if per_minute else 0.0
        self._burst = max(1.0, self._seconds_each)
        self._paid_until = 0.0

    async def take(self, amount: float) -> None:
        """Wait until this many may pass."""
        if not self._seconds_each:
            return
        now = time.monotonic()
        self._paid_until = max(self._paid_until, now - self._burst) + amount * self._seconds_each
        if (wait := self._paid_until - now) > 0:
            await asyncio.sleep(wait)

    def correct(self, amount: float) -> None:
        """Charge what a call cost beyond its estimate, or give back what it did not use."""
        self._paid_until += amount * self._seconds_each


class BudgetSpent(InfraError):
    """The money that was set aside for a judge is spent; what is left stays unscored."""


@dataclass
class Budget:
    """Money for calls, shared by everything in the process that holds it. A call reserves before it is sent.

    >>> budget = Budget(1.0)
    >>> budget.reserve(0.9); budget.settle(0.9, 0.5); round(budget.spent, 3)
    0.5
    """

    limit: float | None = None

    def __post_init__(self) -> None:
        self.spent = self._reserved = 0.0
        self._lock = threading.Lock()

    def reserve(self, estimate: float) -> None:
        """Set the most that a call can cost aside, or raise `BudgetSpent`."""
        if self.limit is None:
            return
        with self._lock:
            if self.spent + self._reserved + estimate > self.limit:
                raise BudgetSpent(
                    f"the judge's budget of {self.limit:g} is spent ({self.spent:.4f} used, a call may cost "
                    f"{estimate:.4f}). Raise budget=, or score the remaining rows later."
                )
            self._reserved += estimate

    def settle(self, estimate: float, cost: float) -> None:
        """Replace a reservation by what the call did cost."""
        with self._lock:
            if self.limit is not None:
                self._reserved -= estimate
            self.spent += cost

    def __getstate__(self) -> dict[str, float | None]:
        return {"limit": self.limit}

    def __setstate__(self, state: Mapping[str, float]) -> None:
        self.__init__(state["limit"])


@dataclass
class CoolDown:
    """When an endpoint says wait, everybody who calls it waits: one clock, not one for each call."""

    until: float = 0.0

    def extend(self, seconds: float) -> None:
        """Nobody calls for so many seconds from now."""
        self.until = max(self.until, time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds to wait, spread a little so that not all come back in the same instant."""
        left = self.until - time.monotonic()
        return left + random.uniform(0.0, min(1.0, 0.1 * left)) if left > 0 else 0.0


def backoff(attempt: int, first: float = 0.5) -> float:
    """Seconds before try number `attempt` + 1: doubling, with full jitter but never nothing."""
    return min(LONGEST_BACKOFF, first * 2.0**attempt) * random.uniform(0.25, 1.0)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait that a server asks for: milliseconds, seconds or a date; None where it does not say.

    >>> retry_after({"Retry-After": "2"}), retry_after({"retry-after-ms": "250"}), retry_after({"Retry-After": "soon"})
    (2.0, 0.25, None)
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(lowered[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if 0.0 <= seconds < float("inf") else None
    try:
        date = email.utils.parsedate_to_datetime(lowered["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, date.timestamp() - time.time())
