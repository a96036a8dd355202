"""One page of memory that a worker and its parent share, and that outlives the worker.

The worker writes when it starts a row and what came of it, without a system call; so the parent knows the moment that
a deadline runs from, and nothing that was finished is lost when the worker is killed with SIGKILL a microsecond later.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from typing import Final

BUFFER: Final = 1 << 18
"""Bytes of replies that wait on the page before they are sent."""

_FIELDS: Final = 128
_STARTED, _NUMBER, _LEG, _WRITTEN, _IMPORTING, _SECONDS, _DONE, _STRAY, _BORN_WITH = range(9)
HEADER: Final = struct.Struct("<IIH")
"""Of one reply: how many bytes follow, for which ticket, for which leg."""


class Page:
    """What a worker is doing, and the replies that it has not sent yet. Times are `time.monotonic()` of the machine."""

    __slots__ = ("fields", "map", "replies")

    def __init__(self, fd: int) -> None:
        self.map = mmap.mmap(fd, _FIELDS + BUFFER)
        self.fields = memoryview(self.map)[:_FIELDS].cast("d")
        self.replies = memoryview(self.map)[_FIELDS:]

    @property
    def started(self) -> float:
        """When the row that runs now began; 0 where none runs. Time spent importing modules is not counted."""
        return self.fields[_STARTED]

    @property
    def importing(self) -> float:
        """Since when a module is being imported; 0 where none is."""
        return self.fields[_IMPORTING]

    @property
    def running(self) -> tuple[int, int]:
        """The ticket and the leg of the row that runs, or ran last."""
        return int(self.fields[_NUMBER]), int(self.fields[_LEG])

    @property
    def stray(self) -> bool:
        """Whether threads of earlier rows were running when this row began."""
        return self.fields[_STRAY] > 0

    @property
    def born_with(self) -> int:
        """The kilobytes that the worker held before its first row, most of them shared with who bore it."""
        return int(self.fields[_BORN_WITH])

    @born_with.setter
    def born_with(self, kb: int) -> None:
        self.fields[_BORN_WITH] = kb

    def start(self, number: int, leg: int, stray: int, now: float) -> None:
        """Mark that a row begins."""
        self.fields[_NUMBER], self.fields[_LEG], self.fields[_STRAY] = number, leg, stray
        self.fields[_STARTED] = now

    def finish(self, now: float) -> None:
        """Mark that no row runs."""
        self.fields[_SECONDS] += now - self.fields[_STARTED]
        self.fields[_DONE] += 1
        self.fields[_STARTED] = 0.0

    @property
    def worked(self) -> tuple[float, int]:
        """The seconds that all its rows took, and how many legs of rows that were."""
        return self.fields[_SECONDS], int(self.fields[_DONE])

    def import_began(self, now: float) -> None:
        """The clock stops while a module is imported."""
        self.fields[_IMPORTING] = now

    def import_ended(self, now: float) -> None:
        """The clock goes on."""
        if self.fields[_STARTED]:
            self.fields[_STARTED] += now - self.fields[_IMPORTING]
        self.fields[_IMPORTING] = 0.0

    def add(self, frame: bytes) -> bool:
        """Append a reply; False where there is no room."""
        written = int(self.fields[_WRITTEN])
        if written + len(frame) > BUFFER:
            return False
        self.replies[written : written + len(frame)] = frame
        self.fields[_WRITTEN] = written + len(frame)  # after the bytes: what is counted is whole
        return True

    def pending(self) -> bytes:
        """The replies that were not sent."""
        return bytes(self.replies[: int(self.fields[_WRITTEN])])

    def sent(self) -> None:
        """Forget the replies: they are on their way."""
        self.fields[_WRITTEN] = 0.0

    def close(self) -> None:
        """Give the memory back."""
        self.fields.release()
        self.replies.release()
        self.map.close()


def new_page_file() -> int:
    """A file descriptor with room for one page; it has no name, so nobody else can open it."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("assay-page", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, _FIELDS + BUFFER)
    return fd


def frames(data: bytes | bytearray) -> tuple[list[tuple[int, int, bytes]], int]:
    """The whole replies at the start of these bytes as (ticket, leg, payload), and how many bytes they take."""
    found: list[tuple[int, int, bytes]] = []
    at = 0
    while at + HEADER.size <= len(data):
        size, number, leg = HEADER.unpack_from(data, at)
        end = at + HEADER.size + size
        if end > len(data):
            break
        found.append((number, leg, bytes(data[at + HEADER.size : end])))
        at = end
    return found, at
