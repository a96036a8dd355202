"""The golden table of answers: which two are one, in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from golden import read

from assay.math import Options, equivalent
from assay.math.verdict import read_gold

CASES = read("answers")


@pytest.mark.parametrize("case", CASES, ids=[f"{c['answer']} | {c['gold']}" for c in CASES])
def test_two_answers_are_one_or_not(case: dict[str, Any]) -> None:
    verdict = equivalent(case["answer"], case["gold"])
    assert verdict.equal is case["same"], verdict.reason
    if "one_way" not in case:
        assert equivalent(case["gold"], case["answer"]).equal is case["same"]


def test_the_table_has_answers_that_are_one_and_answers_that_are_not() -> None:
    assert sum(c["same"] for c in CASES) > 200
    assert sum(not c["same"] for c in CASES) > 80


def test_a_verdict_says_which_rule_decided_and_why() -> None:
    verdict = equivalent("1+1/e", "1-1/e")
    assert verdict.rule == "values of the expressions"
    assert verdict.reason == "e^(-1) + 1 is not -e^(-1) + 1: values of the expressions"
    assert equivalent("{,} x", "x^2").rule in ("undecided", "words")
    assert "factorial" in equivalent("(10^9)!", "7").reason or equivalent("(10^9)!", "7").rule == "undecided"


@pytest.mark.parametrize(
    ("answer", "gold", "exact", "near"),
    [
        ("3.15", "3.14", False, True),
        ("100", "101", False, True),
        ("100", "103", False, False),
        ("x", "1.001x", False, False),
    ],
)
def test_a_stated_tolerance_lets_near_numbers_count(answer: str, gold: str, exact: bool, near: bool) -> None:
    assert equivalent(answer, gold).equal is exact
    assert equivalent(answer, gold, Options(tolerance=0.01)).equal is near


def test_the_tolerance_holds_inside_lists_and_with_units() -> None:
    near = Options(tolerance=0.01)
    assert equivalent("(1.001, 2)", "(1, 2)", near)
    assert equivalent("100.5 cm", "1 m", near)
    assert not equivalent("(1.1, 2)", "(1, 2)", near)


def test_the_form_counts_where_it_is_asked_for() -> None:
    same = Options(form="same")
    assert equivalent("(x+1)(x+2)", "(x+2)(x+1)", same)
    assert not equivalent("x^2+3x+2", "(x+1)(x+2)", same)
    assert equivalent("x^2+3x+2", "(x+1)(x+2)")


def test_rounding_can_be_refused() -> None:
    assert equivalent(r"\frac{127}{3}", "42.3333")
    assert not equivalent(r"\frac{127}{3}", "42.3333", Options(rounding=False))


def test_a_gold_answer_is_read_once() -> None:
    assert read_gold("a gold that no other test reads") is read_gold("a gold that no other test reads")
