"""The documentation builds without a warning, its links lead somewhere, and the reference has everything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.cli.main import COMMANDS
from assay.load import builtins

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
pytest.importorskip("myst_parser", reason="the extra 'docs' is not installed")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The pages, apart from the work that is going on here."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("docs", "examples", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("_site", "reference", "__pycache__"))
    for page in [*ROOT.glob("*.md"), ROOT / "LICENSE"]:
        shutil.copy(page, folder)
    return folder


def build(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-n",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        "-b",
        "html",
        ".",
        str(to),
    ]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300)


def test_the_site_builds_and_the_reference_is_whole(source, tmp_path):
    done = build(source, tmp_path)
    assert done.returncode == 0, done.stderr
    pages = {name: (source / f"docs/reference/{name}.md").read_text() for name in ("rewards", "names", "commands")}
    for short, public in builtins().items():
        assert f"\n## {short}\n" in pages["rewards"], short
        assert f"import {public} " in pages["rewards"], public
    for name in set(assay.__all__) - set(builtins().values()) - {"__version__"}:
        assert f"\n### {name}\n" in pages["names"], name
    for command in COMMANDS:
        assert f"\n## assay {command}\n" in pages["commands"], command
    assert (tmp_path / "docs/tutorial.html").is_file()
    assert (tmp_path / "index.html").is_file()


@pytest.mark.parametrize(
    "wrong", ["[a page](no-such-page.md)", "[a chapter](rules.md#no-such-chapter)", "[a file](../examples/nothing.py)"]
)
def test_a_link_that_leads_nowhere_is_an_error(source, tmp_path, wrong):
    page = source / "docs/rules.md"
    whole = page.read_text()
    page.write_text(f"{whole}\n{wrong}\n")
    try:
        done = build(source, tmp_path)
    finally:
        page.write_text(whole)
    assert done.returncode != 0
    assert "rules.md" in done.stderr
