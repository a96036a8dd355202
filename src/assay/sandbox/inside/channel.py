"""Length-prefixed JSON over a pair of pipes, between the tester and the candidate; and reading a whole descriptor."""

from __future__ import annotations

import struct
from os import close, pread, read, write
from typing import Any

from . import wire

MAX_MESSAGE = 16 << 20
CHUNK = 1 << 16
LENGTH = struct.Struct("<I")


class Gone(BaseException):
    """The other side has gone, or sent what is no message. Not an Exception: no bare `except Exception` hides it."""


class Channel:
    """Whole messages over two pipe ends."""

    def __init__(self, reads: int, writes: int) -> None:
        self.reads = reads
        self.writes = writes
        self.buffer = bytearray()

    def send(self, message: Any) -> None:
        """Write one message, all of it."""
        body = wire.dumps(message)
        data = LENGTH.pack(len(body)) + body
        try:
            sent = write(self.writes, data)
            while sent < len(data):
                sent += write(self.writes, memoryview(data)[sent:])
        except OSError:
            raise Gone("it closed its pipe") from None

    def receive(self) -> Any:
        """Read one message."""
        (size,) = LENGTH.unpack(self._take(4))
        if size > MAX_MESSAGE:
            raise Gone("it sent a message that is too long")
        try:
            return wire.loads(self._take(size))
        except (ValueError, RecursionError):
            raise Gone("it sent what is no message") from None

    def _take(self, size: int) -> bytes:
        while len(self.buffer) < size:
            chunk = read(self.reads, CHUNK)
            if not chunk:
                raise Gone("it ended")
            self.buffer += chunk
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken


def read_all(fd: int) -> bytes:
    """All bytes of a file descriptor from its start, which is then closed."""
    data = pread(fd, CHUNK, 0)
    if len(data) == CHUNK:
        parts = [data]
        while chunk := pread(fd, CHUNK, CHUNK * len(parts)):
            parts.append(chunk)
        data = b"".join(parts)
    close(fd)
    return data
