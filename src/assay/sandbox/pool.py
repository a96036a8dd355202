"""Warm fork servers, and many programs over them at once, in the thread that asks.

A program's grading is a generator: it yields a `Job` and is sent the `Reply`. So one thread keeps every server busy
without threads of its own, and several threads share the servers.
"""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.sandbox.forkserver import ForkServer, Job, Reply, ServerGone, closed

T = TypeVar("T")
Grading = Generator[Job, Reply, T]
TRIES = 2  # a fault of the infrastructure is tried again once, on a fresh server


@dataclass(slots=True)
class _Work(Generic[T]):
    index: int
    grading: Grading[T]
    job: Job
    tries: int = 0


class Pool:
    """At most `size` fork servers, made when they are needed."""

    def __init__(self, make: Callable[[str, int], ForkServer], size: int) -> None:
        self.make = make
        self.size = size
        self.changed = threading.Condition()
        self.idle: list[tuple[str, int, ForkServer]] = []
        self.places = list(range(size))
        self.waiting = 0
        self.owner = os.getpid()
        self._end = weakref.finalize(self, _close_idle, self.owner, self.idle)
        self._end.atexit = False
        _pools.add(self)

    # -- servers --

    def acquire(self, kind: str, wait: bool) -> tuple[str, int, ForkServer] | None:
        """An idle server of the kind, or a new one; None where there is none and `wait` is not asked."""
        with self.changed:
            while True:
                if not self.waiting or wait:
                    for i, entry in enumerate(self.idle):
                        if entry[0] == kind:
                            return self.idle.pop(i)
                    if not self.places and self.idle:  # one of another kind gives up its place
                        _, place, other = self.idle.pop(0)
                        other.close()
                        self.places.append(place)
                    if self.places:
                        place = self.places.pop()
                        break
                if not wait:
                    return None
                self.waiting += 1
                self.changed.wait()
                self.waiting -= 1
        try:
            return kind, place, self.make(kind, place)
        except BaseException:
            self._give_back(place)
            raise

    def release(self, entry: tuple[str, int, ForkServer]) -> None:
        """Give a server back."""
        with self.changed:
            self.idle.append(entry)
            self.changed.notify()

    def discard(self, entry: tuple[str, int, ForkServer]) -> None:
        """A server that is no good: end it, and leave its place to a fresh one."""
        entry[2].kill()
        self._give_back(entry[1])

    def _give_back(self, place: int) -> None:
        with self.changed:
            self.places.append(place)
            self.changed.notify()

    def close(self) -> None:
        """End the idle servers."""
        with self.changed:
            servers = [entry[2] for entry in self.idle]
            self.places += [entry[1] for entry in self.idle]
            self.idle.clear()
        closed(servers)

    # -- work --

    def run(self, gradings: Sequence[Grading[T]], failed: Callable[[str], T]) -> list[T]:
        """Drive every grading to its end; what each returned, or `failed(reason)` where the servers failed twice."""
        return _Run(self, gradings, failed).run()


class _Run(Generic[T]):
    """One batch over the pool."""

    def __init__(self, pool: Pool, gradings: Sequence[Grading[T]], failed: Callable[[str], T]) -> None:
        self.pool = pool
        self.failed = failed
        self.results: dict[int, T] = {}
        self.fresh = deque(enumerate(gradings))
        self.ready: list[_Work[T]] = []
        self.busy: dict[int, tuple[tuple[str, int, ForkServer], _Work[T]]] = {}
        self.poll = select.poll()

    def run(self) -> list[T]:
        """The results, in order."""
        count = len(self.fresh)
        try:
            while len(self.results) < count:
                self._hand_out()
                self._take_in()
        finally:
            for entry, _ in self.busy.values():  # an exception has come through: what they do is of no use now
                self.pool.discard(entry)
        return [self.results[i] for i in range(count)]

    def _next(self) -> _Work[T] | None:
        """The next job: of a program that is under way, or of a new one."""
        while not self.ready and self.fresh:
            index, grading = self.fresh.popleft()
            self._advance(index, grading, None)
        return self.ready[-1] if self.ready else None

    def _advance(self, index: int, grading: Grading[T], reply: Reply | None) -> None:
        try:
            job = next(grading) if reply is None else grading.send(reply)
        except StopIteration as end:
            self.results[index] = end.value
        else:
            self.ready.append(_Work(index, grading, job))

    def _hand_out(self) -> None:
        while work := self._next():
            try:
                entry = self.pool.acquire(work.job.server, wait=not self.busy)
            except ServerGone as gone:
                self.ready.remove(work)
                self._fault(work, str(gone))
                continue
            if entry is None:
                return
            self.ready.remove(work)
            try:
                entry[2].submit(work.job)
            except ServerGone as gone:
                self.pool.discard(entry)
                self._fault(work, str(gone))
                continue
            self.busy[entry[2].fileno()] = (entry, work)
            self.poll.register(entry[2].fileno(), select.POLLIN)

    def _take_in(self) -> None:
        if not self.busy:
            return
        first = min(entry[2].deadline for entry, _ in self.busy.values())
        answered = {fd for fd, _ in self.poll.poll(max(0.0, first - time.monotonic()) * 1000 + 1)}
        late = {fd for fd, (entry, _) in self.busy.items() if entry[2].deadline < time.monotonic()}
        for fd in answered | late:
            entry, work = self.busy.pop(fd)
            self.poll.unregister(fd)
            try:
                if fd not in answered:
                    raise ServerGone("the fork server does not answer")
                reply = entry[2].collect()
            except ServerGone as gone:
                self.pool.discard(entry)
                self._fault(work, str(gone))
            else:
                self.pool.release(entry)
                self._advance(work.index, work.grading, reply)

    def _fault(self, work: _Work[T], reason: str) -> None:
        work.tries += 1
        if work.tries < TRIES:
            self.ready.append(work)
        else:
            work.grading.close()
            self.results[work.index] = self.failed(reason)


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _close_idle(owner: int, idle: list[tuple[str, int, ForkServer]]) -> None:
    servers = [entry[2] for entry in idle]
    idle.clear()
    closed(servers)


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        if pool.owner == os.getpid():
            pool.close()
