"""A Run that was stopped at any moment goes on as if it never had been; folding and scoring again, in part."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay import Clip, CompositeReward, Gate, Normalize, RewardOutput, score
from assay.compose.lineage import lineage
from assay.fingerprint import fingerprint
from assay.load import load_reward
from assay.record import Run, RunWriter
from assay.types import Trajectory

ENV = {**os.environ, "COLUMNS": "120", "PYTHONWARNINGS": "error"}

MINE = """
import time
import assay

@assay.declare(cost=1.0)
def first(response, id):
    with open("calls.log", "a") as file:
        file.write(f"first {id}\\n")
    time.sleep(0.0004)
    return len(response) / 10

def second(response, id):
    with open("calls.log", "a") as file:
        file.write(f"second {id}\\n")
    if id % 7 == 0:
        raise ValueError("no seven")
    return id % 3

both = assay.CompositeReward({"first": (first, 0.5), "second": (second, 0.5)})
normal = assay.Normalize(both, "running")
"""


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "assay", *map(str, words)]


def assay(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=120, env=ENV, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    lines = [{"prompt": f"q{i // 4}", "response": "x" * (i % 11), "id": i} for i in range(2000)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return tmp_path


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a Run without what a clock decides."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k != "seconds"}
        return value

    return [timeless(json.loads(line)) for line in path.read_text().splitlines()]


def calls(folder: Path) -> list[str]:
    log = folder / "calls.log"
    found = log.read_text().split("\n")[:-1] if log.exists() else []
    log.unlink(missing_ok=True)
    return found


@pytest.mark.parametrize("reward", ["both", "normal"])
def test_resume_after_kill_9_gives_the_same_file(folder: Path, reward: str) -> None:
    assert assay(folder, "score", "rows.jsonl", "-r", f"mine.py:{reward}", "-o", "whole.jsonl", "-q").returncode in (
        0,
        1,
    )
    calls(folder)
    rng, kills = random.Random(7), 0
    words = ("score", "rows.jsonl", "-r", f"mine.py:{reward}", "-o", "cut.jsonl", "-q", "--resume")
    for _ in range(4):
        with subprocess.Popen(command(*words), cwd=folder, env=ENV) as process:
            time.sleep(rng.uniform(0.4, 1.4))
            kills += process.poll() is None
            process.kill()
    assert kills
    assert assay(folder, *words).returncode in (0, 1)
    assert rows_of(folder / "cut.jsonl") == rows_of(folder / "whole.jsonl")
    assert Run(folder / "cut.jsonl").header["complete"]
    assert sorted(p.name for p in folder.glob("cut*")) == ["cut.jsonl", "cut.jsonl.header.json"]
    assert assay(folder, *words).returncode == 0  # nothing is left to do
    assert "complete" in assay(folder, *words).stderr


def test_what_was_written_is_not_scored_twice(folder: Path) -> None:
    words = ("score", "rows.jsonl", "-r", "mine.py:both", "-o", "cut.jsonl", "-q", "--resume")
    with subprocess.Popen(command(*words), cwd=folder, env=ENV) as process:
        parts = folder / "cut.jsonl.parts"
        while len(list(parts.glob("*.jsonl"))) < 2:
            time.sleep(0.005)
        process.kill()
    written = sum(int(part.stem.partition("-")[2]) for part in parts.glob("*.jsonl"))
    calls(folder)
    assay(folder, *words)
    assert sorted(calls(folder)) == sorted(f"{n} {i}" for n in ("first", "second") for i in range(written, 2000))


def test_ctrl_c_keeps_what_is_scored_and_can_be_resumed(folder: Path) -> None:
    words = ("score", "rows.jsonl", "-r", "mine.py:both", "-o", "cut.jsonl")
    with subprocess.Popen(command(*words), cwd=folder, env=ENV, stderr=subprocess.PIPE, text=True) as process:
        while len(list((folder / "cut.jsonl.parts").glob("*.jsonl"))) < 2:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "--resume" in said
    assert 0 < len(rows_of(folder / "cut.jsonl")) < 2000
    assert not Run(folder / "cut.jsonl").header["complete"]
    assay(folder, *words, "--resume", "-q")
    assert len(rows_of(folder / "cut.jsonl")) == 2000


def stop_half_way(folder: Path) -> None:
    words = ("score", "rows.jsonl", "-r", "mine.py:both", "-o", "cut.jsonl", "-q")
    with subprocess.Popen(command(*words), cwd=folder, env=ENV) as process:
        while len(list((folder / "cut.jsonl.parts").glob("*.jsonl"))) < 2:
            time.sleep(0.005)
        process.kill()
    calls(folder)


def test_a_changed_reward_is_refused_and_force_scores_what_changed(folder: Path) -> None:
    stop_half_way(folder)
    (folder / "mine.py").write_text(MINE.replace("id % 3", "id % 4"))
    words = ("score", "rows.jsonl", "-r", "mine.py:both", "-o", "cut.jsonl", "-q", "--resume")
    refused = assay(folder, *words)
    assert refused.returncode == 2
    assert "composite/second: its code changed" in refused.stderr
    assert "composite/first" not in refused.stderr
    assert calls(folder) == []
    written = sum(int(p.stem.partition("-")[2]) for p in (folder / "cut.jsonl.parts").glob("*.jsonl"))
    assay(folder, *words, "--force")
    called = calls(folder)
    assert sorted(c for c in called if c.startswith("second")) == sorted(f"second {i}" for i in range(2000))
    assert sorted(c for c in called if c.startswith("first")) == sorted(f"first {i}" for i in range(written, 2000))
    assay(folder, "score", "rows.jsonl", "-r", "mine.py:both", "-o", "whole.jsonl", "-q")
    assert rows_of(folder / "cut.jsonl") == rows_of(folder / "whole.jsonl")


def test_a_changed_weight_says_so_and_another_input_is_refused(folder: Path) -> None:
    stop_half_way(folder)
    words = ("score", "rows.jsonl", "-r", "mine.py:both", "-o", "cut.jsonl", "-q", "--resume")
    refused = assay(folder, *words, "--set", "weight.first=0.9")
    assert refused.returncode == 2
    assert "0.9" in refused.stderr
    (folder / "rows.jsonl").write_text((folder / "rows.jsonl").read_text() + '{"response": "more", "id": 5}\n')
    refused = assay(folder, *words)
    assert (refused.returncode, "the input file changed" in refused.stderr) == (2, True)


def test_reweigh_calls_no_reward(folder: Path) -> None:
    assay(folder, "score", "rows.jsonl", "-r", "mine.py:both", "-o", "run.jsonl", "-q")
    calls(folder)
    done = assay(folder, "reweigh", "run.jsonl", "--set", "weight.second=0", "-o", "new.jsonl")
    assert done.returncode in (0, 1), done.stderr
    assert calls(folder) == []
    new = rows_of(folder / "new.jsonl")
    assert all(abs(row["reward"] - 0.5 * (row["id"] % 11) / 10) < 1e-9 for row in new if row["id"] % 7)
    assert new[1]["lineage"]["second"]["weighted"] == 0.0
    refused = assay(folder, "reweigh", "run.jsonl", "--set", "weight.third=1")
    assert (refused.returncode, "no component 'third'" in refused.stderr) == (2, True)


def test_rescore_only_failed(folder: Path) -> None:
    assay(folder, "score", "rows.jsonl", "-r", "mine.py:both", "-o", "run.jsonl", "-q")
    calls(folder)
    (folder / "mine.py").write_text(MINE.replace("raise ValueError", "pass #"))
    done = assay(folder, "rescore", "run.jsonl", "--only-failed", "-q")
    assert done.returncode == 0, done.stderr
    assert sorted(calls(folder)) == sorted(f"second {i}" for i in range(0, 2000, 7))
    assert all(row["reward"] is not None for row in rows_of(folder / "run.jsonl"))
    done = assay(folder, "rescore", "run.jsonl", "--reward", "mine.py:first", "-o", "first.jsonl", "-q")
    assert len(calls(folder)) == 2000
    assert rows_of(folder / "first.jsonl")[3]["reward"] == 0.3


def test_parquet_resumes_too(folder: Path) -> None:
    polars = pytest.importorskip("polars", reason="Parquet needs polars")
    words = ("score", "rows.jsonl", "-r", "mine.py:both", "-o", "cut.parquet", "-q", "--resume")
    with subprocess.Popen(command(*words), cwd=folder, env=ENV) as process:
        while len(list((folder / "cut.parquet.parts").glob("*.parquet"))) < 2:
            time.sleep(0.005)
        process.kill()
    assay(folder, *words)
    assert polars.read_parquet(folder / "cut.parquet")["id"].to_list() == list(range(2000))


def test_the_header_says_what_was_scored_with_what(folder: Path) -> None:
    assay(folder, "score", "rows.jsonl", "-r", "mine.py:both", "-o", "run.jsonl", "-q", "--limit", "10")
    header = Run(folder / "run.jsonl").header
    assert set(header["fingerprints"]) == {"composite", "composite/first", "composite/second"}
    assert {"assay", "python", "versions", "input_is", "seeds", "options", "started"} <= set(header)


def test_lineage_from_the_raw_number_to_what_was_paid() -> None:
    def gold(response: str) -> float:
        return len(response) * 1.0

    def form(response: str) -> float:
        return float(response.startswith("x"))

    reward = Normalize(
        CompositeReward({"gold": (Gate(Clip(gold, 0, 3), form), 0.5), "form": (form, 0.5)}), "minmax", 0, 2
    )
    (output,) = score(reward, ["xxxxx"])
    told = lineage(reward, output)
    assert told["composite/gold/clip/gold" if "composite/gold/clip/gold" in told else "composite/gold/gold/gold"] == {
        "raw": 5.0, "clipped": 3.0, "gated": 3.0, "scheduled": 0.5, "weighted": 1.5, "normalised": 1.0,
    }  # fmt: skip
    assert told["composite/form"] == {"raw": 1.0, "scheduled": 0.5, "weighted": 0.5, "normalised": 1.0}


def test_a_part_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run = RunWriter(path, {}).__enter__()
    run.write([{"response": "a"}], [RewardOutput(1.0)])
    (run.parts / "00000001-5.jsonl.tmp").write_text('{"half')  # and here it was killed
    with RunWriter(path, {}, resume=True) as run:
        assert run.done == 1
        run.write([{"response": "b"}], [RewardOutput(0.0)])
    assert [(t.response, o.reward) for t, o in Run(path)] == [("a", 1.0), ("b", 0.0)]


def test_trajectories_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    row = {
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
        "reward": 3,
        "lineage": 1,
    }
    with RunWriter(path, {}) as run:
        run.write([row], [RewardOutput(1.0)])
    ((t, output),) = Run(path)
    assert (t.prompt, t.response, t.metadata, output.reward) == ("q", "a", {"reward": 3, "lineage": 1}, 1.0)
    assert isinstance(t, Trajectory)


def test_code_that_leads_back_to_itself_has_a_fingerprint(tmp_path):
    path = tmp_path / "knots.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Rule:\n    run: object\n"
        "def even(n): return n == 0 or TABLE['odd'].run(n - 1)\n"
        "def odd(n): return n != 0 and TABLE['even'](n - 1)\n"
        "TABLE = {'even': even, 'odd': Rule(odd)}\n"
        "def reward(response): return float(TABLE['even'](len(response)))\n"
    )
    before = fingerprint(load_reward(f"{path}:reward")).key
    assert before == fingerprint(load_reward(f"{path}:reward")).key
    path.write_text(path.read_text().replace("n - 1)\nTABLE", "n - 2)\nTABLE"))
    assert fingerprint(load_reward(f"{path}:reward")).key != before


def test_workers_from_the_command_line(folder: Path) -> None:
    assay(folder, "score", "rows.jsonl", "-r", "mine.py:both", "-o", "here.jsonl", "-q", "--limit", 200)
    done = assay(
        folder, "score", "rows.jsonl", "-r", "mine.py:both", "-o", "there.jsonl", "--limit", 200, "--workers", 2
    )
    assert "first runs in 2 worker processes" in done.stderr
    assert "second: 29 grader_error" in done.stderr
    assert rows_of(folder / "here.jsonl") == rows_of(folder / "there.jsonl")


def test_large_rows_come_in_small_chunks() -> None:
    from assay.rollouts import CHUNK_CHARACTERS, chunks

    rows = ({"prompt": str(i // 4), "response": "x" * (CHUNK_CHARACTERS // 20)} for i in range(60))
    sizes = [len(chunk) for chunk in chunks(rows, 2048)]
    assert sizes == [20, 20, 20]
    assert [len(chunk) for chunk in chunks(({"prompt": str(i // 4), "response": "x"} for i in range(60)), 10)] == [
        12, 12, 12, 12, 12,
    ]  # fmt: skip
