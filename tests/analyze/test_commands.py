from __future__ import annotations

import json

import planted
import pytest

from assay.cli.main import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(w) for w in words])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_inspect_prints_the_verdict_and_exits_for_ci(hacked_run, clean_run, capsys):
    code, out, _ = run(capsys, "inspect", hacked_run, "--fail-on", "warning")
    assert code == 1
    assert "2,000 rows, 250 groups" in out
    for part in (
        "keyword_stuffing",
        "Distributions",
        "What the advantage is made of (grpo)",
        "The most suspicious rows",
    ):
        assert part in out
    assert run(capsys, "inspect", hacked_run, "--fail-on", "never")[0] == 0


def test_inspect_as_json_is_json(hacked_run, capsys):
    _, out, _ = run(capsys, "inspect", hacked_run, "--json", "--estimator", "rloo")
    found = json.loads(out)
    assert found["rows"] == 2000
    assert found["attribution"]["estimator"] == "rloo"
    assert {f["rule"] for f in found["findings"]} >= set(planted.HACKS)


def test_inspect_with_a_stronger_verifier(hacked_run, tmp_path, capsys):
    (tmp_path / "gold.py").write_text(
        "def strict(response, ground_truth):\n    return float(f'<answer>{ground_truth}<' in response)\n"
    )
    _, out, _ = run(
        capsys, "inspect", hacked_run, "--gold", f"{tmp_path}/gold.py:strict", "--budget", "5%", "--rows", "0"
    )
    assert "100 rows scored by the stronger verifier" in out
    _, out, _ = run(capsys, "inspect", hacked_run, "--repeat", f"{tmp_path}/gold.py:strict", "--budget", "40", "--json")
    assert json.loads(out)["noise"]["noise"] == 0.0


def test_inspect_tells_the_weights_for_a_share(hacked_run, capsys):
    _, out, _ = run(capsys, "inspect", hacked_run, "--rows", "0", "--share", "right=60%")
    line = next(line for line in out.splitlines() if "--set weight.right=" in line)
    assert abs(float(line.split()[-1].rstrip("%")) - 60) < 1
    assert run(capsys, "inspect", hacked_run, "--share", "right=60")[0] == 2
    assert run(capsys, "inspect", hacked_run, "--share", "nothing=0.6")[0] == 2


def test_inspect_holds_the_run_against_its_labels(hacked_run, tmp_path, capsys):
    rows = [json.loads(line) for line in hacked_run.read_text().splitlines()]
    copy = tmp_path / "run.jsonl"
    copy.write_text(hacked_run.read_text())
    labels = [{"prompt": r["prompt"], "response": r["response"], "label": int(r["reward/right"])} for r in rows[:300]]
    (tmp_path / "run.jsonl.labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    _, out, _ = run(capsys, "inspect", copy, "--rows", "0")
    assert "Against the labels beside this Run" in out
    _, out, _ = run(capsys, "inspect", copy, "--json")
    assert json.loads(out)["agreement"]["auc"] > 0.9


def test_inspect_refuses_what_it_does_not_know(hacked_run, capsys):
    assert run(capsys, "inspect", hacked_run, "--estimator", "ppo")[0] == 2
    assert run(capsys, "inspect", hacked_run, "--fail-on", "maybe")[0] == 2
    code, _, err = run(capsys, "inspect", "nothing.jsonl")
    assert code == 2
    assert "there is no scored file" in err


def test_compare_two_runs(hacked_run, tmp_path, capsys):
    import assay

    made = planted.rows(250, hacked=0.1, seed=1)
    from assay.record import RunWriter

    with RunWriter(tmp_path / "b.jsonl", {}) as other:
        other.write(made, assay.score(planted.form, made))
    code, out, _ = run(capsys, "compare", hacked_run, tmp_path / "b.jsonl")
    assert code == 0
    assert "2,000 rollouts in both" in out
    assert run(capsys, "compare", hacked_run, tmp_path / "b.jsonl", "--max-flips", "0.001")[0] == 1
    _, out, _ = run(capsys, "compare", hacked_run, tmp_path / "b.jsonl", "--json")
    assert json.loads(out)["paired"] == 2000


def test_compare_with_labels(hacked_run, tmp_path, capsys):
    made = planted.rows(250, hacked=0.1, seed=1)
    lines = [
        {"prompt": r["prompt"], "response": r["response"], "label": float(r["kind"] not in planted.HACKS)}
        for r in made[:300]
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run(capsys, "compare", hacked_run, "--labels", tmp_path / "labels.jsonl", "--component", "right")
    assert code == 0
    assert "300 rows have both the reward and label" in out
    assert "AUC" in out
    assert run(capsys, "compare", hacked_run)[0] == 2
    code, _, err = run(capsys, "compare", hacked_run, "--column", "human")
    assert code == 2
    assert "no such numeric column" in err


def test_differ_holds_rewards_against_each_other(rollouts, tmp_path, capsys):
    (tmp_path / "three.py").write_text(
        "import re\n"
        "def tagged(response, ground_truth):\n    return float(f'<answer>{ground_truth}</answer>' in response)\n"
        "def anywhere(response, ground_truth):\n    return float(ground_truth in response)\n"
        "def last(response, ground_truth):\n"
        "    return float((re.findall(r'\\d+', response) or [''])[-1] == ground_truth)\n"
    )
    specs = ",".join(f"{tmp_path}/three.py:{name}" for name in ("tagged", "anywhere", "last"))
    code, out, _ = run(capsys, "differ", rollouts, "--rewards", specs, "-q")
    assert code == 0
    assert "tagged | anywhere" in out
    assert "Estimated without labels" in out
    code, _, err = run(capsys, "differ", rollouts, "-r", f"{tmp_path}/three.py:last", "-q")
    assert code == 2
    assert "at least two" in err


@pytest.mark.parametrize(
    ("text", "specs"),
    [("a,b", ["a", "b"]), ("a:x=1,y=2,b", ["a:x=1,y=2", "b"]), ("a:x=1,b:y=2", ["a:x=1", "b:y=2"]), ("", [])],
)
def test_specs_in_one_word(text, specs):
    from assay.cli.differ import split_specs

    assert split_specs(text) == specs
