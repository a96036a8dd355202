"""The seeds' own code, run as it stands."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("seed", ["seed_flux.py", "seed_agent_tunix.py", "seed_twinkle.py"])
def test_the_seeds_own_code_holds(shared, seed):
    command = [sys.executable, "-m", "assay.compat", str(shared / "acceptance" / seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
