"""What is public stands in the changelog, and what the changelog names is public."""

from __future__ import annotations

import re
from pathlib import Path

import assay
from assay.cli.main import COMMANDS
from assay.load import builtins

TEXT = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
QUOTED = set(re.findall(r"`([^`\n]+)`", TEXT))
HEADS = {re.match(r"[\w.]*", quoted)[0] for quoted in QUOTED}


def test_every_public_name_is_in_the_changelog():
    left = set(assay.__all__) - HEADS - {"__version__"}
    assert not left, f"CHANGELOG.md does not name {', '.join(sorted(left))} (in backticks, under Unreleased)"


def test_every_command_is_in_the_changelog():
    assert {f"assay {name}" for name in COMMANDS} - {" ".join(q.split()[:2]) for q in QUOTED} == set()


def test_what_the_changelog_calls_a_class_or_a_command_is_there():
    """A name in capitals that is quoted is public, or lives in the module that stands before it in the same entry."""
    for name in HEADS:
        if re.fullmatch(r"(?:[A-Z][a-z0-9]*|[A-Z]+(?=[A-Z]))+\w*(?:Reward|Advantage|Error|Judge|Penalty)", name):
            assert name in assay.__all__ or found(name), f"{name} is in the changelog and nowhere else"
    for quoted in QUOTED:
        if match := re.match(r"assay (\w[\w-]*)", quoted):
            assert match[1] in COMMANDS, quoted


def found(name: str) -> bool:
    """Whether some module under `assay` defines it."""
    package = Path(assay.__file__).parent
    return any(re.search(rf"^class {name}\b", p.read_text(), re.M) for p in package.rglob("*.py"))


def test_every_version_has_its_chapter():
    released = re.findall(r"^## (\d+\.\d+\.\d+)", TEXT, re.M)
    assert "## Unreleased" in TEXT or assay.__version__ in released
    assert len(set(released)) == len(released)


def test_short_names_in_the_changelog_exist():
    for quoted in QUOTED:
        if match := re.match(r"--reward (\w+)", quoted):
            assert match[1] in builtins(), quoted
