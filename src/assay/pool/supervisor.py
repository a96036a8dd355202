"""The pool's own thread: feeds the workers, listens to them, holds them to their deadlines, replaces them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from assay.errors import ConfigError, InfraError
from assay.pool.ears import Ears
from assay.pool.feeder import MOST_AHEAD, Feeder
from assay.pool.hand import IMPORT_GRACE, Death, Hand, Task, how_it_ended
from assay.pool.home import Home, open_home
from assay.pool.nursery import MESSAGE
from assay.pool.parcel import Parcel
from assay.pool.worker import IMPORTED, NOTE, RETIRED

TICK: Final = 0.05
"""Seconds between two looks at memory, and at rows that wait behind one that takes long."""
MOST_PRINTED: Final = 1 << 16
"""Bytes of what workers print that are passed on; the rest is read and dropped."""
MOST_TRIES: Final = 2
"""How often a row is begun that was not seen to be the reason for what happened."""
MOST_FAILED_BIRTHS: Final = 8
"""Workers in a row that end before they finish anything: then the pool gives up, and says why."""

MOST_CHILDREN: Final = 200
"""Processes that a worker may have started and that still run."""
STUCK: Final = 10.0
"""Seconds that a worker may need from one row to the next."""
NUDGE: Final = 1.0
"""How often a nursery is told to go on, in seconds: a reward may have stopped it."""
LOAD_GRACE: Final = 900.0
"""Seconds that loading the rewards may take."""

Failed = Callable[[Exception], None]


class Supervisor:
    """Runs in one thread; `submit`, `cancel` and `close` may be called from any."""

    def __init__(self, parcel: Parcel, factory: str, size: int, memory_mb: int, hard_limit: bool) -> None:
        self.parcel, self.factory = parcel, factory
        self.size, self.memory_mb, self.hard_limit = size, memory_mb, hard_limit
        self.closing = False
        self.error: Exception | None = None
        self.feeder = Feeder()
        self.hands: dict[int, Hand] = {}
        self.jobs: dict[int, tuple[Sequence[Task], Failed]] = {}
        self.home: Home | None = None
        self.births = self.printed = self.fruitless = 0
        self.imported: set[str] = set()
        self.next_look = self.next_nudge = 0.0
        self.ears = Ears()
        self._ended = threading.Event()

    # -- from any thread ---------------------------------------------------------------------------------------------

    def submit(self, tasks: Sequence[Task], failed: Failed) -> None:
        """Take work."""
        self.ears.post(lambda: self._accept(tasks, failed))
        if self._ended.is_set():  # too late for the thread to see it
            failed(self.error or _closed())

    def cancel(self, tasks: Sequence[Task]) -> None:
        """Stop work: what waits is dropped, and what runs is killed."""
        self.ears.post(lambda: self._drop(tasks))

    def finished(self, tasks: Sequence[Task]) -> None:
        """Every task of this call is settled."""
        self.jobs.pop(id(tasks), None)

    def close(self) -> None:
        """End everything, and wait for it."""
        self.closing = True
        self.ears.post(lambda: None)
        self._ended.wait(10.0)

    def pids(self) -> list[int]:
        """The workers that live now."""
        return [hand.pid for hand in list(self.hands.values()) if hand.pid]

    # -- the thread --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """The loop; it ends with `close()`. Whatever happens, nobody is left waiting."""
        try:
            while not self.closing:
                self.ears.attend(self._patience())
                self._look()
                self._feed()
        finally:
            self.closing = True
            self._end()

    def _end(self) -> None:
        for hand in list(self.hands.values()):
            hand.kill()
            self._forget(hand)
        if self.home is not None:
            self.home.close()
        self.error = self.error or _closed()
        self._fail_all(self.error)
        self._ended.set()
        self.ears.obey()  # what came meanwhile fails too
        self.ears.close()

    def _fail_all(self, error: Exception) -> None:
        self.feeder.clear()
        jobs, self.jobs = self.jobs, {}
        for _, failed in jobs.values():
            failed(error)

    def _accept(self, tasks: Sequence[Task], failed: Failed) -> None:
        if self.error is not None:
            failed(self.error)
            return
        self.jobs[id(tasks)] = (tasks, failed)
        self.feeder.queue.extend(tasks)
        if self.home is None:
            self._move_in()

    def _drop(self, tasks: Sequence[Task]) -> None:
        gone = {id(task) for task in tasks}
        self.jobs.pop(id(tasks), None)
        self.feeder.drop(gone)
        for hand in list(self.hands.values()):
            if any(id(task) in gone for task in hand.sent.values()):
                for number in [n for n, task in hand.sent.items() if id(task) in gone]:
                    del hand.sent[number]
                self._replace(hand)

    # -- the nursery and its workers ---------------------------------------------------------------------------------

    def _move_in(self) -> None:
        self.home = open_home(self.parcel, self.factory)
        self.ears.listen(self.home.control.fileno(), self._hear_home)
        for _ in range(self.size):
            self._bear()

    def _bear(self) -> None:
        hand = Hand(self.births)
        self.births += 1
        self.hands[hand.number] = hand
        self.ears.listen(hand.rows.fileno(), lambda event: self._hear_worker(hand, event))
        self.ears.listen(hand.out, lambda event: self._hear_print(hand, event))
        if self.home is not None:
            told = {"bear": hand.number, "memory_mb": self.memory_mb, "hard_limit": self.hard_limit}
            self.home.tell(hand.worker_fds(), **told)
        hand.handed_over()

    def _hear_home(self, event: int) -> None:
        assert self.home is not None
        try:
            data, fds, _, _ = socket.recv_fds(self.home.control, MESSAGE, 4)
        except OSError:
            data, fds = b"", []
        if not data:
            self._rebuild()
            return
        said = json.loads(data)
        if "born" in said:
            self._born(said, fds)
        elif "died" in said:
            if (hand := self.hands.get(said["died"])) is not None:
                self._bury(hand, said["status"])
        elif "ready" in said:
            self.home.ready = time.monotonic()
        elif "failed" in said:
            self._give_up(ConfigError(f"the rewards cannot be loaded in a worker process: {said['failed']}"))

    def _born(self, said: dict[str, Any], fds: list[int]) -> None:
        hand = self.hands.get(said["born"])
        if hand is None:
            for fd in fds:
                os.close(fd)
        else:
            hand.pid, hand.watch = said["pid"], fds[0]
            if hand.retired:  # it was given up before it was born
                hand.kill()

    def _rebuild(self) -> None:
        """The nursery is gone, and its workers with it: nobody knows which row did it."""
        if self.home is not None:
            self.ears.deaf(self.home.control.fileno())
            self.home.close()
        self.home = None
        if self.error is not None:
            return
        self.fruitless += 1
        for hand in list(self.hands.values()):
            self._bury(hand, None)
        if self.fruitless > MOST_FAILED_BIRTHS:
            self._give_up(InfraError("worker processes end before they begin any work"))
        else:
            self._move_in()

    def _give_up(self, error: Exception) -> None:
        self.error = error
        for hand in list(self.hands.values()):
            hand.kill()
            self._forget(hand)
        self._fail_all(error)

    def _replace(self, hand: Hand) -> None:
        """Kill a worker, and have another born before it is buried."""
        if not hand.retired:
            hand.retired = True
            self._bear()
        hand.kill()

    def _bury(self, hand: Hand, status: int | None) -> None:
        self._settle(hand, hand.last_words())
        hand.listen()
        guilty = self._settle_culprit(hand, status)
        back = list(hand.sent.values())
        if guilty or hand.page.worked[1]:
            self.fruitless = 0
        elif not hand.retired and status is not None:
            self.fruitless += 1
        replaced = hand.retired
        self._forget(hand)
        self.feeder.put_back(back)
        if self.fruitless > MOST_FAILED_BIRTHS:
            said = hand.tail.decode(errors="replace").strip()
            self._give_up(
                InfraError(f"worker processes end before they finish anything ({how_it_ended(status)}). {said}")
            )
        elif not replaced and self.home is not None and not self.error and status is not None:
            self._bear()

    def _settle_culprit(self, hand: Hand, status: int | None) -> bool:
        """Settle the row that this worker died of; whether there was one."""
        if hand.doom:
            number, leg, death = hand.doom
        elif hand.page.started and not hand.retired:
            number, leg = hand.page.running
            said = hand.tail.decode(errors="replace").strip()
            took = time.monotonic() - hand.page.started
            death = Death("died", f"it ended its worker process: {how_it_ended(status)}. {said}".strip(), took)
            # nobody knows who it was: a row that ran elsewhere, or a thread that an earlier row has left
            if (status is None or hand.page.stray) and (task := hand.sent.get(number)):
                task.tries += 1
                if task.tries < MOST_TRIES:
                    return False
        else:
            return False
        if task := hand.sent.get(number):
            task.settle(leg, death)
        return True

    def _forget(self, hand: Hand) -> None:
        self.hands.pop(hand.number, None)
        self.ears.deaf(hand.rows.fileno())
        self.ears.deaf(hand.out)
        hand.close()

    # -- what workers say --------------------------------------------------------------------------------------------

    def _hear_worker(self, hand: Hand, event: int) -> None:
        if event & select.EPOLLOUT and hand.flush():
            self.ears.expect(hand.rows.fileno(), select.EPOLLIN)
        replies = hand.receive()
        self._settle(hand, replies)
        if event & (select.EPOLLHUP | select.EPOLLERR) and not replies:
            self.ears.deaf(hand.rows.fileno())  # it is dead; the nursery will say so

    def _settle(self, hand: Hand, replies: list[tuple[int, int, bytes]]) -> None:
        for number, leg, payload in replies:
            if number == NOTE:
                self._note(hand, leg, payload)
                continue
            task = hand.sent.get(number)
            if task is not None and task.settle(leg, payload) and not task.left:
                del hand.sent[number]
        if replies:
            self.feeder.learn(*hand.page.worked)
            if not hand.sent:
                hand.bytes_out = 0

    def _note(self, hand: Hand, kind: int, payload: bytes) -> None:
        if kind == RETIRED and not hand.retired:
            hand.retired = True
            self._bear()
        elif kind == IMPORTED and self.home is not None:
            names = [name for name in payload.decode().split("\n") if name not in self.imported]
            self.imported.update(names)
            if names:  # so that the next worker has them from birth
                self.home.tell(load=names[:200])

    def _hear_print(self, hand: Hand, event: int) -> None:
        said = hand.listen()
        if not said and event & select.EPOLLHUP:
            self.ears.deaf(hand.out)
        elif said and self.printed < MOST_PRINTED:
            self.printed += len(said)
            rest = "" if self.printed < MOST_PRINTED else "\n[assay: what workers print from here on is dropped]\n"
            with contextlib.suppress(OSError, ValueError):  # a closed or broken stderr is no reason to stop
                sys.stderr.write(said.decode(errors="replace")[:MOST_PRINTED] + rest)

    # -- deadlines, memory, and rows that wait behind a long one -----------------------------------------------------

    def _patience(self) -> float:
        """Seconds until something must be looked at, in the absence of news."""
        busy = [hand for hand in self.hands.values() if hand.sent]
        if not busy:
            return -1
        now = time.monotonic()
        wait = min([TICK, *(due - now for hand in busy if (due := hand.due()) is not None)])
        return max(0.0, wait) + 0.0005

    def _look(self) -> None:
        now = time.monotonic()
        for hand in list(self.hands.values()):
            if hand.doom is None and hand.sent and (due := hand.due()) is not None and now >= due:
                number, leg = hand.page.running
                took = now - hand.page.started
                self._execute(hand, number, leg, Death("timeout", "", took))
        if now >= self.next_look:
            self.next_look = now + TICK
            self._look_at_size()
            self._take_back(now)
            self._look_for_the_stuck(now)

    def _execute(self, hand: Hand, number: int, leg: int, death: Death) -> None:
        if hand.held(number, leg):
            hand.doom = (number, leg, death)
            self._replace(hand)

    def _look_at_size(self) -> None:
        for hand in list(self.hands.values()):
            if not hand.sent or hand.doom is not None or not hand.page.started:
                continue
            if (mb := hand.grown_mb()) > self.memory_mb:
                kind, reason = "memory", f"its worker held {mb:.0f} MB, above the limit of {self.memory_mb} MB"
            elif (count := hand.children()) > MOST_CHILDREN:
                kind, reason = "died", f"its worker had started {count} processes, above the limit of {MOST_CHILDREN}"
            else:
                continue
            number, leg = hand.page.running
            self._execute(hand, number, leg, Death(kind, reason, time.monotonic() - hand.page.started))

    def _look_for_the_stuck(self, now: float) -> None:
        """What neither the deadline of a row nor the end of a process would tell of."""
        if self.home is None:
            return
        for hand in list(self.hands.values()):
            if hand.stuck(now, STUCK):  # between two rows: a destructor, a signal handler, a thread in C
                hand.kill()
        unborn = [hand.asked for hand in self.hands.values() if not hand.pid]
        if now >= self.next_nudge:
            self.next_nudge = now + NUDGE
            self.home.nudge()
            patience = IMPORT_GRACE if self.home.ready else LOAD_GRACE
            if unborn and now - max(min(unborn), self.home.ready) > patience:
                self.home.kill()

    def _take_back(self, now: float) -> None:
        idle = sum(1 for hand in self.hands.values() if not hand.sent and not hand.retired)
        if self.feeder.queue or not idle:
            return
        for hand in self.hands.values():
            if len(hand.sent) > 1 and (started := hand.page.started) and now - started > TICK:
                self.feeder.queue.extend(hand.take_back(MOST_AHEAD))

    # -- feeding -----------------------------------------------------------------------------------------------------

    def _feed(self) -> None:
        if self.error is None:
            for hand in self.feeder.feed([h for h in self.hands.values() if not h.retired]):
                self.ears.expect(hand.rows.fileno(), select.EPOLLIN | select.EPOLLOUT)


def _closed() -> InfraError:
    return InfraError("the worker pool was closed while rows were waiting in it")
