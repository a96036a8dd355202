import importlib.util
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from assay.compose import CompositeReward, Curriculum, Normalize
from assay.errors import ConfigError, UnknownName
from assay.reward import FunctionReward
from assay.train import toy
from assay.train.config import TrainConfig
from assay.train.state import load_reward_state, save_reward_state, stateful
from assay.train.statistics import Analysis, Moments, bars, columns, quartiles, shape
from assay.train.toy import ToyTask, answer_correct, toy_reward
from assay.train.trainer import find_reward
from assay.types import Outcome, RewardOutput, Trajectory

ROOT = Path(__file__).parents[2]


# -- without torch ---------------------------------------------------------------------------------------------------


def test_the_toys_reward():
    row = ToyTask().row(4)
    score = toy_reward().compute_reward
    for response, expected in (("<answer>5</answer>", 1.0), ("<answer>6</answer>", 0.1), ("5", 0.0), ("", 0.0)):
        assert score(Trajectory.of({**row, "response": response})).reward == pytest.approx(expected)
    assert ToyTask().row(9)["answer"] == "0"


def test_a_configuration_with_a_wrong_key_says_which():
    assert TrainConfig.of({"seed": 3}).seed == 3
    with pytest.raises(ConfigError, match=r"no 'training\.step'\. Did you mean 'steps'\?"):
        TrainConfig.of({"training": {"step": 3}})
    with pytest.raises(ConfigError, match=r"training\.steps: "):
        TrainConfig.of({"training": {"steps": "many"}})


def test_finding_a_reward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_reward(None).name == "toy"
    (tmp_path / "custom_rewards.py").write_text("def my_reward_v1(response):\n    return 0.25\n")
    for spec in ("custom_rewards.py:my_reward_v1", "my_reward_v1"):
        assert find_reward(spec, ["nowhere.py", "custom_rewards.py"])(["x"]) == [0.25]
    monkeypatch.syspath_prepend(tmp_path)
    assert find_reward("custom_rewards.my_reward_v1")(["x"]) == [0.25]
    assert find_reward(answer_correct).name == "answer_correct"
    with pytest.raises(UnknownName, match=r"no reward 'my_rewards': it is no built-in, and not defined in custom_rew"):
        find_reward("my_rewards", ["custom_rewards.py"])


def test_moments():
    assert Moments.of([]) == Moments(0, 0)
    assert Moments.of([None, None]).line() == "not scored 2 of 2"
    found = Moments.of([0.0, 0.0, 0.0, 1.0, None])
    assert (found.count, found.unscored, found.mean, found.min, found.max) == (5, 1, 0.25, 0.0, 1.0)
    assert found.skewness == pytest.approx(1.1547, abs=1e-4)
    assert Moments.of([0.1] * 9).skewness == 0.0
    assert quartiles([4, 1, 2, 3, 5, None]) == [2, 3, 4]
    assert bars([0.0, 1.0, 1.0]) == "▄        █"
    assert bars([]) == " " * 10
    assert bars([-3.0, 5.0]) == "█        █"


def test_shapes_and_the_analysis():
    assert shape("The answer is 4,200.5!") == "a.. 0!"
    assert shape("") == "(empty)"
    assert len(shape("x1" * 10**6)) <= 60
    solved = "So we have it. " * 20 + "\\boxed{4}"
    assert shape(solved) == "51-100 words, boxed"
    assert shape("1. First\n" + "and then " * 20) == "26-50 words, list, cut off"
    assert shape("<think>" + "hm " * 30) == "26-50 words, thinking left open, cut off"
    assert shape("<think>" + "hm " * 30 + "</think>\n<answer>4</answer>") == "26-50 words, answer in tags"
    for hostile in ("<think>" * 100_000, "<answer>" * 100_000, "\n" * 10**6 + "1. " * 50, "a " * 10**6, " ." * 10**6):
        shape(hostile)
    analysis = Analysis(most_kinds=2)
    rows = [Trajectory(response=r) for r in ("right 1", "right 2", "wrong", "wrong", "wrong", "? 3", "? 3")]
    outputs = [RewardOutput(r) for r in (1.0, 0.8, 0.0, 0.1, 0.0)]
    outputs += [RewardOutput.failed(Outcome.TIMEOUT, "too slow")] * 2
    analysis.add(rows, outputs)
    found = analysis.to_dict()
    assert found["highest"][0] == {"kind": "a 0", "count": 2, "mean": 0.9, "example": "right 1"}
    assert found["common_failures"][0]["kind"] == "a"
    assert [kind["kind"] for kind in found["lowest"]] == ["a"], "what is above the mean is not low"
    assert found["not_scored"] == [{"reason": "too slow", "count": 2}]
    assert found["outcomes"] == {"scored": 5, "timeout": 2}
    assert "(other)" in analysis.kinds
    json.dumps(found, allow_nan=False)
    assert "| `a 0` | 2 | 0.9 | `right 1` |" in analysis.to_markdown()


