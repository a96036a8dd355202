"""Outputs kept by what they are made of; whoever comes meanwhile waits for the one who scores."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assay import Contract, Engine, InfraError, Outcome, RewardFunction, RewardOutput, Trajectory, declare, score
from assay.cache import Cache, key_of
from assay.errors import ConfigError
from assay.fingerprint import fingerprint


class Judge(RewardFunction):
    """Scores the length; counts its calls, and fails where it is told to."""

    contract = Contract(cost=1.0, range=None)

    def __init__(self, model: str = "small", seconds: float = 0.0) -> None:
        self.model, self.seconds = model, seconds
        self._calls: list[str] = []

    async def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        self._calls.append(trajectory.response)
        await asyncio.sleep(self.seconds)
        if trajectory.response == "down" and len(self._calls) == 1:
            raise InfraError("the judge is not there")
        return RewardOutput(float(len(trajectory.response)), metadata={"model": self.model, "said": ["ok", 1.5]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "scores.db"


def test_what_was_scored_is_not_scored_again(path: Path) -> None:
    rows = ["a", "bb", "ccc"]
    first, second = Judge(), Judge()
    before = score(first, rows, engine=Engine(cache=path))
    engine = Engine(cache=path)
    after = score(second, rows, engine=engine)
    assert (first._calls, second._calls) == (rows, [])
    assert [(o.reward, o.metadata, o.outcome) for o in after] == [(o.reward, o.metadata, o.outcome) for o in before]
    assert engine.counts["judge"].saved == {"cache": 3}
    assert isinstance(engine.cache, Cache)
    assert engine.cache.hits == 3


def test_another_configuration_another_version_another_row(path: Path) -> None:
    engine = Engine(cache=path)
    score(Judge(), ["a"], engine=engine)
    other = Judge("large")
    score(other, ["a"], engine=engine)
    assert other._calls == ["a"]
    newer = Judge()
    newer.contract = Contract(cost=1.0, range=None, version="prompt-2")
    score(newer, ["a"], engine=engine)
    assert newer._calls == ["a"]
    same = Judge()
    score(same, [Trajectory(response="a", ground_truth="7")], engine=engine)
    assert same._calls == ["a"]


def test_other_code_is_another_reward() -> None:
    def made(body: str) -> Any:
        space: dict[str, Any] = {"__name__": "mine"}
        exec(f"LIMIT = 3\ndef helper(r): return {body}\ndef f(response): return helper(response)", space)
        from assay import as_reward

        return fingerprint(as_reward(space["f"])).key

    assert made("len(r)") == made("len(r)")
    assert made("len(r)") != made("len(r) + 1")
    assert made("len(r) > LIMIT") != made("len(r)")


def test_only_the_columns_that_are_named_count(path: Path) -> None:
    log = Judge()  # what starts with an underscore is no configuration

    @declare(cost=1.0)
    def judge(response: str, hint: str) -> float:
        log._calls.append(response)
        return 1.0

    rows = [Trajectory(response="a", metadata={"hint": "h", "id": i}) for i in range(5)]
    assert [o.reward for o in score(judge, rows, engine=Engine(cache=path))] == [1.0] * 5
    assert log._calls == ["a"]
    rows[0].metadata["hint"] = "other"
    score(judge, rows, engine=Engine(cache=path))
    assert log._calls == ["a", "a"]


def test_a_class_reads_the_whole_row_unless_it_says_what_it_reads() -> None:
    rows = [Trajectory(response="a", metadata={"id": i}) for i in range(5)]
    judge = Judge()
    score(judge, rows)
    assert len(judge._calls) == 5
    judge = Judge()
    judge.contract = Contract(cost=1.0, range=None, inputs=("prompt", "response"))
    outputs = score(judge, rows)
    assert judge._calls == ["a"]
    assert [o.reward for o in outputs] == [1.0] * 5
    outputs[0].metadata["said"] = "changed"
    assert outputs[1].metadata["said"] == ["ok", 1.5]  # equals do not share what can be changed


def test_equals_in_a_batch_are_scored_once_without_a_file() -> None:
    judge, engine = Judge(), Engine()
    outputs = score(judge, ["same"] * 64 + ["other"], engine=engine)
    assert sorted(judge._calls) == ["other", "same"]
    assert [o.reward for o in outputs] == [4.0] * 64 + [5.0]
    assert engine.counts["judge"].saved == {"duplicate": 63}
    assert engine.counts["judge"].calls == 2
    assert engine.counts["judge"].outcomes == {"scored": 65}


def test_cheap_rules_do_not_pay_for_looking() -> None:
    called: list[str] = []

    def rule(response: str) -> float:
        called.append(response)
        return 1.0

    score(rule, ["same"] * 8)
    assert len(called) == 8


def test_what_samples_is_neither_shared_nor_kept(path: Path) -> None:
    judge = Judge()
    judge.contract = Contract(cost=1.0, range=None, deterministic=False)
    engine = Engine(cache=path)
    score(judge, ["a"] * 4, engine=engine)
    score(judge, ["a"], engine=engine)
    assert len(judge._calls) == 5


def test_a_failure_is_not_kept(path: Path) -> None:
    judge, engine = Judge(), Engine(cache=path)
    assert score(judge, ["down"], engine=engine)[0].outcome is Outcome.INFRA_ERROR
    assert score(judge, ["down"], engine=engine)[0].reward == 4.0


def test_single_flight_across_threads(path: Path) -> None:
    judge = Judge(seconds=0.3)
    results: list[list[float | None]] = []

    def one() -> None:
        results.append([o.reward for o in score(judge, ["a", "bb"], engine=Engine(cache=path))])

    threads = [threading.Thread(target=one) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [[1.0, 2.0]] * 6
    assert sorted(judge._calls) == ["a", "bb"]


SHARED = """
import sys, time, assay, os
from assay.engine import Engine

