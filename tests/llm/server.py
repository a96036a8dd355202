"""A local server with OpenAI's wire format, for tests: answers as told, and misbehaves as told."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Request = dict[str, Any]


@dataclass
class Fault:
    """One way of misbehaving."""

    kind: str = "status"
    """status, raw (this body), cut (the connection closes in the body), drop (at once), hang, slow (byte by byte)."""
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: str = '{"error": {"message": "no"}}'


def completion(content: str | None, logprobs: dict[str, float] | None = None, **choice: Any) -> dict[str, Any]:
    """A chat completion that says this; with log-probabilities for its first position."""
    import math

    message = {"role": "assistant", "content": content}
    body = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None, **choice}
    if logprobs:
        top = [{"token": t, "logprob": math.log(p)} for t, p in logprobs.items()]
        body["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return {"object": "chat.completion", "choices": [body], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def said(request: Request) -> str:
    """All that a request says to the judge."""
    return "\n".join(message["content"] for message in request.get("messages", []))


def schema_of(request: Request) -> dict[str, Any]:
    """The properties of the schema that a request asks for."""
    return request["response_format"]["json_schema"]["schema"]["properties"]


def by_schema(request: Request, label: str, reason: str = "Because.") -> dict[str, Any]:
    """The completion of a judge that keeps the schema and gives every question this label."""
    return completion(json.dumps({k: label if "enum" in rule else reason for k, rule in schema_of(request).items()}))


def willing(request: Request) -> dict[str, Any]:
    """The completion of a judge that keeps the schema, whatever it is asked: the last answer that is allowed."""
    return completion(json.dumps({k: rule.get("enum", ["Because."])[-1] for k, rule in schema_of(request).items()}))


def keys_asked(request: Request) -> list[str]:
    """The keys that a text verdict was asked for under."""
    return list(dict.fromkeys(re.findall(r"^(verdict_[a-z]+): <answer>$", said(request), re.MULTILINE)))


class JudgeServer:
    """`with JudgeServer(answer) as server:` where `answer(path, request, n)` gives a body or a `Fault`."""

    def __init__(self, answer: Callable[[str, Request, int], dict[str, Any] | Fault], latency: float = 0.0) -> None:
        self.answer, self.latency = answer, latency
        self.requests: list[tuple[str, Request]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = self._now = 0

    def __enter__(self) -> JudgeServer:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True)
        self._thread.start()
        assert started.wait(10)
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stop.wait()
        server.close()
        for writer in self._writers:
            writer.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                path = head.split(" ", 2)[1]
                headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self._reply(writer, path.removeprefix("/v1"), headers, json.loads(raw or b"{}")):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _reply(self, writer: asyncio.StreamWriter, path: str, headers: dict[str, str], request: Request) -> bool:
        self.requests.append((path, request))
        self.headers.append(headers)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            told = self.answer(path, request, len(self.requests))
            fault = told if isinstance(told, Fault) else Fault("raw", 200, {}, json.dumps(told))
            return await _send(writer, fault)
        finally:
            self._now -= 1


async def _send(writer: asyncio.StreamWriter, fault: Fault) -> bool:
    if fault.kind == "drop":
        return False
    if fault.kind == "hang":
        await asyncio.sleep(3600)
    body = fault.body.encode()
    lines = [f"HTTP/1.1 {fault.status} X", "content-type: application/json", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fault.headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    if fault.kind == "cut":
        writer.write(body[: len(body) // 2])
        await writer.drain()
        return False
    if fault.kind == "slow":
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.5)
    writer.write(body)
    await writer.drain()
    return True