def test_columns_of_ragged_outputs():
    outputs = [RewardOutput(1.0), RewardOutput(None, components={"a": RewardOutput(0.5)})]
    assert columns(outputs) == {"rewards": [1.0, None], "rewards/a": [None, 0.5]}


def test_a_normaliser_goes_into_the_checkpoint_and_comes_back(tmp_path):
    def made():
        return CompositeReward({"n": Normalize(FunctionReward(lambda response: len(response)), "running")})

    first, second = made(), made()
    first(["a", "bbb"])
    save_reward_state(first, tmp_path / "checkpoint-1")
    load_reward_state(second, tmp_path / "checkpoint-1")
    assert second(["cc"]) == first(["cc"])
    assert len(list(stateful(first))) == 1
    with pytest.raises(ConfigError, match="Resume with the reward that it was made with"):
        load_reward_state(toy_reward(), tmp_path / "checkpoint-1")


# -- with TRL --------------------------------------------------------------------------------------------------------

slow = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def trainer_class():
    pytest.importorskip("trl", reason="trl is not installed: pip install 'assay[train]'")
    from assay.train.trainer import Trainer

    return Trainer


class TestShortRun:
    pytestmark = slow

    def config(self, folder, **training):
        small = {"steps": 3, "prompts_per_step": 2, "num_generations": 4, "measure_samples": 0, **training}
        return {"output_dir": str(folder), "model": {"warm_up_steps": 2}, "training": small}

    def test_step_callbacks_see_the_rewards(self, trainer_class, tmp_path):
        seen = []
        trainer = trainer_class(self.config(tmp_path))

        @trainer.add_step_callback
        def watch(result):
            rewards = result.metrics.get("rewards", [])
            seen.append((result.step, len(rewards), len(result.metrics["rewards/correct"]), len(result.trajectories)))
            assert all(type(r) is float for r in rewards)

        result = trainer.train()
        assert seen == [(1, 8, 8, 8), (2, 8, 8, 8), (3, 8, 8, 8)]
        assert result.before is None
        assert watch is not None

    def test_logs_and_analysis(self, trainer_class, tmp_path, caplog):
        config = self.config(tmp_path, log_rewards=True, save_reward_analysis=True)
        logging.getLogger("assay.train").propagate = True
        with caplog.at_level(logging.INFO, "assay.train"):
            trainer_class(config, reward_function=lambda response, answer: float(answer in response)).train()
        logged = [json.loads(line) for line in (tmp_path / "reward_log.jsonl").read_text().splitlines()]
        assert [entry.get("step") for entry in logged] == [1, 2, 3, None]
        assert {"mean", "min", "max", "std", "skewness", "quartiles"} <= logged[0]["rewards"].keys()
        assert logged[-1]["over_training"]["count"] == 24
        assert any("step    1" in r.message for r in caplog.records)
        assert any(r.message.startswith("over training") for r in caplog.records)
        found = json.loads((tmp_path / "reward_analysis.json").read_text())
        assert found["rewards"]["count"] == 24
        assert {"skewness", "variance"} <= found["rewards"].keys()
        assert (tmp_path / "reward_analysis.md").read_text().startswith("# Reward analysis")
        from assay.record import Run

        pairs = list(Run(tmp_path / "rewards.jsonl"))
        assert len(pairs) == 24
        assert pairs[0][0].prompt.startswith("after ")
        assert len({trajectory.group_id for trajectory, _ in pairs}) == 6, "two groups of four in each of three steps"
        if importlib.util.find_spec("polars"):
            assert "<html" in (tmp_path / "report.html").read_text()[:500]
        if importlib.util.find_spec("tensorboard"):
            assert list(tmp_path.rglob("events.out.tfevents*"))

    def test_a_checkpoint_brings_the_normaliser_back(self, trainer_class, tmp_path):
        def reward():
            return CompositeReward({"n": Normalize(FunctionReward(lambda response: len(response)), "running")})

        first = reward()
        trainer_class(self.config(tmp_path, save_steps=2), first).train()
        counts = []
        again = reward()
        trainer = trainer_class(self.config(tmp_path, resume_from=str(tmp_path / "checkpoint-2")), again)
        trainer.add_step_callback(lambda result: counts.append((result.step, again.children["n"].count)))
        trainer.train()
        assert counts == [(3, 24)]
        assert again.children["n"].mean == pytest.approx(first.children["n"].mean)

    @pytest.mark.parametrize("chat", [True, False])
    def test_a_model_and_prompts_of_ones_own(self, trainer_class, tmp_path, chat):
        tokenizer = toy.build_tokenizer()
        tokenizer.chat_template = tokenizer.chat_template if chat else None
        toy.build_model(tokenizer, 32, 1).save_pretrained(tmp_path / "model")
        tokenizer.save_pretrained(tmp_path / "model")
        rows = [json.dumps({"question": f"after {i}?", "solution": str(i + 1)}) + "\n" for i in range(4)]
        (tmp_path / "prompts.jsonl").write_text("".join(rows))
        config = self.config(tmp_path / "out", steps=1, measure_samples=8)
        config["model"] = {"path": str(tmp_path / "model")}
        config["data"] = {"path": str(tmp_path / "prompts.jsonl"), "rename": {"question": "prompt"}}
        seen = []
        trainer = trainer_class(config, lambda prompt, response, solution: float(prompt[6] < solution))
        trainer.add_step_callback(lambda result: seen.extend(result.trajectories))
        result = trainer.train()
        assert (result.before, result.after) == (1.0, 1.0)
        assert [bool(t.messages) for t in seen] == [chat] * 8
        assert {t.prompt for t in seen} <= {f"after {i}?" for i in range(4)}

    def test_a_model_that_is_not_there(self, trainer_class, tmp_path):
        config = {**self.config(tmp_path), "model": {"path": str(tmp_path / "nowhere")}}
        with pytest.raises(ConfigError, match="nowhere: no model could be loaded from there"):
            trainer_class(config).train()

    def test_a_checkpoint_brings_the_curriculum_back(self, trainer_class, tmp_path):
        def easy(response):
            return 0.0

        def hard(response):
            return 1.0

        seen = []
        for more in ({"save_steps": 2}, {"resume_from": str(tmp_path / "checkpoint-2")}):
            trainer = trainer_class(self.config(tmp_path, **more), Curriculum([(0, easy), (2, hard)]))
            trainer.add_step_callback(lambda result: seen.append((result.step, set(result.metrics["rewards"]))))
            trainer.train()
        assert seen == [(1, {0.0}), (2, {0.0}), (3, {1.0}), (3, {1.0})], "the resumed run begins in the second stage"


@pytest.mark.slow
def test_the_default_configuration_learns(trainer_class, tmp_path):
    """The seed's line, in a process of its own, from a clone's folder."""
    command = [sys.executable, ROOT / "run_training.py", "+training.reward_function=custom_reward_function"]
    more = ["training.log_rewards=true", "training.save_reward_analysis=true", f"output_dir={tmp_path}"]
    done = subprocess.run([*map(str, command), *more], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("mean reward before"))
    before, after = (float(word.strip(",")) for word in line.split() if word[0].isdigit())
    assert before < 0.3 < 0.9 < after, line
    assert "Lowest rewards" in done.stdout
    assert not (ROOT / "outputs").exists()
