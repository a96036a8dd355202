"""One thin async client for any server with OpenAI's wire format.

It sends JSON and reads JSON, under an endpoint's limits. What can pass (429, 5xx, a cut connection, a slow or broken
body) is tried again until the deadline; what cannot is raised. One client a process and event loop, so that a thousand
judges share connections; it is closed with its loop.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import json
import time
import weakref
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from assay.errors import InfraError
from assay.llm.framing import BrokenReply, Response
from assay.llm.http import Connections, Target
from assay.llm.limits import Bucket, CoolDown, backoff, retry_after
from assay.llm.proxied import Proxied, goes_by_proxy
from assay.llm.secret import Secret

REMEMBERED = 2048
"""Replies kept in memory, for equal calls."""
_WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, the key for it, and how hard it may be pressed."""

    base_url: str = "https://api.openai.com/v1"
    api_key: Secret = field(default_factory=Secret)
    requests_per_minute: float = 0.0
    """0 is no limit, here and below."""
    tokens_per_minute: float = 0.0
    concurrency: int = 256
    """Requests in flight at once."""
    attempt_timeout: float = 60.0
    """Seconds for one try, the reply's last byte included."""
    deadline: float = 180.0
    """Seconds for a call with all its tries and pauses; waiting for a turn under the rate limits does not count."""
    retries: int = 6
    headers: tuple[tuple[str, Secret], ...] = ()


@dataclass(slots=True)
class Reply:
    """A server's answer, and what it took to get it."""

    body: Json
    seconds: float = 0.0
    attempts: int = 1
    cached: bool = False


class Refused(InfraError):
    """The server answered, and the answer is no: a status that no retry will change."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Fault(Exception):
    """One try failed in a way that may pass."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class _Abandoned(Exception):
    """The call that others waited for was cancelled."""


@dataclass(slots=True)
class _Gate:
    """The state of one endpoint in one event loop."""

    slots: asyncio.Semaphore
    requests: Bucket
    tokens: Bucket
    cool_down: CoolDown = field(default_factory=CoolDown)
    ways: dict[str, tuple[Connections | Proxied, Target]] = field(
        default_factory=dict[str, tuple[Connections | Proxied, Target]], repr=False
    )
    """By path how and where calls go; here, and only here, the key stands in the open."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where to, what, and how to know a good answer."""

    path: str
    payload: Json
    tokens: int = 0
    """How many it may use, for the tokens a minute."""
    fault_in: Callable[[Json], str] = lambda body: ""
    """Reads a body of status 200 and says what is wrong with it, or nothing."""
    account: Callable[[Json], int] = lambda body: 0
    """Told of every body that came, good or not, since all are paid for; returns the tokens used."""
    remember: bool = True
    """Give equal calls the same reply."""
    listed: bool = False
    """A reply that is a list is good too; it stands under "data"."""
    salt: str = ""
    """Tells calls apart that are sent with the same words: the samples of one verdict."""


