from __future__ import annotations

import numpy as np
import planted
import pytest

import assay
from assay import advantage
from assay.analyze.attribution import advantages, attribute, weights_for, within_variance
from assay.analyze.source import Source
from assay.errors import ConfigError


@pytest.fixture(scope="module")
def table(hacked_run):
    return Source(hacked_run).table()


@pytest.mark.parametrize(
    ("estimator", "theirs"),
    [("grpo", assay.GRPOAdvantage()), ("dr_grpo", assay.DrGRPOAdvantage()), ("rloo", assay.RLOOAdvantage())],
)
def test_advantages_are_those_of_the_trainers_module(table, estimator, theirs):
    expected = theirs([float(r) for r in table.reward], groups=table.group.tolist())
    assert np.allclose(advantages(table, estimator), expected, atol=1e-9)


@pytest.mark.parametrize("estimator", ["grpo", "dr_grpo", "rloo", "gdpo"])
def test_shares_sum_to_one(table, estimator):
    found = attribute(table, estimator)
    assert sum(c.share for c in found.components) + found.rest == pytest.approx(1.0)
    assert found.correctness == "right"


def test_gdpo_pieces_are_normalised_each_on_its_own(table):
    by = {c.name: c for c in attribute(table, "gdpo").components}
    values, group = table.parts["right"].value, table.group
    z = [
        (values[group == g] - values[group == g].mean()) / (values[group == g].std(ddof=1) + advantage.EPSILON)
        for g in range(3)
    ]
    assert all(np.abs(part).max() < 10 for part in z)
    assert by["right"].configured == pytest.approx(0.5)


def test_a_component_that_never_differs_is_dead_and_teaches_nothing(tmp_path):
    reward = assay.CompositeReward({"right": (planted.right, 0.5), "always": (lambda response: 1.0, 0.5)})
    run = scored(tmp_path, reward, planted.rows(40, seed=3))
    by = {c.name: c for c in attribute(Source(run).table()).components}
    assert by["always"].dead
    assert by["always"].share == 0.0
    assert by["always"].silent == 1.0
    assert not by["right"].dead
    assert by["right"].share == pytest.approx(1.0)


def test_a_flip_is_counted_where_another_component_turns_the_sign_round(tmp_path):
    rows = [
        {"prompt": "q", "response": "right", "ground_truth": "right", "group": "g"},
        {"prompt": "q", "response": "wrong but long", "ground_truth": "right", "group": "g"},
    ]
    reward = assay.CompositeReward(
        {
            "match": (lambda response, ground_truth: response == ground_truth, 0.3),
            "long": (lambda response: len(response) / 10, 1.0),
        }
    )
    found = attribute(Source(scored(tmp_path, reward, rows)).table(), "dr_grpo")
    assert found.flips == 1.0
    assert set(found.rows) == {0, 1}
    assert {c.name: c.flips for c in found.components}["long"] == 1.0


def test_weights_are_found_that_give_a_wanted_share(tmp_path):
    made = planted.rows(150, hacked=0.1, seed=4)
    table = Source(scored(tmp_path, planted.composite(), made, "before")).table()
    before = {c.name: c.share for c in attribute(table, "dr_grpo").components}
    weights = weights_for(table, {"right": 0.5}, "dr_grpo")
    assert abs(before["right"] - 0.5) > 0.1
    again = assay.CompositeReward({n: (getattr(planted, n), w) for n, w in weights.items()})
    after = attribute(Source(scored(tmp_path, again, made, "after")).table(), "dr_grpo")
    assert {c.name: c.share for c in after.components}["right"] == pytest.approx(0.5, abs=0.03)
    assert sum(weights.values()) == pytest.approx(1.0)


def test_a_wanted_share_of_what_is_not_there_is_refused(table):
    with pytest.raises(ConfigError, match="Did you mean"):
        weights_for(table, {"rihgt": 0.5})


def test_an_unknown_estimator_is_refused_with_the_known_ones(table):
    with pytest.raises(ConfigError, match="grpo, dr_grpo, rloo, gdpo"):
        attribute(table, "grop")


def test_within_variance_is_the_pooled_one(table):
    squares = freedom = 0.0
    for rows in table.members():
        squares += float(((table.reward[rows] - table.reward[rows].mean()) ** 2).sum())
        freedom += len(rows) - 1
    assert within_variance(table) == pytest.approx(squares / freedom)


def scored(tmp_path, reward, rows, name="run"):
    from assay.analyze.tree import shape_of
    from assay.record import RunWriter

    outputs = assay.score(reward, rows)
    path = tmp_path / f"{name}.jsonl"
    with RunWriter(path, {"name": "x", "shape": shape_of(reward)}) as run:
        run.write(rows, outputs)
    return path
