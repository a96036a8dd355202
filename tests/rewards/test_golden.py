"""The golden tables of the rewards: one line of `cases/<family>.jsonl` is one test."""

from __future__ import annotations

from typing import Any

import pytest
from golden import check, families, read

CASES = [(family, case) for family in families() if family != "math" for case in read(family)]


@pytest.mark.parametrize(("family", "case"), CASES, ids=[f"{family}-{case['why']}" for family, case in CASES])
def test_golden(family: str, case: dict[str, Any]) -> None:
    check(case)


def test_no_table_is_left_out() -> None:
    assert {"length", "format", "keyword", "repetition", "language", "match", "math", "schema", "tools"} <= {
        *families()
    }


def test_every_instruction_has_a_case_that_follows_it_and_one_that_does_not() -> None:
    from assay.text.instructions import INSTRUCTIONS

    seen = {
        (case["with"]["instructions"][0]["name"], case["score"] == 1.0)
        for case in read("instructions")
        if len(case.get("with", {}).get("instructions", ())) == 1
    }
    assert len(INSTRUCTIONS) >= 20
    assert {(name, followed) for name in INSTRUCTIONS for followed in (True, False)} <= seen