class Client:
    """Sends calls. Use `client()`, which keeps one for each event loop."""

    def __init__(self) -> None:
        self._connections = Connections()
        self._proxied: Proxied | None = None
        self._gates: dict[Endpoint, _Gate] = {}
        self._replies: OrderedDict[bytes, Reply] = OrderedDict()
        self._flights: dict[bytes, asyncio.Future[Reply]] = {}
        self._lifetime = self._until_the_loop_ends()

    async def open(self) -> Client:
        """Tie the connections to the running loop's end."""
        await anext(self._lifetime)
        return self

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
        if self._proxied is not None:
            await self._proxied.close()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        # A loop finishes its open async generators before it is closed: the one hook that asyncio offers.
        try:
            yield
        finally:
            await self.close()

    async def post(self, endpoint: Endpoint, call: Call) -> Reply:
        """Send one call. Equal calls in flight are sent once, and equal ones later answered from memory."""
        data = _dumps(call.payload)
        if not call.remember:
            return await self._send(endpoint, call, data)
        key = _key(endpoint, call, data)
        while True:
            if (known := self._replies.get(key)) is not None:
                self._replies.move_to_end(key)
                return Reply(known.body, 0.0, 0, cached=True)
            if (flight := self._flights.get(key)) is None:
                return await self._lead(key, self._send(endpoint, call, data))
            with contextlib.suppress(_Abandoned):  # its leader was cancelled: this call may lead now
                reply = await asyncio.shield(flight)
                return Reply(reply.body, reply.seconds, 0, cached=True)

    async def _lead(self, key: bytes, work: Awaitable[Reply]) -> Reply:
        """Send a call for itself and for the equal ones that come while it is in flight."""
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await work
        except BaseException as error:
            flight.set_exception(error if isinstance(error, InfraError) else _Abandoned())
            flight.exception()  # nobody may be there to fetch it
            raise
        finally:
            del self._flights[key]
        flight.set_result(reply)
        self._replies[key] = reply
        if len(self._replies) > REMEMBERED:
            self._replies.popitem(last=False)
        return reply

    def _gate(self, endpoint: Endpoint) -> _Gate:
        gate = self._gates.get(endpoint)
        if gate is None:
            slots = asyncio.Semaphore(max(1, endpoint.concurrency))
            buckets = Bucket(endpoint.requests_per_minute), Bucket(endpoint.tokens_per_minute)
            gate = self._gates[endpoint] = _Gate(slots, *buckets)
        return gate

    def _way(self, endpoint: Endpoint, path: str, gate: _Gate) -> tuple[Connections | Proxied, Target]:
        """How and where the calls to one path of a server go: looked up once."""
        headers = {"Content-Type": "application/json", **{k: v.reveal() for k, v in endpoint.headers}}
        if endpoint.api_key:
            headers["Authorization"] = f"Bearer {endpoint.api_key.reveal()}"
        url = endpoint.base_url.rstrip("/") + path
        try:
            target = Target.of(url, headers)
        except ValueError:  # its words could hold the key
            raise InfraError(
                f"the request to {url} cannot be sent: the URL, the API key or a header holds a line break or a "
                f"character beyond Latin-1. Check where the key was read from."
            ) from None
        if goes_by_proxy(url):
            self._proxied = self._proxied or Proxied()
        gate.ways[path] = self._proxied if self._proxied and goes_by_proxy(url) else self._connections, target
        return gate.ways[path]

    async def _send(self, endpoint: Endpoint, call: Call, data: bytes) -> Reply:
        gate, patience, faults = self._gate(endpoint), endpoint.deadline, list[str]()
        for attempt in range(endpoint.retries + 1):
            await gate.requests.take(1)
            await gate.tokens.take(call.tokens)
            patience -= await _enter(gate, patience, faults, endpoint)
            started = time.monotonic()
            try:
                body = await self._attempt(endpoint, call, data, min(patience, endpoint.attempt_timeout), gate)
                return Reply(body, time.monotonic() - started, attempt + 1)
            except _Fault as fault:
                faults.append(str(fault))
                if (wait := fault.wait) is not None:
                    gate.cool_down.extend(wait)
            finally:
                gate.slots.release()
            patience -= time.monotonic() - started
            if wait is None and attempt < endpoint.retries and (pause := backoff(attempt)) < patience:
                patience -= pause
                await asyncio.sleep(pause)
            if patience <= 0:
                break
        raise InfraError(_gave_up(endpoint, faults))

    async def _attempt(self, endpoint: Endpoint, call: Call, data: bytes, timeout: float, gate: _Gate) -> Json:
        connections, target = gate.ways.get(call.path) or self._way(endpoint, call.path, gate)
        try:
            response = await connections.post(target, data, timeout)
        except (BrokenReply, OSError) as error:  # a timeout and a failed handshake are an OSError too
            kind = type(error).__name__
            reason = f"no reply in {timeout:.3g} s" if isinstance(error, TimeoutError) else f"{kind}: {error}"
            raise _Fault(_without_secrets(endpoint, reason)[:300]) from None
        raw = _scrubbed(endpoint, response.body)
        if response.status != 200:
            raise _refusal(endpoint, call, response, raw)
        body = _json_object(raw, call.listed)
        gate.tokens.correct(call.account(body) - call.tokens)
        if problem := call.fault_in(body):
            raise _Fault(_without_secrets(endpoint, problem)[:300])
        return body


