"""Two tables of programs: honest ones of every style, all of which pass, and exploits, none of which is paid.

A row: the program, and the tests in the shape of a data set's row; values that JSON has no words for are in the form of
`inside.wire`. A program that was refused, or paid, by mistake is one more line there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from programs import fenced

from assay import RewardOutput, Trajectory
from assay.rewards.code import CodeReward
from assay.sandbox.inside import wire

FORMS = ("cases", "asserts", "check_test", "unittest", "pytest")
"""A row with several is graded in each."""
CASES = Path(__file__).parents[1] / "cases"


def _rows(name: str) -> list[tuple[str, Trajectory]]:
    found = []
    for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        tests = wire.decode(row["tests"]["$tagged"]) if "$tagged" in row["tests"] else row["tests"]
        forms = [form for form in FORMS if form in tests]
        for form in forms if len(forms) > 1 else [""]:
            one = {key: value for key, value in tests.items() if key not in FORMS or key == form or not form}
            name = f"{row['name']} / {form}" if form else row["name"]
            found.append((name, Trajectory(response=fenced(row["code"]), metadata={"tests": one})))
    return found


def _graded(reward: CodeReward, name: str) -> list[tuple[str, RewardOutput]]:
    rows = _rows(name)
    outputs = reward.compute_rewards([row for _, row in rows])
    return [(n, output) for (n, _), output in zip(rows, outputs, strict=True)]


def _said(output: RewardOutput) -> Any:
    ends = [(t["outcome"], t["detail"]) for t in output.metadata.get("tests", []) if t["outcome"] != "pass"]
    return output.reward, output.error, ends[:2], output.metadata.get("flags")


def test_no_honest_program_is_refused(tiered):
    pytest.importorskip("numpy")
    graded = _graded(tiered, "code_honest")
    assert len(graded) >= 200
    assert not {name: _said(o) for name, o in graded if o.reward != 1.0 or o.metadata["flags"]}


def test_no_exploit_is_paid(tiered):
    pytest.importorskip("numpy")
    graded = _graded(tiered, "code_exploits")
    assert len(graded) >= 280
    assert not {name: _said(o) for name, o in graded if o.reward != 0.0}
