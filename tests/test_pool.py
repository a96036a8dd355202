"""Rewards in worker processes: killed at their deadline, replaced at once, their neighbours neither lost nor late."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engine_rewards as rewards
import pytest
from processes import below, gone, lives, resident_mb

from assay import CompositeReward, ConfigError, Engine, Outcome, RewardOutput, Trajectory, declare, score
from assay.pool.ears import Ears

HERE = Path(__file__).parent


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(workers=2, memory_mb=400, quarantine=tmp_path / "quarantine") as made:
        yield made


def rows(*responses: str, healthy: int = 40) -> list[Trajectory]:
    said = ["a" * (i % 10) for i in range(healthy)]
    said[healthy // 2 : healthy // 2] = responses
    return [Trajectory(response=text, metadata={"id": i}) for i, text in enumerate(said)]


def healthy_are_right(batch: list[Trajectory], outputs: list[RewardOutput]) -> bool:
    pairs = [(t, o) for t, o in zip(batch, outputs, strict=True) if set(t.response) <= {"a"}]
    assert len(pairs) >= 40
    return all(o.reward == len(t.response) / 10 for t, o in pairs)


@pytest.mark.parametrize(
    ("told", "outcome", "why"),
    [
        ("loop", Outcome.TIMEOUT, "deadline of 1 s"),
        ("ignore-sigterm", Outcome.TIMEOUT, "deadline of 1 s"),
        ("exit:3", Outcome.GRADER_ERROR, "exit code 3"),
        ("segfault", Outcome.GRADER_ERROR, "SIGSEGV"),
        ("grab:700", Outcome.GRADER_ERROR, "MemoryError"),
    ],
)
def test_one_row_cannot_poison_the_others(engine: Engine, told: str, outcome: Outcome, why: str) -> None:
    score(rewards.obedient, rows(), engine=engine)  # warm
    batch, started = rows(told), time.monotonic()
    outputs = score(rewards.obedient, batch, engine=engine)
    assert time.monotonic() - started < 2.5
    (bad,) = [o for o in outputs if o.reward is None]
    assert (bad.outcome, why in bad.error) == (outcome, True), bad.error
    assert healthy_are_right(batch, outputs)


def test_what_it_died_of_is_quarantined_and_not_tried_again(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    batch = rows("exit:1", "loop")
    outputs = score(rewards.Noted(str(log)), batch, engine=engine)
    bad = [o for o in outputs if o.reward is None]
    assert [o.outcome for o in bad] == [Outcome.GRADER_ERROR, Outcome.TIMEOUT]
    kept = [json.loads(Path(o.metadata["quarantined"]).read_text()) for o in bad]
    assert [k["rows"][0]["response"] for k in kept] == ["exit:1", "loop"]
    called = sorted(map(int, log.read_text().split()))
    assert called == list(range(len(batch)))  # each row exactly once, whatever happened to the workers


def test_the_clock_runs_from_the_start_of_a_row_and_not_from_the_queue(engine: Engine) -> None:
    batch = [Trajectory(response="sleep:0.4", metadata={"i": i}) for i in range(8)]  # 1.6 s on two workers
    assert all(o.scored for o in score(rewards.Noted("/dev/null"), _with_ids(batch), engine=engine))


def _with_ids(batch: list[Trajectory]) -> list[Trajectory]:
    for i, t in enumerate(batch):
        t.metadata["id"] = i
    return batch


def test_rows_behind_a_hung_one_go_to_its_neighbours(engine: Engine) -> None:
    score(rewards.unbounded, rows(healthy=300), engine=engine)  # learns that rows are quick, so workers get many
    done: list[float] = []
    started = time.monotonic()

    def other() -> None:
        score(rewards.unbounded, rows(healthy=200), engine=engine)
        done.append(time.monotonic() - started)

    hung = threading.Thread(target=score, args=(rewards.unbounded, rows("sleep:2")), kwargs={"engine": engine})
    hung.start()
    time.sleep(0.1)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    hung.join()
    assert done[0] < 1.2


@pytest.mark.parametrize("told", ["fork", "child", "daemon", "thread", "close-all", "exit-soon"])
def test_what_a_reward_leaves_behind_ends_with_it(engine: Engine, told: str) -> None:
    batch = rows(told)
    outputs = score(rewards.obedient, batch, engine=engine)
    assert healthy_are_right(batch, outputs)
    (pool,) = engine._staff.pools.values()
    started = below(pool._supervisor.home.pid) if pool._supervisor.home else []
    assert started
    engine.close()
    assert gone(started)


def test_a_reward_that_kills_the_nursery(engine: Engine) -> None:
    batch = rows("kill-parent")
    outputs = score(rewards.obedient, batch, engine=engine)
    assert healthy_are_right(batch, outputs)
    assert healthy_are_right(batch, score(rewards.obedient, batch, engine=engine))  # and again, with a new one


def test_news_of_a_closed_descriptor_is_not_told_to_the_next_one_of_its_number() -> None:
    # a nursery that dies ends all its workers at once; the next ones get their numbers while their news still waits
    ears = Ears()
    (a, to_a), (b, to_b) = os.pipe(), os.pipe()
    heard: list[str] = []

    def swap(this: int, other: int) -> None:
        heard.append("old")
        ears.deaf(this)
        ears.deaf(other)
        again, _ = os.pipe()
        os.dup2(again, other)
        ears.listen(other, lambda event: heard.append("new"))

    ears.listen(a, lambda event: swap(a, b))
    ears.listen(b, lambda event: swap(b, a))
    os.write(to_a, b"!")
    os.write(to_b, b"!")
    ears.attend(1.0)
    ears.close()
    assert heard == ["old"]


@pytest.mark.slow
def test_a_reward_that_prints_a_gigabyte(capfd: pytest.CaptureFixture[str]) -> None:
    with Engine(workers=2) as engine:
        batch = rows("print:1000")
        outputs = score(rewards.unbounded, batch, engine=engine)
    assert healthy_are_right(batch, outputs)
    assert outputs[20].scored
    said = capfd.readouterr()
    assert len(said.out) + len(said.err) < 3_000_000
    assert "dropped" in said.err


def test_a_leak_ends_in_a_new_worker_and_not_in_an_error(engine: Engine) -> None:
    batch = [Trajectory(response="leak:50", metadata={"i": i}) for i in range(30)]  # 1.5 GB, in workers of 400 MB
    outputs = score(rewards.unbounded, batch, engine=Engine(workers=2, memory_mb=400, quarantine=engine.quarantine))
    assert all(o.scored for o in outputs), [o.error for o in outputs if not o.scored][:1]


def test_memory_is_watched_where_a_single_allocation_passes(tmp_path: Path) -> None:
    batch = rows("grab:400")
    with Engine(workers=2, quarantine=tmp_path) as engine:
        score(rewards.unbounded, rows(), engine=engine)
        (pool,) = engine._staff.pools.values()
        pool._supervisor.memory_mb = 200  # as if the machine were small
        outputs = score(rewards.unbounded, batch, engine=engine)
    (bad,) = [o for o in outputs if o.reward is None]
    assert bad.outcome is Outcome.GRADER_ERROR
    assert "above the limit of 200 MB" in bad.error
    assert healthy_are_right(batch, outputs)


def test_large_rows_are_not_held_twice(engine: Engine) -> None:
    big = "a" * 1_000_000
    batch = [Trajectory(response=big, metadata={"id": i}) for i in range(300)]
    before = resident_mb()
    outputs = score(rewards.unbounded, batch, engine=Engine(workers=2, memory_mb=400))
    assert all(o.reward == 100_000.0 for o in outputs)
    assert resident_mb() - before < 100


def test_an_import_in_the_midst_of_a_row_does_not_count(engine: Engine, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "antigravity_of_the_tests.py").write_text("import time\ntime.sleep(1.5)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    batch = rows("import")
    outputs = score(rewards.obedient, batch, engine=engine)
    assert all(o.scored for o in outputs)


def test_a_composite_keeps_what_was_scored(engine: Engine) -> None:
    both = CompositeReward({"a": (rewards.obedient, 0.5), "b": (rewards.unbounded, 0.5)})
    batch = rows("exit:1", healthy=40)
    outputs = score(both, batch, engine=engine)
    assert healthy_are_right(batch, outputs)
    bad = outputs[20]
    assert {part.outcome for part in bad.components.values()} == {Outcome.GRADER_ERROR}
    assert bad.reward is None


def test_a_batch_reward_is_halved_until_the_row_is_found(engine: Engine) -> None:
    batch = rows("loop", healthy=40)
    for i, t in enumerate(batch):
        t.group = str(i // 4)
    outputs = score(rewards.WholeBatch(), batch, engine=engine)
    assert [i for i, o in enumerate(outputs) if o.reward is None] == [20]
    assert outputs[20].outcome is Outcome.TIMEOUT
    assert healthy_are_right(batch, outputs)


def test_a_group_reward_gets_whole_groups(engine: Engine) -> None:
    batch = [Trajectory(response="x", group=str(i % 3)) for i in range(10)]
    assert [o.reward for o in score(rewards.GroupSize(), batch, engine=engine)] == [4, 3, 3, 4, 3, 3, 4, 3, 3, 4]


def test_an_async_reward_may_ask_for_workers(engine: Engine) -> None:
    assert healthy_are_right(rows(), score(rewards.slowly, rows(), engine=engine))


def test_a_function_written_here_and_a_lambda(engine: Engine) -> None:
    @declare(timeout=0.5)
    def local(response: str) -> float:
        rewards.act(response)
        return len(response) / 10

    batch = rows("loop")
    assert healthy_are_right(batch, score(local, batch, engine=engine))
    assert healthy_are_right(rows(), score(lambda response: len(response) / 10, rows(), engine=engine))


def test_what_cannot_be_sent_is_named_before_any_work(engine: Engine) -> None:
    with pytest.raises(ConfigError, match=r"'locked'.*'inner\.client\.lock' is a lock.*workers=0"):
        score(rewards.Locked(), rows(), engine=engine)
    assert [o.reward for o in score(rewards.Locked(), rows(), engine=Engine(workers=0))] == [1.0] * 40


def test_a_row_that_cannot_be_sent_is_only_its_own_trouble(engine: Engine) -> None:
    batch = rows()
    batch[3].response = "b"
    batch[3].metadata["env"] = threading.Lock()
    outputs = score(rewards.unbounded, batch, engine=engine)
    assert [i for i, o in enumerate(outputs) if o.reward is None] == [3]
    assert "cannot be sent" in outputs[3].error


def test_metadata_comes_back_as_plain_data(engine: Engine) -> None:
    (output,) = score(rewards.odd_metadata, ["x"], engine=engine)
    assert output.reward == 1.0
    assert output.metadata.pop("object") in ("lock", "allocate_lock", "<built-in function allocate_lock>")
    assert output.metadata == {"set": {1, 2}, "tuple": (1, 2.5), "path": "PosixPath('a')"}


def test_a_worker_can_send_nothing_but_plain_data() -> None:
    import pickle

    from assay.engine.remote import decode

    with pytest.raises(pickle.UnpicklingError, match="no plain data"):
        decode(pickle.dumps([os.system]))


def test_workers_stay_warm_and_a_changed_reward_gets_new_ones(engine: Engine) -> None:
    def pids(reward: Any) -> set[int]:
        return {o.metadata["pid"] for o in score(reward, _with_ids(rows()), engine=engine)}

    first = rewards.Noted("/dev/null")
    before = pids(first)
    assert pids(first) <= before | pids(first)
    assert pids(rewards.Noted("/dev/null")) & before  # an equal one finds them too
    first.seconds = 0.001
    assert not pids(first) & before


def test_from_any_thread_at_once(engine: Engine) -> None:
    results: list[bool] = []

    def one() -> None:
        batch = rows("exit:1")
        results.append(healthy_are_right(batch, score(rewards.obedient, batch, engine=engine)))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 8


def test_under_a_running_event_loop(engine: Engine) -> None:
    async def main() -> None:
        batch = rows("loop")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.02)
                ticks += 1

        beat = asyncio.create_task(tick())
        outputs = await engine.score(rewards.obedient, batch)
        beat.cancel()
        assert healthy_are_right(batch, outputs)
        assert ticks > 20  # the loop was free meanwhile
        assert healthy_are_right(batch, score(rewards.obedient, batch, engine=engine))  # plainly, in a notebook

    asyncio.run(main())


def test_cancelling_stops_what_runs(engine: Engine) -> None:
    async def main() -> None:
        task = asyncio.create_task(engine.score(rewards.unbounded, rows("loop", "loop")))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert healthy_are_right(rows(), score(rewards.unbounded, rows(), engine=engine))


def test_no_workers_at_all() -> None:
    engine = Engine(workers=0, timeout=5.0)
    assert "not enforced" in engine.plan(rewards.obedient)["obedient"]
    assert [o.metadata["pid"] for o in score(rewards.worker_pid, ["x"], engine=engine)] == [os.getpid()]


def test_it_says_where_a_reward_runs() -> None:
    plan = Engine().plan(CompositeReward([rewards.obedient, rewards.unbounded, lambda response: 1.0]))
    assert "only a process can be stopped" in plan["obedient"]
    assert "it asks for workers" in plan["unbounded"]
    assert plan["function"] == "in this process"


def run_script(text: str, folder: Path, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(text)
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run(
        [sys.executable, "-W", "error", str(script), *words],
        capture_output=True, text=True, timeout=timeout, cwd=folder, env=env,
    )  # fmt: skip


SCRIPT = """
import assay, os, sys

