"""HTTP/1.1 as far as a judge's server needs it: send a body, read a body, keep the connection for the next.

A general client spends half of a call's CPU time on what no judge's server does (cookies, redirects, streams); this one
spends a quarter of that. What it leaves out it refuses and says so: no redirect is followed, since that would carry the
key to another host; nothing is asked for in a packed form, though gzip and deflate are read where a server sends them;
a reply that is not framed by the letter of RFC 9112 is a fault. Proxies are left to aiohttp (`proxied.py`).
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from assay.llm.framing import BrokenReply, ReplyReader, Response

IDLE_SECONDS = 15.0
"""How long a connection is kept that nobody uses; servers close theirs after a time that they do not tell."""
NEXT_ADDRESS_AFTER = 3.0
"""Seconds for one address of a name before its next one is tried."""
ADDRESSES_LIVE = 300.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where calls go and what stands above each of them: made once for all calls to the same place."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    origin: str = ""
    head: bytes = field(default=b"", repr=False)
    """The head of the request up to the length of its body."""

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str]) -> Target:
        """A URL and the headers for it; `ValueError` where they cannot be sent as they are."""
        where = urlsplit(url)
        user, _, host = where.netloc.rpartition("@")
        path = (where.path or "/") + (f"?{where.query}" if where.query else "")
        own = {"Host": host, "Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "assay"}
        if user:
            own["Authorization"] = f"Basic {base64.b64encode(unquote(user).encode()).decode()}"
        headers = {**own, **headers}
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if any(sign in line for line in lines for sign in "\r\n\0") or not (path.isascii() and path.isprintable()):
            raise ValueError("a line break or another sign that does not go into a header")
        head = "\r\n".join([*lines, "Content-Length: "]).encode("latin-1")
        return cls(url, headers, f"{where.scheme}://{host}", head)


# -- one connection --------------------------------------------------------------------------------------------------


class _Connection(asyncio.Protocol):
    """A connection to a server, with at most one reply under way."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.idle_since = 0.0
        self.open = True
        self._waiter: asyncio.Future[Response] | None = None
        self._reader = ReplyReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:  # nobody asked: it must not be taken for the reply to the next call
            self.abort()
            return
        try:
            response = self._reader.feed(data)
        except BrokenReply as error:
            self._end(error)
        else:
            if response is not None:
                self._answer(response)

    def eof_received(self) -> bool:
        return False  # the connection closes, and `connection_lost` has the say

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        if self._waiter is not None:
            response = self._reader.at_end() if exc is None else None
            if response is not None:
                self._answer(response)
            else:
                self._end(exc or BrokenReply("the connection was closed before the reply was whole"))

    def _answer(self, response: Response) -> None:
        waiter, self._waiter = self._waiter, None
        if not self._reader.reusable or self.transport.get_write_buffer_size():
            self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_result(response)

    def _end(self, error: BaseException) -> None:
        waiter, self._waiter = self._waiter, None
        self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)

    def _give_up(self) -> None:
        if self._waiter is not None:  # its call was cancelled: what comes now would be nobody's
            self._waiter = None
            self.abort()

    def abort(self) -> None:
        """Close without waiting for anything."""
        self.open = False
        self.transport.abort()

    async def exchange(self, data: bytes, until: float) -> Response:
        """Send a request and wait for the reply, until that time of the loop's clock."""
        loop = asyncio.get_running_loop()
        self._reader.start()
        waiter = self._waiter = loop.create_future()
        alarm = loop.call_at(until, self._end, TimeoutError())
        self.transport.write(data)
        try:
            return await waiter
        finally:
            alarm.cancel()
            self._give_up()


# -- connections by server -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Place:
    """A server: its addresses, and the connections to it that wait for a use."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    idle: list[_Connection] = field(default_factory=list[_Connection])
    addresses: asyncio.Task[list[str]] | None = None
    looked_up: float = 0.0


class Connections:
    """Posts bodies over connections that are kept, for one event loop."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._all: set[_Connection] = set()
        self._tls: ssl.SSLContext | None = None

    async def post(self, target: Target, body: bytes, seconds: float) -> Response:
        """Send a body and read the reply, all within so many seconds."""
        until = asyncio.get_running_loop().time() + seconds
        place = self._places.get(target.origin) or self._place(target.origin)
        connection = self._kept(place) or await self._opened(place, until)
        try:
            return await connection.exchange(b"%b%d\r\n\r\n%b" % (target.head, len(body), body), until)
        finally:
            if connection.open:
                connection.idle_since = time.monotonic()
                place.idle.append(connection)
            else:
                self._all.discard(connection)

    async def close(self) -> None:
        """Close all connections, used or not."""
        for connection in self._all:
            connection.abort()
        self._all.clear()
        self._places.clear()
        for _ in range(3):  # until the transports have said that they are closed
            await asyncio.sleep(0)

    def _place(self, origin: str) -> _Place:
        where = urlsplit(origin)
        secure = where.scheme == "https"
        if secure and self._tls is None:
            self._tls = ssl.create_default_context()
        port = where.port or (443 if secure else 80)
        place = self._places[origin] = _Place(where.hostname or "", port, self._tls if secure else None)
        return place

    def _kept(self, place: _Place) -> _Connection | None:
        """The connection that was used last, if any is still good; those that waited too long are closed."""
        oldest = time.monotonic() - IDLE_SECONDS
        while place.idle and (place.idle[0].idle_since < oldest or not place.idle[0].open):
            self._forget(place.idle.pop(0))
        while place.idle:
            connection = place.idle.pop()
            if connection.open and not connection.transport.is_closing():
                return connection
            self._forget(connection)
        return None

    def _forget(self, connection: _Connection) -> None:
        self._all.discard(connection)
        connection.abort()

    async def _opened(self, place: _Place, until: float) -> _Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(until):
            addresses = await self._addresses(place)
            for i, address in enumerate(list(addresses)):
                last = i == len(addresses) - 1
                try:
                    async with asyncio.timeout(None if last else NEXT_ADDRESS_AFTER):
                        _, connection = await loop.create_connection(
                            _Connection,
                            address,
                            place.port,
                            ssl=place.tls,
                            server_hostname=place.host if place.tls else None,
                        )
                except (OSError, TimeoutError):
                    if last:
                        place.addresses = None  # they may have changed
                        raise
                    continue
                if i:
                    addresses.insert(0, addresses.pop(i))  # what answers is tried first from now on
                self._all.add(connection)
                return connection
        raise OSError(f"no address for {place.host!r}")

    async def _addresses(self, place: _Place) -> list[str]:
        """The addresses of a name, looked up once for all who ask at that time."""
        now = time.monotonic()
        if place.addresses is None or now - place.looked_up > ADDRESSES_LIVE:
            place.addresses, place.looked_up = asyncio.ensure_future(_looked_up(place.host, place.port)), now
        try:
            return await asyncio.shield(place.addresses)
        except (OSError, UnicodeError) as error:
            place.addresses = None
            raise OSError(f"the host {place.host!r} was not found: {error}") from None


async def _looked_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return list(dict.fromkeys(str(info[4][0]) for info in found))
