"""Rewards in workers that change what the next row would find there: it finds it as it was."""

from __future__ import annotations

import builtins
import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay import Engine, Outcome, declare, score


@declare(timeout=1.0)
def misled(response: str) -> Any:  # noqa: C901  (a table of misdeeds)
    """Do what the response says, and score its length in tenths."""
    word, _, rest = response.partition(":")
    if word == "clock":
        time.monotonic = lambda: float(rest)
    elif word == "len":
        builtins.len = lambda of: 0  # type: ignore
    elif word == "open":
        del builtins.open  # type: ignore
    elif word == "json":
        json.dumps = None  # type: ignore
    elif word == "pickle":
        pickle.loads = pickle.dumps = None  # type: ignore
    elif word == "os":
        os.getpid, os.read, os._exit = (lambda: 1), None, None  # type: ignore
    elif word == "stdout":
        sys.stdout.close()
        sys.stderr = None  # type: ignore
    elif word == "alarm":
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    elif word == "cd":
        os.chdir("/")
    elif word == "profile":
        sys.setprofile(lambda *_: time.sleep(0.01))
    elif word == "late":
        threading.Timer(0.05, os._exit, (9,)).start()
    elif word == "stop-nursery":
        os.kill(os.getppid(), signal.SIGSTOP)
    elif word == "kill-nursery":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(5)
    elif word == "bomb":
        while True:
            os.fork()
    elif word == "much":
        return {"score": 1.0, "all of it": "x" * 100_000_000}
    elif word == "interrupt":
        raise KeyboardInterrupt
    elif word == "hang":
        while True:
            pass
    elif word == "exit":
        os._exit(3)
    elif word in ("use", "again"):
        print(json.dumps([open.__name__, len(os.getcwd())]), flush=True)
        time.sleep(0.3)
        return float(os.getcwd() == rest)
    return len(response) / 10


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Engine]:
    with Engine(workers=1, memory_mb=2000, quarantine=tmp_path) as engine:
        yield engine


WORDS = [
    "clock:0", "clock:1e12", "len", "open", "json", "pickle", "os", "stdout", "alarm", "cd", "profile", "late",
    "stop-nursery", "interrupt",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_the_next_row_finds_everything_as_it_was(one: Engine, word: str) -> None:
    use = f"use:{os.getcwd()}"
    outputs = score(misled, ["a", word, use, "hang", use.replace("use", "again", 1), "exit", "aa"], engine=one)
    assert [outputs[i].reward for i in (0, 2, 4, 6)] == [0.1, 1.0, 1.0, 0.2]
    assert [outputs[i].outcome for i in (3, 5)] == [Outcome.TIMEOUT, Outcome.GRADER_ERROR]


def test_a_row_beside_one_that_kills_the_nursery(tmp_path: Path) -> None:
    use = f"use:{os.getcwd()}"
    with Engine(workers=2, quarantine=tmp_path) as engine:
        outputs = score(misled, [use, "kill-nursery", *[use + "/" * i for i in range(4)]], engine=engine)
    assert [o.outcome for o in outputs] == [Outcome.SCORED, Outcome.GRADER_ERROR, *[Outcome.SCORED] * 4]


def test_a_fork_bomb(one: Engine) -> None:
    score(misled, ["a"], engine=one)
    outputs = score(misled, ["a", "bomb", "aa"], engine=one)
    assert [o.reward for o in outputs] == [0.1, None, 0.2]


def test_an_output_of_a_hundred_megabytes_is_refused(one: Engine) -> None:
    outputs = score(misled, ["a", "much", "aa"], engine=one)
    assert [o.reward for o in outputs] == [0.1, None, 0.2]
    assert outputs[1].outcome in (Outcome.GRADER_ERROR, Outcome.TIMEOUT)


def test_many_rewards_at_once() -> None:
    done: list[bool] = []

    def use(k: int) -> None:
        @declare(workers=True)
        def own(response: str) -> float:
            time.sleep(0.02)
            return float(k)

        done.append([o.reward for o in score(own, [str(i) for i in range(10)])] == [k] * 10)

    threads = [threading.Thread(target=use, args=(k,)) for k in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 7


def test_what_a_notebook_changes_reaches_its_workers(one: Engine) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "declare": declare}
    exec(
        "LIMIT = 5\n"
        "def longer(text): return len(text) > LIMIT\n"
        "@declare(timeout=1.0)\n"
        "def mine(response): return longer(response)\n",
        space,
    )
    assert [o.reward for o in score(space["mine"], ["abc"], engine=one)] == [0.0]
    space["LIMIT"] = 1
    assert [o.reward for o in score(space["mine"], ["abc"], engine=one)] == [1.0]
    exec("def longer(text): return 0.25", space)
    assert [o.reward for o in score(space["mine"], ["abc"], engine=one)] == [0.25]


def test_what_a_worker_is_born_with_is_not_held_against_it(tmp_path: Path) -> None:
    ballast = bytearray(500_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])

    def mine(response: str) -> float:  # lives here, so its workers are forked from this large process
        if response == "grab":
            block = bytearray(400_000_000)
            block[::4096] = b"x" * len(block[::4096])
            time.sleep(0.5)
        return len(ballast) / 5e8

    for hard in (True, False):
        with Engine(workers=1, memory_mb=200 if hard else None, quarantine=tmp_path) as engine:
            assert score(mine, ["a"], engine=engine)[0].reward == 1.0
            (pool,) = engine._staff.pools.values()
            pool._supervisor.memory_mb = 200
            outputs = score(mine, ["a", "grab", "b"], engine=engine)
            assert [o.reward for o in outputs] == [1.0, None, 1.0]
            assert "MemoryError" in outputs[1].error if hard else "above the limit of 200 MB" in outputs[1].error
