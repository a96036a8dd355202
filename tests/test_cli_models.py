"""`assay train-rm`, `eval-rm` and `calibrate`, as they are called."""

from __future__ import annotations

import json
import random

import pytest
import typer
from typer.testing import CliRunner

import assay
from assay.cli.calibrate import calibrate
from assay.cli.eval_rm import eval_rm
from assay.cli.train_rm import train_rm
from assay.errors import ConfigError, InputError
from assay.llm.calibration import MonotoneMap, after, agreement, fit
from assay.record import RunWriter
from assay.rewards.calibrated import Calibrated
from assay.train.reward_model import Preference, evaluate, read_preferences, split
from assay.types import RewardOutput, Trajectory

app = typer.Typer()
for name, command in (("train-rm", train_rm), ("eval-rm", eval_rm), ("calibrate", calibrate)):
    app.command(name)(command)


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# -- preferences -----------------------------------------------------------------------------------------------------

PREFS = [
    {"prompt": "a", "chosen": "long and good", "rejected": "bad", "category": "chat"},
    {"prompt": "b", "chosen": "good", "rejected": "long and bad", "category": "chat"},
    {"prompt": "c", "chosen": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "good one"}],
     "rejected": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "bad"}], "category": "math"},
]  # fmt: skip


def test_a_reward_on_preferences_by_category_and_length(tmp_path):
    found = evaluate(lambda response: float(len(response)), read_preferences(write(tmp_path / "p.jsonl", PREFS)))
    assert found.accuracy == pytest.approx(2 / 3)
    assert [(s.name, s.pairs, s.accuracy) for s in found.categories] == [("chat", 2, 0.5), ("math", 1, 1.0)]
    assert found.when_better_is_longer.accuracy == 1.0
    assert found.when_better_is_shorter.accuracy == 0.0
    assert (found.prefers_longer, found.longer_is_better) == (1.0, pytest.approx(2 / 3))
    assert found.length_correlation == pytest.approx(1.0)
    honest = evaluate(lambda response: "good" in response, read_preferences(tmp_path / "p.jsonl"))
    assert honest.accuracy == 1.0
    assert honest.prefers_longer == pytest.approx(2 / 3)


def test_what_got_no_score_is_left_out_and_told():
    prefs = [Preference("a", "x", "y"), Preference("b", "x", "z")]
    found = evaluate(lambda response: None if response == "z" else float(response == "x"), prefs)
    assert (found.pairs, found.unscored, found.accuracy) == (1, 1, 1.0)


def test_eval_rm_prints_the_table(tmp_path):
    file = write(tmp_path / "p.jsonl", PREFS)
    (tmp_path / "r.py").write_text("def longer(response):\n    return len(response) / 100\n")
    result = run("eval-rm", file, "--reward", f"{tmp_path}/r.py:longer")
    assert result.exit_code == 0
    assert "chat                           2     50.0%" in result.output
    assert "the longer answer wins in 100.0%; people preferred it in 66.7%" in result.output
    with pytest.raises(ConfigError, match="one of --model"):
        run("eval-rm", file)


@pytest.mark.parametrize("row", ['{"prompt": "a"}', "no json", '{"chosen": 1, "rejected": 2, "prompt": "x"}'])
def test_preferences_that_cannot_be_read_say_where(tmp_path, row):
    (tmp_path / "p.jsonl").write_text(json.dumps(PREFS[0]) + "\n" + row + "\n")
    with pytest.raises(InputError, match=r"(line|row) 2"):
        read_preferences(tmp_path / "p.jsonl")


