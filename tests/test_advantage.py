import math
import random
import statistics

import pytest

import assay
from assay import advantage as adv


def test_grpo_is_the_z_score_of_the_group():
    got = adv.GRPOAdvantage()([1.0, 0.0, 0.0, 1.0, 5.0, 5.0, 5.0, 5.0], num_generations=4)
    spread = statistics.stdev([1.0, 0.0, 0.0, 1.0]) + adv.EPSILON
    assert got == pytest.approx([0.5 / spread, -0.5 / spread, -0.5 / spread, 0.5 / spread, 0, 0, 0, 0])


def test_scales():
    rewards = [1.0, 0.0, 3.0, 5.0]
    assert adv.GRPOAdvantage(scale="none")(rewards, 2) == [0.5, -0.5, -1.0, 1.0] == adv.DrGRPOAdvantage()(rewards, 2)
    assert adv.GRPOAdvantage()(rewards, num_generations=2, scale="none") == [0.5, -0.5, -1.0, 1.0]
    batch = statistics.stdev(rewards) + adv.EPSILON
    assert adv.GRPOAdvantage()(rewards, 2, scale="batch") == pytest.approx([x / batch for x in (0.5, -0.5, -1.0, 1.0)])
    with pytest.raises(ValueError, match="'group', 'batch' or 'none'; found 'std'"):
        adv.GRPOAdvantage()(rewards, 2, scale="std")  # type: ignore[arg-type]


def test_rloo_is_the_reward_minus_the_mean_of_the_others():
    rewards = [3.0, 1.0, 0.0, 0.5]
    expected = [r - statistics.mean(rewards[:i] + rewards[i + 1 :]) for i, r in enumerate(rewards)]
    assert adv.RLOOAdvantage()(rewards, num_generations=4) == pytest.approx(expected)


def test_rloo_scaled():
    rewards = [3.0, 1.0, None, 0.5]
    spread = statistics.stdev([3.0, 1.0, 0.5]) + adv.EPSILON
    plain = adv.RLOOAdvantage()(rewards, 4)
    assert adv.RLOOAdvantage()(rewards, 4, scale="group") == pytest.approx([a / spread for a in plain])
    assert adv.RLOOAdvantage("batch")(rewards, 4) == pytest.approx([a / spread for a in plain])


def test_reinforce_plus_plus():
    rewards = [1.0, 0.0, 0.0, 3.0]
    spread = statistics.stdev(rewards) + adv.EPSILON
    assert adv.ReinforcePlusPlusAdvantage()(rewards) == pytest.approx([(r - 1.0) / spread for r in rewards])
    centred = [0.5, -0.5, -1.5, 1.5]
    spread = statistics.stdev(centred) + adv.EPSILON
    got = adv.ReinforcePlusPlusAdvantage(baseline=True)(rewards, num_generations=2)
    assert got == pytest.approx([c / spread for c in centred])
    with pytest.raises(ValueError, match=r"num_generations=\.\.\. or groups="):
        adv.ReinforcePlusPlusAdvantage(baseline=True)(rewards)


def test_gdpo_hears_a_small_component_as_well_as_a_large_one():
    components = {"right": [0.0, 0.0, 1.0, 0.0], "short": [0.0, 0.01, 0.0, 0.0]}
    got = adv.GDPOAdvantage(epsilon=1e-9)(components, num_generations=4)
    assert got[1] == pytest.approx(got[2])
    summed = adv.GRPOAdvantage()([a + b for a, b in zip(*components.values())], num_generations=4)
    assert summed[1] < 0.1 * summed[2]
    assert statistics.mean(got) == pytest.approx(0)
    assert statistics.stdev(got) == pytest.approx(1)


def test_gdpo_weights_and_missing_components():
    components = {"a": [1.0, 0.0, 1.0, 0.0], "b": [None, None, 0.0, 1.0], "c": [None, None, None, None]}
    got = adv.GDPOAdvantage(weights={"b": 0.0})(components, num_generations=2)
    assert got[0] == got[2] > 0 > got[1] == got[3]
    assert adv.GDPOAdvantage()({"a": [None, 1.0, 0.0]}, groups="xxx")[0] == 0.0
    with pytest.raises(ValueError, match=r"weights name \['d'\]"):
        adv.GDPOAdvantage(weights={"d": 1.0})(components, num_generations=2)
    with pytest.raises(ValueError, match="'a': 1, 'b': 2"):
        adv.GDPOAdvantage()({"a": [1.0], "b": [1.0, 2.0]}, num_generations=1)


