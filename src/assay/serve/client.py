"""The reward server's client: sync and async, typed, and patient.

    client = RewardClient("http://127.0.0.1:8000")
    outputs = client.score([{"prompt": "2 + 2?", "response": "4", "ground_truth": "4"}])
    outputs = await client.ascore(rows)

A request that is refused for now (429, 503) or lost on the way is sent again with the same key, so that the server
scores it once. `RemoteReward(url)` is a reward like any other that asks a server.
"""

from __future__ import annotations

import asyncio
import random
import uuid
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.contract import Contract
from assay.errors import InfraError, InputError, require
from assay.loop import background_loop, run
from assay.plain_data import from_dict, to_json
from assay.reward import RewardFunction
from assay.types import RewardOutput, Trajectory

AGAIN = (429, 502, 503, 504)


@dataclass
class RewardClient:
    """Asks a reward server for scores."""

    url: str = "http://127.0.0.1:8000"
    token: str = field(default="", repr=False)
    retries: int = 8
    """How often a request is sent again."""
    timeout: float = 300.0
    """Seconds for one try."""
    connections: int = 100

    def __post_init__(self) -> None:
        self._open: tuple[Any, Any] | None = None  # the loop, and the session that lives on it

    def score(self, rows: Iterable[Any], step: int | None = None) -> list[RewardOutput]:
        """Score rows (trajectories, dicts, message lists or responses); one output for each, in order."""
        return run(self._score(rows, step))

    async def ascore(self, rows: Iterable[Any], step: int | None = None) -> list[RewardOutput]:
        """The same, awaited, from any event loop; the connections live on Assay's own."""
        loop = background_loop()
        if asyncio.get_running_loop() is loop:
            return await self._score(rows, step)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._score(rows, step), loop))

    async def _score(self, rows: Iterable[Any], step: int | None) -> list[RewardOutput]:
        given = [_row(Trajectory.of(row)) for row in rows]
        if not given:
            return []
        body = to_json({"rows": given, "step": step}).encode("utf-8", "surrogatepass")
        answer = await self._post("/score", body)
        outputs = answer.get("outputs") if isinstance(answer, dict) else None
        if not isinstance(outputs, list) or len(outputs) != len(given):
            raise InfraError(f"{self.url} was sent {len(given)} rows; it answered {answer!r:.200}")
        return [from_dict(data) for data in outputs]

    async def _post(self, path: str, body: bytes) -> Any:
        aiohttp = require("aiohttp", "serve", "asking a reward server")
        headers = {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"}
        said = ""
        for tried in range(self.retries + 1):
            wait = 0.1 * 2 ** min(tried, 6)
            try:
                async with self._session(aiohttp).post(self.url.rstrip("/") + path, data=body, headers=headers) as got:
                    if got.status == 200:
                        return await got.json()
                    said = f"status {got.status}: {(await got.text())[:500]}"
                    if got.status in (401, 413, 400, 422):
                        raise InputError(f"{self.url}{path} refused the request: {said}")
                    if got.status not in AGAIN:
                        break
                    wait = max(wait, _seconds(got.headers.get("Retry-After", "")))
            except (aiohttp.ClientError, ConnectionError, TimeoutError, ValueError) as error:  # the last: no JSON
                said = f"{type(error).__name__}: {error}"
            if tried < self.retries:
                await asyncio.sleep(wait * random.uniform(0.5, 1.0))
        raise InfraError(f"needed an answer from {self.url}{path}; after {self.retries + 1} tries: {said}")

    def _session(self, aiohttp: Any) -> Any:
        loop = asyncio.get_running_loop()
        if self._open is None or self._open[0] is not loop or self._open[1].closed:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            timeout = aiohttp.ClientTimeout(total=self.timeout)
            connector = aiohttp.TCPConnector(limit=self.connections)
            self._open = (loop, aiohttp.ClientSession(headers=headers, timeout=timeout, connector=connector))
            weakref.finalize(self, _close, *self._open)
        return self._open[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_open"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


def _seconds(retry_after: str) -> float:
    """What `Retry-After` asks for; it may also be a date, which says little between two clocks."""
    return min(60.0, float(retry_after)) if retry_after.strip().isdigit() else 0.0


def _close(loop: asyncio.AbstractEventLoop, session: Any) -> None:
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(session.close(), loop)
    else:  # what was open ended with the loop
        session.detach()


def _row(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as JSON can carry it."""
    row: dict[str, Any] = {**trajectory.metadata, "ground_truth": trajectory.ground_truth, "group": trajectory.group_id}
    if trajectory.messages:
        return {**row, "messages": list(trajectory.messages)}
    return {**row, "prompt": trajectory.prompt, "response": trajectory.response}


@dataclass
class RemoteReward(RewardFunction):
    """What the served reward says; not scored where the server cannot be reached.

    Example:
        >>> RemoteReward("http://127.0.0.1:8000").name
        'remote'

    Hacked by: whatever hacks the reward behind the server.
    """

    url: str = "http://127.0.0.1:8000"
    token: str = field(default="", repr=False)
    timeout: float = 300.0
    contract = Contract(range=None, max_batch=256, concurrency=16)

    def __post_init__(self) -> None:
        self._client = RewardClient(self.url, self.token, timeout=self.timeout)

    async def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Ask the server for a batch."""
        return await self._client.ascore(trajectories)
