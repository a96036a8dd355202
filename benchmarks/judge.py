"""Judge calls against a local server that takes 50 ms: the CPU time of a call, and the wall time beside the ideal.

    python benchmarks/judge.py [--quick]

The server is a process of its own (raw asyncio, one canned reply). `post` is Assay's client alone with its limits and
retries; `LLMJudge` the whole judge: guards over a response of 2 kB, prompt, call, strict reading. Peers send the same
4 kB request: bare aiohttp, and the newest openai client where it is installed. CPU time is that of the calling process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

LATENCY = 0.05
MAX_CPU_MS = 0.25
"""A call through Assay's client costs at most this much CPU."""
MAX_WALL = 1.15
"""Wall time over calls / in-flight x latency, at most."""

SYSTEM, USER = "You are a strict grader. " * 20, "Question and response text. " * 120
MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
RESPONSE = "".join(
    f"Step {k}: let x be the number of apples that were bought on day {k}. Twice as many were bought on the next, so "
    f"there are {3 * k}x apples, and {3 * k}x = {27 * k} gives x = 9. Each costs {k} cents, which makes {27 * k * k}.\n"
    for k in range(1, 10)
)

SERVER = """
import asyncio, json, sys
port, latency, keys = int(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
why = "It is right, and every step is there. " * 6
content = json.dumps({k: "4" if k.startswith("verdict") else why for k in keys})
message = {"role": "assistant", "content": content}
body = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                   "usage": {"prompt_tokens": 812, "completion_tokens": 64}}).encode()
reply = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body
class Answer(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.buffer = transport, b""
    def data_received(self, data):
        self.buffer += data
        while (i := self.buffer.find(b"\\r\\n\\r\\n")) >= 0:
            head = self.buffer[:i].lower(); j = head.find(b"content-length:")
            n = int(head[j + 15:].split(b"\\r\\n", 1)[0]) if j >= 0 else 0
            if len(self.buffer) < i + 4 + n: return
            self.buffer = self.buffer[i + 4 + n:]
            asyncio.get_running_loop().call_later(latency, self.send)
    def send(self):
        if not self.transport.is_closing(): self.transport.write(reply)
async def main():
    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", port, backlog=4096)
    print("ready", flush=True); await server.serve_forever()
asyncio.run(main())
"""

OPEN: list[Any] = []
"""The peers' clients, to be closed in their loop."""

Once = Callable[[int], Awaitable[Any]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    calls = 600 if parser.parse_args().quick else 3000
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port), str(LATENCY), json.dumps(_keys())], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        print(f"load {os.getloadavg()[0]:.1f}")
        print(f"{'':26} {'in flight':>9} {'CPU ms/call':>12} {'wall/ideal':>11}   floor")
        for flight in (64, 256):
            for name, make in WAYS.items():
                row = asyncio.run(_measure(name, make, f"http://127.0.0.1:{port}/v1", flight, calls))
                print(row, flush=True)
    finally:
        server.terminate()
        server.wait()


async def _measure(
    name: str, make: Callable[[str, int], Awaitable[Once | str]], url: str, flight: int, calls: int
) -> str:
    once = await make(url, flight)
    if isinstance(once, str):
        return f"{name:26} {flight:9} {'skipped: ' + once}"
    try:
        return await _timed(name, once, flight, calls)
    except Exception as error:  # noqa: BLE001  a peer that gives up must not take the others' figures with it
        return f"{name:26} {flight:9} {'gave up: ' + type(error).__name__}"
    finally:
        while OPEN:
            await OPEN.pop().close()


async def _timed(name: str, once: Once, flight: int, calls: int) -> str:
    await asyncio.gather(*(once(-1 - i) for i in range(flight)))  # open the connections
    slots = asyncio.Semaphore(flight)

    async def one(i: int) -> None:
        async with slots:
            await once(i)

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one(i) for i in range(calls)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    each, ratio = cpu / calls * 1e3, wall / (calls / flight * LATENCY)
    bars = f"<= {MAX_CPU_MS} ms, <= {MAX_WALL}" if name == "assay: post" else ""
    missed = "  MISSED" if bars and (each > MAX_CPU_MS or ratio > MAX_WALL) else ""
    return f"{name:26} {flight:9} {each:12.3f} {ratio:11.2f}   {bars}{missed}"


# -- the ways to call ------------------------------------------------------------------------------------------------


def _judge(url: str) -> Any:
    from assay.llm.judge_model import JudgeModel
    from assay.rewards.judge import LLMJudge

    return LLMJudge(JudgeModel("mock", "sk-x", url, read="schema", concurrency=1024))


def _keys() -> list[str]:
    from assay.llm.prompt import letters

    judge = _judge("http://127.0.0.1/v1")
    secret = judge.judge.fence_secret
    return ["reason_" + letters(secret, "reason", 8), *judge.judge.keys([judge.question]).values()]


async def _post(url: str, flight: int) -> Once:
    from assay.llm.client import Call, Endpoint, post
    from assay.llm.read import fault_in_chat
    from assay.llm.secret import Secret

    endpoint = Endpoint(url, Secret("sk-x"), concurrency=flight)

    async def once(i: int) -> Any:
        payload = {"model": "mock", "messages": MESSAGES, "temperature": 0, "max_tokens": 256, "seed": i}
        return await post(endpoint, Call("/chat/completions", payload, fault_in=fault_in_chat))

    return once


async def _whole(url: str, flight: int) -> Once:
    from assay.types import Trajectory

    judge = _judge(url)

    async def once(i: int) -> Any:
        out = await judge.compute_reward(Trajectory("How many apples?", f"{RESPONSE}\nIt is {i}.", ground_truth="9"))
        assert out.reward == 0.75, out
        return out

    return once


async def _aiohttp(url: str, flight: int) -> Once:
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=flight))
    OPEN.append(session)

    async def once(i: int) -> Any:
        payload = {"model": "mock", "messages": MESSAGES, "temperature": 0, "max_tokens": 256, "seed": i}
        async with session.post(f"{url}/chat/completions", json=payload) as response:
            return (await response.json())["choices"][0]["message"]["content"]

    return once


async def _openai(url: str, flight: int) -> Once | str:
    try:
        import openai
    except ImportError:
        return "openai is not installed"
    client = openai.AsyncOpenAI(base_url=url, api_key="sk-x", max_retries=0)
    OPEN.append(client)

    async def once(i: int) -> Any:
        done = await client.chat.completions.create(
            model="mock",
            messages=MESSAGES,
            temperature=0,
            max_tokens=256,
            seed=i,  # type: ignore[arg-type]
        )
        return done.choices[0].message.content

    return once


WAYS: dict[str, Callable[[str, int], Awaitable[Once | str]]] = {
    "bare aiohttp": _aiohttp,
    "assay: post": _post,
    "assay: LLMJudge, all of it": _whole,
    "openai": _openai,
}

if __name__ == "__main__":
    main()
