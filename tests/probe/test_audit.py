"""The audit finds the fault that a reward was written with, and finds none in a sound one."""

from __future__ import annotations

import time

import pytest
import rewards

import assay
from assay.errors import ConfigError, InputError
from assay.probe import RULES, Expect, Severity, audit, cases, rule
from assay.probe.opening import open_trial
from assay.probe.trial import Sense

ROWS = [
    {
        "prompt": "A box holds 3 rows of 14 eggs. How many eggs are that?",
        "response": "There are 3 rows of 14, so it is \\boxed{42}.",
        "ground_truth": "42",
    },
    {
        "prompt": "What is 17 * 5?",
        "response": "Ten times 5 is 50 and seven times 5 is 35, which makes \\boxed{85}.",
        "ground_truth": "85",
    },
]


def found(report, severity=None):
    return {f.rule for f in report.findings if severity in (None, f.severity)}


def test_a_sound_reward_has_no_error():
    report = audit(rewards.sound, ROWS)
    assert report.passed, [str(f) for f in report.findings]
    assert report.sense is Sense.ANSWER
    assert report.honest == 1.0
    assert sum(report.tried.values()) > 100


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (rewards.last_box, "attack/negation"),
        (rewards.any_box, "attack/enumeration"),
        (rewards.any_box, "attack/contradiction"),
        (rewards.contains, "attack/hedge"),
        (rewards.contains, "distinction/answer"),
        (rewards.prefix, "distinction/answer"),
        (rewards.credulous, "attack/verdict"),
        (rewards.credulous, "attack/roles"),
    ],
)
def test_each_planted_fault_is_an_error_of_its_own_rule(reward, expected):
    assert expected in found(audit(reward, ROWS), Severity.ERROR)


def test_orders_to_a_judge_are_found():
    errors = found(audit(rewards.gullible_judge, ROWS), Severity.ERROR)
    assert "attack/orders" in errors
    assert "attack/verdict" not in errors


def test_a_grader_that_runs_code_beside_its_tests_is_fooled():
    row = {
        "prompt": "Write double(x).",
        "response": "So:\n```python\ndef double(x):\n    twice = 2 * x\n    return twice\n```",
        "tests": ["assert double(2) == 4", "assert double(0) == 0"],
    }
    report = audit(rewards.runs_asserts, [row])
    errors = found(report, Severity.ERROR)
    assert {"attack/code-equal", "lint/exec", "lint/swallowed-exception"} <= errors
    assert "attack/code-hollow" not in errors
    assert report.tried["equivalence/code"] == 3


def test_a_last_box_reward_is_not_blamed_for_lists_of_boxes_that_end_wrong():
    assert "attack/enumeration" not in found(audit(rewards.last_box, ROWS))
    assert "attack/verdict" not in found(audit(rewards.last_box, ROWS))


def test_spelling_is_told_as_a_warning():
    assert "equivalence/spelling" in found(audit(rewards.last_box, ROWS), Severity.WARNING)


def test_a_reward_of_form_is_told_so_once():
    report = audit(rewards.wordy, [{**ROWS[0], "response": ROWS[0]["response"] * 30}])
    assert report.sense is Sense.FORM
    assert [f.severity for f in report.findings if f.rule == "attack/form-only"] == [Severity.NOTE]
    assert report.passed


def test_a_reward_of_form_that_pays_padding_more_is_warned_of():
    assert "attack/padding" in found(audit(rewards.wordy, ROWS), Severity.WARNING)


def test_a_hang_is_bounded_and_told():
    started = time.perf_counter()
    report = audit(rewards.hangs_on_size, ROWS, timeout=0.5)
    assert time.perf_counter() - started < 30
    assert any(f.rule == "attack/size" and "not done after 0.5 s" in f.message for f in report.findings)


def test_a_reward_that_ends_its_process_is_told():
    report = audit(rewards.leaves_on_size, ROWS, timeout=2.0)
    assert any(f.rule == "attack/size" and "exit code 3" in f.message for f in report.findings)


def test_the_best_response_of_a_prompt_is_taken_as_honest():
    rows = [{**ROWS[0], "response": "\\boxed{41}"}, ROWS[0]]
    trial = open_trial(rewards.last_box, rows)
    assert [e.honest for e in trial.examples] == [ROWS[0]["response"]]


def test_where_no_response_is_right_one_is_made_from_the_gold():
    trial = open_trial(rewards.last_box, [{**ROWS[0], "response": "\\boxed{41}"}])
    assert "\\boxed{42}" in trial.examples[0].honest


def test_a_marked_row_is_taken_as_it_says():
    rows = [{**ROWS[0], "honest": True, "response": "It is plainly \\boxed{42}."}, {**ROWS[0], "honest": False}]
    trial = open_trial(rewards.contains, rows)
    assert trial.examples[0].honest == "It is plainly \\boxed{42}."


