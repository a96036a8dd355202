"""What a response states as its final answer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from golden import read

from assay.math import extract
from assay.text.extract import after_thinking, boxed, final_answer, tagged, thinking

CASES = read("final_answers")


@pytest.mark.parametrize("case", CASES, ids=[c.get("why") or c["response"][:40] for c in CASES])
def test_the_final_answer(case: dict[str, Any]) -> None:
    assert extract(case["response"]) == case["answer"]


def test_what_is_marked_as_the_answer_is_told_from_the_last_value_in_sight() -> None:
    stated = [final_answer(r) for r in (r"\boxed{7}", "<answer>7</answer>", "#### 7", "The answer is 7.")]
    found = [final_answer(r) for r in ("2 plus 5 equals 7, as we saw above.", "Thus $x = 7$.")]
    assert all(f is not None and f.stated for f in stated)
    assert all(f is not None and not f.stated for f in found)


def test_two_answers_in_one_breath_are_kept_side_by_side() -> None:
    for response in (
        r"\boxed{8} or maybe \boxed{7}",
        "The answer is 8. \\boxed{7}",
        "<answer>8</answer><answer>7</answer>",
    ):
        found = final_answer(response)
        assert found is not None
        assert "8" in found.rivals, response


def test_the_parts_stand_alone() -> None:
    assert after_thinking("<think>a</think>b") == "b"
    assert after_thinking("b<think>a") == "b"
    assert thinking("<think>a</think>b") == "a"
    assert thinking("no tags") is None
    assert tagged("<x>1</x><x>2</x>", "x") == "2"
    assert tagged("<x>1", "x") is None
    assert boxed(r"a \boxed{\{1\}} b") == r"\{1\}"
    assert boxed("nothing") is None


def test_a_long_response_costs_little() -> None:
    response = "We compute 3 < 20 and so on, line after line. " * 4500 + r"So \boxed{7}."
    started = time.process_time()
    for _ in range(20):
        assert extract(response) == "7"
    assert (time.process_time() - started) / 20 < 0.01


def test_a_million_earlier_boxes_do_not_hide_the_last() -> None:
    assert extract(r"\boxed{1} " * 1_000_000 + r"\boxed{42}") == "42"