async def _enter(gate: _Gate, patience: float, faults: list[str], endpoint: Endpoint) -> float:
    """Take a slot while no cool-down holds; returns the seconds that cool-downs took."""
    waited = 0.0
    while True:
        if (left := gate.cool_down.left()) > 0:
            if waited + left > patience:
                faults.append(f"the server asks for a pause of {left:.0f} s, which is longer than the deadline")
                raise InfraError(_gave_up(endpoint, faults))
            await asyncio.sleep(left)
            waited += left
        await gate.slots.acquire()
        if gate.cool_down.left() <= 0:
            return waited
        gate.slots.release()  # it began while this call stood in the queue


def _scrubbed(endpoint: Endpoint, raw: bytes) -> bytes:
    """A reply without the secrets that were sent: what a server repeats would end in records and logs."""
    for secret in (endpoint.api_key, *(value for _, value in endpoint.headers)):
        if secret and (said := secret.reveal().encode()) in raw:
            raw = raw.replace(said, b"***")
    return raw


def _without_secrets(endpoint: Endpoint, text: str) -> str:
    for secret in (endpoint.api_key, *(value for _, value in endpoint.headers)):
        text = secret.scrub(text)
    return text


def _json_object(raw: bytes, listed: bool) -> Json:
    try:
        body = _loads(raw)
    except ValueError:
        raise _Fault(f"a body that is no JSON: {raw[:80]!r}") from None
    if listed and isinstance(body, list):
        return {"data": body}
    if not isinstance(body, dict):
        raise _Fault(f"a body that is no JSON object: {raw[:80]!r}")
    return body


def _refusal(endpoint: Endpoint, call: Call, response: Response, raw: bytes) -> Exception:
    status, headers = response.status, response.headers
    said = raw[:2000].decode("utf-8", "replace").strip()[:300]
    verdict = headers.get("x-should-retry", "").lower()
    hopeless = verdict == "false" or "insufficient_quota" in said
    if verdict == "true" or (status in _WORTH_RETRYING and not hopeless):
        return _Fault(f"status {status}: {said}", retry_after(headers))
    hint = {
        401: " Check the API key.",
        403: " Check the API key and what it may use.",
        404: " Check base_url and the model's name.",
    }.get(status, "")
    return Refused(f"{endpoint.base_url}{call.path} answered with status {status}: {said}.{hint}", status)


def _gave_up(endpoint: Endpoint, faults: list[str]) -> str:
    return (
        f"{endpoint.base_url} gave no usable reply in {len(faults)} tries (deadline {endpoint.deadline:g} s); "
        f"the last: {faults[-1] if faults else 'none'}"
    )


def _key(endpoint: Endpoint, call: Call, data: bytes) -> bytes:
    # Replies are kept apart by key as well; of the key only Python's salted hash, which never leaves the process.
    where = f"{endpoint.base_url}\n{call.path}\n{hash(endpoint.api_key)}\n{call.salt}\n".encode()
    return hashlib.blake2b(where + data, digest_size=16).digest()


def _python_dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


_dumps: Callable[[Any], bytes]
_loads: Callable[[bytes], Any]
try:
    import orjson

    _dumps, _loads = orjson.dumps, orjson.loads
except ImportError:
    _dumps, _loads = _python_dumps, json.loads

_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = weakref.WeakKeyDictionary()


async def client() -> Client:
    """The running loop's client; made at the first use, closed with the loop."""
    loop = asyncio.get_running_loop()
    if (known := _clients.get(loop)) is None:
        if not _clients:
            atexit.unregister(_close_all)
            atexit.register(_close_all)
        for ended in [other for other in _clients if other.is_closed()]:
            del _clients[ended]
        known = _clients[loop] = Client()
        await known.open()
    return known


def _close_all() -> None:
    # A loop in a thread of its own is never closed: at the process's end its connections are.
    for loop, known in list(_clients.items()):
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(known.close(), loop).result(2.0)


async def post(endpoint: Endpoint, call: Call) -> Reply:
    """Send one call with the running loop's client."""
    return await (await client()).post(endpoint, call)
