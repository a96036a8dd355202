"""The trainers themselves, each in an environment of its own under .venvs/ (their pins conflict): make test-adapters."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TRAINERS = sorted(path.stem for path in (HERE / "drivers").glob("*.py") if path.stem != "common")
ARGUMENTS = {"verl": ["--ray"]}


def test_every_environment_has_a_driver():
    assert {path.name.split(".")[0] for path in (HERE / "environments").glob("*.txt")} == set(TRAINERS)


@pytest.mark.slow
@pytest.mark.parametrize("trainer", TRAINERS)
def test_in_the_trainer_itself(trainer):
    python = ROOT / ".venvs" / trainer / "bin" / "python"
    if not (ROOT / ".venvs" / trainer / ".done").exists():
        pytest.skip(f"{trainer} has no environment here: make test-adapters (sh {HERE.name}/make_environments.sh)")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    driver = HERE / "drivers" / f"{trainer}.py"
    # -P: a driver is called as its trainer is, and must not be imported in its place
    command = [str(python), "-P", "-c", _RUN, str(driver), *ARGUMENTS.get(trainer, [])]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "ran:" in done.stdout


_RUN = """
import importlib.util, runpy, sys
script = sys.argv[1]
sys.argv = sys.argv[1:]
spec = importlib.util.spec_from_file_location("common", script.rsplit("/", 1)[0] + "/common.py")
sys.modules["common"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
runpy.run_path(script, run_name="__main__")
"""
