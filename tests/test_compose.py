"""Compositions: what is asked, what is folded, and that stored parts fold again without a call."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest

from assay import (
    ByTask,
    Clip,
    CompositeReward,
    Cosine,
    Curriculum,
    Gate,
    InfraError,
    LengthReward,
    Linear,
    Normalize,
    RewardFunction,
    RewardOutput,
    Shaped,
    Steps,
    Term,
    Trajectory,
    as_reward,
    score,
)
from assay.compose import Batch, refold
from assay.errors import ConfigError


def short(response):
    return 1.0 if len(response) < 5 else 0.0


def number(response):
    return float(response)


class Counting(RewardFunction):
    """Gives the number that stands in the response, and counts its calls."""

    def __init__(self):
        self.calls = []

    def compute_reward(self, trajectory):
        self.calls.append(trajectory.response)
        return float(trajectory.response)


def rewards(reward, *responses, **more):
    return [o.reward for o in score(reward, [{"response": r, **more} for r in responses])]


def test_a_weighted_sum_keeps_raw_parts():
    (output,) = score(CompositeReward([(short, 0.3), (number, 0.7)]), ["0.5"])
    assert math.isclose(output.reward, 0.3 + 0.35)
    assert {n: p.reward for n, p in output.components.items()} == {"short": 1.0, "number": 0.5}
    assert output.metadata["weights"] == {"short": 0.3, "number": 0.7}


def test_the_forms_of_terms():
    pairs = CompositeReward([(short, 0.5), (short, 0.5), short])
    assert list(pairs.children) == ["short", "short_2", "short_3"]
    named = CompositeReward({"a": (short, 0.5), "b": number, "c": Term(short, 2.0)})
    assert named.weights(0) == {"a": 0.5, "b": 1.0, "c": 2.0}
    clash = CompositeReward([Term(short, name="x_2"), Term(short, name="x"), Term(short, name="x")])
    assert list(clash.children) == ["x_2", "x", "x_3"]


@pytest.mark.parametrize("weight", [math.nan, math.inf, "0.5", None, True])
def test_weights_that_are_no_finite_number_are_refused(weight):
    with pytest.raises(ConfigError, match="'short' needs a finite weight"):
        CompositeReward([(short, weight)])


def test_negative_zero_and_unnormalised_weights_are_taken():
    assert rewards(CompositeReward([(short, -1.0), (number, 3.0), (short, 0.0)]), "0.5") == [0.5]


@pytest.mark.parametrize("weight", [Fraction(1, 2), 1, 0.5])
def test_numbers_of_every_library_are_weights(weight):
    assert CompositeReward([(short, weight)]).weights(0) == {"short": float(weight)}


@pytest.mark.parametrize("terms", [as_reward(short), "length", 3])
def test_what_is_no_list_of_terms_is_told_so(terms):
    with pytest.raises(ConfigError, match=r"\(reward, weight\) pairs"):
        CompositeReward(terms)


def test_parts_that_come_to_more_than_a_float_are_no_score():
    huge = CompositeReward([(lambda response: 1e308, 10.0)])
    assert [(o.reward, o.outcome) for o in score(huge, ["x"])] == [(None, "grader_error")]
    lopsided = {"1": 1e200, "2": 0.0, "3": 1e308, "4": -1e308, "5": 1.0}
    far = Normalize(lambda response: lopsided[response])
    for rows in (["1", "2"], ["3", "4", "5"]):
        assert all(o.reward is None or math.isfinite(o.reward) for o in score(far, rows))
    running = Normalize(lambda response: lopsided[response], "running")
    score(running, ["3", "4"])
    score(running, ["5", "2"] * 50)
    assert all(math.isfinite(value) for value in running.state_dict().values())


@pytest.mark.parametrize("step", ["Step 1: add", [1], math.nan, math.inf])
def test_a_column_step_that_is_no_step_costs_its_row(step):
    rows = [{"response": "0.5", "step": step}, {"response": "0.5", "step": "7"}]
    for reward in (Curriculum([(0, short)]), CompositeReward([(short, Linear(1.0, 1.0, steps=9))])):
        bad, good = score(reward, rows)
        assert (bad.reward, bad.outcome, good.reward) == (None, "abstained", 1.0)
        assert "'step' is no number" in bad.error
        assert score(reward, rows, step=3)[0].reward == 1.0


def test_an_empty_composite_is_refused():
    with pytest.raises(ConfigError, match="at least one"):
        CompositeReward([])


def sometimes(response):
    if response == "-1":
        raise InfraError("no answer")
    return float(response)


ROWS = [{"response": r, "group": g} for r, g in [("1", "a"), ("-1", "a"), ("0", "a"), ("0.5", "b")]]


def test_a_component_that_is_not_scored_is_reweighted_and_said():
    outputs = score(CompositeReward([(sometimes, 0.5), (short, 0.5)]), ROWS)
    assert [o.reward for o in outputs] == [1.0, 1.0, 0.5, 0.75]
    assert "no answer" in outputs[1].metadata["missing"]["sometimes"]
    assert "missing" not in outputs[0].metadata


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", [1.0, None, 0.5, 0.75]),
        ("drop_group", [None, None, None, 0.75]),
        ("impute", [1.0, 0.75, 0.5, 0.75]),
        (0.2, [1.0, 0.6, 0.5, 0.75]),
    ],
)
def test_the_policies_for_what_is_missing(policy, expected):
    composite = CompositeReward([(sometimes, 0.5), (short, 0.5)], on_missing=policy)
    outputs = score(composite, ROWS)
    assert [o.reward for o in outputs] == expected
    own = CompositeReward([Term(sometimes, 0.5, on_missing=policy), Term(short, 0.5)])
    assert [o.reward for o in score(own, ROWS)] == expected
    if expected[1] is None:
        assert outputs[1].outcome == "infra_error"
        assert "no answer" in outputs[1].error


def test_a_component_of_weight_zero_may_fail_without_harm():
    assert rewards(CompositeReward([(sometimes, 0.0), (short, 0.5)], on_missing="skip"), "-1") == [0.5]


def test_where_nothing_was_scored_there_is_no_number():
    (output,) = score(CompositeReward([(sometimes, 1.0)]), ["-1"])
    assert (output.reward, output.outcome) == (None, "infra_error")


def test_an_unknown_policy_is_refused():
    with pytest.raises(ConfigError, match="on_missing"):
        CompositeReward([short], on_missing="zero")


# -- gates and the like ----------------------------------------------------------------------------------------------


def test_a_gate_calls_the_reward_only_where_it_is_open():
    inner = Counting()
    gate = Gate(inner, require=short, at_least=0.8)
    outputs = score(gate, ["0.5", "0.123456"])
    assert [o.reward for o in outputs] == [0.5, 0.0]
    assert inner.calls == ["0.5"]
    assert outputs[1].components["counting"].reward is None
    assert "short 0 < 0.8" in outputs[1].components["counting"].error


def test_a_gate_whose_requirement_failed_is_not_scored():
    (output,) = score(Gate(short, require=sometimes, at_least=0.5), ["-1"])
    assert (output.reward, output.outcome) == (None, "infra_error")


def test_clip_keeps_the_raw_value():
    outputs = score(Clip(number, -1, 1), ["5", "-7", "0.5"])
    assert [o.reward for o in outputs] == [1.0, -1.0, 0.5]
    assert [o.components["number"].reward for o in outputs] == [5.0, -7.0, 0.5]
    with pytest.raises(ConfigError):
        Clip(number, 1, 1)


def test_shaping_moves_the_base_by_no_more_than_its_limit():
    assert rewards(Shaped(short, number, limit=0.2), "0.1", "9", "-9") == pytest.approx([1.1, 1.2, 0.8])
    (output,) = score(Shaped(short, sometimes), ["-1"])
    assert output.reward == 1.0
    assert "no answer" in output.metadata["missing"]


def test_by_task_abstains_for_what_it_does_not_know():
    tasks = ByTask({"math": number, "style": short}, key="kind")
    rows = [{"response": "0.25", "kind": k} for k in ("math", "style", "poetry")] + [{"response": "x"}]
    outputs = score(tasks, rows)
    assert [o.reward for o in outputs] == [0.25, 1.0, None, None]
    assert outputs[2].outcome == "abstained"
    assert "'poetry'" in outputs[2].error
    assert rewards(ByTask({"math": number}, default=short), "abc") == [1.0]


def test_a_curriculum_follows_the_step_of_the_batch_or_the_row():
    plan = Curriculum([(1000, number), (0, short)])
    rows = [{"response": "0.25"}]
    assert [score(plan, rows, step=s)[0].reward for s in (None, 0, 999, 1000, 5000)] == [1.0, 1.0, 1.0, 0.25, 0.25]
    assert rewards(plan, "0.25", step=2000) == [0.25]
    with pytest.raises(ConfigError, match="starts at step 0"):
        Curriculum([(5, short)])
    for start in (0.5, math.nan, "0"):
        with pytest.raises(ConfigError, match="whole steps"):
            Curriculum([(start, short)])
    with pytest.raises(ConfigError, match="finite numbers"):
        Linear(0.0, 1.0, steps=math.nan)
    with pytest.raises(ConfigError, match="one of the two"):
        ByTask({"default": short}, default=number)


def test_schedules():
    assert [Linear(1.0, 0.0, steps=10, after=10).at(s) for s in (0, 10, 15, 20, 99)] == [1.0, 1.0, 0.5, 0.0, 0.0]
    assert Cosine(0.0, 1.0, steps=10).at(5) == pytest.approx(0.5)
    assert [Steps([(0, 0.1), (5, 0.5)]).at(s) for s in (0, 4, 5)] == [0.1, 0.1, 0.5]
    composite = CompositeReward([(short, Linear(0.0, 1.0, steps=100)), (number, 1.0)])
    output = score(composite, ["0.5"], step=50)[0]
    assert output.reward == 1.0
    assert output.metadata["weights"] == {"short": 0.5, "number": 1.0}
    assert output.components["short"].reward == 1.0  # raw, not scheduled


# -- normalisation ---------------------------------------------------------------------------------------------------


def test_group_normalisation_is_a_z_score_within_the_group():
    rows = [{"response": r, "group": g} for r, g in [("1", "a"), ("5", "b"), ("3", "a"), ("5", "b")]]
    assert [o.reward for o in score(Normalize(number), rows)] == pytest.approx([-1.0, 0.0, 1.0, 0.0], abs=1e-4)


def test_what_is_not_scored_counts_in_no_mean():
    rows = [{"response": r, "group": "a"} for r in ("1", "-1", "3")]
    assert [o.reward for o in score(Normalize(sometimes), rows)] == [
        pytest.approx(-1, abs=1e-4),
        None,
        pytest.approx(1, abs=1e-4),
    ]


def test_running_normalisation_saves_its_state():
    one = Normalize(number, "running")
    rewards(one, "1", "3")
    two = Normalize(number, "running")
    two.load_state_dict(one.state_dict())
    assert rewards(one, "5") == rewards(two, "5")
    assert (two.count, two.mean) == (3, 3.0)


def test_minmax_needs_bounds():
    assert rewards(Normalize(number, "minmax", low=0, high=10), "5", "99") == [0.5, 1.0]
    with pytest.raises(ConfigError, match="Pass both"):
        Normalize(number, "minmax")
    with pytest.raises(ConfigError, match="'group', 'running' and 'minmax'"):
        Normalize(number, "zscore")


# -- folding again ---------------------------------------------------------------------------------------------------


def test_stored_parts_fold_again_and_call_nothing():
    dear = Counting()
    rows = [Trajectory(response=r) for r in ("0.5", "0.25", "0.123456")]
    stored = score(CompositeReward({"dear": (dear, 1.0), "short": (short, 1.0)}), rows)
    before = len(dear.calls)
    other = CompositeReward({"dear": (dear, 0.1), "short": (short, 10.0)})
    assert [o.reward for o in refold(other, Batch(rows), stored)] == pytest.approx([10.05, 10.025, 0.0123456])
    assert len(dear.calls) == before


def test_a_gate_that_opens_on_refolding_says_what_has_to_be_scored():
    rows = [Trajectory(response="0.123456")]
    stored = score(Gate(number, require=short), rows)
    (output,) = refold(Gate(number, require=short, at_least=0.0), Batch(rows), stored)
    assert output.reward is None


def test_nested_compositions_fold_again():
    inner = CompositeReward([(short, 1.0), (number, 1.0)], name="inner")
    outer = Clip(CompositeReward([(inner, 0.5), (Normalize(number), 0.5)]), -1, 1)
    rows = [Trajectory(response=r, group="g") for r in ("0.5", "0.25", "0.75")]
    stored = score(outer, rows)
    again = refold(outer, Batch(rows), stored)
    assert [o.reward for o in again] == [o.reward for o in stored]


def test_compositions_pickle():
    for reward in (
        CompositeReward([(short, 0.5)]),
        Gate(short, number),
        Clip(number),
        Normalize(number),
        ByTask({"a": short}),
    ):
        assert rewards(pickle.loads(pickle.dumps(reward)), "0.5") == rewards(reward, "0.5")


def test_ranges_follow_from_the_parts():
    class Unit(RewardFunction):
        def compute_reward(self, trajectory):
            return RewardOutput(1.0)

    assert CompositeReward([(Unit(), 0.5), (Unit(), -1.0)]).contract.range == (-1.0, 0.5)
    assert CompositeReward([(number, 0.5)]).contract.range is None
    assert Gate(Unit(), Unit(), otherwise=-1.0).contract.range == (-1.0, 1.0)
    assert Shaped(Unit(), Unit(), 0.2).contract.range == (-0.2, 1.2)


@pytest.mark.parametrize(
    ("settings", "grouped"),
    [
        ({}, False),
        ({"lazy": True}, False),
        ({"lazy": "group"}, True),
        ({"on_missing": "drop_group"}, True),
        ({"on_missing": "impute"}, True),
        ({"on_missing": "skip"}, False),
    ],
)
def test_a_composite_that_looks_at_the_group_says_so(settings, grouped):
    # where a trainer hands over a part of a group, such a composite must be refused or be given the rest
    from assay.engine import needs_groups

    assert needs_groups(CompositeReward([(LengthReward(3), 1.0)], **settings)) is grouped
