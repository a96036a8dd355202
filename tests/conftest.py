"""What several tests need."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no_clock", deadline=None)  # no test depends on how fast the machine is
settings.load_profile("no_clock")

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture
def shared() -> Path:
    """The large labelled data that lies beside a checkout, where there is one."""
    if not SHARED.is_dir():
        pytest.skip("the labelled data is not beside this checkout (../shared)")
    return SHARED


@pytest.fixture
def rollouts() -> Path:
    """The bundled rollouts."""
    return ROOT / "examples" / "rollouts.jsonl"
