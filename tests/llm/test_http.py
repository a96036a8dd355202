"""The framing of replies, byte by byte, and what a connection does around it."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import warnings
import zlib

import pytest

from assay.llm import http
from assay.llm.framing import MAX_BODY, BrokenReply, ReplyReader, Response
from assay.llm.http import Connections, Target

JSON = b'{"a": 1}'
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + JSON
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n"
    + JSON[:3]
    + b"\r\n5;x=y\r\n"
    + JSON[3:]
    + b"\r\n0\r\n"
)


def read(raw: bytes, step: int) -> Response | None:
    reader = ReplyReader()
    for i in range(0, len(raw), step):
        if (found := reader.feed(raw[i : i + step])) is not None:
            assert i + step >= len(raw), "the reply was said to be whole before it was"
            return found
    return reader.at_end()


def packed(body: bytes, coding: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


RAW_DEFLATE = zlib.compressobj(wbits=-15)
WHOLE = {
    "length": PLAIN,
    "chunks": CHUNKED + b"\r\n",
    "chunks and trailers": CHUNKED + b"X-Cost: 1\r\nX-More: 2\r\n\r\n",
    "to the end of the connection": b"HTTP/1.0 200 OK\r\n\r\n" + JSON,
    "an interim reply before": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + PLAIN,
    "no words behind the status": PLAIN.replace(b" OK", b""),
    "a header twice": PLAIN.replace(b"\r\n\r\n", b"\r\nContent-Length: 8\r\nVia: a\r\nVia: b\r\n\r\n"),
    "gzip": packed(gzip.compress(JSON), "gzip"),
    "deflate": packed(zlib.compress(JSON), "deflate"),
    "raw deflate": packed(RAW_DEFLATE.compress(JSON) + RAW_DEFLATE.flush(), "deflate"),
}


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("raw", WHOLE.values(), ids=WHOLE)
def test_every_framing_in_pieces_of_any_size(raw, step):
    found = read(raw, step)
    assert (found.status, found.body) == (200, JSON)


BROKEN = {
    "no HTTP": b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "HTTP/2": b"HTTP/2 200 OK\r\n\r\n",
    "a status of letters": b"HTTP/1.1 OK\r\n\r\n",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: -8\r\n\r\n" + JSON,
    "a length beyond the bound": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 9\r\n\r\n" + JSON,
    "a header without a colon": b"HTTP/1.1 200 OK\r\nhello\r\n\r\n",
    "a folded header": b"HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 8\r\n\r\n" + JSON,
    "an unknown transfer coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "an unknown content coding": packed(JSON, "br"),
    "a bad gzip": packed(b"not gzip", "gzip"),
    "half a gzip": packed(gzip.compress(JSON)[:-6], "gzip"),
    "a chunk of letters": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a chunk of minus": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\n",
    "a chunk of underscores": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\n",
    "a chunk longer than it says": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
    "a chunk beyond the bound": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000,
    "a bomb": packed(gzip.compress(bytes(MAX_BODY + 1)), "gzip"),
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_what_is_no_reply_is_said_to_be_none(raw):
    with pytest.raises(BrokenReply):
        read(raw, 10_000_000)


@pytest.mark.parametrize("raw", [PLAIN[:-1], CHUNKED, CHUNKED[:-3], b"HTTP/1.1 200 OK\r\nContent-Le", b""])
def test_a_reply_that_was_cut_is_none(raw):
    assert read(raw, 7) is None


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (PLAIN, True),
        (PLAIN + b"HTTP/1.1 200 OK", False),
        (PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), False),
        (PLAIN.replace(b"1.1", b"1.0"), False),
        (PLAIN.replace(b"1.1", b"1.0").replace(b"\r\n\r\n", b"\r\nConnection: Keep-Alive\r\n\r\n"), True),
        (CHUNKED + b"\r\n", True),
        (CHUNKED + b"\r\nx", False),
        (CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n", 1) + b"\r\n", False),
    ],
)
def test_when_a_connection_is_kept(raw, kept):
    reader = ReplyReader()
    assert reader.feed(raw) is not None
    assert reader.reusable is kept


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\n", "a\0", "ключ"])
def test_a_header_that_cannot_be_sent(value):
    with pytest.raises(ValueError, match=r"line break|ordinal"):
        Target.of("http://host/v1", {"Authorization": value})


# -- connections -----------------------------------------------------------------------------------------------------


class Server:
    """Answers every request with these bytes, and counts the connections."""

    def __init__(self, reply: bytes = PLAIN, **options) -> None:
        self.reply, self.options, self.opened, self.requests = reply, options, 0, []

    async def __aenter__(self) -> Server:
        self.server = await asyncio.start_server(self._talk, "127.0.0.1", 0, **self.options)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    async def _talk(self, reader, writer) -> None:
        self.opened += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:"))
                self.requests.append((head, await reader.readexactly(length)))
                writer.write(self.reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def target(server: Server, scheme: str = "http", host: str = "127.0.0.1") -> Target:
    return Target.of(f"{scheme}://{host}:{server.port}/v1/x?y=1", {"Authorization": "Bearer k"})


async def several(server: Server, count: int, at_once: bool = False, **where) -> list[Response]:
    connections = Connections()
    try:
        width = count if at_once else 1
        found: list[Response] = []
        while len(found) < count:
            found += await asyncio.gather(
                *(connections.post(target(server, **where), b"{}", 5.0) for _ in range(width))
            )
        return found
    finally:
        await connections.close()


def test_a_connection_is_used_again():
    async def main():
        async with Server() as server:
            one_by_one = await several(server, 5)
            opened = server.opened
            together = await several(server, 5, at_once=True)
            return server, one_by_one + together, opened, server.opened - opened

    server, found, once, more = asyncio.run(main())
    assert (once, more) == (1, 5)
    assert [response.body for response in found] == [JSON] * 10
    head, body = server.requests[0]
    assert head.startswith(b"POST /v1/x?y=1 HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer k\r\n" in head
    assert body == b"{}"


def test_a_connection_that_is_not_to_be_kept_is_not():
    async def main():
        async with Server(PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as server:
            await several(server, 3)
            return server.opened

    assert asyncio.run(main()) == 3


def test_what_comes_unasked_is_not_the_next_reply():
    async def main():
        async with Server(PLAIN + PLAIN.replace(b"1}", b"9}")) as server:
            return await several(server, 3), server.opened

    found, opened = asyncio.run(main())
    assert [response.body for response in found] == [JSON] * 3
    assert opened == 3


def test_a_call_that_is_cancelled_leaves_no_reply_to_the_next(monkeypatch):
    async def main():
        connections = Connections()
        async with Server() as server:
            await connections.post(target(server), b"first", 5.0)
            server.reply = b""
            given_up = asyncio.ensure_future(connections.post(target(server), b"second", 5.0))
            await asyncio.sleep(0.05)
            given_up.cancel()
            server.reply = PLAIN
            found = await connections.post(target(server), b"third", 5.0)
            await connections.close()
            return server.opened, found

    opened, found = asyncio.run(main())
    assert (opened, found.body) == (2, JSON)


def test_a_name_is_looked_up_once_and_its_good_address_kept(monkeypatch):
    asked = []

    async def looked_up(host, port):
        asked.append(host)
        return ["127.0.0.2", "127.0.0.1"]  # nobody listens at the first

    monkeypatch.setattr(http, "_looked_up", looked_up)

    async def main():
        async with Server() as server:
            return await several(server, 4, at_once=True, host="judge.example")

    assert [response.body for response in asyncio.run(main())] == [JSON] * 4
    assert asked == ["judge.example"]


def test_a_name_that_nobody_has():
    async def main():
        async with Server() as server:
            await several(server, 1, host="no-such-host.invalid")

    with pytest.raises(OSError, match="not found"):
        asyncio.run(main())


def test_an_idle_connection_is_not_kept_for_ever(monkeypatch):
    async def main():
        async with Server() as server:
            monkeypatch.setattr(http, "IDLE_SECONDS", -1.0)
            await several(server, 3)
            return server.opened

    assert asyncio.run(main()) == 3


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    try:
        subprocess.run(
            [*command.split(), "-addext", "subjectAltName=DNS:localhost"], cwd=folder, check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not installed")
    return folder


def test_tls_with_the_names_checked(certificate, monkeypatch):
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")

    async def main(**where):
        async with Server(ssl=serving) as server:
            return await several(server, 3, scheme="https", **where), server.opened

    with pytest.raises(ssl.SSLCertVerificationError):
        asyncio.run(main(host="localhost"))
    trusted = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
    monkeypatch.setattr(http.ssl, "create_default_context", lambda: trusted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, opened = asyncio.run(main(host="localhost"))
    assert ([response.body for response in found], opened) == ([JSON] * 3, 1)
    with pytest.raises(ssl.SSLCertVerificationError):
        asyncio.run(main(host="127.0.0.1"))
