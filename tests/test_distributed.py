"""The same Run from a Ray cluster: a real local one, with an actor killed in the midst of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from assay.distributed import Order, pieces_of, rows_of
from assay.errors import ConfigError
from assay.record import Run
from assay.rollouts import Rollouts

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'assay[ray]'")

MINE = """
import asyncio, os, signal
import assay

def steady(response, id):
    return len(response) / 100

def dying(response, id):
    if id == 1777 and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return len(response) / 100

@assay.declare(concurrency=4)
async def judge(response, id):
    await asyncio.sleep(0.001)
    return len(response) / 100

@assay.declare(timeout=1.0)
def hanging(response, id):
    while id == 2500:
        pass
    return 1.0

both = assay.CompositeReward({"dying": (dying, 0.4), "judge": (judge, 0.3), "hanging": (hanging, 0.3)})
"""


def assay(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(folder), "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    lines = [{"prompt": f"q{i // 8}", "response": "x" * (i % 97), "id": i} for i in range(3000)]
    text = [json.dumps(row) for row in lines]
    text.insert(100, "{broken")
    (tmp_path / "rows.jsonl").write_text("\n".join(text) + "\n")
    return tmp_path


def rows_in(path: Path) -> list[dict[str, Any]]:
    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k != "seconds"}
        return value

    return [timeless(json.loads(line)) for line in path.read_text().splitlines()]


@needs_ray
@pytest.mark.slow
def test_the_run_is_the_same_though_an_actor_was_killed(folder: Path) -> None:
    words = ("score", "rows.jsonl", "-r", f"{folder}/mine.py:both", "-q")
    (folder / "killed").touch()
    here = assay(folder, *words, "-o", "here.jsonl")
    assert here.returncode == 1, here.stderr  # a line was broken
    (folder / "killed").unlink()
    killing = MINE.replace('"killed"', repr(str(folder / "killed")))
    (folder / "mine.py").write_text(killing)
    there = assay(folder, *words, "-o", "there.jsonl", "--engine", "ray", "--workers", 2)
    assert there.returncode == 1, there.stderr
    assert (folder / "killed").exists()  # it was
    assert rows_in(folder / "there.jsonl") == rows_in(folder / "here.jsonl")
    assert Run(folder / "there.jsonl").header["rows"] == 3000
    assert rows_in(folder / "there.jsonl")[2500]["detail"]["components"]["hanging"]["outcome"] == "timeout"
    assert "broken" in there.stderr or "not JSON" in there.stderr


@needs_ray
@pytest.mark.slow
def test_from_python_with_a_reward_that_is_not_in_a_file(folder: Path) -> None:
    (folder / "script.py").write_text(
        "from assay import CompositeReward\n"
        "from assay.distributed import Cluster, score_file\n"
        "from assay.rollouts import Rollouts\n"
        "reward = CompositeReward([(lambda response: len(response) / 100, 1.0)])\n"
        "total = rows = 0\n"
        "for some, outputs in score_file(reward, Rollouts('rows.jsonl', limit=2000), Cluster(actors=2), skip=1000):\n"
        "    rows += len(some)\n"
        "    assert all(abs(o.reward - len(r['response']) / 100) < 1e-9 for r, o in zip(some, outputs))\n"
        "print(rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, timeout=300, cwd=folder, check=False
    )
    assert done.stdout.split()[-1:] == ["1000"], done.stderr


def read(
    path: Path, rows: int, skip: int = 0, limit: int | None = None, rename: dict[str, str] | None = None
) -> Sequence[list[dict[str, Any]]]:
    broken: list[str] = []
    pieces = pieces_of(Rollouts(path, rename or {}, limit, to_score=True), rows, skip)
    return [list(rows_of(Order(None, str(path), rename or {}), piece.start, piece.end, broken)) for piece in pieces]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_pieces_keep_groups_together_and_lose_nothing(tmp_path: Path, suffix: str) -> None:
    rows = [{"prompt": f"q{i // 5}", "response": str(i), "id": i} for i in range(203)]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        path.write_text("\n\n".join(json.dumps(row) for row in rows))
    else:
        pytest.importorskip("polars", reason="Parquet needs polars").DataFrame(rows).write_parquet(path)
    pieces = read(path, 16)
    assert [row["id"] for piece in pieces for row in piece] == list(range(203))
    assert len(pieces) > 8
    groups = [{row["prompt"] for row in piece} for piece in pieces]
    assert not any(a & b for a, b in pairwise(groups))
    assert [row["id"] for piece in read(path, 16, skip=100) for row in piece] == list(range(100, 203))
    assert [row["id"] for piece in read(path, 16, skip=10, limit=50) for row in piece] == list(range(10, 50))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_that_cannot_be_scored_are_not_counted_among_those_that_were(tmp_path: Path, suffix: str) -> None:
    answers = [None if i % 7 == 3 else str(i) for i in range(200)]
    rows = [{"asked": f"q{i // 5}", "response": answer, "id": i} for i, answer in enumerate(answers)]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        lines = [json.dumps(row) for row in rows]
        lines[20:20] = ["{broken", "[1]"]
        path.write_text("\n".join(lines))
    else:
        pytest.importorskip("polars", reason="Parquet needs polars").DataFrame(rows).write_parquet(path)
    rename = {"asked": "prompt"}
    good = [row["id"] for row in rows if row["response"] is not None]
    ids = [[row["id"] for row in piece] for piece in read(path, 16, rename=rename)]
    assert [i for piece in ids for i in piece] == good
    assert not any({i // 5 for i in a} & {i // 5 for i in b} for a, b in pairwise(ids))  # its prompt has another name
    assert [row["id"] for piece in read(path, 16, skip=60, rename=rename) for row in piece] == good[60:]
    assert [row["id"] for piece in read(path, 16, 60, 90, rename) for row in piece] == good[60:90]


def test_standard_input_is_refused() -> None:
    with pytest.raises(ConfigError, match="every node"):
        list(pieces_of(Rollouts("-"), 10))
