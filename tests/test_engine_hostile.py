"""Rewards that do what no reward should: in this process, and on the event loop. Their neighbours are scored."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay import CompositeReward, Engine, Outcome, RewardOutput, declare, score
from assay.plain_data import to_dict, to_json


class Mute(Exception):
    """An exception that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd(Exception):
    outcome = "lost"


class Mine(BaseException):
    pass


class Shy:
    """An object that can be neither told nor sent."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    def __reduce__(self) -> Any:
        raise RuntimeError("not me")


def raising(error: BaseException) -> Any:
    def act() -> float:
        raise error

    return act


def circle() -> dict[str, Any]:
    found: dict[str, Any] = {"score": 1.0}
    found["self"] = found
    return found


RAISED = [Mute(), Odd("x"), Mine("x"), SystemExit(3), asyncio.CancelledError(), GeneratorExit(), StopIteration(1)]
RETURNED: list[Any] = [
    float("nan"), float("inf"), 10**400, "0.5", b"1", [1.0], 1j, object(), (x for x in [1.0]),
    RewardOutput(1.0, outcome="lost"),  # type: ignore
    RewardOutput("1"),  # type: ignore
    RewardOutput(1.0, components={"a": "b"}),  # type: ignore
]  # fmt: skip
FINE: list[Any] = [
    True, {"score": 1.0, (1, 2): {3}}, {"score": 1.0, "shy": Shy()},
    RewardOutput(1.0, metadata=None, components=None, token_rewards=None, error=None, seconds="long"),  # type: ignore
    RewardOutput(1.0, outcome="scored"),  # type: ignore
]  # fmt: skip


def told(response: str) -> Any:
    word, _, number = response.partition(":")
    if word == "raise":
        raise RAISED[int(number)]
    if word == "circle":
        return circle()
    return {"bad": RETURNED, "fine": FINE}[word][int(number)] if number else 0.25


@declare(cost=1.0)
async def told_later(response: str) -> Any:
    await asyncio.sleep(0)
    return told(response)


@pytest.mark.parametrize("reward", [told, told_later])
def test_what_no_reward_should_raise_or_return(reward: Any) -> None:
    bad = [f"raise:{i}" for i in range(len(RAISED))] + [f"bad:{i}" for i in range(len(RETURNED))]
    fine = [f"fine:{i}" for i in range(len(FINE))] + ["circle"]
    outputs = score(reward, ["healthy", *bad, "well", *fine, "sound"])
    reasons = dict(zip(bad, outputs[1:], strict=False))
    assert {text: output.outcome for text, output in reasons.items()} == dict.fromkeys(bad, Outcome.GRADER_ERROR)
    assert all(reward.__name__ in output.error for output in reasons.values())
    assert [o.reward for o in outputs if o.reward is not None] == [0.25, 0.25, *[1.0] * len(fine), 0.25]
    assert all(isinstance(to_json(to_dict(output)), str) for output in outputs)


def test_the_message_of_an_exception_is_bounded() -> None:
    def loud(response: str) -> float:
        raise ValueError("x" * 10_000_000)

    assert len(score(loud, ["a"])[0].error) < 5000


@declare(timeout=0.4, cost=1.0)
async def cruel(response: str) -> float:
    if response == "spin":
        while True:
            pass
    elif response == "sleep":
        time.sleep(3)
    elif response == "deaf":
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
    elif response == "thread":
        await asyncio.to_thread(time.sleep, 3)
    elif response == "cancels itself":
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
    elif response == "ctrl-c":
        raise KeyboardInterrupt
    elif response == "exit":
        raise SystemExit(4)
    elif response == "stops the loop":
        asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return len(response) / 100


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ("spin", Outcome.TIMEOUT),
        ("sleep", Outcome.TIMEOUT),
        ("deaf", Outcome.TIMEOUT),
        ("thread", Outcome.TIMEOUT),
        ("cancels itself", Outcome.GRADER_ERROR),
        ("ctrl-c", Outcome.GRADER_ERROR),
        ("exit", Outcome.GRADER_ERROR),
        ("stops the loop", Outcome.SCORED),
    ],
)
def test_an_async_reward_costs_only_itself(told: str, outcome: Outcome) -> None:
    batch = ["a" * (i % 9) for i in range(40)]
    batch.insert(20, told)
    for _ in range(2):  # and leaves nothing behind that the next batch would meet
        outputs = score(cruel, batch)
        assert outputs.pop(20).outcome is outcome
        assert [o.reward for o in outputs] == [len(text) / 100 for text in batch if text != told]


def test_a_reward_that_samples_is_asked_as_often_as_it_is_named() -> None:
    asked: list[str] = []

    @declare(deterministic=False, timeout=0.4)
    async def sampling(response: str) -> float:
        asked.append(response)
        if response == "spin":
            while True:
                pass
        return float(len(asked))

    outputs = score(CompositeReward({"a": sampling, "b": sampling}), ["x", "y", "spin"])
    assert [len({part.reward for part in o.components.values()}) for o in outputs] == [2, 2, 1]
    assert outputs[2].reward is None
    assert asked.count("x") == asked.count("y") == 2


def test_one_that_cancels_everything_ends() -> None:
    @declare(timeout=1.0)
    async def all_of_it(response: str) -> float:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)
        return 1.0

    assert {o.outcome for o in score(all_of_it, ["a", "b"])} == {Outcome.GRADER_ERROR}
    assert [o.reward for o in score(cruel, ["aa"])] == [0.02]


@declare(timeout=0.3)
async def judge(response: str) -> float:
    await asyncio.sleep(0.01)
    return 1.0


def test_what_computes_in_this_process_takes_no_time_from_what_waits() -> None:
    def slow(response: str) -> float:
        time.sleep(0.02)
        return 0.5

    outputs = score(CompositeReward([(judge, 0.5), (slow, 0.5)]), ["x"] * 10 + ["y"] * 90)
    assert {o.reward for o in outputs} == {0.75}
    nested = CompositeReward([(judge, 0.5), (CompositeReward([slow], name="inner"), 0.5)])
    assert {o.reward for o in score(nested, ["x"] * 60)} == {0.75}


def test_answers_that_came_in_time_count_on_a_busy_loop() -> None:
    @declare(timeout=0.3, concurrency=32)
    async def parsing(response: str) -> float:
        await asyncio.sleep(0.1)
        time.sleep(0.03)  # 32 of them hold the loop for a second
        return 1.0

    assert [o.outcome for o in score(parsing, [str(i) for i in range(32)])] == [Outcome.SCORED] * 32


@pytest.mark.parametrize("workers", [0, 1])
def test_a_reward_may_score_with_another(workers: int) -> None:
    async def asking(response: str) -> float:
        return score(judge, [response])[0].reward or 0.0

    def plain(response: str) -> float:
        return (score(judge, [response])[0].reward or 0.0) / 2

    engine = Engine(workers=workers)
    assert [o.reward for o in score(CompositeReward({"a": asking, "b": plain}), ["x"], engine=engine)] == [1.5]
    engine.close()


HANGS = """
import assay, asyncio, time

@assay.declare(timeout=0.2)
async def stuck(response):
    await asyncio.to_thread(time.sleep, 1000)

print(assay.score(stuck, ["a"])[0].outcome)
"""


def test_a_thread_that_hangs_does_not_keep_the_interpreter(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(HANGS)
    command = [sys.executable, "-W", "error", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert (done.stdout.strip(), done.stderr) == ("timeout", "")
