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
import hmac
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.adapters import nemo_gym, openrlhf
from assay.adapters.lower import part_names, refuse_groups
from assay.engine import needs_groups
from assay.errors import ConfigError, InputError, require
from assay.record import to_dict, to_json
from assay.reward import as_reward
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
    unscored: float | None = None
    """The number that a trainer gets which can take no None (OpenRLHF, NeMo Gym). None: such a request is refused with
    the reason (422), and nothing false is learnt."""


def create_app(reward: Any, config: ServeConfig | None = None) -> Any:
    """The server as an ASGI application: `uvicorn.run(create_app(MathReward()))`."""
    fastapi = require("fastapi", "serve", "the reward server")
    server = _Server(Batcher(as_reward(reward)), config or ServeConfig())
    server.batcher.batch_rows, server.batcher.queue_rows = server.config.batch_rows, server.config.queue_rows
    server.batcher.merge = not needs_groups(server.batcher.reward)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        yield
        await server.batcher.close()

    app = fastapi.FastAPI(title=f"Assay: {server.batcher.reward.name}", lifespan=lifespan, openapi_url=None)
    respond = fastapi.Response

    def route(path: str, answer: Callable[[Mapping[str, Any], str], Awaitable[Any]]) -> None:
        async def endpoint(request: Any) -> Any:
            status, body, headers = await server.handle(path, request, answer)
            return respond(to_json(body), status, headers, media_type="application/json")

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
            body = _json_object(await request.body())
            async with asyncio.timeout(self.config.timeout):
                status, said = 200, await answer(body, _key(path, request))
        except _Refused as refused:
            status, said, headers = refused.status, {"error": refused.said}, refused.headers
        except Full as full:
            status, said, headers = 429, {"error": str(full)}, {"Retry-After": str(full.retry_after)}
        except Closed as closed:
            status, said, headers = 503, {"error": str(closed)}, {"Retry-After": "1"}
        except TimeoutError:
            status, said = 504, {"error": f"not scored within {self.config.timeout} s"}
        except (InputError, ConfigError, TypeError) as error:
            status, said = 422, {"error": str(error)}
        self.metrics.request(path, status, time.perf_counter() - started)
        return status, said, headers

    async def score(self, body: Mapping[str, Any], key: str) -> Any:
        """Assay's own JSON."""
        rows, step = body.get("rows"), body.get("step")
        if not isinstance(rows, list) or not (step is None or isinstance(step, int)):
            raise InputError('needed {"rows": [...], "step": null or a number}; found ' + str(list(body)))
        trajectories = [Trajectory.of(row) for row in rows]
        outputs = await self._outputs(trajectories, step, key)
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
        return await self._outputs(rows, None, key)

    def _stand_in(self, outputs: list[RewardOutput]) -> float:
        """The number for what was not scored, where one was chosen; else the request is refused with the reason."""
        lacking = next((output for output in outputs if output.reward is None), None)
        if lacking is not None and self.config.unscored is None:
            raise _Refused(422, f"not scored ({lacking.outcome}): {lacking.error}")
        return self.config.unscored or 0.0


def _key(path: str, request: Any) -> str:
    given = request.headers.get("idempotency-key", "")
    return f"{path} {given}" if given else ""


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

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = dict(scope["headers"])
        if self.config.token and scope["path"] != "/health":
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self.config.token.encode()):
                return await _refuse(send, 401, "needed the header Authorization: Bearer TOKEN", b"Bearer")
        limit, taken = self.config.max_bytes, 0
        if headers.get(b"content-length", b"0").isdigit() and int(headers.get(b"content-length", b"0")) > limit:
            return await _refuse(send, 413, f"a request may have {limit} bytes")

        async def counted() -> Any:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:  # sent without a length, in chunks
                raise _Refused(413, f"a request may have {limit} bytes")
            return message

        return await self.app(scope, counted, send)


async def _refuse(send: Any, status: int, said: str, challenge: bytes = b"") -> None:
    headers = [(b"content-type", b"application/json")] + ([(b"www-authenticate", challenge)] if challenge else [])
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
