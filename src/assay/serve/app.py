"""The reward server: any reward over HTTP, in its own JSON and in those of OpenRLHF and NeMo Gym.

    POST /score        {"rows": [{"prompt": ..., "response": ...}], "step": 10}  ->  {"outputs": [...]}
    POST /get_reward   OpenRLHF's {"query", "prompts", "labels"}                 ->  {"rewards", "scores", "extra_logs"}
    POST /verify       NeMo Gym's request with a response                        ->  the same with "reward"
    GET  /health       whether it takes requests                GET /metrics     Prometheus

With a token every path but /health asks for it. A request may carry an `Idempotency-Key`: sent again, it is answered
from the first time.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.adapters import nemo_gym, openrlhf
from assay.adapters.lower import part_names, refuse_groups, refuse_steps
from assay.engine import Engine, needs_groups, rows_for
from assay.errors import ConfigError, InputError, MissingColumn, require
from assay.plain_data import to_dict, to_json
from assay.reward import RewardFunction, as_reward
from assay.serve.batcher import Batcher, Closed, Full
from assay.serve.metrics import Metrics
from assay.types import RewardOutput, Trajectory

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass
class ServeConfig:
    """How a reward is served."""

    token: str = field(default="", repr=False)
    """What callers must show as `Authorization: Bearer ...`; empty: nothing, and then only on the loopback."""
    max_bytes: int = 16 * 1024 * 1024
    """The largest request."""
    timeout: float = 300.0
    """Seconds after which a request is answered with 504, whatever became of it."""
    batch_rows: int = 1024
    queue_rows: int = 16_384
    queue_bytes: int = 256 * 1024 * 1024
    """What all requests in progress may hold together, before 429 is answered."""
    row_timeout: float | None = None
    """Seconds a row may take. With it the reward runs in processes that can be stopped; without it in this one."""
    unscored: float | None = None
    """The number that a trainer gets which can take no None (OpenRLHF, NeMo Gym). None: such a request is refused with
    the reason (422), and nothing false is learnt."""


def create_app(reward: Any, config: ServeConfig | None = None) -> Any:
    """The server as an ASGI application: `uvicorn.run(create_app(MathReward()))`."""
    fastapi = require("fastapi", "serve", "the reward server")
    server = _Server(_batcher(as_reward(reward), config or ServeConfig()), config or ServeConfig())

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        yield
        await server.batcher.close()

    app = fastapi.FastAPI(title=f"Assay: {server.batcher.reward.name}", lifespan=lifespan, openapi_url=None)
    respond = fastapi.Response

    def route(path: str, answer: Callable[[Mapping[str, Any], str], Awaitable[Any]]) -> None:
        async def endpoint(request: Any) -> Any:
            status, body, headers = await server.handle(path, request, answer)
            return respond(to_json(body).encode("utf-8", "replace"), status, headers, media_type="application/json")

        # a plain route: FastAPI's own would spend as much on finding arguments as the reward on a row
        app.add_route(path, endpoint, methods=["POST"])

    route("/score", server.score)
    route("/get_reward", server.get_reward)
    route("/verify", server.verify)
    app.get("/health")(server.health)

    async def metrics() -> Any:
        return respond(server.metrics.text(server.batcher.waiting_rows), media_type="text/plain; version=0.0.4")

    app.get("/metrics")(metrics)
    app.add_middleware(_Guard, config=server.config)
    return app


def _batcher(reward: RewardFunction, config: ServeConfig) -> Batcher:
    return Batcher(
        reward,
        Engine(timeout=config.row_timeout),
        batch_rows=config.batch_rows,
        queue_rows=config.queue_rows,
        merge=not needs_groups(reward),
        patience=config.timeout,
    )


@dataclass
class _Refused(Exception):
    status: int
    said: str
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class _Server:
    batcher: Batcher
    config: ServeConfig

    def __post_init__(self) -> None:
        self.metrics = Metrics()

    async def handle(
        self, path: str, request: Any, answer: Callable[[Mapping[str, Any], str], Awaitable[Any]]
    ) -> tuple[int, Any, dict[str, str]]:
        """Read a request, answer it, and tell what went wrong in its own terms."""
        started = time.perf_counter()
        headers: dict[str, str] = {}
        try:
            async with asyncio.timeout(self.config.timeout):  # for the reading too: a caller may send slowly for ever
                body = await request.body()
                status, said = 200, await answer(_json_object(body), _key(path, request, body))
        except _Refused as refused:
            status, said, headers = refused.status, {"error": refused.said}, refused.headers
        except Full as full:
            status, said, headers = 429, {"error": str(full)}, {"Retry-After": str(full.retry_after)}
        except Closed as closed:
            status, said, headers = 503, {"error": str(closed)}, {"Retry-After": "1"}
        except TimeoutError:
            status, said = 504, {"error": f"not scored within {self.config.timeout} s"}
        except (InputError, ConfigError, MissingColumn, TypeError) as error:
            status, said = 422, {"error": str(error)}
        self.metrics.request(path, status, time.perf_counter() - started)
        return status, said, headers

    async def score(self, body: Mapping[str, Any], key: str) -> Any:
        """Assay's own JSON."""
        rows, step = body.get("rows"), body.get("step")
        if not isinstance(rows, list) or not (step is None or isinstance(step, int)):
            raise InputError('needed {"rows": [...], "step": null or a number}; found ' + str(list(body)))
        outputs = await self._outputs(rows_for(self.batcher.reward, rows), step, key)
        return {"outputs": [to_dict(output) for output in outputs]}

    async def get_reward(self, body: Mapping[str, Any], key: str) -> Any:
        """OpenRLHF's remote reward."""
        rows = openrlhf.rows(body.get("query") or [], body.get("prompts") or [], body.get("labels") or [])
        outputs = await self._singly(rows, key)
        return openrlhf.answer(outputs, part_names(self.batcher.reward), self._stand_in(outputs))

    async def verify(self, body: Mapping[str, Any], key: str) -> Any:
        """NeMo Gym's verifier."""
        outputs = await self._singly([nemo_gym.row(body)], key)
        return nemo_gym.answer(body, outputs[0], self._stand_in(outputs))

    async def health(self) -> dict[str, Any]:
        """Whether requests are taken, and for which reward."""
        return {"status": "ok", "reward": self.batcher.reward.name, "waiting_rows": self.batcher.waiting_rows}

    async def _outputs(self, rows: list[Trajectory], step: int | None, key: str) -> list[RewardOutput]:
        outputs = await self.batcher.score(rows, step, key) if rows else []
        self.metrics.rows(outputs)
        return outputs

    async def _singly(self, rows: list[Trajectory], key: str) -> list[RewardOutput]:
        refuse_groups(self.batcher.reward, "this protocol", "POST whole groups to /score.")
        refuse_steps(self.batcher.reward, "this protocol (POST to /score, with its step)")
        return await self._outputs(rows, None, key)

    def _stand_in(self, outputs: list[RewardOutput]) -> float:
        """The number for what was not scored, where one was chosen; else the request is refused with the reason."""
        lacking = next((output for output in outputs if output.reward is None), None)
        if lacking is not None and self.config.unscored is None:
            raise _Refused(422, f"not scored ({lacking.outcome}): {lacking.error}")
        return self.config.unscored or 0.0


