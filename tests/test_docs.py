"""README, docs and docstrings: every block of code in them runs.

In a page, blocks run in order and share their names, in an empty folder that holds the bundled rollouts.jsonl. A block
whose first line is `# name.py` (or .yaml, .jsonl) is also written to that file; a YAML file with terms must load. In a
```console block each line that starts with `$ assay` or `$ python` is run, and must end with 0 or 1 (1: some rows were
not scored). A ```bash block is for what cannot be run here (a cluster, a hosted model): each `assay` line in it must be
a command, with options, that there is. JSON is one value a line. `<!-- needs: trl torch -->` before a block skips it where one of them is absent.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest
import typer
from typer.main import get_command

import assay
from assay.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(p for p in ROOT.glob("docs/**/*.md") if not {"reference", "_site"} & set(p.relative_to(ROOT).parts)),
    ]
)
BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>[\w ]+) -->\s*)?^(?P<indent> *)```(?P<kind>\w+)\n(?P<code>.*?)^(?P=indent)```",
    re.M | re.S,
)
COMMANDS = {}
for _name, _where in main.COMMANDS.items():
    _module, _, _function = _where.partition(":")
    _app = typer.Typer()
    _app.command()(getattr(importlib.import_module(f"assay.cli.{_module}"), _function))
    COMMANDS[_name] = get_command(_app)
MODULES = sorted(m.name for m in pkgutil.walk_packages(assay.__path__, "assay.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    shutil.copy(ROOT / "examples" / "rollouts.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = types.ModuleType("__page__")  # dataclasses look for the module that they are made in
    monkeypatch.setitem(sys.modules, "__page__", module)
    names = vars(module)
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        kind, code = block["kind"], textwrap.dedent(block["code"])
        absent = [n for n in (block["needs"] or "").split() if importlib.util.find_spec(n) is None]
        if absent:
            continue
        if file := re.match(r"# (\S+\.(?:py|ya?ml|jsonl))\n", code):
            (tmp_path / file[1]).write_text(code)
            if file[1].endswith("yaml") and "terms:" in code:
                assay.load_reward(file[1])
        if kind == "python":
            line = text.count("\n", 0, block.start("code"))
            exec(compile("\n" * line + code, str(page), "exec"), names)
        elif kind == "console":
            run_console(code)
        elif kind == "bash":
            check_commands(code)
        elif kind == "json":
            _ = [json.loads(line) for line in code.splitlines()]
    check_commands("\n".join(re.findall(r"^    (assay .*)", BLOCK.sub("", text), re.M)))


def run_console(code: str) -> None:
    for line in code.splitlines():
        if line.startswith(("$ assay ", "$ python ")):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            command = [sys.executable, *(["-m", "assay"] if words[0] == "assay" else []), *words[1:]]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "120"}
            )
            assert done.returncode in (0, 1), f"{line}\n{done.stderr}"


def check_commands(code: str) -> None:
    """Every `assay` line names a command that there is, with options that it has."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        words = words[: next((i for i, word in enumerate(words) if word in ("|", "&&", ">")), None)]
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words = words[1:]
        if words[:1] == ["assay"]:
            known = {option for parameter in COMMANDS[words[1]].params for option in parameter.opts}
            used = {word.partition("=")[0] for word in words[2:] if word.startswith("-") and not word[1:2].isdigit()}
            assert used <= {*known, "--help", "--debug"}, f"{line}: {used - known}"


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
