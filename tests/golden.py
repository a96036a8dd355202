"""The one loader of the golden tables in `cases/`.

A table is JSON lines, a case a line: the reward's class and its parameters, the row (or only its response), what it
scores (null: not scored), and why:

    {"reward": "LengthReward", "with": {"target": 3}, "response": "one two three", "score": 1.0, "why": "on target"}

`metadata` may say some of what the output must say beside the score.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from assay import RewardFunction, RewardOutput, score

CASES = Path(__file__).parent / "cases"


def read(family: str) -> list[dict[str, Any]]:
    """The cases of `cases/<family>.jsonl`."""
    lines = (CASES / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def families() -> list[str]:
    """The tables whose lines name a reward, found by looking: a new one needs to be listed nowhere."""
    return sorted(
        p.stem for p in CASES.glob("*.jsonl") if '"reward"' in p.read_text(encoding="utf-8").partition("\n")[0]
    )


def made(case: dict[str, Any], module: str = "assay") -> RewardFunction:
    """The reward of a case."""
    return getattr(import_module(module), case["reward"])(**case.get("with", {}))


def row_of(case: dict[str, Any]) -> dict[str, Any]:
    """The row of a case."""
    return case["row"] if "row" in case else {"response": case["response"]}


def check(case: dict[str, Any], module: str = "assay") -> RewardOutput:
    """Score the case and compare."""
    (output,) = score(made(case, module), [row_of(case)])
    if case["score"] is None:
        assert output.reward is None, output
    else:
        assert output.reward == pytest.approx(case["score"], abs=1e-9), output
    for key, value in case.get("metadata", {}).items():
        assert output.metadata[key] == value, output.metadata
    return output
