"""The parent's end of one worker: what was sent to it, what came back, and the means to stop it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

from assay.pool.page import Page, frames, new_page_file
from assay.pool.worker import ITEM, TICKET, resident_kb

IMPORT_GRACE: Final = 120.0
"""Seconds that an import in the midst of a row may take: no deadline runs meanwhile."""
_TAIL: Final = 2000
"""What is kept of a worker's last words."""
_PIPE: Final = 1 << 20
_READ: Final = 1 << 16
"""Bytes read at once: more would be a fresh mapping of memory each time."""


@dataclass(frozen=True, slots=True)
class Death:
    """Why a leg of a row has no reply: what it did to its worker, or what happened to it."""

    kind: Literal["timeout", "memory", "died", "unsendable", "infra"]
    reason: str
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Task:
    """One row (or one batch for a batch reward) on its way through the pool."""

    payload: Callable[[], bytes | Death]
    """Made when it is sent, so that a batch of large rows is never held twice."""
    limits: dict[int, float | None]
    """Leg -> the seconds it may take. A leg is a reward of the parcel, by its number."""
    replies: dict[int, bytes | Death] = field(default_factory=dict[int, "bytes | Death"])
    """What came of each leg."""
    done: Callable[[], None] = lambda: None
    """Called when the last leg is settled."""
    tries: int = 0

    @property
    def left(self) -> list[int]:
        """The legs that are not settled."""
        return [leg for leg in self.limits if leg not in self.replies]

    def settle(self, leg: int, reply: bytes | Death) -> bool:
        """Keep the first reply of a leg; whether it was one that was waited for."""
        if leg in self.replies or leg not in self.limits:
            return False
        self.replies[leg] = reply
        if len(self.replies) == len(self.limits):
            self.done()
        return True


class Hand:
    """One worker, as its parent sees it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pid, self.watch = 0, -1
        self.sent: dict[int, Task] = {}
        self.bytes_out = 0
        self.retired = False
        self.asked = self.quiet_since = time.monotonic()
        self.done = -1
        self.doom: tuple[int, int, Death] | None = None
        self.tail = b""
        self._in = bytearray()
        self._out: deque[memoryview] = deque()
        self.rows, self._worker_rows = socket.socketpair()
        self.rows.setblocking(False)
        self.rows.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIPE)
        self.tickets, self._tickets_in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.out, self._worker_out = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.out, False)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self.out, fcntl.F_SETPIPE_SZ, _PIPE)
        self._page_fd = new_page_file()
        self.page = Page(self._page_fd)

    def worker_fds(self) -> list[int]:
        """What the worker is born with."""
        return [self._worker_rows.fileno(), self.tickets, self._page_fd, self._worker_out]

    def handed_over(self) -> None:
        """The worker has its own copies."""
        self._worker_rows.close()
        os.close(self._page_fd)
        os.close(self._worker_out)

    def send(self, tickets: list[tuple[int, bytes, bytes]]) -> None:
        """Send rows, each with its ticket and its legs; the caller has put them in `sent`."""
        for number, legs, body in tickets:
            size = 1 + len(legs) + len(body)
            self._out.append(memoryview(ITEM.pack(size, number) + bytes([len(legs)]) + legs))
            if body:
                self._out.append(memoryview(body))
        self.flush()
        with contextlib.suppress(BrokenPipeError):
            os.write(self._tickets_in, b"".join(TICKET.pack(number) for number, _, _ in tickets))

    def flush(self) -> bool:
        """Write what the socket takes; whether nothing is left."""
        while self._out:
            try:
                count = self.rows.sendmsg(list(islice(self._out, 64)))
            except BlockingIOError:
                return False
            except OSError:  # it is dead; its rows come back when it is buried
                self._out.clear()
                return True
            while count and count >= len(self._out[0]):
                count -= len(self._out.popleft())
            if count:
                self._out[0] = self._out[0][count:]
        return True

    @property
    def waiting_to_send(self) -> bool:
        """Whether the socket was full."""
        return bool(self._out)

    def receive(self) -> list[tuple[int, int, bytes]]:
        """The replies that have come: (ticket, leg, payload)."""
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while data := self.rows.recv(_READ):
                self._in += data
                if len(data) < _READ:
                    break
        found, taken = frames(self._in)
        del self._in[:taken]
        return found

    def last_words(self) -> list[tuple[int, int, bytes]]:
        """What a dead worker had sent, and what it had not got round to sending."""
        found = self.receive()
        while more := self.receive():
            found += more
        return found + frames(self.page.pending())[0]

    def listen(self) -> bytes:
        """What it printed, up to a pipe's worth; the end of it is kept."""
        try:
            said = os.read(self.out, _READ)
        except (BlockingIOError, OSError):
            return b""
        self.tail = (self.tail + said)[-_TAIL:]
        return said

    def take_back(self, most: int) -> list[Task]:
        """Rows whose tickets it has not taken yet: the pipe gives each ticket to one reader only."""
        try:
            data = os.read(self.tickets, TICKET.size * most)
        except BlockingIOError:
            return []
        return [self.sent.pop(number) for (number,) in TICKET.iter_unpack(data) if number in self.sent]

    def due(self) -> float | None:
        """The time at which the row that runs now is over its deadline."""
        if not (started := self.page.started):
            return None
        number, leg = self.page.running
        task = self.sent.get(number)
        limit = task.limits.get(leg) if task else None
        if importing := self.page.importing:
            return importing + IMPORT_GRACE
        return None if limit is None else started + limit

    def stuck(self, now: float, patience: float) -> bool:
        """Whether it has rows, runs none, and has come no further for so many seconds."""
        done = self.page.worked[1]
        if not self.pid or not self.sent or self.page.started or done != self.done:
            self.done, self.quiet_since = done, now
        return now - self.quiet_since > patience

    def children(self) -> int:
        """How many processes it has started that still run."""
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", "rb") as file:
                return file.read().count(b" ")
        except OSError:
            return 0

    def grown_mb(self) -> float:
        """The memory that it holds beyond what it was born with."""
        return (resident_kb(self.pid) - self.page.born_with) / 1024 if self.pid else 0.0

    def held(self, number: int, leg: int) -> bool:
        """Stop it in its tracks, and look whether it is still at this row: then it stays stopped."""
        self._signal(signal.SIGSTOP)
        for _ in range(50):
            if _is_stopped(self.pid):
                break
            time.sleep(0.0002)
        if self.page.started and self.page.running == (number, leg):
            return True
        self._signal(signal.SIGCONT)
        return False

    def kill(self) -> None:
        """End it and its process group with SIGKILL; the nursery ends what left the group."""
        if self.watch >= 0:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self.watch, 0)  # it is not reaped yet, so its number is nobody else's
                os.killpg(self.pid, signal.SIGKILL)
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.watch >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.watch, number)

    def close(self) -> None:
        """Let go of everything that leads to it."""
        self.rows.close()
        for fd in (self.tickets, self._tickets_in, self.out, self.watch):
            if fd >= 0:
                os.close(fd)
        self.page.close()


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t", b"Z", b"X")
    except OSError:
        return True


def how_it_ended(status: int | None) -> str:
    """How a process ended, in words."""
    if status is None:
        return "the process that bears workers was killed"
    if status >= 0:
        return f"exit code {status}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-status).name}"
    return f"killed by signal {-status}"
