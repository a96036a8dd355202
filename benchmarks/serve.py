"""The reward server under load, beside a bare FastAPI app that returns a constant: requests a second, and p99.

    python benchmarks/serve.py [--quick]

Each server is a process of its own; they are asked in turns, so that what else the machine does meets both. Where the
one client is slower than the servers, requests a second say little: requests a CPU second of the server say it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

FLOOR_RATIO = 0.60
CONCURRENT = 64
BODY = json.dumps({"rows": [{"prompt": "2 + 2?", "response": "it is 4, because", "ground_truth": "4"}]}).encode()

BARE = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/score")
async def score():
    return {"outputs": [{"reward": 1.0, "outcome": "scored"}]}
@app.get("/health")
async def health():
    return {"status": "ok"}
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
"""

OURS = """
import sys
from assay.serve.app import ServeConfig, serve
def short(response, ground_truth):
    return float(ground_truth in response)
serve(short, ServeConfig(), port=int(sys.argv[1]))
"""


def start(source: str) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", source, str(port)])
    url = f"http://127.0.0.1:{port}"
    for _ in range(1200):
        try:
            urllib.request.urlopen(url + "/health", timeout=1).read()
            return process, url
        except OSError:
            time.sleep(0.05)
    raise SystemExit("a server did not start")


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """What the process has used so far, its threads included."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(url: str, count: int) -> tuple[float, list[float]]:
    """Send `count` requests, 64 in flight; requests a second and each one's seconds."""
    import aiohttp

    seconds: list[float] = []
    left = iter(range(count))
    headers = {"Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=CONCURRENT)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def worker() -> None:
            for _ in left:
                started = time.perf_counter()
                async with session.post(url + "/score", data=BODY) as answer:
                    said = await answer.json()
                seconds.append(time.perf_counter() - started)
                assert said["outputs"][0]["reward"] == 1.0, said

        started = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(CONCURRENT)))
        return count / (time.perf_counter() - started), seconds


def main() -> None:
    try:
        import aiohttp  # noqa: F401
        import fastapi  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return
    count, rounds = (300, 3) if "--quick" in sys.argv else (2000, 7)
    servers = {"assay serve": start(OURS), "bare FastAPI, a constant": start(BARE)}
    rates: dict[str, list[float]] = {name: [] for name in servers}
    per_cpu: dict[str, list[float]] = {name: [] for name in servers}
    waits: dict[str, list[float]] = {name: [] for name in servers}
    try:
        for url in (url for _, url in servers.values()):
            asyncio.run(load(url, 200))  # warm
        for _ in range(rounds):
            for name, (process, url) in servers.items():
                before = cpu_seconds(process)
                rate, seconds = asyncio.run(load(url, count))
                per_cpu[name].append(count / max(0.01, cpu_seconds(process) - before))
                rates[name].append(rate)
                waits[name] += seconds
    finally:
        for process, _ in servers.values():
            process.terminate()
            process.wait()
    print(f"{'server':28} {'requests/s':>11} {'a CPU second':>13} {'p50 ms':>8} {'p99 ms':>8}")
    for name in servers:
        ordered = sorted(waits[name])
        p50, p99 = ordered[len(ordered) // 2] * 1e3, ordered[int(len(ordered) * 0.99)] * 1e3
        rate, cpu = statistics.median(rates[name]), statistics.median(per_cpu[name])
        print(f"{name:28} {rate:11.0f} {cpu:13.0f} {p50:8.1f} {p99:8.1f}")
    for what, figures in (("requests/s", rates), ("requests a CPU second", per_cpu)):
        ours, bare = (figures[name] for name in servers)
        ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
        print(f"ratio of {what}: {ratio:.2f} (floor {FLOOR_RATIO:.2f}) {'ok' if ratio >= FLOOR_RATIO else 'BELOW'}")


if __name__ == "__main__":
    main()