@assay.declare(cost=1.0)
def judge(response):
    with open("calls", "a") as file:
        file.write(response + "\\n")
    time.sleep(0.02)
    if sys.argv[1] == "die" and response == "r5":
        os.kill(os.getpid(), 9)
    return float(len(response))

print([o.reward for o in assay.score(judge, [f"r{i}" for i in range(20)], engine=Engine(cache="scores.db"))])
"""


def start(folder: Path, how: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    if not script.exists():  # another process may be about to read it
        script.write_text(SHARED)
    command = [sys.executable, "script.py", how]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_single_flight_across_processes(tmp_path: Path) -> None:
    processes = [start(tmp_path, "live") for _ in range(3)]
    said = [p.communicate(timeout=60)[0].strip() for p in processes]
    assert said == [str([2.0] * 10 + [3.0] * 10)] * 3
    assert len((tmp_path / "calls").read_text().split()) == 20


def test_who_was_killed_leaves_no_claim_behind(tmp_path: Path) -> None:
    dying = start(tmp_path, "die")
    dying.communicate(timeout=60)
    started = time.monotonic()
    said, error = start(tmp_path, "live").communicate(timeout=60)
    assert said.strip() == str([2.0] * 10 + [3.0] * 10), error
    assert time.monotonic() - started < 10


def test_an_answer_is_kept_as_soon_as_it_is_there(tmp_path: Path) -> None:
    text = SHARED.replace("def judge", "async def judge").replace(
        "declare(cost=1.0)", "declare(cost=1.0, concurrency=1)"
    )
    (tmp_path / "dying.py").write_text(text)
    command = [sys.executable, "dying.py", "die"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False).returncode == -9
    cache = Cache(tmp_path / "scores.db")
    assert len(cache) == 5  # r0 to r4 were paid for
    cache.close()


def test_it_holds_its_size(path: Path) -> None:
    cache = Cache(path, max_mb=1.0)
    for n in range(20):
        cache.put({key_of("f", f"{n}-{i}".encode()): "x" * 1000 for i in range(300)})
    assert cache.size_mb() < 1.3
    assert cache.evicted
    last = cache.get([key_of("f", f"19-{i}".encode()) for i in range(300)])
    assert len(last) == 300  # the newest stay
    cache.close()


def test_concurrent_writers(path: Path) -> None:
    cache = Cache(path)
    errors: list[Exception] = []

    def write(n: int) -> None:
        try:
            for i in range(50):
                cache.put({f"{n}-{i}": "v"})
                cache.get([f"{n}-{i}"])
        except sqlite3.Error as error:
            errors.append(error)
        finally:
            cache.close()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert len(cache) == 200
    cache.close()


def test_no_pickle_in_the_file(path: Path) -> None:
    score(Judge(), ["a"], engine=Engine(cache=path))
    cache = Cache(path)
    (value,) = [row[0] for row in cache._db().execute("SELECT value FROM entries")]
    assert value.startswith("{")
    cache.close()
    assert os.path.getsize(path) < 200_000


FILES = {
    "helpers.py": "LIMIT = 3\ndef long(text): return len(text) > LIMIT\nclass Scale:\n    def of(self, x): return x\n",
    "mine.py": (
        "import dataclasses, functools, helpers\nfrom helpers import Scale, long\n"
        "@dataclasses.dataclass\nclass Settings:\n    least: float = 0.5\n"
        "SETTINGS = Settings(0.25)\nPART = functools.partial(long)\n"
        "def by_module(response): return helpers.long(response)\n"
        "def by_name(response): return long(response)\n"
        "def by_part(response): return PART(response)\n"
        "def by_class(response): return Scale().of(1.0)\n"
        "def by_settings(response): return SETTINGS.least\n"
    ),
}


@pytest.mark.parametrize(
    ("file", "before", "now", "changed"),
    [
        ("helpers.py", "len(text) > LIMIT", "len(text) >= LIMIT", {"by_module", "by_name", "by_part"}),
        ("helpers.py", "LIMIT = 3", "LIMIT = 4", {"by_module", "by_name", "by_part"}),
        ("helpers.py", "return x", "return x / 2", {"by_class"}),
        ("mine.py", "Settings(0.25)", "Settings(0.75)", {"by_settings"}),
        ("mine.py", "", "", set()),
    ],
)
def test_code_is_followed_into_the_files_beside_it(tmp_path: Path, file, before, now, changed) -> None:
    names = ["by_module", "by_name", "by_part", "by_class", "by_settings"]
    code = (
        "import sys\nfrom assay.load import load_reward\nfrom assay.fingerprint import fingerprint\n"
        "for name in sys.argv[1:]: print(fingerprint(load_reward('mine.py:' + name)).key)"
    )

    def keys() -> list[str]:
        command = [sys.executable, "-B", "-c", code, *names]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True)
        return done.stdout.split()

    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    first = keys()
    (tmp_path / file).write_text(FILES[file].replace(before, now) if before else FILES[file])
    assert {name for name, a, b in zip(names, first, keys(), strict=True) if a != b} == changed


@pytest.mark.parametrize(
    "value", ["garbage", '{"reward": "1", "outcome": "scored"}', '{"outcome": "never"}', "[" * 9999]
)
def test_what_is_no_output_was_never_stored(path: Path, value: str) -> None:
    once = declare(cost=1.0)(lambda response: float(len(response)))
    score(once, ["ab"], engine=Engine(cache=path))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE entries SET value = ?", (value,))
    for _ in range(2):
        assert [o.reward for o in score(once, ["ab"], engine=Engine(cache=path))] == [2.0]


def test_a_cache_that_cannot_be_opened_is_told_at_once_and_no_reason_to_stop_later(tmp_path: Path, monkeypatch) -> None:
    once = declare(cost=1.0)(lambda response: 1.0)
    (tmp_path / "file").write_text("x" * 4096)
    for bad in (tmp_path, tmp_path / "file", tmp_path / "file" / "below.db"):
        with pytest.raises(ConfigError, match="Name another file"):
            score(once, ["a"], engine=Engine(cache=bad))
    cache = Cache(tmp_path / "good.db")
    cache.put({"k": "1"})
    cache.close()
    cache.path = tmp_path  # as another thread would find it when there are no more files to be had
    assert (cache.get(["k"]), cache.claim(["k"])) == ({}, ["k"])
    assert "unable to open" in cache.trouble


def test_a_built_in_is_the_same_code_in_every_process():
    # a table that is made from a set stands in another order in each: then nothing is found in a cache, or resumed
    script = (
        "from assay.fingerprint import code_of\nfrom assay.load import builtin_class, builtins\n"
        "print([(name, code_of(builtin_class(name))) for name in builtins()])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