def test_a_prompt_is_on_one_side_of_the_split():
    prefs = [Preference(f"p{i % 20}", "a", "b") for i in range(200)]
    train, held = split(prefs, 0.2, 0)
    assert len(train) + len(held) == 200
    assert not {p.prompt for p in train} & {p.prompt for p in held}
    assert split(prefs, 0.0, 0) == (prefs, [])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_train_rm_and_eval_rm_from_the_command_line(tmp_path):
    for module in ("torch", "transformers", "trl", "datasets"):
        pytest.importorskip(module, reason="the extras 'model' and 'train' are not installed")
    import models

    file = models.write_jsonl(tmp_path / "prefs.jsonl", models.preferences(300, 0))
    base = models.make_base(tmp_path / "base")
    done = run(
        "train-rm", file, "--base", base, "--output", tmp_path / "rm", "--steps", 5, "--learning-rate", 0.003,
        "--max-length", 128, "--set", "disable_tqdm=true",
    )  # fmt: skip
    assert "held out accuracy" in done.output
    table = run("eval-rm", file, "--model", tmp_path / "rm", "--device", "cpu")
    assert "rude" in table.output
    assert "300" in table.output


# -- calibration -----------------------------------------------------------------------------------------------------


def test_the_map_is_the_nearest_that_keeps_the_order():
    fitted = fit([1, 2, 3, 4, 5], [0.1, 0.4, 0.2, 0.9, 0.9])
    assert [round(fitted(x), 3) for x in (0, 1, 2, 3, 4, 5, 9)] == [0.1, 0.1, 0.3, 0.3, 0.9, 0.9, 0.9]
    rng = random.Random(0)
    xs = [rng.random() for _ in range(200)]
    noisy = fit(xs, [x**3 + rng.gauss(0, 0.1) for x in xs])
    values = [noisy(k / 100) for k in range(101)]
    assert values == sorted(values)
    assert max(abs(noisy(k / 100) - (k / 100) ** 3) for k in range(10, 90)) < 0.15


def test_agreement_after_is_measured_on_rows_the_map_did_not_see():
    rng = random.Random(1)
    xs = [rng.random() for _ in range(60)]
    noise = [rng.random() for _ in xs]
    seen = agreement([fit(xs, noise)(x) for x in xs], noise)
    unseen = after(xs, noise)
    assert seen.error < unseen.error  # a fit to noise looks good on its own rows only
    steep = after(xs, [x**4 for x in xs])
    assert steep.error < agreement(xs, [x**4 for x in xs]).error / 3


def test_calibrate_fits_writes_and_is_used(tmp_path):
    rng = random.Random(2)
    rows = [{"id": i, "prompt": f"q{i}", "response": f"r{i}"} for i in range(80)]
    scores = [rng.random() for _ in rows]
    with RunWriter(tmp_path / "run.jsonl", {"reward": ["x"]}) as writer:
        writer.write(rows, [RewardOutput(s) for s in scores])
    by_id = [{"id": i, "label": s**3} for i, s in enumerate(scores)]
    result = run(
        "calibrate", tmp_path / "run.jsonl", "--labels", write(tmp_path / "l.jsonl", by_id), "-o", tmp_path / "m.json"
    )
    assert "80 labelled rows" in result.output
    assert "mean error" in result.output
    mapped = Calibrated(lambda response: float(response), tmp_path / "m.json")
    outs = assay.score(mapped, ["0.5", "0.9"])
    assert outs[0].reward == pytest.approx(0.125, abs=0.05)
    assert outs[1].metadata["uncalibrated"] == 0.9
    by_text = [{"prompt": "q1", "response": "r1", "label": 0.1}, {"prompt": "q2", "response": "r2", "label": 0.9}]
    result = run(
        "calibrate", tmp_path / "run.jsonl", "-l", write(tmp_path / "t.jsonl", by_text), "-o", tmp_path / "m2.json"
    )
    assert "2 labelled rows" in result.output
    with pytest.raises(InputError, match="0 of 1 labels"):
        run("calibrate", tmp_path / "run.jsonl", "-l", write(tmp_path / "n.jsonl", [{"id": "none", "label": 1}]))


def test_a_map_that_is_none_is_refused(tmp_path):
    for content in ("{}", "no json", '{"scores": [0, 1], "labels": [1, 0]}', '{"scores": [], "labels": []}'):
        (tmp_path / "m.json").write_text(content)
        with pytest.raises(ConfigError, match="assay calibrate"):
            Calibrated(lambda response: 1.0, tmp_path / "m.json")
    out = assay.score(Calibrated(lambda response: None, MonotoneMap((0.0,), (1.0,))), [Trajectory(response="x")])[0]
    assert out.reward is None
