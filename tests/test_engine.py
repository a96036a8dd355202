"""The engine as a whole: retries, policies, counts, and that asking for workers changes no number."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import engine_rewards as rewards
import pytest

from assay import CompositeReward, Engine, InfraError, Outcome, RewardOutput, Term, Trajectory, declare, score


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with Engine(workers=2) as engine:
        yield engine


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.engine.engine.pause", lambda tried: 0.01)


@pytest.mark.parametrize("workers", [0, 1])
def test_only_infra_errors_are_tried_again(tmp_path: Path, workers: int) -> None:
    log = tmp_path / "log"
    with Engine(workers=workers) as engine:
        outputs = score(rewards.Flaky(str(log), good_after=2), ["a", "b"], engine=engine)
        assert [o.reward for o in outputs] == [1.0, 1.0]
        assert sorted(log.read_text().split()) == ["a"] * 3 + ["b"] * 3
        assert engine.counts["flaky"].retries == 4
        assert any("4 retries" in line for line in engine.counts.lines())
        outputs = score(rewards.Flaky(str(log), good_after=99), ["c"], engine=engine)
        assert outputs[0].outcome is Outcome.INFRA_ERROR
        assert log.read_text().split().count("c") == 3


def test_a_grader_error_is_not_tried_again() -> None:
    calls: list[str] = []

    @declare(retries=5)
    def broken(response: str) -> float:
        calls.append(response)
        raise ValueError("always")

    (output,) = score(broken, ["a"])
    assert (output.outcome, calls) == (Outcome.GRADER_ERROR, ["a"])


def flaky_judge(response: str) -> float:
    if response == "down":
        raise InfraError("the server is not there")
    return 1.0


@pytest.mark.parametrize(
    ("policy", "paid"),
    [
        ("reweight", [1.0, 0.2, 0.2, 1.0]),
        ("skip", [1.0, None, 0.6, 1.0]),
        ("drop_group", [None, None, 0.6, 1.0]),
        ("impute", [1.0, 0.6, 0.6, 1.0]),
        (0.0, [1.0, 0.1, 0.6, 1.0]),
    ],
)
def test_what_a_component_that_failed_costs(policy: str | float, paid: list[float | None]) -> None:
    def other(response: str) -> float:
        return 1.0 if response == "good" else 0.2

    rows = [
        Trajectory(response=text, group=group)
        for text, group in [("good", "1"), ("down", "1"), ("poor", "2"), ("good", "2")]
    ]
    reward = CompositeReward([(other, 0.5), Term(flaky_judge, 0.5, on_missing=policy)])  # type: ignore
    outputs = score(reward, rows)
    if policy == "reweight":
        paid = [1.0, 0.2, 0.6, 1.0]
    assert [o.reward for o in outputs] == [None if p is None else pytest.approx(p) for p in paid]
    assert outputs[1].components["flaky_judge"].outcome is Outcome.INFRA_ERROR


def test_outcomes_are_counted_and_shown() -> None:
    engine = Engine()
    reward = CompositeReward([(flaky_judge, 0.5), (lambda response: None, 0.5)])
    score(reward, ["down", "a", "b"], engine=engine)
    assert engine.counts["flaky_judge"].outcomes == {"scored": 2, "infra_error": 1}
    assert engine.counts["function"].outcomes == {"abstained": 3}
    assert "flaky_judge: 1 infra_error" in engine.counts.lines()


def test_workers_change_no_number(two: Engine) -> None:
    from assay import FormatReward, KeywordReward, LengthReward, Normalize

    reward = Normalize(
        CompositeReward([(LengthReward(target=3), 0.5), (FormatReward(), 0.2), (KeywordReward(required=["a"]), 0.3)])
    )
    rows = [Trajectory(prompt=str(i // 8), response="<think>a</think>" * (i % 3) + "b " * (i % 7)) for i in range(64)]
    here, there = score(reward, rows, engine=Engine(workers=0)), score(reward, rows, engine=two)

    def told(output: RewardOutput) -> object:
        parts = {name: told(part) for name, part in output.components.items()}
        return output.reward, output.outcome, output.error, output.metadata, parts

    assert [told(o) for o in here] == [told(o) for o in there]


def test_two_workers_are_used(two: Engine) -> None:
    burn = rewards.Burn(2.0)
    rows = [Trajectory(response="x", metadata={"id": i}) for i in range(200)]
    outputs = score(burn, rows, engine=two)
    assert [o.reward for o in outputs] == list(range(200))


def test_an_engine_pickles_without_its_workers(two: Engine) -> None:
    copy = pickle.loads(pickle.dumps(two))
    assert copy.workers == 2
    assert not copy._staff.pools


def test_a_batch_after_the_pool_was_closed() -> None:
    engine = Engine(workers=1)
    for _ in range(2):
        assert [o.reward for o in score(rewards.unbounded, ["a"], engine=engine)] == [0.1]
        engine.close()


def test_a_reward_that_raises_for_every_row_is_quick() -> None:
    def broken(response: str) -> float:
        raise ValueError(response)

    started = time.process_time()
    outputs = score(broken, ["x"] * 5000)
    assert all(o.outcome is Outcome.GRADER_ERROR for o in outputs)
    assert time.process_time() - started < 2.0


def test_the_step_reaches_a_worker(two: Engine) -> None:
    def stepped(response: str, step: int) -> float:
        return float(step)

    assert [o.reward for o in score(stepped, ["a"], step=7, engine=two)] == [7.0]


def test_an_async_reward_that_never_awaits_cannot_hang_the_run() -> None:
    @declare(timeout=0.3)
    async def blocking(response: str) -> float:
        while response == "loop" and time.monotonic() < end:
            pass
        return 1.0

    end = time.monotonic() + 12.0  # the thread that is left behind ends too
    started = time.monotonic()
    outputs = score(blocking, ["a", "loop", "b"])
    assert time.monotonic() - started < 8.0
    assert [o.reward for o in outputs] == [1.0, None, 1.0]  # what it held up is asked again, on another loop
    assert outputs[1].outcome is Outcome.TIMEOUT
    assert "workers=True" in outputs[1].error
    end = 0.0
    assert [o.reward for o in score(blocking, ["a", "b"])] == [1.0, 1.0]


def test_what_a_worker_logs_reaches_the_trainer(two: Engine) -> None:
    def logging(completions: list[str], log_extra: object, log_metric: object) -> list[float]:
        log_extra("length", [len(c) for c in completions])  # type: ignore
        log_metric("longest", max(map(len, completions)))  # type: ignore
        return [1.0] * len(completions)

    told: list[object] = []
    context = {"log_extra": lambda *said: told.append(said), "log_metric": lambda *said: told.append(said)}
    assert [o.reward for o in score(logging, ["a", "bb"], engine=two, context=context)] == [1.0, 1.0]
    assert told == [("length", [1, 2]), ("longest", 2)]
