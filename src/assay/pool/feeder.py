"""Which worker gets how many rows: enough that it never waits for its parent, and no more than its share."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final

from assay.pool.hand import Death, Hand, Task
from assay.pool.worker import NOTE

AHEAD: Final = 0.040
"""Seconds of work that a worker is given ahead of the row that it runs; what hangs before it is taken back again."""
MOST_AHEAD: Final = 128
MOST_BYTES: Final = 1 << 20


class Feeder:
    """The queue of a pool, and what has been learnt of how long its rows take."""

    def __init__(self) -> None:
        self.queue: deque[Task] = deque()
        self.suspects: deque[Task] = deque()
        """Rows that were running when something ended that any of them may have ended. Only one is out at a time."""
        self.tickets = 0
        self.seconds, self.count = 0.0, 0.0

    def learn(self, seconds: float, count: int) -> None:
        """A worker has taken so many seconds for so many rows; what was long ago counts less."""
        self.seconds, self.count = self.seconds * 0.9 + seconds, self.count * 0.9 + count

    def clear(self) -> None:
        """Forget all of them."""
        self.queue.clear()
        self.suspects.clear()

    def drop(self, gone: set[int]) -> None:
        """Forget tasks, by their ids."""
        self.queue = deque(task for task in self.queue if id(task) not in gone)
        self.suspects = deque(task for task in self.suspects if id(task) not in gone)

    def put_back(self, tasks: Sequence[Task]) -> None:
        """Tasks whose worker is gone come first, in their order."""
        self.suspects.extend(task for task in tasks if task.left and task.tries)
        self.queue.extendleft(reversed([task for task in tasks if task.left and not task.tries]))

    def feed(self, hands: Sequence[Hand]) -> list[Hand]:
        """Give every worker what it wants; returns those whose socket is full."""
        full: list[Hand] = []
        out = any(task.tries for hand in hands for task in hand.sent.values())
        if self.suspects and not out:
            self.queue.appendleft(self.suspects.popleft())
        for hand in sorted(hands, key=lambda h: len(h.sent)):
            if not self.queue:
                break
            self._feed_one(hand, self._appetite(len(hands)) - len(hand.sent))
            if hand.waiting_to_send:
                full.append(hand)
        return full

    def _appetite(self, takers: int) -> int:
        """How many rows a worker has in hand: some milliseconds of work, and no more than its share."""
        if not self.count:
            return 1
        each = self.seconds / self.count
        ahead = 1 if each > 10 * AHEAD else 2 + int(AHEAD / max(each, 1e-6))
        return min(ahead, MOST_AHEAD, max(1, math.ceil(len(self.queue) / takers)))

    def _feed_one(self, hand: Hand, count: int) -> None:
        tickets: list[tuple[int, bytes, bytes]] = []
        while count > 0 and self.queue and (hand.bytes_out < MOST_BYTES or not hand.sent):
            task = self.queue.popleft()
            body = task.payload()
            if isinstance(body, Death):
                for leg in task.left:
                    task.settle(leg, body)
                continue
            hand.sent[self.tickets] = task
            hand.bytes_out += len(body)
            tickets.append((self.tickets, bytes(task.left), body))
            self.tickets = (self.tickets + 1) % NOTE
            count -= 1
        if tickets:
            hand.send(tickets)
