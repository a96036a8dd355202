"""What holds for every composition, whatever its parts gave: found by trying, not by example."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay import Clip, CompositeReward, Gate, Normalize, RewardOutput, Shaped, Trajectory
from assay.compose import Batch, refold

values = st.one_of(st.none(), st.floats(0.0, 1.0))
weights = st.floats(-2.0, 2.0).map(lambda w: round(w, 3))
rows = st.lists(st.tuples(values, values, values), min_size=1, max_size=8)
SETTINGS = settings(max_examples=150, deadline=None)


def part(name):
    def reward(metadata):
        return metadata[name]

    reward.__name__ = name
    return reward


PARTS = [part("a"), part("b"), part("c")]


def table(given_rows, groups=2):
    return [
        Trajectory(prompt=str(i % groups), response=str(i), metadata=dict(zip("abc", row, strict=True)))
        for i, row in enumerate(given_rows)
    ]


@SETTINGS
@given(rows, st.tuples(weights, weights, weights))
def test_a_sum_is_that_of_its_weights_where_all_was_scored(given_rows, given_weights):
    reward = CompositeReward(list(zip(PARTS, given_weights, strict=True)))
    for row, output in zip(given_rows, assay.score(reward, table(given_rows)), strict=True):
        if None not in row:
            assert math.isclose(
                output.reward, sum(w * v for w, v in zip(given_weights, row, strict=True)), abs_tol=1e-9
            )
        assert {n: p.reward for n, p in output.components.items()} == dict(zip("abc", row, strict=True))


@SETTINGS
@given(rows, st.tuples(weights, weights, weights))
def test_what_is_missing_never_pays_more_than_the_whole_could(given_rows, given_weights):
    reward = CompositeReward(list(zip(PARTS, given_weights, strict=True)))
    low, high = sum(min(0.0, w) for w in given_weights), sum(max(0.0, w) for w in given_weights)
    for row, output in zip(given_rows, assay.score(reward, table(given_rows)), strict=True):
        if output.reward is not None:
            assert low - 1e-9 <= output.reward <= high + 1e-9
        pays = [v for w, v in zip(given_weights, row, strict=True) if w > 0]
        if pays and all(v is None for v in pays):
            assert output.reward is None
        lacks = any(v is None for v in row)
        assert ("missing" in output.metadata) == lacks


@SETTINGS
@given(rows, st.tuples(weights, weights, weights), st.tuples(weights, weights, weights))
def test_refolding_is_scoring_again(given_rows, before, after):
    trajectories = table(given_rows)
    stored = assay.score(CompositeReward(list(zip(PARTS, before, strict=True))), trajectories)
    other = CompositeReward(list(zip(PARTS, after, strict=True)))
    folded = refold(other, Batch(trajectories), stored)
    assert [o.reward for o in folded] == [o.reward for o in assay.score(other, trajectories)]


@SETTINGS
@given(rows, st.floats(0.0, 1.0))
def test_a_gate_pays_its_reward_or_nothing(given_rows, at_least):
    outputs = assay.score(Gate(PARTS[0], require=PARTS[1], at_least=at_least), table(given_rows))
    for (inner, required, _), output in zip(given_rows, outputs, strict=True):
        expected = None if required is None else inner if required >= at_least else 0.0
        assert output.reward == expected


@SETTINGS
@given(rows, st.floats(0.01, 1.0))
def test_shaping_and_clipping_keep_their_bounds(given_rows, limit):
    trajectories = table(given_rows)
    for (base, _, _), output in zip(
        given_rows, assay.score(Shaped(PARTS[0], PARTS[1], limit), trajectories), strict=True
    ):
        assert (output.reward is None) == (base is None)
        assert base is None or abs(output.reward - base) <= limit + 1e-9
    for (base, _, _), output in zip(
        given_rows, assay.score(Clip(PARTS[0], 0.2, 0.2 + limit), trajectories), strict=True
    ):
        assert (output.reward is None) == (base is None)
        assert base is None or 0.2 <= output.reward <= 0.2 + limit


@SETTINGS
@given(rows)
def test_a_group_normalises_to_mean_zero_and_no_more_than_one_deviation(given_rows):
    trajectories = table(given_rows)
    outputs = assay.score(Normalize(PARTS[0]), trajectories)
    for group in ("0", "1"):
        known = [o.reward for t, o in zip(trajectories, outputs, strict=True) if t.prompt == group and o.scored]
        if known:
            mean = sum(known) / len(known)
            assert abs(mean) < 1e-6
            assert sum((k - mean) ** 2 for k in known) / len(known) <= 1.0 + 1e-6


@SETTINGS
@given(rows, st.sampled_from(["reweight", "skip", "drop_group", "impute", 0.5]))
def test_no_policy_makes_a_number_of_nothing(given_rows, policy):
    trajectories = [*table(given_rows), *table([(None, None, None)])]
    reward = CompositeReward([(p, 1.0) for p in PARTS], on_missing=policy)
    *_, last = assay.score(reward, trajectories)
    if policy == 0.5:
        assert last.reward == 1.5  # as was asked
    elif policy in ("reweight", "skip", "drop_group"):
        assert last.reward is None
    assert isinstance(last, RewardOutput)
