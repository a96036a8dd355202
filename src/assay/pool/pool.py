"""The pool: worker processes that stay warm, and that one row cannot poison.

    Pool (any thread) --tasks--> Supervisor (its own thread) --rows, tickets--> workers
                                     ^ control line                               | forked by
                                     +----------------- nursery -----------------+

The deadline of a row runs from the moment at which its worker starts it. The parent enforces it: it stops the worker,
looks whether it still is at that row, and kills it and its process group. Another is born at once; what had been
finished is on the dead worker's page, and what it had not begun goes to its neighbours. The row that did it is not
tried again.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any

from assay.errors import InfraError
from assay.pool.hand import Task
from assay.pool.parcel import Parcel
from assay.pool.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Limits:
    """How many workers, and what each may use."""

    size: int
    memory_mb: int
    hard: bool = False
    """Whether one allocation beyond the limit fails in the worker; else the parent watches what it holds."""


class Pool:
    """Worker processes for the rewards of one parcel. Safe to use from any thread; `close()` ends every process."""

    def __init__(self, parcel: Parcel, factory: str, limits: Limits) -> None:
        self.parcel, self.limits = parcel, limits
        self.owner = os.getpid()
        self.hired = 0
        """How many calls use it at this moment; kept by who hands it out."""
        self._supervisor = Supervisor(parcel, factory, limits.size, limits.memory_mb, limits.hard)
        threading.Thread(target=self._supervisor.run, name="assay-pool", daemon=True).start()
        _open.add(self)

    @property
    def usable(self) -> bool:
        """Whether it can take work: not in a child that this process forked, not after it was closed or gave up."""
        own = self.owner == os.getpid() and not self._supervisor.closing
        return own and not isinstance(self._supervisor.error, InfraError)

    def run(self, tasks: Sequence[Task]) -> Future[None]:
        """Run tasks; the future is done when every leg of every one is settled. Cancelling it stops them."""
        future: Future[None] = Future()
        if not tasks:
            future.set_result(None)
            return future
        job = _Job(future, len(tasks))
        for task in tasks:
            task.done = job.one_done
        supervisor = self._supervisor
        future.add_done_callback(lambda f: (supervisor.cancel if f.cancelled() else supervisor.finished)(tasks))
        self._supervisor.submit(tasks, job.fail)
        return future

    def pids(self) -> list[int]:
        """The process ids of the workers that live now."""
        return self._supervisor.pids()

    def close(self) -> None:
        """End the workers and the nursery, and wait until they are gone. Work that is still there fails."""
        if self.owner == os.getpid():
            self._supervisor.close()
        _open.discard(self)


class _Job:
    """Counts the tasks of one call, and says when the last one is settled."""

    def __init__(self, future: Future[None], count: int) -> None:
        self.future, self.count = future, count

    def one_done(self) -> None:
        self.count -= 1
        if self.count == 0:
            _settle(self.future, None)

    def fail(self, error: Exception) -> None:
        _settle(self.future, error)


def _settle(future: Future[Any], error: Exception | None) -> None:
    try:
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
    except InvalidStateError:  # cancelled meanwhile
        return


_open: weakref.WeakSet[Pool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_open):
        pool.close()


def cores() -> int:
    """The processors that this process may use: its affinity, what a container grants, or what ASSAY_CORES says."""
    if (said := os.environ.get("ASSAY_CORES", "")).isdigit() and int(said):
        return int(said)
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()[:2]
    except (OSError, ValueError):
        return here
    return here if quota == "max" else max(1, min(here, math.ceil(int(quota) / int(period))))


@functools.cache  # asked once: what is free changes all the time, and a pool is for one limit
def default_memory_mb(size: int) -> int:
    """What a worker may use where nothing is declared: its share of half of what is free at the first use."""
    try:
        with open("/proc/meminfo") as file:
            free = next(int(line.split()[1]) // 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        free = 8192
    return max(256, free // 2 // max(1, size))
