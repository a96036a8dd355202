"""One reply of HTTP/1.1, read from its bytes as they come: by the letter of RFC 9112, or not at all."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

MAX_BODY = 8 * 2**20
"""Bytes of a reply that are read; a longer one is a fault of the server."""
MAX_HEAD = 2**16


class BrokenReply(Exception):
    """What came is no whole reply of HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole reply."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters."""
    body: bytes


class ReplyReader:
    """Reads one reply from what comes, as it comes; each byte is looked at once."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Get ready for the next reply."""
        self.reusable = False
        self._buffer = bytearray()
        self._from = 0
        self._status = 0
        self._headers: dict[str, str] = {}
        self._length: int | None = None
        self._chunks: list[bytes] | None = None
        self._size = 0

    def feed(self, data: bytes) -> Response | None:
        """Take what came; the reply, once it is whole."""
        self._buffer += data
        while not self._status:
            if not self._read_head():
                return None
        if self._chunks is not None:
            return self._read_chunks()
        if self._length is None:
            _bound(len(self._buffer))
            return None
        if len(self._buffer) < self._length:
            return None
        if len(self._buffer) > self._length:
            self.reusable = False  # more than was announced: what follows is not to be trusted
        return self._whole(bytes(self._buffer[: self._length]))

    def at_end(self) -> Response | None:
        """The reply whose end is the end of its connection, if this is one."""
        framed = self._length is not None or self._chunks is not None
        return None if not self._status or framed else self._whole(bytes(self._buffer))

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", max(0, self._from - 3))
        if end < 0:
            self._from = len(self._buffer)
            if self._from > MAX_HEAD:
                raise BrokenReply(f"a head of more than {MAX_HEAD} bytes")
            return False
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        self._from = 0
        version, status = _status_of(first)
        if 100 <= status < 200:
            return True  # an interim reply: the real one follows
        self._status = status
        headers = self._headers = _headers_of(lines)
        kept = headers.get("connection", "").lower()
        self.reusable = "close" not in kept if version == "HTTP/1.1" else "keep-alive" in kept
        self._length = _length_of(headers, status)
        if (coding := headers.get("transfer-encoding")) is not None:
            if coding.lower() != "chunked":
                raise BrokenReply(f"a transfer coding that is not read: {coding[:40]!r}")
            self.reusable = self.reusable and self._length is None  # both framings at once: not to be trusted
            self._chunks, self._length = [], None
        return True

    def _read_chunks(self) -> Response | None:
        assert self._chunks is not None
        buffer, at = self._buffer, 0
        while (end := buffer.find(b"\r\n", at)) >= 0:
            size = _chunk_size(bytes(buffer[at:end]))
            if size == 0:
                if (tail := _after_trailers(buffer, end)) < 0:
                    break
                self.reusable = self.reusable and tail == len(buffer)
                return self._whole(b"".join(self._chunks))
            if len(buffer) < end + size + 4:
                break
            if not buffer.startswith(b"\r\n", end + 2 + size):
                raise BrokenReply("a chunk that is longer than it says")
            self._chunks.append(bytes(buffer[end + 2 : end + 2 + size]))
            self._size += size
            _bound(self._size)
            at = end + size + 4
        else:
            if len(buffer) - at > 1000:
                raise BrokenReply("a chunk without its size")
        del buffer[:at]
        return None

    def _whole(self, body: bytes) -> Response:
        _bound(len(body))
        return Response(self._status, self._headers, _unpacked(body, self._headers.get("content-encoding", "")))


def _status_of(line: str) -> tuple[str, int]:
    version, _, rest = line.partition(" ")
    if version not in ("HTTP/1.1", "HTTP/1.0") or not (
        rest[:3].isdigit() and rest[:3].isascii() and int(rest[:3]) >= 100
    ):
        raise BrokenReply(f"no reply of HTTP/1.1: {line[:60]!r}")
    return version, int(rest[:3])


def _headers_of(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip(" \t")
        if not colon or not name or name != name.strip():
            raise BrokenReply(f"no header: {line[:60]!r}")
        if headers.setdefault(name, value) != value and name in ("content-length", "transfer-encoding"):
            raise BrokenReply(f"two headers {name} that differ")
    return headers


def _length_of(headers: Mapping[str, str], status: int) -> int | None:
    if status in (204, 304):
        return 0
    said = headers.get("content-length")
    if said is None:
        return None
    if not (said.isascii() and said.isdigit() and len(said) < 16):
        raise BrokenReply(f"no length: {said[:40]!r}")
    _bound(int(said))
    return int(said)


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    try:
        size = int(digits, 16)
    except ValueError:
        size = -1
    if not 0 < len(digits) < 9 or size < 0 or not digits.isalnum():
        raise BrokenReply(f"no size of a chunk: {line[:40]!r}")
    _bound(size)
    return size


def _after_trailers(buffer: bytearray, end: int) -> int:
    """Where the reply ends whose last chunk's size ends at `end`; -1 where that has not come yet."""
    if buffer.startswith(b"\r\n", end + 2):
        return end + 4
    if (last := buffer.find(b"\r\n\r\n", end)) >= 0:
        return last + 4
    if len(buffer) - end > MAX_HEAD:
        raise BrokenReply(f"trailers of more than {MAX_HEAD} bytes")
    return -1


def _bound(size: int) -> None:
    if size > MAX_BODY:
        raise BrokenReply(f"a reply of more than {MAX_BODY} bytes")


def _unpacked(body: bytes, coding: str) -> bytes:
    coding = coding.lower().strip()
    if coding in ("", "identity") or not body:
        return body
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise BrokenReply(f"a reply packed as {coding[:40]!r}, which nobody asked for")
    raw = coding == "deflate" and body[0] & 0x0F != 8  # some send deflate without its wrapper
    unpacker = zlib.decompressobj(-15 if raw else 47)
    try:
        plain = unpacker.decompress(body, MAX_BODY + 1)
    except zlib.error as error:
        raise BrokenReply(f"a reply that cannot be unpacked: {error}") from None
    _bound(len(plain))
    if not unpacker.eof:
        raise BrokenReply("a packed reply without its end")
    return plain
