"""Each trainer's call, on rewards that fit it and on those that break in it."""

from __future__ import annotations

import inspect

import pytest
import rewards

import assay
from assay.errors import UnknownName
from assay.probe import Severity
from assay.probe.preflight import preflight
from assay.probe.trainers import TRAINERS

ROWS = [
    {"prompt": "3 rows of 14?", "response": "It is 42.", "ground_truth": "42", "answer": "42"},
    {"prompt": "17 * 5?", "response": "It is 85.", "ground_truth": "85", "answer": "85"},
]


def troubles(reward, trainer, rows=ROWS, **options):
    return {f.rule for f in preflight(reward, trainer, rows, **options) if f.severity is not Severity.NOTE}


@pytest.mark.parametrize(
    ("trainer", "reward"),
    [
        ("trl", rewards.trl_own),
        ("verl", rewards.verl_own),
        ("openrlhf", rewards.openrlhf_own),
        ("swift", rewards.swift_own),
        ("verifiers", rewards.verifiers_own),
        ("tunix", rewards.tunix_own),
        ("twinkle", rewards.twinkle_own),
    ],
)
def test_a_function_in_the_trainers_own_form_flies(trainer, reward):
    assert troubles(reward, trainer) == set()


@pytest.mark.parametrize(
    ("trainer", "reward", "expected"),
    [
        ("trl", rewards.trl_no_kwargs, {"trl/signature"}),
        ("trl", rewards.trl_strings_only, {"trl/messages"}),
        ("trl", rewards.trl_short, {"trl/length"}),
        ("trl", rewards.trl_inf, {"trl/inf"}),
        ("trl", rewards.trl_shuffles, {"trl/mutation"}),
        ("trl", rewards.trl_watches_steps, {"trl/async-grpo"}),
        ("trl", rewards.trl_abstains, {"trl/none"}),
        ("verl", rewards.verl_ragged, {"verl/keys"}),
        ("verl", rewards.verl_none, {"verl/none"}),
        ("openrlhf", rewards.openrlhf_list, {"openrlhf/returns"}),
        ("verifiers", rewards.verifiers_lost, {"verifiers/signature"}),
        ("tunix", rewards.tunix_async, {"tunix/async"}),
        ("twinkle", rewards.twinkle_nan, {"twinkle/nan"}),
    ],
)
def test_what_breaks_is_told_by_its_rule(trainer, reward, expected):
    rows = [{**row, "difficulty": 1} for row in ROWS]
    assert troubles(reward, trainer, rows) == expected


def test_what_does_not_pickle_flies_all_the_same():
    assert "trl/pickle" in {f.rule for f in preflight(rewards.Locked(), "trl", ROWS)}


def test_a_reward_that_ends_the_process_and_one_that_hangs():
    assert "trl/dies" in troubles(rewards.trl_exits, "trl")
    found = preflight(rewards.trl_hangs, "trl", ROWS, timeout=0.5)
    assert any(f.rule == "trl/hangs" and "not returned after 0.5 s" in f.message for f in found)


def test_a_missing_column_is_told():
    def needs_solution(completions, solution, **kwargs):
        return [float(s in c) for c, s in zip(completions, solution, strict=True)]

    (found,) = [f for f in preflight(needs_solution, "trl", ROWS) if f.rule == "trl/signature"]
    assert "missing a required argument: 'solution'" in found.message


def test_a_column_that_collides_is_told():
    rows = [{**row, "prompts": "mine"} for row in ROWS]
    found = [f for f in preflight(rewards.trl_own, "trl", rows) if f.rule == "trl/column"]
    assert "multiple values" in found[0].message


def test_any_reward_flies_in_trl():
    found = preflight(assay.FormatReward(), "trl")
    assert [f for f in found if f.severity is not Severity.NOTE] == []
    short = preflight(lambda response: float(len(response) < 40), "trl", ROWS)
    assert {f.rule for f in short} == {"trl/form", "trl/pickle"}


def test_what_is_not_in_verifiers_form_is_told_its_adapter():
    (found,) = preflight(rewards.contains, "verifiers", ROWS)
    assert found.severity is Severity.NOTE
    assert "adapters.verifiers" in found.message


@pytest.mark.parametrize("trainer", ["verl", "openrlhf", "swift", "twinkle", "tunix"])
def test_any_reward_flies_through_its_adapter(trainer):
    found = preflight(assay.ExactMatchReward(), trainer, ROWS)
    assert [f for f in found if f.severity is not Severity.NOTE] == []


def test_two_parts_of_one_name_are_told():
    reward = assay.CompositeReward({"a": _Named(), "b": _Named()})
    assert "trl/names" in troubles(reward, "trl")


class _Named(assay.RewardFunction):
    __name__ = "mine"

    def compute_reward(self, trajectory):
        return 1.0


def test_group_rewards_are_warned_of_split_groups():
    def longest(group):
        best = max(len(t.response) for t in group)
        return [float(len(t.response) == best) for t in group]

    assert "trl/groups" in troubles(longest, "trl")
    assert troubles(longest, "verl") == {"verl/groups", "verl/pickle"}


def test_an_unknown_trainer_is_told_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'verl'"):
        preflight(rewards.contains, "verll")


@pytest.mark.parametrize("name", TRAINERS)
def test_every_stage_is_named_and_takes_a_desk(name):
    for stage, fly in TRAINERS[name].stages.items():
        assert stage
        assert list(inspect.signature(fly).parameters) == ["desk"]
