import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import assay.compat as compat
from assay.types import Trajectory

ACCEPTANCE = Path(__file__).parents[2] / "shared" / "acceptance"


@pytest.fixture
def names():
    compat.install()
    yield
    compat.uninstall()


def test_the_names_are_the_native_objects(names):
    import flux.core.trajectory
    import flux.rewards
    import twinkle.advantage
    import twinkle.data_format
    import twinkle.reward

    from assay.advantage import GRPOAdvantage
    from assay.reward import FunctionReward, RewardFunction

    assert flux.core.trajectory.Trajectory is twinkle.data_format.Trajectory is Trajectory
    assert flux.rewards.RewardFunction is twinkle.reward.Reward is RewardFunction
    assert flux.rewards.FunctionReward is FunctionReward
    assert twinkle.advantage.GRPOAdvantage is GRPOAdvantage
    assert "LengthReward" in dir(flux.rewards)
    with pytest.raises(AttributeError, match="has no 'Lenght'"):
        _ = flux.rewards.Lenght


def test_every_name_resolves(names):
    for module, known in compat.NAMES.items():
        for name in known:
            assert getattr(importlib.import_module(module), name) is not None, (module, name)


def test_nothing_is_there_before_it_is_asked_for():
    compat.install()
    compat.install()
    assert sum(type(f).__name__ == "_Finder" for f in sys.meta_path) == 1
    compat.uninstall()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("flux.rewards")


def test_a_real_package_comes_first(tmp_path, monkeypatch, names):
    (tmp_path / "flux").mkdir()
    (tmp_path / "flux" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert importlib.import_module("flux").real
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("flux.rewards")  # a real package is not mixed with ours
    finally:
        sys.modules.pop("flux", None)


def run(*command, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "assay.compat", *map(str, command)], capture_output=True, text=True, cwd=cwd
    )


def test_a_script_runs_as_it_stands(tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside\n"
        "from flux.core.trajectory import Trajectory\n"
        "if __name__ == '__main__':\n"
        "    print(Trajectory(response='x').response, beside.WORD, sys.argv[1:])\n"
    )
    done = run(script, "a", "--b")
    assert (done.stdout, done.stderr) == ("x beside ['a', '--b']\n", "")


def test_a_scripts_reward_runs_in_worker_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from flux.rewards import FunctionReward\n"
        "def size(response):\n    return float(len(response))\n"
        "if __name__ == '__main__':\n    print(FunctionReward(fn=size, workers=True)(['x', 'yy']))\n"
    )
    done = run(script, cwd=tmp_path)
    assert done.stdout == "[1.0, 2.0]\n", done.stderr


def test_a_script_that_is_not_there():
    done = run("nowhere.py")
    assert done.returncode == 1
    assert "no file 'nowhere.py'" in done.stderr
    assert "usage" in run().stderr


@pytest.mark.parametrize("seed", ["seed_flux.py", "seed_agent_tunix.py", "seed_twinkle.py"])
def test_the_scripts_of_their_users_run(seed):
    if not (ACCEPTANCE / seed).exists():
        pytest.skip("../shared/acceptance is not here")
    done = run(ACCEPTANCE / seed)
    assert done.returncode == 0, done.stderr
    assert "hold" in done.stdout
