"""MathReward, NumericReward, ChoiceReward, and the functions of the second seed."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from golden import check, read

from assay import Outcome, Trajectory, score
from assay.errors import ConfigError
from assay.rewards.math import ChoiceReward, MathReward, NumericReward, check_answer, check_numbers, gold_answers

CASES = read("math")


@pytest.mark.parametrize("case", CASES, ids=[c["why"] for c in CASES])
def test_golden(case: dict[str, Any]) -> None:
    check(case, "assay.rewards.math")


def one(reward: Any, response: str, truth: Any, **columns: Any) -> Any:
    (output,) = score(reward, [{"prompt": "q", "response": response, "ground_truth": truth, **columns}])
    return output


def test_the_metadata_says_what_was_compared_and_why() -> None:
    output = one(MathReward(), r"So \boxed{\frac{2}{4}}.", "0.5")
    assert output.reward == 1.0
    said = output.metadata
    assert (said["extracted"], said["how"]) == (r"\frac{2}{4}", "boxed")
    assert (said["canonical"], said["gold_canonical"]) == ("1/2", "1/2")
    assert said["rule"] == "values of the expressions"
    assert said["reason"] == "1/2 = 1/2: values of the expressions"
    assert output.seconds > 0
    json.dumps(said)


@pytest.mark.parametrize("gold", ["", None, [], r"\frac{", "^^^", {"messages": []}])
def test_a_gold_that_cannot_be_read_is_not_scored(gold: Any) -> None:
    output = one(MathReward(), r"\boxed{7}", gold) if gold is not None else MathReward().compute_rewards(
        [Trajectory(response=r"\boxed{7}")]
    )[0]  # fmt: skip
    assert output.reward is None
    assert output.outcome is Outcome.ABSTAINED
    assert "ground" in output.error


def test_what_is_the_same_as_an_unreadable_gold_is_still_right() -> None:
    assert one(MathReward(), r"\boxed{\frac{}", r"\frac{").reward is None
    assert one(MathReward(), r"\boxed{x \oplus^^ y}", r"x \oplus^^ y").reward == 1.0


@pytest.mark.parametrize(
    ("truth", "answers"),
    [
        ("4", ("4",)),
        (4, ("4",)),
        (["4", "four"], ("4", "four")),
        ("We add them up.\n#### 4", ("4",)),
        (r"Then $2+2=\boxed{4}$.", ("4",)),
        ({"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": r"\boxed{4}"}]}, ("4",)),
        (Trajectory(response="The answer is 4."), ("4",)),
        ({"ground_truth": "4"}, ("4",)),
        (None, ()),
    ],
)
def test_the_forms_a_ground_truth_has(truth: Any, answers: tuple[str, ...]) -> None:
    assert gold_answers(truth) == answers


def test_any_of_several_gold_answers_will_do() -> None:
    assert [one(MathReward(), r, ["4", "5"]).reward for r in ("4", "5", "6")] == [1.0, 1.0, 0.0]


def test_a_batch_is_scored_as_its_rows_are() -> None:
    rows = [Trajectory(response=rf"\boxed{{{k % 3}}}", ground_truth=str(k % 2)) for k in range(40)]
    reward = MathReward()
    batch = [o.reward for o in reward.compute_rewards(rows)]
    assert batch == [reward.compute_rewards([row])[0].reward for row in rows]
    assert batch == [float(k % 3 == k % 2) for k in range(40)]


def test_outputs_of_one_batch_do_not_share_their_metadata() -> None:
    first, second = MathReward().compute_rewards([Trajectory(response="7", ground_truth="7") for _ in range(2)])
    first.metadata["mine"] = 1
    assert "mine" not in second.metadata


def test_two_different_answers_are_none_unless_lenient() -> None:
    hedge = r"\boxed{8} or maybe \boxed{7}"
    assert one(MathReward(), hedge, "7").reward == 0.0
    assert one(MathReward(strict=False), hedge, "7").reward == 1.0
    output = one(MathReward(), "<answer>8</answer><answer>7</answer>", "7")
    assert (output.reward, output.metadata["rule"]) == (0.0, "two answers")


def test_it_pickles_and_takes_two_lists() -> None:
    reward = pickle.loads(pickle.dumps(MathReward(tolerance=0.01)))
    assert reward(["The answer is 4.", "5"], ["4", "4"]) == [1.0, 0.0]


@pytest.mark.parametrize("wrong", [{"tolerance": -1.0}, {"tolerance": 1.0}, {"form": "neat"}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MathReward(**wrong)


def test_how_near_a_number_is() -> None:
    reward = NumericReward(max_error=100)
    assert [one(reward, f"The answer is {n}.", 100).reward for n in (100, 75, 0, -50, "none")] == [
        1.0,
        0.75,
        0.0,
        0.0,
        0.0,
    ]
    within = NumericReward(tolerance=0.1, relative=True)
    assert [one(within, str(n), "40").reward for n in (40, 44, 45)] == [1.0, 1.0, 0.0]
    assert one(reward, "7", "seven apples or so").reward is None
    with pytest.raises(ConfigError):
        NumericReward(tolerance=2, max_error=1)


@pytest.mark.parametrize("response", ["9^{9^{9^9}}", "1e999999", r"\infty", "x", "10^{400}", "-10^{-400}"])
def test_numbers_beyond_a_float_do_no_harm(response: str) -> None:
    assert one(NumericReward(max_error=10), rf"\boxed{{{response}}}", 5).reward in (0.0, 0.5)


def test_choices_by_letter_text_and_index() -> None:
    row = {"choices": ["Lyon", "Paris", "Nice"]}
    reward = ChoiceReward()
    said = ["B", "(b)", r"\boxed{B}", "The answer is B.", "The answer is (B) Paris.", "Paris", "A", "A and B", "I pass"]
    assert [one(reward, r, "B", **row).reward for r in said] == [1, 1, 1, 1, 1, 1, 0, 0, 0]
    assert one(reward, "B", 1, **row).reward == 1.0
    assert one(reward, "B", "Paris", **row).reward == 1.0
    assert one(reward, "B", "Berlin", **row).reward is None


def test_check_answer() -> None:
    said = [
        "2 + 2 = 4. The answer is 4.",
        "2 plus 2 equals 4.",
        "The answer is 4.2.",
        "The answer is -4.",
        "no number",
        "",
    ]
    assert [check_answer(r, "4") for r in said] == [1.0, 0.5, 0.5, 0.0, 0.0, 0.0]
    assert check_answer("The answer is 0.", "0") == 1.0
    assert check_answer("The answer is 0.01.", "0") == 0.0


def test_check_numbers() -> None:
    found = check_numbers("2 + 2 = 4. The answer is 4.", [4])
    assert found == {"extracted": [4], "matches": [True], "score": 1.0}
    assert check_numbers("x = 3 and y = 5", [3, 4]) == {"extracted": [3, 5], "matches": [True, False], "score": 0.5}
    assert check_numbers("no number at all", [1]) == {"extracted": [], "matches": [False], "score": 0.0}
    assert check_numbers("1e99999999 and 1,000.5", [1000.5])["score"] == 1.0
    assert len(check_numbers("7 " * 100_000, [7])["extracted"]) <= 1000


def test_a_wrong_answer_shows_both_canonical_forms_and_why():
    (output,) = MathReward().compute_rewards([Trajectory(response=r"\boxed{\frac{2}{3}}", ground_truth="0.75")])
    metadata = output.metadata
    assert (metadata["canonical"], metadata["gold_canonical"]) == ("2/3", "3/4")
    assert metadata["reason"] == "2/3 is not 3/4: values of the expressions"


@pytest.mark.parametrize(
    "truth",
    [
        "We add 3 and 4. That is 7, so twice as much is 7*2 = 14.",
        "Let $a=6$. Then $b=8$ and hence $a+b = 14$.",
        "3 + 4 = 7, and twice that is \\boxed{14}.",
        "7 first.\n#### 14",
        {"answer": "14"},
        b"14",
    ],
)
def test_a_worked_solution_is_worth_its_last_value_and_no_other(truth: object) -> None:
    said = [Trajectory(response=rf"\boxed{{{n}}}", ground_truth=truth) for n in (14, 7, 3)]
    assert [out.reward for out in MathReward().compute_rewards(said)] == [1.0, 0.0, 0.0]


def test_a_ground_truth_that_is_no_number_is_not_scored() -> None:
    (out,) = MathReward().compute_rewards([Trajectory(response=r"\boxed{7}", ground_truth=float("nan"))])
    assert out.reward is None