def _key(path: str, request: Any, body: bytes) -> str:
    """What makes a request the same one: its key, and what it asks. A key that is used again for another is another."""
    given = request.headers.get("idempotency-key", "")
    return f"{path} {given} {hashlib.blake2b(body, digest_size=16).hexdigest()}" if given else ""


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refused(400, f"the request is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise _Refused(400, f"needed a JSON object; found {type(data).__name__}")
    return data  # pyright: ignore[reportUnknownVariableType]


@dataclass
class _Guard:
    """Before anything is read: the token, and the size. Plain ASGI, for it stands before every request."""

    app: Any
    config: ServeConfig
    held: int = 0
    """Bytes that the requests in progress hold."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = dict(scope["headers"])
        if self.config.token and scope["path"] != "/health":
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self.config.token.encode()):
                said = "needed the header Authorization: Bearer TOKEN"
                return await _refuse(send, 401, said, (b"www-authenticate", b"Bearer"))
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or (refused := self._too_much(int(length), 0)) is None:
            return await self._counting(scope, receive, send)
        challenge = [(name.lower().encode(), value.encode()) for name, value in refused.headers.items()]
        return await _refuse(send, refused.status, refused.said, *challenge)

    async def _counting(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and count what is read of it: it may have been sent without a length, in chunks."""
        taken = 0

        async def counted() -> Any:
            nonlocal taken
            message = await receive()
            size = len(message.get("body", b""))
            taken, self.held = taken + size, self.held + size
            if refused := self._too_much(taken, taken):
                raise refused
            return message

        try:
            return await self.app(scope, counted, send)
        finally:
            self.held -= taken

    def _too_much(self, size: int, counted: int) -> _Refused | None:
        """Why a request of this size is refused, of which so much is counted already."""
        if size > self.config.max_bytes:
            return _Refused(413, f"a request may have {self.config.max_bytes} bytes")
        others = self.held - counted
        if others and others + size > self.config.queue_bytes:
            return _Refused(429, f"requests in progress hold {others} bytes", {"Retry-After": "1"})
        return None


async def _refuse(send: Any, status: int, said: str, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"application/json"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"error": said}).encode()})


def refuse_open_door(host: str, config: ServeConfig) -> None:
    """A host beyond this machine needs a token."""
    if host not in LOOPBACK and not config.token:
        raise ConfigError(f"serving on {host} lets others in and needs a token: --token-env NAME. Or use 127.0.0.1.")


def serve(reward: Any, config: ServeConfig, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve until stopped; what was taken is finished."""
    refuse_open_door(host, config)
    uvicorn = require("uvicorn", "serve", "the reward server")
    app = create_app(reward, config)
    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=int(config.timeout))
