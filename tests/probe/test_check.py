"""`assay check` and `assay plan` as commands: what they print, what they write, how they exit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.main import main

REWARDS = Path(__file__).parent / "rewards.py"


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [
        {"prompt": "3 rows of 14?", "response": "That is \\boxed{42}.", "ground_truth": "42"},
        {"prompt": "17 * 5?", "response": "Ten and seven times five: \\boxed{85}.", "ground_truth": "85"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    told = capsys.readouterr()
    return ended.value.code or 0, told.out, told.err


def test_errors_exit_with_one_and_are_told_with_what_to_do(capsys, rows):
    code, out, _ = run(capsys, "check", f"{REWARDS}:any_box", "--examples", rows)
    assert code == 1
    assert "attack/enumeration" in out
    assert "fix: Take one answer" in " ".join(out.split())


def test_a_sound_reward_exits_with_zero(capsys, rows):
    code, out, _ = run(capsys, "check", f"{REWARDS}:sound", "-e", rows)
    assert code == 0
    assert "0 errors" in out
    assert "It reads the answer" in " ".join(out.split())


def test_strict_fails_on_warnings(capsys, rows):
    assert run(capsys, "check", f"{REWARDS}:sound", "-e", rows, "--strict")[0] == 1


def test_json(capsys, rows):
    code, out, _ = run(capsys, "check", f"{REWARDS}:contains", "-e", rows, "--format", "json")
    told = json.loads(out)
    assert code == 1
    assert told["reads"] == "answer"
    assert told["counts"]["error"] == sum(f["severity"] == "error" for f in told["findings"]) > 0
    assert {"rule", "severity", "message", "fix", "response", "earned", "honest", "id"} <= set(told["findings"][0])


def test_sarif(capsys, rows):
    _, out, _ = run(capsys, "check", f"{REWARDS}:contains", "-e", rows, "--format", "sarif")
    told = json.loads(out)
    (ran,) = told["runs"]
    assert told["version"] == "2.1.0"
    rules = [rule["id"] for rule in ran["tool"]["driver"]["rules"]]
    for result in ran["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("rewards.py")
        assert place["region"]["startLine"] > 1
        assert result["partialFingerprints"]["assay/v1"]


def test_a_path_in_sarif_is_a_uri(capsys, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "my rewards.py"
    file.write_text("def same(response, ground_truth):\n    return float(ground_truth in response)\n")
    _, out, _ = run(capsys, "check", f"{file}:same", "-e", rows, "--format", "sarif")
    (location,) = json.loads(out)["runs"][0]["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "my%20rewards.py"


def test_github_annotations_are_one_line_a_rule(capsys, rows):
    _, out, _ = run(capsys, "check", f"{REWARDS}:contains", "-e", rows, "--format", "github")
    lines = out.splitlines()
    assert lines
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)
    assert any("title=attack/hedge" in line and "%0A" in line for line in lines)


def test_a_baseline_lets_pass_what_is_known_and_nothing_new(capsys, rows, tmp_path):
    baseline = tmp_path / "known.json"
    spec, same = f"{REWARDS}:any_box", ("-e", rows, "--baseline", baseline)
    code, _, err = run(capsys, "check", spec, *same, "--update-baseline")
    assert code == 0
    assert "known findings" in err
    code, out, _ = run(capsys, "check", spec, *same)
    assert code == 0
    assert "known from the baseline" in out
    code, out, _ = run(capsys, "check", f"{REWARDS}:contains", *same)
    assert code == 1
    assert "distinction/answer" in out


def test_a_baseline_holds_several_rewards_and_none_excuses_another(capsys, rows, tmp_path):
    known = tmp_path / "known.json"
    for name in ("any_box", "last_box"):
        run(capsys, "check", f"{REWARDS}:{name}", "-e", rows, "--baseline", known, "--update-baseline")
    for name in ("any_box", "last_box"):
        assert run(capsys, "check", f"{REWARDS}:{name}", "-e", rows, "--baseline", known)[0] == 0
    code, out, _ = run(capsys, "check", f"{REWARDS}:prefix", "-e", rows, "--baseline", known)
    assert (code, "known from the baseline" in out) == (1, False)


def test_a_baseline_that_is_none_is_refused(capsys, rows, tmp_path):
    broken = tmp_path / "known.json"
    broken.write_text("[1, 2]")
    code, _, err = run(capsys, "check", f"{REWARDS}:sound", "-e", rows, "--baseline", broken)
    assert code == 2
    assert "is no baseline" in err
    assert run(capsys, "check", f"{REWARDS}:sound", "--update-baseline")[0] == 2


def test_trainers(capsys, rows):
    code, out, _ = run(capsys, "check", f"{REWARDS}:trl_no_kwargs", "-e", rows, "--for", "trl")
    assert code == 1
    assert "trl/signature" in out
    code, _, err = run(capsys, "check", f"{REWARDS}:sound", "-e", rows, "--for", "verll")
    assert code == 2
    assert "Did you mean 'verl'" in err


def test_a_response_cannot_write_to_the_terminal(capsys, tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"prompt": "?", "response": "\x1b[31m[bold]evil[/bold]\u202e is 7", "ground_truth": "7"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    _, out, _ = run(capsys, "check", f"{REWARDS}:contains", "-e", path)
    assert "\x1b[31m" not in out
    assert "\u202e" not in out


def test_what_a_reward_prints_does_not_come_between(capfd, rows, tmp_path):
    (tmp_path / "loud.py").write_text("def loud(response, ground_truth):\n    print('{{{')\n    return 1.0\n")
    _, out, _ = run(capfd, "check", f"{tmp_path}/loud.py:loud", "-e", rows, "--format", "json")
    assert json.loads(out)["reward"] == "loud"


def test_plan(capsys, rows):
    code, out, _ = run(capsys, "plan", f"{REWARDS}:contains", rows, "--batch", 64, "--step-seconds", 10)
    assert code == 0
    assert "needs 1 core" in out
    code, out, _ = run(
        capsys, "plan", f"{REWARDS}:contains", rows, "--batch", 64, "--step-seconds", 10, "--format", "json"
    )
    assert json.loads(out)["workers"] == 1


def test_a_reward_file_may_import_its_neighbours_at_any_time(capsys, tmp_path):
    (tmp_path / "neighbour_of_a_reward.py").write_text("def same(a, b):\n    return float(a == b)\n")
    (tmp_path / "late_neighbour.py").write_text("HALF = 0.5\n")
    file = tmp_path / "near.py"
    file.write_text(
        "from neighbour_of_a_reward import same\n\n\n"
        "def near(response, ground_truth):\n    from late_neighbour import HALF\n    return HALF * same(response, ground_truth)\n"
    )
    examples = tmp_path / "rows.jsonl"
    examples.write_text('{"prompt": "?", "response": "Lisbon", "ground_truth": "Lisbon"}\n')
    _, out, _ = run(capsys, "check", f"{file}:near", "-e", examples, "--format", "json")
    assert json.loads(out)["honest"] == 0.5


def test_two_rewards_of_one_file_are_of_one_module(capsys, rows):
    _, out, _ = run(capsys, "check", f"{REWARDS}:sound", f"{REWARDS}:wordy", "-e", rows, "--format", "json")
    assert "lint/pickle" not in {f["rule"] for f in json.loads(out)["findings"]}
