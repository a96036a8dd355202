"""Which rewards run in worker processes, and the pools that they run in: warm from one batch to the next."""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from assay.engine import remote
from assay.engine.remote import FACTORY
from assay.pool import Limits, Pool, cores, default_memory_mb, pack
from assay.reward import RewardFunction, call_of

_MOST_POOLS: Final = 4
"""Pools that are kept warm at once; of those that nobody uses, the one that rested longest is closed first."""

_LINUX: Final = platform.system() == "Linux"
"""Workers are watched and ended by means that only Linux has (pidfd, PR_SET_PDEATHSIG, /proc)."""

log = logging.getLogger("assay")


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides where a reward runs."""

    workers: int | None
    timeout: float | None
    memory_mb: int | None

    def limit(self, reward: RewardFunction) -> float | None:
        """A reward's deadline in seconds a trajectory: its own, or else the engine's."""
        own = reward.contract.timeout
        return own if own is not None else self.timeout

    def remote(self, reward: RewardFunction) -> bool:
        """Whether a reward runs in worker processes."""
        if self.workers == 0 or remote.in_worker or not _LINUX:
            return False
        if reward.contract.workers or reward.contract.memory_mb:
            return True
        return not call_of(reward).is_async and (self.workers is not None or self.limit(reward) is not None)

    def why(self, reward: RewardFunction) -> str:
        """Where a reward runs and why, in words."""
        limit = self.limit(reward)
        deadline = "no deadline" if limit is None else f"{limit:g} s a row"
        if self.remote(reward):
            asked = "it asks for workers" if reward.contract.workers else "the engine has workers"
            why = asked if self.workers is not None or reward.contract.workers else "only a process can be stopped"
            return f"in {self.size()} worker processes, {deadline} ({why})"
        if call_of(reward).is_async:
            return f"awaited in this process, {reward.contract.concurrency} at a time, {deadline}"
        no = "without workers" if _LINUX else "on this system, where there are no workers"
        cut = "" if limit is None else f"; its deadline of {limit:g} s is not enforced {no}"
        return f"in this process{cut}"

    def size(self) -> int:
        """How many workers."""
        return self.workers or cores()


@dataclass
class Staff:
    """The pools of one engine, by what runs in them."""

    pools: OrderedDict[str, Pool] = field(default_factory=OrderedDict[str, Pool])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _owner: int = field(default_factory=os.getpid)

    @contextmanager
    def hired(
        self, rewards: Iterable[RewardFunction], terms: Terms, inherit: bool = False
    ) -> Generator[tuple[Pool | None, dict[int, int]]]:
        """The pool for these rewards, and the number in it of each by its id. What cannot be sent raises here.

        While it is hired it is not closed to make room for another.
        """
        chosen: dict[int, RewardFunction] = {id(r): r for r in rewards if terms.remote(r)}
        if not chosen:
            yield None, {}
            return
        pool = self._hire(list(chosen.values()), terms, inherit)
        try:
            yield pool, {reward: leg for leg, reward in enumerate(chosen)}
        finally:
            with self._lock:
                pool.hired -= 1

    def _hire(self, own: list[RewardFunction], terms: Terms, inherit: bool) -> Pool:
        parcel = pack(own, [reward.name for reward in own], inherit)
        limits = _limits(own, terms)
        key = f"{parcel.key}:{limits}"
        if self._owner != os.getpid():  # a forked child: its parent's pools are not its own, and its lock may be held
            self.pools, self._lock, self._owner = OrderedDict(), threading.Lock(), os.getpid()
        with self._lock:
            pool = self.pools.get(key)
            if pool is None or not pool.usable:
                pool = Pool(parcel, FACTORY, limits)
                log.info("%s", "; ".join(f"{r.name}: {terms.why(r)}" for r in own))
            pool.hired += 1
            self.pools[key] = pool
            self.pools.move_to_end(key)
            idle = [k for k, other in self.pools.items() if not other.hired]
            gone = [self.pools.pop(k) for k in idle[: max(0, len(self.pools) - _MOST_POOLS)]]
        for old in gone:
            old.close()
        return pool

    def close(self) -> None:
        """End every worker process."""
        with self._lock:
            pools, self.pools = self.pools, OrderedDict()
        for pool in pools.values():
            pool.close()


def _limits(rewards: Sequence[RewardFunction], terms: Terms) -> Limits:
    size = terms.size()
    declared = [mb for r in rewards if (mb := r.contract.memory_mb) is not None]
    given = max(declared) if declared else terms.memory_mb
    if given is not None:
        return Limits(size, given, hard=True)
    return Limits(size, default_memory_mb(cores()) // 256 * 256 or 256)