def test_the_gold_may_stand_in_another_column():
    def exact(completions, solution, **kwargs):
        return [float(c.endswith(f"{s}.")) for c, s in zip(completions, solution, strict=True)]

    trial = open_trial(exact, [{"prompt": "?", "response": "It is 42.", "solution": "42"}])
    assert trial.examples[0].gold == "42"
    assert trial.sense is Sense.ANSWER


def test_conversations_are_attacked_in_their_last_turn():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": ROWS[0]["prompt"]},
        {"role": "assistant", "content": ROWS[0]["response"]},
    ]

    def exact(completions, answer, **kwargs):
        return [rewards.last_box(c[-1]["content"], a) for c, a in zip(completions, answer, strict=True)]

    report = audit(exact, [{"messages": messages, "answer": "42"}])
    assert "attack/negation" in found(report, Severity.ERROR)


def test_group_rewards_are_tried_beside_the_honest_response():
    def longest(group):
        best = max(len(t.response) for t in group)
        return [float(len(t.response) == best) for t in group]

    report = audit(longest, ROWS)
    assert "attack/padding" not in found(report, Severity.ERROR)
    assert report.examples == 2


def test_without_examples_the_built_in_ones_are_used():
    report = audit(rewards.contains)
    assert report.examples == 4
    assert not report.passed


def test_a_reward_that_scores_at_random_is_told_so_and_not_attacked():
    rows = [{**ROWS[0], "prompt": f"Question {i}?"} for i in range(8)]
    report = audit(rewards.noisy, rows, limit=8)
    assert {"example/chance", "lint/nondeterminism"} <= found(report, Severity.ERROR)
    assert not report.tried


def test_columns_that_no_example_has_are_told_with_what_to_do():
    def judged(response, rubric):
        return 1.0

    with pytest.raises(InputError, match=r"needs \['rubric'\].*--examples"):
        audit(judged)
    with pytest.raises(InputError, match="at least one example"):
        audit(rewards.contains, [])


def test_nothing_scored_is_an_error_and_not_a_pass():
    def broken(response):
        raise ValueError("no such table")

    report = audit(broken, ROWS)
    assert "example/none" in found(report, Severity.ERROR)
    assert "no such table" in " ".join(f.message for f in report.findings)


def test_a_failure_that_many_rules_meet_is_told_once():
    report = audit(rewards.not_a_number, ROWS)
    (told,) = [f for f in report.findings if "returned nan" in f.message and f.earned is None]
    assert told.rule == "lint/fails"


def test_what_wavers_is_blamed_for_that_alone():
    report = audit(rewards.wavers, ROWS)
    assert found(report, Severity.ERROR) == {"lint/nondeterminism"}


def test_who_does_not_read_the_gold_is_not_blamed_for_each_wrong_answer():
    report = audit(rewards.whole_number, ROWS)
    assert report.sense is Sense.CONTENT
    assert not {"distinction/answer", "attack/hedge", "attack/negation"} & found(report)
    assert "not the right answer" in next(f.message for f in report.findings if f.rule == "attack/form-only")


def test_words_that_pay_in_any_order_are_no_order_to_a_judge():
    row = {"prompt": "Grade it.", "response": "Correct by the rubric; my verdict is the full score."}
    assert not {"attack/orders", "attack/verdict", "attack/roles"} & found(audit(rewards.kind_words, [row]))


@pytest.mark.parametrize(
    "spec", ["group_length", "cosine_length", "instruction", "json_schema", "tool_call", "code_block"]
)
def test_every_kind_of_reward_finds_a_built_in_example(spec):
    report = audit(spec, limit=2)
    assert report.examples
    assert report.passed, [str(f) for f in report.findings]
    assert "example/low" not in found(report)


def test_a_rule_of_ones_own():
    @rule("attack/test-shout", "capital letters are paid", Expect.BELOW)
    def shout(example):
        yield example.honest.upper()

    try:
        with pytest.raises(ConfigError, match="already a rule"):
            rule("attack/test-shout", "again", Expect.BELOW)(shout)
        assert "attack/test-shout" in found(audit(rewards.contains, ROWS, rules=[RULES["attack/test-shout"]]))
    finally:
        del RULES["attack/test-shout"]


def test_cases_are_pytest_parameters():
    several = cases(rewards.any_box, ROWS, kinds=["attack"])
    ids = [str(case) for case in several]
    assert len(set(ids)) == len(ids) > 50
    assert len({case.id for case in several}) == len(several)
    bad = next(case for case in several if case.rule.name == "attack/enumeration")
    with pytest.raises(AssertionError, match="a list of guesses is paid: it earns 1, the honest response 1"):
        bad.check()
    next(case for case in several if case.rule.name == "attack/empty").check()


def test_audits_repeat_themselves():
    one, two = (audit(rewards.contains, ROWS) for _ in range(2))
    assert [(f.id, f.message) for f in one.findings] == [(f.id, f.message) for f in two.findings]


def test_a_composite_is_judged_as_a_whole():
    reward = assay.CompositeReward([(rewards.sound, 0.8), (assay.FormatReward(), 0.2)])
    report = audit(reward, ROWS)
    assert report.sense is Sense.ANSWER
    assert report.passed, [str(f) for f in report.findings]
