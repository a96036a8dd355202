"""The engine: one row that hangs, what a worker costs, equals, scaling, Ray, and runs that are killed.

    python benchmarks/engine.py [--quick]

Times of the pool are wall time, for that is what waiting costs; where the machine is busy with other things the best of
several runs is taken, ours and the peer's in turns. Ray and the local engine are compared by the CPU time of all
their processes, which does not depend on who else is there.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import Contract, Engine, Outcome, RewardFunction, Trajectory, declare, score

DEADLINE = 1.0
LATE, CHUNKED, EQUALS, TWO, RAY = 1.5, 1.5, 1.2, 1.8, 1.3
"""The floors of the figures, in the order of the tables."""


@dataclass
class Nap(RewardFunction):
    """Scores the length after a millisecond of sleep; loops for ever where it is told to."""

    seconds: float = 0.001
    contract = Contract(workers=True, timeout=DEADLINE, range=None)

    def compute_reward(self, trajectory: Trajectory) -> float:
        return nap(trajectory.response, self.seconds)


@dataclass
class Burn(RewardFunction):
    """Scores the length after some milliseconds of computing."""

    milliseconds: float = 2.0
    contract = Contract(workers=True, range=None)

    def compute_reward(self, trajectory: Trajectory) -> float:
        return burn(trajectory.response, self.milliseconds)


def nap(text: str, seconds: float = 0.001) -> float:
    while text == "loop":
        pass
    time.sleep(seconds)
    return float(len(text))


def burn(text: str, milliseconds: float = 2.0) -> float:
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass
    return float(len(text))


def rows(count: int, hung: bool = False) -> list[Trajectory]:
    texts = ["x" * (i % 50) for i in range(count)]
    if hung:
        texts[count // 3] = "loop"
    return [Trajectory(response=text, metadata={"id": i}) for i, text in enumerate(texts)]


def wall(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def best(times: int, *things: Callable[[], object]) -> list[float]:
    """The best of several runs of each, in turns."""
    found = [float("inf")] * len(things)
    for _ in range(times):
        for k, thing in enumerate(things):
            found[k] = min(found[k], wall(thing))
    return found


def cpu_below(pid: int | None = None) -> float:
    """Seconds of CPU of this process and of every one below it."""
    here = Path(f"/proc/{pid or os.getpid()}")
    try:
        used = sum(map(int, (here / "stat").read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        children = [int(word) for task in here.glob("task/*/children") for word in task.read_text().split()]
    except OSError:
        return 0.0
    return used + sum(cpu_below(child) for child in children)


def line(what: str, figure: str, floor: str = "", ok: bool = True) -> None:
    print(f"{what:66}{figure:>16}{floor:>14}{'' if ok else '  MISSED'}")


# -- one row that hangs ----------------------------------------------------------------------------------------------


def hanging(count: int) -> None:
    """One looping row in a thousand, with a deadline of a second."""
    print(f"one looping row in {count:,}, deadline {DEADLINE:g} s, rewards of 1 ms, two workers")
    good, bad = rows(count), rows(count, hung=True)
    with Engine(workers=2) as engine:
        score(Nap(), good[:50], engine=engine)
        without = min(wall(lambda: score(Nap(), good, engine=engine)) for _ in range(2))
        outputs: list[Any] = []
        took = wall(lambda: outputs.extend(score(Nap(), bad, engine=engine)))
    right = sum(o.reward == len(t.response) for t, o in zip(bad, outputs, strict=True))
    late = took - without
    line("Assay: seconds more than without it", f"{late:.2f}", f"<= {LATE:g}", late <= LATE)
    done = right == count - 1 and outputs[count // 3].outcome is Outcome.TIMEOUT
    line("Assay: healthy rows scored right", f"{right:,} of {count - 1:,}", "all", done)
    finished = in_a_thread(bad, patience=5 * DEADLINE)
    line("called in a thread, as TRL does: rows scored within 5 s more", f"{finished:,} of {count:,}")
    scored, took, left = in_an_executor(bad)
    line("ProcessPoolExecutor, future.result(timeout): rows scored", f"{scored:,} in {took:.1f} s")
    line("ProcessPoolExecutor: workers that still hang afterwards", str(left))
    print()


def in_a_thread(batch: list[Trajectory], patience: float) -> int:
    """A plain loop in a thread, which nothing can stop; in a process of its own, so that it ends with this."""
    script = (
        "import sys, threading, time; sys.path.insert(0, sys.argv[1]); from engine import nap\n"
        "import json; texts = json.loads(sys.stdin.read()); done = []\n"
        "def work():\n    for text in texts: done.append(nap(text))\n"
        "threading.Thread(target=work, daemon=True).start(); end = time.time() + float(sys.argv[2])\n"
        "while time.time() < end and len(done) < len(texts): time.sleep(0.05)\n"
        "print(len(done), flush=True); import os; os._exit(0)\n"
    )
    here, seconds = str(Path(__file__).parent), str(patience + 0.0015 * len(batch))
    texts = json.dumps([t.response for t in batch])
    done = subprocess.run([sys.executable, "-c", script, here, seconds], input=texts, capture_output=True, text=True)
    return int(done.stdout)


def in_an_executor(batch: list[Trajectory]) -> tuple[int, float, int]:
    """One future a row, each waited for with a timeout: the usual way."""
    started, scored = time.perf_counter(), 0
    executor = concurrent.futures.ProcessPoolExecutor(2)
    futures = [executor.submit(nap, t.response) for t in batch]
    for future in futures:
        try:
            future.result(timeout=DEADLINE)
            scored += 1
        except concurrent.futures.TimeoutError:
            continue
    took = time.perf_counter() - started
    hung = sum(future.running() for future in futures)  # nothing ends them but their process
    for p in list(executor._processes.values()):
        p.kill()
    executor.shutdown(wait=False, cancel_futures=True)
    return scored, took, hung


# -- what a worker costs ---------------------------------------------------------------------------------------------


def overhead(count: int, times: int) -> None:
    """The pool beside `multiprocessing.Pool.imap`, both with two workers."""
    print(f"{count:,} rewards of 1 ms (sleep), two workers; microseconds a row")
    batch, chunk = rows(count), 8
    texts = [t.response for t in batch]
    with Engine(workers=2) as engine, multiprocessing.Pool(2) as pool:

        def peer() -> None:
            assert sum(1 for _ in pool.imap(nap, texts, chunksize=chunk)) == count

        def peer_whole() -> None:  # rows and outputs of the same kind as ours
            assert sum(1 for _ in pool.imap(Nap().compute_reward, batch, chunksize=chunk)) == count

        def ours() -> None:
            assert len(score(Nap(), batch, engine=engine)) == count

        best(1, ours, peer, peer_whole)
        mine, theirs, whole = best(times, ours, peer, peer_whole)
        bare = wall(lambda: [nap(text) for text in texts[: count // 4]]) / (count // 4)
    each = [1e6 * t / count for t in (mine, theirs, whole)]
    ratio = mine / theirs
    line("Assay", f"{each[0]:.0f}")
    line(f"imap of strings, chunks of {chunk}", f"{each[1]:.0f}")
    line(f"imap of the same rows, chunks of {chunk}", f"{each[2]:.0f}")
    line("ratio to the former", f"{ratio:.2f}x", f"<= {CHUNKED:g}x", ratio <= CHUNKED)
    line("(a bare sleep of 1 ms takes)", f"{1e6 * bare:.0f}")
    print()


def equals() -> None:
    """A group of 64 identical completions."""
    print("a group of 64 identical completions, a reward of 50 ms in a worker; seconds")

    @declare(workers=True)
    def slow(response: str) -> float:
        return nap(response, 0.05)

    with Engine(workers=2) as engine:
        score(slow, ["warm"], engine=engine)
        one, many = best(
            5, lambda: score(slow, ["same"], engine=engine), lambda: score(slow, ["same"] * 64, engine=engine)
        )
    line("64 beside one", f"{many / one:.2f}x", f"<= {EQUALS:g}x", many / one <= EQUALS)
    print()


def scaling(count: int, times: int) -> None:
    """Two workers beside one, on a reward that computes."""
    print(f"{count:,} rewards of 2 ms (computing)")
    batch = rows(count)
    with Engine(workers=1) as one, Engine(workers=2) as two:
        for engine in (one, two):
            score(Burn(), batch[:20], engine=engine)
        alone, together = best(
            times, lambda: score(Burn(), batch, engine=one), lambda: score(Burn(), batch, engine=two)
        )
        began = time.perf_counter()
        in_rows = sum(o.seconds for o in score(Burn(), batch, engine=two))
        at_work = in_rows / (time.perf_counter() - began)
    gain = alone / together
    line("two workers beside one", f"{gain:.2f}x", f">= {TWO:g}x", gain >= TWO)
    line("workers that are in a row at any moment, of two", f"{at_work:.2f}", f">= {TWO:g}", at_work >= TWO)
    load = os.getloadavg()[0]
    if load > os.cpu_count() * 0.75:
        print(f"(the machine is busy with other things: load {load:.1f} on {os.cpu_count()} cores)")
    print()


# -- Ray -------------------------------------------------------------------------------------------------------------

RAY_SCRIPT = """
import json, sys, time
import ray, ray.data, logging, os
sys.path.append(sys.argv[1])  # last: a file beside this one has the name of a module of Python's
from assay import Engine, score
from assay.distributed import Cluster, score_file
from assay.rollouts import Rollouts, chunks
from engine import BurnHere, Rule, cpu_below
path, kind, number = sys.argv[2], sys.argv[3], int(sys.argv[4])
reward = BurnHere() if kind == "burn" else Rule()
started = time.perf_counter()
os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
up = time.perf_counter() - started
stamps, count, begun = [], 0, time.perf_counter()
for rows, outputs in score_file(reward, Rollouts(path), Cluster(actors=2, rows_per_call=number // 50)):
    count += len(rows)
    stamps.append((time.perf_counter(), count, cpu_below()))
assert count == number
first_at = stamps[0][0] - begun
(t1, n1, c1), (t2, n2, c2) = stamps[len(stamps) // 4], stamps[-3]  # while both actors are at work
ray_rate, ray_cpu = (n2 - n1) / (t2 - t1), (c2 - c1) / (n2 - n1)
ray.shutdown()
with Engine(workers=2 if kind == "burn" else None) as engine:
    def local():
        return sum(len(score(reward, [t for _, t in chunk], engine=engine)) for chunk in chunks(Rollouts(path), 2048))
    local()
    begun, used = time.perf_counter(), cpu_below()
    n = local()
    local_rate, local_cpu = n / (time.perf_counter() - begun), (cpu_below() - used) / n
print(json.dumps({"up": up, "first": first_at, "ray": ray_rate, "local": local_rate,
                  "ray_cpu": ray_cpu, "local_cpu": local_cpu}))
"""


@dataclass
class BurnHere(RewardFunction):
    """Scores the length after a millisecond of computing, where it is called."""

    contract = Contract(range=None)

    def compute_reward(self, trajectory: Trajectory) -> float:
        return burn(trajectory.response, 1.0)


@dataclass
class Rule(RewardFunction):
    """Scores the length: microseconds."""

    contract = Contract(range=None)

    def compute_reward(self, trajectory: Trajectory) -> float:
        return float(len(trajectory.response))


def on_ray(count: int) -> None:
    """Ray beside the local pool on the same two cores."""
    print("Ray Data with two actors beside the local engine, the same two cores")
    if importlib.util.find_spec("ray") is None:
        print("skipped: ray is not installed (pip install 'assay[ray]')\n")
        return
    for kind, what, number in (("burn", "1 ms a row", count), ("rule", "a microsecond a row", 20 * count)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.jsonl"
            path.write_text(_lines(number))
            command = [sys.executable, "-c", RAY_SCRIPT, str(Path(__file__).parent), str(path), kind, str(number)]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"failed: {done.stderr[-300:]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        ratio = found["ray_cpu"] / found["local_cpu"]
        line(f"{what}: start of Ray, until the first piece; seconds", f"{found['up']:.1f} + {found['first']:.1f}")
        line(f"{what}: rows a second, local | Ray", f"{found['local']:,.0f} | {found['ray']:,.0f}")
        floor = f"<= {RAY:g}x" if kind == "burn" else ""
        micro = f"{1e6 * found['local_cpu']:.0f} | {1e6 * found['ray_cpu']:.0f}"
        line(f"{what}: CPU of all processes, microseconds a row, local | Ray", micro)
        line(f"{what}: CPU of Ray beside local, once started", f"{ratio:.2f}x", floor, kind != "burn" or ratio <= RAY)
    print()


# -- runs that are killed --------------------------------------------------------------------------------------------

MINE = """
import time, assay
@assay.declare(cost=1.0)
def slow(response):
    time.sleep(0.0003)
    return len(response) / 50
def rule(response): return float(len(response) > 10)
both = assay.CompositeReward({"slow": (slow, 0.5), "rule": (rule, 0.5)})
"""


def killed(times: int) -> None:
    """Runs that are killed with SIGKILL at random moments and gone on with."""
    print(f"{times} runs of 3,000 rows, each killed with SIGKILL at random moments and resumed")
    rng, same, kills = random.Random(5), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(MINE)
        (folder / "rows.jsonl").write_text(_lines(3000))
        command = [sys.executable, "-m", "assay", "score", "rows.jsonl", "-r", "mine.py:both", "-q", "-o"]
        subprocess.run([*command, "whole.jsonl"], cwd=folder, capture_output=True)
        whole = _sorted_rows(folder / "whole.jsonl")
        for n in range(times):
            out = f"cut{n}.jsonl"
            for _ in range(3):
                process = subprocess.Popen([*command, out, "--resume"], cwd=folder, stderr=subprocess.DEVNULL)
                threading.Event().wait(rng.uniform(0.3, 1.6))
                kills += process.poll() is None
                process.kill()
                process.wait()
            subprocess.run([*command, out, "--resume"], cwd=folder, capture_output=True)
            same += _sorted_rows(folder / out) == whole
    line(f"byte-equal sorted rows, seconds aside ({kills} kills)", f"{same} of {times}", "all", same == times)
    print()


def _lines(count: int) -> str:
    rows = ({"prompt": f"{i // 8}", "response": "x" * (i % 50), "id": i} for i in range(count))
    return "".join(json.dumps(row) + "\n" for row in rows)


def _sorted_rows(path: Path) -> list[bytes]:
    def timeless(value: Any) -> Any:
        return {k: timeless(v) for k, v in value.items() if k != "seconds"} if isinstance(value, dict) else value

    return sorted(json.dumps(timeless(json.loads(row))).encode() for row in path.read_bytes().splitlines())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="smaller inputs: to see that it runs, not to quote")
    parser.add_argument("--only", default="", help="one part: hanging, overhead, equals, scaling, ray, killed")
    chosen = parser.parse_args()
    quick = chosen.quick
    parts: dict[str, Callable[[], None]] = {
        "hanging": lambda: hanging(1000),
        "overhead": lambda: overhead(400 if quick else 2000, 3 if quick else 5),
        "equals": equals,
        "scaling": lambda: scaling(200 if quick else 800, 3),
        "ray": lambda: on_ray(4000 if quick else 20_000),
        "killed": lambda: killed(3 if quick else 20),
    }
    print(f"{'':66}{'figure':>16}{'floor':>14}")
    for name, part in parts.items():
        if not chosen.only or chosen.only == name:
            part()


if __name__ == "__main__":
    main()
