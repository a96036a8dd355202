"""A Run of planted rollouts, made once."""

from __future__ import annotations

from pathlib import Path

import planted
import pytest

pytest.importorskip("numpy", reason="the analysis needs the extra 'report'")


@pytest.fixture(scope="session")
def hacked_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 rollouts, a tenth of them hacked, scored by the composite that the hacks are made for."""
    return planted.write_run(tmp_path_factory.mktemp("runs") / "hacked.jsonl", planted.rows(250, hacked=0.1, seed=1))


@pytest.fixture(scope="session")
def clean_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 honest rollouts."""
    return planted.write_run(tmp_path_factory.mktemp("runs") / "clean.jsonl", planted.rows(250, seed=2))
