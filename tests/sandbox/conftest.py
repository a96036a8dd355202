"""Sandboxes for the tests: one for each tier, warm for the whole module."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from assay.errors import ConfigError
from assay.rewards.code import CodeReward


def _reward(tier: int) -> CodeReward:
    reward = CodeReward(tier=tier, workers=2, time_limit_s=2.0)
    try:
        reward._sandbox()._ready()
    except ConfigError as error:
        pytest.skip(f"tier {tier} does not hold here: {error}")
    return reward


@pytest.fixture(scope="module")
def reward():
    """A reward of the strongest tier that holds here."""
    made = _reward(0)
    yield made
    made.close()


@pytest.fixture(scope="module", params=[1, 2, 3], ids=lambda tier: f"tier{tier}")
def tiered(request):
    """A reward of each tier that holds here."""
    made = _reward(request.param)
    yield made
    made.close()
