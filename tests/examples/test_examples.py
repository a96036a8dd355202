"""The examples run as they stand."""

import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    yield
    for name in ("math_rl", "reward_server", "custom_rewards"):
        sys.modules.pop(name, None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_loop_by_hand_learns(examples, capsys):
    pytest.importorskip("transformers", reason="transformers is not installed")
    import math_rl

    means = math_rl.main(seed=1)
    first, last = sum(means[:5]) / 5, sum(means[-5:]) / 5
    assert first < 0.35 < 0.7 < last, means
    assert len((EXAMPLES / "math_rl.py").read_text().splitlines()) <= 60


def test_the_reward_server(examples, capsys):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    import reward_server

    assert reward_server.main() == [1.0, 0.9, 0.1]


def test_custom_rewards(examples):
    import custom_rewards

    from assay.engine import score

    rows = [
        {"prompt": "after 4?", "response": r, "answer": "5"} for r in ("<answer>5</answer>", "<answer>6</answer>", "5")
    ]
    assert [o.reward for o in score(custom_rewards.custom_reward_function, rows)] == [1.0, 0.3, 0.0]
    assert [o.reward for o in score(custom_rewards.graduated_reward, rows)] == [1.0, 0.5, 0.0]
