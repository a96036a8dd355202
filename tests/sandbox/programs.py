"""What the sandbox's tests share: tasks with their reference solutions, and one call that grades a program."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from assay import RewardOutput, Trajectory
from assay.rewards.code import CodeReward

CASES = Path(__file__).parents[1] / "cases" / "code_tasks.jsonl"


@functools.cache
def tasks() -> list[dict[str, Any]]:
    """The tasks of our own."""
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def fenced(code: str) -> str:
    """A response that holds this program."""
    return f"Here it is:\n```python\n{code}\n```\n"


def grade(reward: CodeReward, code: str, tests: Any) -> RewardOutput:
    """What the reward says of one program."""
    (output,) = reward.compute_rewards([Trajectory(response=fenced(code), metadata={"tests": tests})])
    return output


def outcomes(output: RewardOutput) -> list[str]:
    """How each test ended."""
    return [test["outcome"] for test in output.metadata["tests"]]


def function(*pairs: tuple[list[Any], Any], **rest: Any) -> dict[str, Any]:
    """Tests of a function `f`: (arguments, expected)."""
    return {"entry_point": "f", "cases": [{"args": a, "expected": e} for a, e in pairs], **rest}


def stdio(*pairs: tuple[str, str], **rest: Any) -> dict[str, Any]:
    """Tests of a program: (stdin, stdout)."""
    return {"kind": "stdio", "cases": [{"input": i, "output": o} for i, o in pairs], **rest}
