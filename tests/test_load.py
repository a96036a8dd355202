"""Names on the command line, and YAML files, become rewards; what cannot be says what and where and how to mend it."""

from __future__ import annotations

import textwrap

import pytest

import assay
from assay import CompositeReward, Gate, LengthReward, Trajectory, score
from assay.config import load_config, reweighted
from assay.errors import ConfigError, InputError, UnknownName
from assay.load import builtins, load_reward


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def test_every_public_reward_is_a_built_in_and_resolves():
    for name, public in builtins().items():
        assert getattr(assay, public).name == name


def test_a_built_in_with_parameters():
    reward = load_reward("length:target=7,unit=chars,reward_type=linear")
    assert isinstance(reward, LengthReward)
    assert (reward.target, reward.unit, reward.reward_type) == (7, "chars", "linear")
    listed = load_reward("keyword:required=[because, therefore],match=substring")
    assert listed.required == ("because", "therefore") or list(listed.required) == ["because", "therefore"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("lenght", "Did you mean 'length'"),
        ("length:targt=3", "Did you mean 'target'"),
        ("length:3", "parameter=value"),
        ("nothing.here:at_all", "no module 'nothing.here'"),
        ("nothing.py:f", "no reward file"),
        ("nothing.yaml", "no reward configuration"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(spec, said):
    with pytest.raises(assay.UsageError, match=said) as raised:
        load_reward(spec)
    assert "\n" not in str(raised.value)


def test_files(write):
    path = write(
        "mine.py",
        """
        from assay import RewardFunction
        LIMIT = 5
        def short(response): return len(response) < LIMIT
        class Good(RewardFunction):
            def compute_reward(self, trajectory): return 0.5
        """,
    )
    assert score(load_reward(f"{path}:short"), ["four"])[0].reward == 1.0
    assert score(load_reward(f"{path}:Good"), ["four"])[0].reward == 0.5
    with pytest.raises(UnknownName, match="Did you mean 'short'"):
        load_reward(f"{path}:shrt")
    with pytest.raises(UnknownName, match="name one"):
        load_reward(str(path))
    only = write("only.py", "def the_one(response): return 1.0\n")
    assert load_reward(str(only)).name == "the_one"


def test_parameters_of_a_class_and_of_a_function(write):
    path = write(
        "mine.py",
        """
        from assay import RewardFunction
        class Short(RewardFunction):
            def __init__(self, most): self.most = most
            def compute_reward(self, trajectory): return len(trajectory.response) <= self.most
        def below(response, most=1): return len(response) < most
        done = Short(3)
        """,
    )
    assert score(load_reward(f"{path}:Short:most=4"), ["four"])[0].reward == 1.0
    assert score(load_reward(f"{path}:below:most=4"), ["four"])[0].reward == 0.0
    config = write("reward.yaml", "terms: {a: {reward: mine.py:Short, with: {most: 3}}}")
    assert score(load_reward(str(config)), ["four"])[0].reward == 0.0
    for spec, said in (
        (f"{path}:Short", "'Short' needs most; found none"),
        (f"{path}:Short:mots=3", "Did you mean 'most'"),
        (f"{path}:done:most=3", "is made already"),
        ("length:target=abc", "needs a number for target_length; found 'abc'"),
    ):
        with pytest.raises(ConfigError, match=said):
            load_reward(spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(response: return 1", "failed to import at line 1: SyntaxError"),
        ("x = 1\nimport nothing_there\n", "failed to import at line 2: ModuleNotFoundError"),
        ("x = 1\n\ny = 1 / 0\n", "failed to import at line 3: ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", "failed to import at line 2: SystemExit"),
    ],
)
def test_a_file_that_does_not_import_says_where(write, text, said):
    with pytest.raises(ConfigError, match=said):
        load_reward(f"{write('broken.py', text)}:f")


def test_modules(write, monkeypatch):
    path = write("custom_rewards.py", "def my_reward_v1(response): return 0.25\n")
    monkeypatch.chdir(path.parent)
    for spec in ("custom_rewards:my_reward_v1", "custom_rewards.my_reward_v1"):
        assert score(load_reward(spec), ["x"])[0].reward == 0.25


def test_yaml(write):
    write("mine.py", "def short(response): return len(response) < 5\n")
    path = write(
        "reward.yaml",
        """
        name: tutor
        terms:
          form: {reward: format, weight: 0.25, on_missing: skip}
          short: {reward: mine.py:short, weight: 0.75}
          later: {reward: length, with: {target: 3}, weight: {start: 0, end: 1, steps: 100}}
        gate: {reward: length, with: {min_length: 1}, at_least: 1.0}
        clip: [0, 1]
        """,
    )
    reward = load_reward(str(path))
    assert reward.name == "tutor"
    gate = reward.reward
    assert isinstance(gate, Gate)
    assert isinstance(gate.reward, CompositeReward)
    assert gate.reward.weights(50) == {"form": 0.25, "short": 0.75, "later": 0.5}
    assert [o.reward for o in score(reward, [{"response": "four"}, {"response": ""}])] == [0.75, 0.0]
    settled = load_config(path, {"terms.short.weight": 0.5})
    assert settled.reward.reward.weights(0)["short"] == 0.5


def test_yaml_of_tasks_and_stages(write):
    path = write(
        "tasks.yaml",
        """
        by_task:
          key: kind
          rewards:
            short: {reward: length, with: {max_length: 2}}
            staged: {curriculum: [{from_step: 0, reward: format}, {from_step: 10, reward: length, with: {target: 1}}]}
        normalize: minmax
        """,
    )
    rows = [Trajectory(response="one", metadata={"kind": k, "step": 20}) for k in ("short", "staged", "other")]
    assert [o.reward for o in score(load_reward(str(path)), rows)] == [1.0, 1.0, None]


def test_a_built_in_that_is_made_of_rewards(write):
    write("mine.py", "def short(response): return len(response) < 5\n")
    path = write(
        "jury.yaml",
        """
        reward: calibrated
        with:
          map: CALIBRATION
          reward:
            reward: jury
            with: {verdict: median, jurors: [mine.py:short, repetition, {reward: length, with: {target: 1}}]}
        """.replace("CALIBRATION", str(write("map.json", '{"scores": [0, 1], "labels": [0.25, 0.75]}'))),
    )
    assert [o.reward for o in score(load_reward(str(path)), ["four"])] == [0.75]
    assert list(load_reward("jury:jurors=[repetition,length:target=3],first=1").children) == ["repetition", "length"]
    with pytest.raises(assay.ConfigError, match="'jury' needs jurors"):
        load_reward("jury")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reward: jury\nwith: {jurors: [{reward: length, wth: {}}]}", "unknown key 'wth'"),
        ("terms: {a: {reward: format, wieght: 1}}", "unknown key 'terms.a.wieght'.*Did you mean 'weight'"),
        ("trems: {}", "unknown key 'trems'.*Did you mean 'terms'"),
        ("name: x", "needed one of terms, reward, by_task, curriculum; found none"),
        ("reward: format\nterms: {a: {reward: format}}", "found terms and reward"),
        ("terms: {a: {reward: format, weight: lots}}", "terms.a.weight"),
        ("- 1", "needed a mapping"),
        ("a: [", "is not YAML"),
        ("reward: !!python/object/apply:os.system ['true']", "is not YAML"),
        ("reward: lenght", "Did you mean 'length'"),
        ("terms: {a: {reward: mine.py:f, with: {x: 1}}}", "no reward file"),
        ("terms: {a: {reward: {reward: format}, with: {x: 1}}}", "'with' goes beside a reward's name"),
        ("terms: {a: {reward: other.yaml, with: {x: 1}}}", "other.yaml is a configuration"),
        ("terms: {a: {reward: length, with: {targte: 1}}}", "Did you mean 'target'"),
    ],
)
def test_yaml_that_cannot_be_is_told_in_one_line(write, text, said):
    with pytest.raises(assay.UsageError, match=said) as raised:
        load_reward(str(write("bad.yaml", text)))
    assert "\n" not in str(raised.value)


def test_overrides(write):
    path = write("one.yaml", "terms: {a: {reward: format}}")
    with pytest.raises(ConfigError, match=r"has no 'trems'.* Did you mean 'terms'"):
        load_config(path, {"trems.a.weight": 1})
    with pytest.raises(InputError, match=r"Did you mean 'one.yaml'"):
        load_config(path.with_name("onne.yaml"))
    composite = CompositeReward({"a": (LengthReward(3), 0.5), "b": (LengthReward(4), 0.5)})
    assert reweighted(composite, {"b": 2.0}).weights(0) == {"a": 0.5, "b": 2.0}
    with pytest.raises(ConfigError, match="no component 'c'"):
        reweighted(composite, {"c": 2.0})
    with pytest.raises(ConfigError, match="needs a composite"):
        reweighted(LengthReward(3), {"c": 2.0})