ESTIMATORS = [
    adv.GRPOAdvantage(),
    adv.GRPOAdvantage("batch"),
    adv.DrGRPOAdvantage(),
    adv.RLOOAdvantage(),
    adv.ReinforcePlusPlusAdvantage(),
    adv.ReinforcePlusPlusAdvantage(baseline=True),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_what_was_not_scored_is_not_there(estimator):
    rng = random.Random(1)
    rewards = [rng.random() for _ in range(6)]
    with_holes = [*rewards[:3], None, *rewards[3:], float("nan")]
    got = estimator(with_holes, groups=[0, 0, 0, 0, 1, 1, 1, 1])
    assert got[3] == got[7] == 0.0
    without = estimator(rewards, groups=[0, 0, 0, 1, 1, 1])
    assert [a for i, a in enumerate(got) if i not in (3, 7)] == pytest.approx(without)
    assert adv.scored(with_holes) == [True] * 3 + [False] + [True] * 3 + [False]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_groups_of_nothing_and_of_one(estimator):
    assert estimator([], num_generations=4) == []
    assert estimator([None, None], num_generations=2) == [0.0, 0.0]
    assert estimator([None, 1.0], num_generations=2) == [0.0, 0.0]
    assert all(type(a) is float for a in estimator([1, 0, True, False], num_generations=2))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_batch_that_does_not_divide_is_refused(estimator):
    with pytest.raises(ValueError, match=r"3 rewards .* groups of 2"):
        estimator([1.0, 0.0, 1.0], num_generations=2)
    with pytest.raises(ValueError, match="groups of 0"):
        estimator([1.0], num_generations=0)
    with pytest.raises(ValueError, match="each of 2 rewards; found 1"):
        estimator([1.0, 2.0], groups=["a"])
    with pytest.raises(ValueError, match="reward 1 is inf"):
        estimator([1.0, math.inf], num_generations=2)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_groups_need_not_stand_together(estimator):
    rewards = [1.0, 5.0, 0.0, 2.0, 0.5]
    got = estimator(rewards, groups=["a", "b", "a", "b", "a"])
    order = [0, 2, 4, 1, 3]
    sorted_ = estimator([rewards[i] for i in order], groups=["a", "a", "a", "b", "b"])
    assert [got[i] for i in order] == pytest.approx(sorted_)


def test_gae_against_its_definition():
    rng = random.Random(0)
    rewards, values = [[rng.uniform(-1, 1) for _ in range(7)] for _ in range(2)]
    gae = adv.GAE(gamma=0.9, lam=0.8)
    deltas = [r + 0.9 * n - v for r, v, n in zip(rewards, values, [*values[1:], 0.3])]
    expected = [sum((0.9 * 0.8) ** (k - t) * deltas[k] for k in range(t, 7)) for t in range(7)]
    got = gae(rewards, values, last_value=0.3)
    assert got == pytest.approx(expected)
    assert gae.returns(got, values) == pytest.approx([a + v for a, v in zip(got, values)])


def test_gae_passes_over_what_the_policy_did_not_write():
    gae = adv.GAE(gamma=0.9, lam=0.8)
    got = gae([0.1, 9.0, 0.5], [0.2, 9.0, 0.4], mask=[True, False, True])
    assert got[1] == 0.0
    assert [got[0], got[2]] == pytest.approx(gae([0.1, 0.5], [0.2, 0.4]))
    with pytest.raises(ValueError, match="each of 2 rewards; found 1 values and 0 mask"):
        gae([1.0, 2.0], [1.0])


def test_arrays_are_read():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    rewards = numpy.array([1.0, 0.0, numpy.nan, 0.5], dtype="float32")
    assert adv.GRPOAdvantage()(rewards, num_generations=4) == adv.GRPOAdvantage()([1.0, 0.0, None, 0.5], 4)


def test_outputs_are_rewards_too():
    outputs = [assay.RewardOutput(1.0), assay.RewardOutput(None), assay.RewardOutput(0.0)]
    assert assay.DrGRPOAdvantage()(outputs, num_generations=3) == [0.5, 0.0, -0.5]


class Scalar:
    """One element of a tensor: hashed by what object it is, as torch has it."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def test_groups_may_be_the_elements_of_a_tensor():
    named = adv.GRPOAdvantage()([1.0, 0.0, 0.0, 1.0], groups=[0, 1, 0, 1])
    assert adv.GRPOAdvantage()([1.0, 0.0, 0.0, 1.0], groups=[Scalar(0), Scalar(1), Scalar(0), Scalar(1)]) == named
    assert any(named)


def test_rewards_that_are_no_flat_list_are_told():
    with pytest.raises(ValueError, match=r"flat list, or None; reward 0 is \[1.0, 0.0\]"):
        adv.GRPOAdvantage()([[1.0, 0.0], [0.0, 1.0]], num_generations=2)


def test_a_reward_that_is_out_of_all_bounds_is_no_reason_to_stop():
    assert all(math.isfinite(a) for a in adv.GRPOAdvantage()([1e200, 0.0, 1.0, 2.0], num_generations=4))
