from __future__ import annotations

import math
import random

import numpy as np
import pytest

import assay
from assay.analyze.agreement import agreement, area_under_curve, krippendorff_alpha
from assay.analyze.compare import compare, paired
from assay.analyze.differ import differ, verdicts
from assay.analyze.sample import budget_of, gold_gap, judge_noise, stratified
from assay.analyze.source import Source
from assay.errors import ConfigError, InputError
from assay.record import RunWriter


def table_of(path, rewards, responses=None, group_size=4):
    rows = [
        {
            "prompt": f"question {i // group_size}",
            "response": (responses or {}).get(i, f"response {i}"),
            "group": f"g{i // group_size}",
        }
        for i in range(len(rewards))
    ]
    with RunWriter(path, {}) as run:
        run.write(rows, [assay.RewardOutput(r, error="" if r is not None else "away") for r in rewards])
    return Source(path).table()


# -- agreement


def test_krippendorffs_own_example():
    # Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", data with missing ratings, four observers
    nan = math.nan
    data = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    assert krippendorff_alpha(data, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(data, "interval") == pytest.approx(0.849, abs=5e-4)


def test_area_under_curve_counts_pairs():
    r = random.Random(0)
    scores, right = [round(r.random(), 1) for _ in range(60)], [r.random() < 0.4 for _ in range(60)]
    pairs = [(a > b) + 0.5 * (a == b) for a, x in zip(scores, right) if x for b, y in zip(scores, right) if not y]
    assert area_under_curve(np.array(scores), np.array(right)) == pytest.approx(sum(pairs) / len(pairs))


def test_agreement_of_a_reward_with_labels():
    reward = np.array([0.9, 0.8, 0.2, 0.1, 0.7, np.nan])
    label = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    found = agreement(reward, label)
    assert found.count == 5
    assert found.confusion == {"tp": 2, "fp": 1, "fn": 0, "tn": 2}
    assert found.false_positives == (4,)
    assert found.auc == 1.0
    assert found.error == pytest.approx((0.1 + 0.2 + 0.2 + 0.1 + 0.7) / 5)


def test_no_agreement_without_two_rows():
    assert agreement(np.array([1.0, np.nan]), np.array([1.0, 1.0])) is None


# -- compare


def test_rows_are_paired_by_what_was_asked_and_said_not_by_place(tmp_path):
    a = table_of(tmp_path / "a.jsonl", [0.0, 0.1, 0.2, 0.3])
    rows = [{"prompt": "question 0", "response": f"response {i}", "group": "g0"} for i in (3, 1, 9)]
    with RunWriter(tmp_path / "b.jsonl", {}) as run:
        run.write(rows, [assay.RewardOutput(0.5)] * 3)
    of_a, of_b = paired(a, Source(tmp_path / "b.jsonl").table())
    assert list(zip(of_a.tolist(), of_b.tolist(), strict=True)) == [(1, 1), (3, 0)]


def test_equal_rows_are_paired_one_by_one(tmp_path):
    same = dict.fromkeys(range(4), "the same")
    a, b = (table_of(tmp_path / f"{n}.jsonl", [0.0, 1.0, 0.0, 1.0], same) for n in "ab")
    assert [x.tolist() for x in paired(a, b)] == [[0, 1, 2, 3], [0, 1, 2, 3]]


def test_flips_come_first_and_deltas_carry_an_interval(tmp_path):
    a = table_of(tmp_path / "a.jsonl", [0.0, 0.2, 0.9, 1.0, 0.5, None, 1.0, 0.0])
    b = table_of(tmp_path / "b.jsonl", [1.0, 0.2, 0.4, 1.0, 0.6, 1.0, None, 0.0])
    found = compare(a, b)
    assert [(c.row_a, c.before, c.after) for c in found.up] == [(0, 0.0, 1.0)]
    assert [(c.row_a, c.before, c.after) for c in found.down] == [(2, 0.9, 0.4)]
    assert [c.row_a for c in found.largest] == [0, 2, 4]
    (total,) = found.deltas
    assert total.count == 6
    assert total.mean == pytest.approx((1.0 - 0.5 + 0.1) / 6)
    assert total.interval[0] < total.mean < total.interval[1]
    assert found.outcomes == {"abstained -> scored": 1, "scored -> abstained": 1}


def test_a_scale_alone_changes_no_rank_and_no_advantage(tmp_path):
    r = random.Random(0)
    rewards = [r.random() for _ in range(40)]
    a, b = table_of(tmp_path / "a.jsonl", rewards), table_of(tmp_path / "b.jsonl", [0.5 * x for x in rewards])
    found = compare(a, b)
    assert found.spearman == found.kendall == 1.0
    assert found.sign_changes == 0.0
    assert found.correlation == pytest.approx(1.0, abs=1e-4)


def test_runs_of_other_rollouts_cannot_be_compared(tmp_path):
    a = table_of(tmp_path / "a.jsonl", [0.0])
    b = table_of(tmp_path / "b.jsonl", [0.0], {0: "another"})
    with pytest.raises(InputError, match="no rollout in common"):
        compare(a, b)


# -- differ


def simulated(n, prevalence, errors, seed=0):
    r = random.Random(seed)
    truth = [r.random() < prevalence for _ in range(n)]
    columns = {
        name: [int(t) if r.random() >= (fn if t else fp) else 1 - int(t) for t in truth]
        for name, (fp, fn) in errors.items()
    }
    return truth, columns


def test_errors_are_estimated_without_labels():
    errors = {"a": (0.02, 0.10), "b": (0.10, 0.03), "c": (0.20, 0.20)}
    _, columns = simulated(6000, 0.4, errors)
    found = differ(columns, resamples=40)
    assert found.prevalence == pytest.approx(0.4, abs=0.03)
    for estimate in found.estimates:
        fp, fn = errors[estimate.name]
        assert estimate.false_positive == pytest.approx(fp, abs=0.03)
        assert estimate.false_negative == pytest.approx(fn, abs=0.03)
        low, high = estimate.false_positive_interval
        assert low <= estimate.false_positive <= high
        assert high - low < 0.1


def test_who_disagrees_with_whom_on_which_rows():
    found = differ({"a": [1, 1, 0, None, 1], "b": [1, 0, 0, 1, 0], "c": [1, 0, 0, 1, 1]}, resamples=5)
    pair = next(p for p in found.pairs if (p.a, p.b) == ("a", "b"))
    assert (pair.both, pair.only_a, pair.only_b, pair.rows) == (4, 2, 0, (1, 4))
    assert {p[0] for p in found.patterns[:2]} == {(1, 0, 0), (1, 0, 1)}
    assert {e.name: e.silent for e in found.estimates} == {"a": 1, "b": 0, "c": 0}


def test_two_rewards_cannot_give_each_other_away():
    found = differ({"a": [1, 0], "b": [1, 1]})
    assert found.estimates == ()
    assert found.prevalence is None


def test_one_reward_cannot_differ():
    with pytest.raises(ConfigError, match="at least two"):
        differ({"a": [1]})


def test_not_scored_is_no_verdict():
    assert verdicts([assay.RewardOutput(1.0), assay.RewardOutput(None), assay.RewardOutput(0.2)]) == [1, None, 0]


# -- samples


@pytest.mark.parametrize(
    ("text", "rows", "budget"), [("2%", 10_000, 200), ("500", 10_000, 500), ("0.01%", 100, 1), ("200%", 10, 10)]
)
def test_a_budget_is_a_share_or_a_number(text, rows, budget):
    assert budget_of(text, rows) == budget


@pytest.mark.parametrize("text", ["x", "", "-3", "0%", "nan"])
def test_another_budget_is_refused(text):
    with pytest.raises(ConfigError, match="--budget"):
        budget_of(text, 100)


def test_a_stratified_sample_reaches_the_rare_high_rewards():
    reward = np.array([0.0] * 950 + [1.0] * 50)
    bands = stratified(reward, 40)
    assert sum(len(chosen) for _, chosen in bands) == 40
    assert [(len(rows), len(chosen)) for rows, chosen in bands] == [(950, 20), (50, 20)]


def test_the_gold_gap_lies_in_its_interval(tmp_path):
    r = random.Random(1)
    rewards = [round(r.random(), 2) for _ in range(2000)]
    golds = [x - 0.3 if x > 0.8 and r.random() < 0.7 else x for x in rewards]
    table = table_of(tmp_path / "a.jsonl", rewards)
    truth = sum(a - b for a, b in zip(rewards, golds, strict=True)) / len(rewards)
    found = gold_gap(table, lambda rows: [golds[i] for i in rows], budget=400)
    assert found.looked_at == 400
    assert found.interval[0] <= truth <= found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.04
    assert all(rewards[i] > 0.8 for i in found.overpaid)


def test_a_small_sample_without_a_difference_does_not_show_that_there_is_none(tmp_path):
    rewards = [float(i % 2) for i in range(2000)]
    golds = [0.0 if i % 200 == 1 else reward for i, reward in enumerate(rewards)]  # one in a hundred of the paid
    table = table_of(tmp_path / "a.jsonl", rewards)
    found = gold_gap(table, lambda rows: [golds[i] for i in rows], budget=20)
    assert found.interval[0] <= 0.005 <= found.interval[1]
    assert found.interval[1] > 0.02
    whole = gold_gap(table, lambda rows: [golds[i] for i in rows], budget=2000)
    assert whole.interval == pytest.approx((0.005, 0.005)), "every row was looked at"


def test_a_verifier_that_fails_is_counted_and_not_taken_for_zero(tmp_path):
    table = table_of(tmp_path / "a.jsonl", [0.5] * 40)
    found = gold_gap(table, lambda rows: [None if i % 2 else 0.5 for i in rows], budget=40)
    assert found.failed == 20
    assert found.gap == pytest.approx(0.0)


def test_judge_noise_is_measured_against_the_spread(tmp_path):
    r = random.Random(2)
    signal = [r.gauss(0, 1) for _ in range(800)]
    table = table_of(tmp_path / "a.jsonl", [s + r.gauss(0, 0.5) for s in signal], group_size=8)
    found = judge_noise(table, lambda rows: [signal[i] + r.gauss(0, 0.5) for i in rows], budget=400, repeats=4)
    assert found.noise == pytest.approx(0.25, rel=0.2)
    assert found.signal_to_noise == pytest.approx(4.0, rel=0.3)
    assert found.reliability[1] == pytest.approx(0.8, abs=0.05)
    assert found.reliability[1] < found.reliability[4] < 1.0
    assert 0.0 < found.pair_flips < 0.3


def test_a_judge_without_noise_flips_nothing(tmp_path):
    rewards = [i % 4 / 4 for i in range(40)]
    found = judge_noise(table_of(tmp_path / "a.jsonl", rewards), lambda rows: [rewards[i] for i in rows], budget=40)
    assert (found.noise, found.pair_flips) == (0.0, 0.0)
    assert math.isinf(found.signal_to_noise)
