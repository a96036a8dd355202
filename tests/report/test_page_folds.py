"""The page folds, and tells the advantages, as the library does: one logic, written in two languages, held together here."""

from __future__ import annotations

import json
from pathlib import Path

import planted
import pytest

import assay
from assay.analyze.attribution import advantages, attribute
from assay.analyze.source import Source
from assay.analyze.study import study
from assay.analyze.tree import shape_of
from assay.cli.main import main
from assay.compose import Batch, Linear, Steps, refold
from assay.record import Run, RunWriter
from assay.report.html import write_report

ROOT = Path(__file__).parents[2]


def report(run: Path) -> str:
    source = Source(run)
    target = run.with_suffix(".html")
    write_report(study(source.table()), source, target)
    return target.as_uri()


def missing_now_and_then(name, every, values):
    def reward(response):
        n = int(response)
        return None if n % every == 0 else values[n % len(values)]

    reward.__name__ = name
    return reward


A = missing_now_and_then("a", 7, [0.0, 1.0, 0.5])
B = missing_now_and_then("b", 5, [1.0, 0.25])
C = missing_now_and_then("c", 1000, [0.0, 0.0, 1.0])


def composite(policy, weights=(0.5, 0.3, 0.2)):
    return assay.CompositeReward({"a": (A, weights[0]), "b": (B, weights[1]), "c": (C, weights[2])}, on_missing=policy)


class Dear(assay.RewardFunction):
    """What a lazy composite asks last."""

    contract = assay.Contract(range=(0.0, 1.0), cost=1.0)

    def __init__(self, of, name):
        self.of, self.name = of, name

    def compute_reward(self, trajectory):
        return assay.RewardOutput(self.of(trajectory.response))


class Ranged(Dear):
    """What it asks first; its range is known."""

    contract = assay.Contract(range=(0.0, 1.0))


def lazy(how, w, policy="reweight"):
    terms = {"a": (Ranged(A, "a"), w[0]), "b": (Dear(B, "b"), w[1]), "c": (Ranged(C, "c"), w[2])}
    return assay.CompositeReward(terms, on_missing=policy, lazy=how)


SHAPES = {
    **{f"sum, {p}": (lambda w, p=p: composite(p, w)) for p in ("reweight", "skip", "drop_group", "impute", 0.25)},
    "policies by term": lambda w: assay.CompositeReward(
        [
            assay.Term(A, w[0], "a", on_missing="skip"),
            assay.Term(B, w[1], "b", on_missing=0.0),
            assay.Term(C, w[2], "c"),
        ]
    ),
    "gate": lambda w: assay.Gate(composite("reweight", w), require=C, at_least=0.5, otherwise=-0.1),
    "clip": lambda w: assay.Clip(composite("skip", w), 0.2, 0.6),
    "shaped": lambda w: assay.Shaped(C, bonus=composite("reweight", w), limit=0.2),
    "group scale": lambda w: assay.Normalize(composite("skip", w)),
    "bounds": lambda w: assay.Normalize(composite("skip", w), "minmax", 0.0, 2.0),
    "by task": lambda w: assay.ByTask({"x": composite("skip", w), "y": C}),
    "by stage": lambda w: assay.Curriculum([(0, composite("skip", w)), (5, C)]),
    "running scale": lambda w: assay.Normalize(composite("skip", w), "running"),
    "gate over a scale": lambda w: assay.Gate(assay.Normalize(composite(0.25, w)), require=C, at_least=0.5),
    "scheduled": lambda w: assay.CompositeReward(
        {"a": (A, w[0]), "b": (B, Linear(0.0, 1.0, steps=10, after=2)), "c": (C, w[2])}
    ),
    "scheduled in steps": lambda w: assay.CompositeReward(
        {"a": (A, w[0]), "b": (B, Steps([(0, 0.1), (4, 0.0), (9, 2.0)])), "c": (C, w[2])}, on_missing="impute"
    ),
    **{f"lazy, {p}": (lambda w, p=p: lazy(True, w, p)) for p in ("reweight", "skip", "drop_group")},
    **{f"lazy by group, {p}": (lambda w, p=p: lazy("group", w, p)) for p in ("reweight", "skip", "drop_group", 0.5)},
    "nested": lambda w: assay.CompositeReward({"inner": (composite("impute", w), 0.5), "c": (C, 0.5)}),
}


def fold(page, weights) -> list[float | None]:
    said = json.dumps(weights)
    return page.evaluate(f"Array.from(fold(assay.table, assay.shape, {said}), v => Number.isNaN(v) ? null : v)")


