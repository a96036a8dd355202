"""README, docs and docstrings: every block of code in them runs.

In a page, blocks run in order and share their names, in an empty folder that holds the bundled rollouts.jsonl. A block
whose first line is `# name.py` (or .yaml, .jsonl) is also written to that file. In a ```console block each line that
starts with `$ assay` or `$ python` is run, and must end with 0 or 1 (1: some rows were not scored). A page, or the
block after it, may say `<!-- needs: trl torch -->`: it is skipped, with the reason, where one of them is absent.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"(?:<!-- needs: (?P<needs>[\w ]+) -->\s*)?^```(?P<kind>\w+)\n(?P<code>.*?)^```", re.M | re.S)
MODULES = sorted(m.name for m in pkgutil.walk_packages(assay.__path__, "assay.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    shutil.copy(ROOT / "examples" / "rollouts.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {"__name__": "__page__"}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        kind, code = block["kind"], block["code"]
        absent = [n for n in (block["needs"] or "").split() if importlib.util.find_spec(n) is None]
        if absent:
            continue
        if file := re.match(r"# (\S+\.(?:py|ya?ml|jsonl))\n", code):
            (tmp_path / file[1]).write_text(code)
        if kind == "python":
            line = text.count("\n", 0, block.start("code"))
            exec(compile("\n" * line + code, str(page), "exec"), names)
        elif kind == "console":
            run_console(code)


def run_console(code: str) -> None:
    for line in code.splitlines():
        if line.startswith(("$ assay ", "$ python ")):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            command = [sys.executable, *(["-m", "assay"] if words[0] == "assay" else []), *words[1:]]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "120"}
            )
            assert done.returncode in (0, 1), f"{line}\n{done.stderr}"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name):
    try:
        module = importlib.import_module(name)
    except (ImportError, assay.MissingExtra) as error:
        pytest.skip(f"{name} needs what is not installed: {error}")
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    names = {**{n: getattr(assay, n) for n in assay.__all__ if n != "__version__"}, **vars(module)}
    result = doctest.testmod(module, optionflags=options, extraglobs=names)
    assert result.failed == 0
