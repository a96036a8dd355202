from __future__ import annotations

import json
from collections import Counter

import planted
import pytest

import assay
from assay.analyze.groups import groups
from assay.analyze.hacking import ROW_RULES, flags
from assay.analyze.source import Source
from assay.analyze.stats import distributions, over_steps
from assay.analyze.study import study
from assay.analyze.tree import shape_of
from assay.record import RunWriter


def flagged(run):
    table = Source(run).table()
    kinds = [json.loads(line)["kind"] for line in run.read_text().splitlines()]
    return kinds, [
        [rule.name for k, rule in enumerate(ROW_RULES) if bits >> k & 1] for bits in flags(table).bits.tolist()
    ]


@pytest.mark.parametrize("hack", sorted(planted.HACKS))
def test_a_planted_hack_is_flagged_by_its_own_rule(hacked_run, hack):
    kinds, rules = flagged(hacked_run)
    mine = [found for kind, found in zip(kinds, rules, strict=True) if kind == hack]
    assert len(mine) > 20
    assert sum(hack in found for found in mine) >= 0.95 * len(mine)


def test_fewer_than_one_percent_of_honest_rows_are_flagged(clean_run):
    kinds, rules = flagged(clean_run)
    assert len(kinds) == 2000
    assert sum(bool(found) for found in rules) < 20, Counter(k for k, f in zip(kinds, rules, strict=True) if f)


def test_the_bundled_rollouts_hacks_are_flagged_and_their_honest_rows_are_not(rollouts, tmp_path):
    rows = [json.loads(line) for line in rollouts.read_text().splitlines()]
    reward = planted.composite()
    with RunWriter(tmp_path / "run.jsonl", {"shape": shape_of(reward)}) as run:
        run.write(rows, assay.score(reward, rows))
    kinds, rules = flagged(tmp_path / "run.jsonl")
    own = {
        "hack_keywords": "keyword_stuffing",
        "hack_padding": "length_gaming",
        "hack_judge": "judge_directed",
        "hack_empty_form": "format_only",
        "hack_many_boxes": "many_answers",
    }
    for kind, found in zip(kinds, rules, strict=True):
        if kind in own:
            assert own[kind] in found, (kind, found)
    honest = [
        found for kind, found in zip(kinds, rules, strict=True) if kind.startswith(("right", "wrong", "truncated"))
    ]
    assert sum(map(bool, honest)) < 0.01 * len(honest) + 1


def test_a_mark_that_most_rows_have_is_told_as_such(tmp_path):
    rows = [
        {"prompt": f"q{i // 4}", "response": f"Verdict below, {i}. [[verdict: {i % 10}]]", "group": f"g{i // 4}"}
        for i in range(40)
    ]
    with RunWriter(tmp_path / "run.jsonl", {}) as run:
        run.write(rows, assay.score(lambda response: float(len(response) % 3), rows))
    found = {f.rule: f for f in study(Source(tmp_path / "run.jsonl").table()).findings}
    assert found["judge_directed"].severity in ("warning", "alarm")
    assert "the task asks for it, or the policy has learnt it" in found["judge_directed"].says


def test_every_finding_names_its_rule_and_links_rows_that_exist(hacked_run):
    found = study(Source(hacked_run).table())
    assert {f.rule for f in found.findings} >= set(planted.HACKS)
    for finding in found.findings:
        assert finding.says
        assert all(0 <= row < 2000 for row in finding.rows)
        assert finding.severity in ("alarm", "warning", "note")
    assert found.findings == sorted(found.findings, key=lambda f: ("alarm", "warning", "note").index(f.severity))


def run_of(tmp_path, groups_of_rewards, steps=None):
    rows, outputs = [], []
    for g, rewards in enumerate(groups_of_rewards):
        for k, reward in enumerate(rewards):
            row = {"prompt": f"question {g}", "response": f"response {g} {k}", "group": f"g{g}"}
            rows.append(row if steps is None else {**row, "step": steps[g]})
            outputs.append(assay.RewardOutput(reward, error="" if reward is not None else "the judge was away"))
    with RunWriter(tmp_path / "run.jsonl", {}) as run:
        run.write(rows, outputs)
    return Source(tmp_path / "run.jsonl").table()


def test_groups_without_signal_dead_and_saturated(tmp_path):
    found = groups(run_of(tmp_path, [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5]]))
    assert found.count == 4
    assert found.flat == 0.75
    assert found.dead_share == 0.25
    assert found.saturated_share == 0.25
    assert found.dead[0].rows == (0, 1, 2, 3)
    assert found.within == pytest.approx(0.25 / 4)
    assert found.effective_size == pytest.approx((1 + 1 + 2 + 1) / 4)


def test_pass_at_k_is_the_unbiased_estimate(tmp_path):
    found = groups(run_of(tmp_path, [[1, 0, 0, 0], [0, 0, 0, 0]]))
    assert found.pass_at[1] == pytest.approx(0.125)
    assert found.pass_at[2] == pytest.approx(0.25)
    assert found.pass_at[4] == pytest.approx(0.5)


