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

from assay import RewardOutput, score

CASES = Path(__file__).parent / "cases"


def read(family: str) -> list[dict[str, Any]]:
    """The cases of `cases/<family>.jsonl`."""
    lines = (CASES / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def check(case: dict[str, Any], module: str) -> RewardOutput:
    """Score the case and compare."""
    reward = getattr(import_module(module), case["reward"])(**case.get("with", {}))
    (output,) = score(reward, [case["row"] if "row" in case else {"response": case["response"]}])
    if case["score"] is None:
        assert output.reward is None, output
    else:
        assert output.reward == pytest.approx(case["score"], abs=1e-9), output
    for key, value in case.get("metadata", {}).items():
        assert output.metadata[key] == value, output.metadata
    return output
