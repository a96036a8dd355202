"""A worker: takes a ticket, runs the row it stands for, leaves the reply on its page.

A ticket is four bytes in a pipe that the parent can read from too: rows behind one that hangs are taken back and go to
another worker. Whatever the author's code does (prints, forks, dies, leaks), the reply of every finished row is safe.
"""

from __future__ import annotations

import importlib
import os
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from assay.pool.page import HEADER, Page
from assay.pool.tidy import MOST_THREADS, Surroundings, new_stream

# bound here, for a reward may write over them where they come from
_getpid, _exit, _read, _poll, _open = os.getpid, os._exit, os.read, select.poll, open

SEND_EVERY: Final = 0.008
"""Seconds of work after which replies are sent to the parent, so that it can keep the worker fed."""
TICKET: Final = struct.Struct("<I")
ITEM: Final = struct.Struct("<QI")
"""Of one row on its way to a worker: how many bytes follow, and its ticket."""
NOTE: Final = 0xFFFFFFFF
"""The ticket number of a reply that is a note to the parent."""
RETIRED, IMPORTED = 0, 1
"""The notes: this worker wants to be replaced; these modules were imported in the midst of a row."""

Handler = Callable[[bytes, int], bytes]
"""Runs one leg of one row: its bytes in, the reply's bytes out. It carries failures, and raises nothing."""


class Worker:
    """The loop of one worker process."""

    def __init__(self, rows: socket.socket, tickets: int, page: Page, memory_mb: int) -> None:
        self.rows, self.tickets, self.page = rows, tickets, page
        self.buffer = bytearray()
        self.items: dict[int, bytes] = {}
        self.pid = os.getpid()
        self.surroundings = Surroundings()
        page.born_with = resident_kb(self.pid)
        self.peak_kb = _peak_kb()
        self.retire_kb = page.born_with + memory_mb * 1024 * 4 // 5
        self.last_sent = monotonic()
        self.retiring = False
        self.imports = _Imports(page)

    def run(self, handler: Handler) -> None:
        """Work until the parent hangs up or the worker is worn out."""
        while (number := self._ticket()) is not None:
            if (item := self._item(number)) is None:
                break
            self._score(handler, number, item)
            if self.retiring:
                self._reply(NOTE, RETIRED, b"")
                break
        self._send()

    def _score(self, handler: Handler, number: int, item: bytes) -> None:
        legs, payload = item[1 : 1 + item[0]], item[1 + item[0] :]
        page, clock, around = self.page, monotonic, self.surroundings
        for leg in legs:
            page.start(number, leg, around.stray_threads(), clock())
            reply = handler(payload, leg)
            if _getpid() != self.pid:  # the reward forked, and this is its child: it has no business here
                _exit(0)
            if self.imports.names:
                around.learn()
            around.put_back()
            self._reply(number, leg, reply)
            page.finish(clock())
        if self.imports.names:
            self._reply(NOTE, IMPORTED, "\n".join(self.imports.take()).encode())
        self.retiring = self._worn_out()
        if clock() - self.last_sent > SEND_EVERY:
            self._send()

    def _reply(self, number: int, leg: int, payload: bytes) -> None:
        frame = HEADER.pack(len(payload), number, leg) + payload
        if not self.page.add(frame):
            self._send()
            if not self.page.add(frame):
                self.rows.sendall(frame)

    def _send(self) -> None:
        if pending := self.page.pending():
            self.rows.sendall(pending)
            self.page.sent()
        self.last_sent = monotonic()

    def _ticket(self) -> int | None:
        while True:
            try:
                ticket = _read(self.tickets, TICKET.size)
            except BlockingIOError:
                self._send()
                if not self._wait():
                    return None
                continue
            return TICKET.unpack(ticket)[0] if ticket else None

    def _wait(self) -> bool:
        poll = _poll()
        poll.register(self.tickets, select.POLLIN)
        poll.register(self.rows, select.POLLIN)
        for fd, event in poll.poll():
            if fd == self.tickets:
                return bool(event & select.POLLIN)
            if not self._receive():
                return False
        return True

    def _item(self, number: int) -> bytes | None:
        while number not in self.items:
            if not self._receive():
                return None
        for stale in [n for n in self.items if n < number]:  # taken back by the parent
            del self.items[stale]
        return self.items.pop(number)

    def _receive(self) -> bool:
        data = self.rows.recv(1 << 16)
        self.buffer += data
        at = 0
        while at + ITEM.size <= len(self.buffer):
            size, number = ITEM.unpack_from(self.buffer, at)
            if (end := at + ITEM.size + size) > len(self.buffer):
                break
            self.items[number] = bytes(memoryview(self.buffer)[at + ITEM.size : end])
            at = end
        del self.buffer[:at]
        return bool(data)

    def _worn_out(self) -> bool:
        """Whether it holds so much that the next row might not fit: what leaks is replaced in time."""
        if self.surroundings.stray_threads() > MOST_THREADS:
            return True
        peak = _peak_kb()
        if peak <= max(self.retire_kb, self.peak_kb):
            return False
        self.peak_kb = peak
        return resident_kb(self.pid) > self.retire_kb


class _Imports:
    """Stops the row's clock while a module is imported for the first time: a deadline is for the row's own work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.depth = 0
        self.names: list[str] = []
        bootstrap: Any = getattr(importlib, "_bootstrap", None)
        self.find: Any = getattr(bootstrap, "_find_and_load", None)
        if self.find is not None:
            bootstrap._find_and_load = self

    def __call__(self, name: str, import_: Any) -> Any:
        if self.depth or name in sys.modules:
            return self.find(name, import_)
        self.depth += 1
        self.page.import_began(monotonic())
        try:
            module = self.find(name, import_)
            self.names.append(name)
            return module
        finally:
            self.page.import_ended(monotonic())
            self.depth -= 1

    def take(self) -> list[str]:
        names, self.names = self.names, []
        return names


def main(fds: tuple[int, int, int, int], handler: Handler, memory_mb: int, hard_limit: bool) -> None:
    """Be a worker until there is nothing more to do. Called in a process that was forked for it."""
    rows, tickets, page, out = fds
    _quiet(out)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if hard_limit:
        _limit_memory(memory_mb)
    os.set_blocking(tickets, False)
    Worker(socket.socket(fileno=rows), tickets, Page(page), memory_mb).run(handler)


def _quiet(out: int) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(signum, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = new_stream(1), new_stream(2)


def _limit_memory(memory_mb: int) -> None:
    """One allocation beyond the limit is a MemoryError in the row, before the parent has to look."""
    used = _memory_kb(os.getpid(), _DATA) * 1024
    limit = used + memory_mb * 1024 * 1024
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    resource.setrlimit(kind, (limit, limit))


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


_PAGE_KB = resource.getpagesize() // 1024


_RESIDENT, _DATA = 1, 5


def resident_kb(pid: int) -> int:
    """The memory that a process holds; 0 where that cannot be read."""
    return _memory_kb(pid, _RESIDENT)


def _memory_kb(pid: int, which: int) -> int:
    try:
        with _open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[which]) * _PAGE_KB
    except (OSError, IndexError, ValueError):
        return 0