@assay.declare(timeout=0.5)
def mine(response):
    while response == "loop":
        pass
    return float(len(response))

outputs = assay.score(mine, ["a", "loop", "abc"])
print([o.reward for o in outputs], outputs[1].outcome)
"""


def test_a_script_without_a_main_guard(tmp_path: Path) -> None:
    done = run_script(SCRIPT, tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("[1.0, None, 3.0] timeout", "")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_in_a_process_of_the_users_own(tmp_path: Path, method: str) -> None:
    text = f"""
import multiprocessing, assay, engine_rewards

def work(_):
    outputs = assay.score(engine_rewards.obedient, ["a", "loop", "abc"])
    return [o.reward for o in outputs]

if __name__ == "__main__":
    assay.score(engine_rewards.obedient, ["warm"])
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(pool.map(work, range(2)))
"""
    done = run_script(text, tmp_path)
    assert done.stdout.strip() == str([[0.1, None, 0.3]] * 2), done.stderr


def test_the_working_directory_may_go(tmp_path: Path) -> None:
    (tmp_path / "doomed").mkdir()
    text = """
import os, assay, engine_rewards as r
os.chdir("doomed")
batch = ["a"] * 20 + ["rmdir", "exit:1"] + ["aa"] * 20
outputs = assay.score(r.obedient, batch)
print([o.reward for o in outputs].count(None), outputs[0].reward, outputs[-1].reward)
"""
    done = run_script(text, tmp_path)
    assert done.stdout.strip() == "1 0.1 0.2", done.stderr


LASTING = """
import assay, processes, sys, time, os, engine_rewards as r
engine = assay.Engine(workers=2)
assay.score(r.obedient, ["a"] * 20 + ["daemon", "child"], engine=engine)
print(*processes.below(), flush=True)
if sys.argv[1] == "exit":
    sys.exit()
assay.score(r.unbounded, ["loop"] * 5, engine=engine)
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_no_process_is_left_behind(tmp_path: Path, how: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(LASTING)
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    with subprocess.Popen([sys.executable, str(script), how], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        pids = list(map(int, process.stdout.readline().split()))
        assert len(pids) >= 4
        if how == "kill":
            time.sleep(0.3)
            pids += below(process.pid)
            process.kill()
    assert gone(pids), [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids if lives(pid)]


def test_a_module_that_cannot_be_loaded_there(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "only_once.py").write_text(
        "import os\nif os.environ.get('LOADED'): raise RuntimeError('not twice')\n"
        "from assay import declare\n@declare(workers=True)\ndef f(response): return 1.0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_once  # pyright: ignore

    monkeypatch.setenv("LOADED", "1")
    with Engine(workers=1) as engine, pytest.raises(ConfigError, match="RuntimeError: not twice"):
        score(only_once.f, ["x"], engine=engine)