@pytest.mark.parametrize("name", SHAPES)
def test_the_page_folds_as_the_library_does(visit, tmp_path, name):
    make = SHAPES[name]
    rows = [
        {"prompt": f"p{i // 4}", "response": str(i), "group": f"g{i // 4}", "task": "xyz"[i % 3], "step": i // 8}
        for i in range(80)
    ]
    reward, batch = make((0.5, 0.3, 0.2)), Batch([assay.Trajectory.of(row) for row in rows])
    outputs = assay.score(reward, rows)
    with RunWriter(tmp_path / "run.jsonl", {"shape": shape_of(reward)}) as run:
        run.write(rows, outputs)
    page = visit(report(tmp_path / "run.jsonl"))
    assert fold(page, {}) == pytest.approx([o.reward for o in outputs]), "without new weights what is stored stands"
    composites = page.evaluate("composites(assay.shape)")
    own = next(c for c in composites if "a" in c["weights"])
    unchanged = {n: w for n, w in own["weights"].items() if n not in own["schedules"]}
    assert fold(page, {own["path"]: unchanged}) == pytest.approx([o.reward for o in refold(reward, batch, outputs)])
    for a, b, c in ((1.5, 0.0, -0.4), (0.0, 0.9, 0.2), (0.05, 0.0, 0.0)):
        weights = {n: w for n, w in {"a": a, "b": b, "c": c}.items() if n not in own["schedules"]}
        expected = [o.reward for o in refold(make((a, b, c)), batch, outputs)]
        assert fold(page, {own["path"]: weights}) == pytest.approx(expected)


REWARDS = {
    "gate": """
        terms: {right: {reward: math, weight: 0.8}, length: {reward: length, with: {target: 45}, weight: 0.2}}
        gate: {reward: format, at_least: 1.0, otherwise: -0.1}
        clip: [-1, 0.7]
    """,
    "curriculum": """
        terms:
          staged:
            reward: {curriculum: [{from_step: 0, reward: format}, {from_step: 5, reward: repetition}]}
            weight: 0.5
          right: {reward: math, weight: {kind: cosine, start: 0.2, end: 1.0, steps: 12}}
          length: {reward: length, with: {target: 45}, weight: 0.2}
    """,
    "scale": """
        terms: {right: {reward: math, weight: 0.8}, length: {reward: length, with: {target: 45}, weight: 0.2}}
        normalize: group
    """,
}


@pytest.mark.parametrize("name", REWARDS)
def test_sliders_say_what_reweigh_writes(visit, tmp_path, name):
    lines = (ROOT / "examples" / "rollouts.jsonl").read_text().splitlines()
    rows = [{**json.loads(line), "step": n // 16} for n, line in enumerate(lines)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "reward.yaml").write_text(REWARDS[name])
    command("score", tmp_path / "rows.jsonl", "-r", tmp_path / "reward.yaml", "-o", tmp_path / "run.jsonl", "-q")
    new = ["--set", "terms.length.weight=0.9", "-o", tmp_path / "new.jsonl", "-q"]
    command("reweigh", tmp_path / "run.jsonl", *new)
    page = visit(report(tmp_path / "run.jsonl"))
    slider = page.locator('[data-weight$="length"]')
    slider.evaluate("n => { n.value = 0.9; n.dispatchEvent(new Event('input', { bubbles: true })); }")
    page.wait_for_timeout(300)
    told = page.evaluate("Array.from(assay.reward, v => Number.isNaN(v) ? null : v)")
    assert told == pytest.approx([output.reward for _, output in Run(tmp_path / "new.jsonl")])
    assert told != pytest.approx([output.reward for _, output in Run(tmp_path / "run.jsonl")])


def command(*words) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code in (0, 1)


def write_partly_scored(path: Path) -> Path:
    """Rows that lack components or a reward, and weights that change with the step."""
    reward = assay.CompositeReward({"a": (A, 0.5), "b": (B, Linear(0.1, 1.0, steps=10)), "c": (C, 0.2)}, "skip")
    rows = [{"prompt": f"p{i // 4}", "response": str(i), "step": i // 8} for i in range(160)]
    with RunWriter(path, {"shape": shape_of(reward)}) as run:
        run.write(rows, assay.score(reward, rows))
    return path


@pytest.mark.parametrize("kind", ["hacked", "partly scored"])
@pytest.mark.parametrize("estimator", ["grpo", "dr_grpo", "rloo", "gdpo"])
def test_the_page_knows_the_advantages_and_shares_of_the_analysis(visit, tmp_path, estimator, kind):
    path = tmp_path / "run.jsonl"
    if kind == "hacked":
        planted.write_run(path, planted.rows(40, hacked=0.1, seed=1))
    else:
        write_partly_scored(path)
    table = Source(path).table()
    page = visit(report(path))
    page.evaluate(f"assay.set({{estimator: '{estimator}'}}); assay.refold()")
    told = page.evaluate("Array.from(assay.told.advantage, v => Number.isNaN(v) ? 0 : v)")
    assert told == pytest.approx(advantages(table, estimator).tolist(), abs=1e-9)
    expected = {c.name: c.share for c in attribute(table, estimator).components}
    assert page.evaluate("assay.shares") == pytest.approx(expected, abs=1e-9)
    assert any(share > 0.05 for share in expected.values())