def test_not_scored_is_counted_by_outcome_and_is_no_zero(tmp_path):
    table = run_of(tmp_path, [[1, None, 0, None]])
    (total,) = distributions(table)
    assert total.count == 2
    assert total.mean == 0.5
    assert total.missing == {"abstained": 2}
    assert total.share_missing == 0.5
    found = {f.rule: f for f in study(table).findings}
    assert found["not_scored"].rows == (1, 3)
    assert "the judge was away" in found["not_scored"].says


def test_a_run_in_which_nothing_was_scored_is_no_crash(tmp_path):
    found = study(run_of(tmp_path, [[None, None], [None, None]]))
    assert found.distributions[0].count == 0
    assert found.findings[0].rule == "not_scored"
    assert found.findings[0].severity == "alarm"


def test_a_single_row_is_no_crash(tmp_path):
    assert study(run_of(tmp_path, [[1.0]])).groups.count == 1


def test_moments_of_a_distribution(tmp_path):
    (total,) = distributions(run_of(tmp_path, [[0, 0, 0, 1], [0, 0, 0, 1]]))
    assert total.skewness == pytest.approx(1.1547, abs=1e-3)
    assert total.kurtosis == pytest.approx(-0.6667, abs=1e-3)
    assert (total.at_floor, total.at_ceiling) == (0.75, 0.25)
    assert sum(total.counts) == 8


def test_drift_over_steps_is_told(tmp_path):
    rows, outputs = [], []
    for step in range(20):
        for k in range(4):
            rows.append(
                {"prompt": f"p{step}", "response": f"word {k} " * (10 + 10 * step), "group": f"g{step}", "step": step}
            )
            outputs.append(assay.RewardOutput(1.0 if step > 9 else float(k % 2)))
    with RunWriter(tmp_path / "run.jsonl", {}) as run:
        run.write(rows, outputs)
    table = Source(tmp_path / "run.jsonl").table()
    points = over_steps(table)
    assert [p.step for p in points] == list(range(20))
    rules = {f.rule for f in study(table).findings}
    assert {"length_drift", "signal_fades", "no_signal"} <= rules


def test_gains_that_are_not_of_what_is_right_are_told(tmp_path):
    def right(response):
        return float(response.startswith("right"))

    def form(response):
        return float("form" in response)

    def rules_after(late):
        rows = [
            {"prompt": f"p{p}", "response": f"{'right' if k % 2 else 'wrong'} {k} {late(p, k)}", "step": p // 4}
            for p in range(80)
            for k in range(8)
        ]
        reward = assay.CompositeReward({"right": (right, 0.5), "form": (form, 0.5)})
        with RunWriter(tmp_path / "run.jsonl", {"shape": shape_of(reward)}) as run:
            run.write(rows, assay.score(reward, rows))
        return {f.rule: f for f in study(Source(tmp_path / "run.jsonl").table()).findings}

    found = rules_after(lambda p, k: "form" if k < p / 10 else "")
    assert found["gains_without_right"].severity == "alarm"
    assert "'right' makes +0.000 and 'form' +0.39" in found["gains_without_right"].says
    assert "gains_without_right" not in rules_after(lambda p, k: "form")


def test_a_narrowing_vocabulary_is_told(tmp_path):
    import random

    r = random.Random(0)
    rows = [
        {
            "prompt": f"p{p}",
            "response": " ".join(f"w{r.randrange(max(4, 300 - 4 * p))}" for _ in range(120)),
            "step": p // 4,
        }
        for p in range(80)
        for _ in range(4)
    ]
    with RunWriter(tmp_path / "run.jsonl", {}) as run:
        run.write(rows, assay.score(lambda response: float(len(set(response))), rows))
    assert "vocabulary_narrows" in {f.rule for f in study(Source(tmp_path / "run.jsonl").table()).findings}


def test_the_gap_to_a_gold_column_is_told(tmp_path):
    rows = [
        {"prompt": f"p{i // 4}", "response": f"r {i}", "group": f"g{i // 4}", "gold": float(i % 40 < 30)}
        for i in range(400)
    ]
    with RunWriter(tmp_path / "run.jsonl", {}) as run:
        run.write(rows, [assay.RewardOutput(i % 40 / 40) for i in range(400)])
    found = {f.rule: f for f in study(Source(tmp_path / "run.jsonl").table()).findings}
    assert found["gold_gap"].severity == "alarm"
    assert all(rows[i]["gold"] == 0 for i in found["gold_gap"].rows)


def test_kinds_say_what_is_paid(hacked_run):
    found = study(Source(hacked_run).table())
    by = {k.name: k for k in found.kinds}
    assert by["refusal"].mean < by["refusal"].others
    assert any(name.startswith("length over") for name in by)
    assert found.clusters
    assert all(k.rows for k in found.clusters)
