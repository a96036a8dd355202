"""The trainers themselves, each in its own environment under .venvs/, for their pins conflict: make test-adapters."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TRAINERS = sorted(path.stem.removeprefix("run_") for path in (HERE / "drivers").glob("run_*.py"))
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
    command = [str(python), str(HERE / "drivers" / f"run_{trainer}.py"), *ARGUMENTS.get(trainer, [])]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "ran:" in done.stdout
