"""The package as a whole: its public names, what importing it costs, its layers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import assay

HEAVY = ("numpy", "torch", "polars", "openai", "sympy", "ray", "flint", "transformers", "aiohttp", "scipy", "regex")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_is_exactly_the_public_names():
    assert sorted(assay.__all__) == assay.__all__
    assert len(set(assay.__all__)) == len(assay.__all__)
    for name in assay.__all__:
        assert getattr(assay, name) is not None, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = assay.nothing


def test_import_loads_no_third_party_module():
    code = """
import sys, json, sysconfig
before = set(sys.modules)
import assay, assay.types, assay.reward, assay.compose, assay.engine, assay.record, assay.rollouts, assay.load
site = sysconfig.get_paths()["purelib"]
new = {n: getattr(m, "__file__", "") or "" for n, m in sys.modules.items() if n not in before}
print(json.dumps([n for n, f in new.items() if f.startswith(site) and n.split(".")[0] != "assay"]))
"""
    assert json.loads(run(code)) == []


def test_import_costs_at_most_60_ms_of_cpu():
    bare = "import time; print(time.process_time())"
    ours = "import assay; import time; print(time.process_time())"
    cost = min(float(run(ours)) for _ in range(5)) - min(float(run(bare)) for _ in range(5))
    assert cost < 0.060


def test_scoring_with_a_rule_reward_loads_nothing_heavy():
    code = f"""
import sys, assay
assay.score(assay.CompositeReward([(assay.LengthReward(3), 0.5), (assay.FormatReward(), 0.5)]), ["a b c"])
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    assert run(code).strip() == "[]"


def test_the_layers_hold():
    pytest.importorskip("importlinter")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout


def test_every_room_stands_on_the_map():
    """docs/architecture.md names each module and folder of the package."""
    page = (Path(assay.__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {p.name if p.suffix else f"{p.name}/" for p in Path(assay.__file__).parent.iterdir()}
    hidden = {"__init__.py", "__main__.py", "__pycache__/", "_version.py", "py.typed"}
    assert {room for room in rooms - hidden if f"`{room}`" not in page} == set()
