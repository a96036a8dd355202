"""What a newcomer stumbles on, and what the command says then."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from assay.cli.explain import explain
from assay.load import builtins

ENV = {**os.environ, "COLUMNS": "120", "PYTHONWARNINGS": "error"}


def assay(*words, cwd=None):
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENV, cwd=cwd)


def test_where_an_exception_comes_from(tmp_path):
    (tmp_path / "mine.py").write_text("import json\n\n\ndef f(response):\n    return json.loads(response)['x']\n")
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "response": "no"}\n')
    done = assay("score", tmp_path / "rows.jsonl", "-r", f"{tmp_path}/mine.py:f")
    assert done.returncode == 1
    assert "JSONDecodeError" in done.stdout
    assert "(mine.py, line 5)" in " ".join(done.stdout.split())  # and not a line of json's


def test_a_reward_that_forgets_its_return_says_so(tmp_path):
    (tmp_path / "mine.py").write_text("def f(response):\n    len(response)\n")
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "response": "no"}\n')
    assert "it returned None" in assay("score", tmp_path / "rows.jsonl", "-r", f"{tmp_path}/mine.py:f").stdout


def test_rows_without_a_prompt_are_one_group_and_that_is_said(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "a", "response": "4"}\n{"question": "b", "response": "5"}\n')
    assert "--rename question=prompt" in assay("score", rows, "-r", "format").stderr
    assert "one group" not in assay("score", rows, "-r", "format", "--rename", "question=prompt").stderr


def test_two_columns_are_renamed_in_one_word_too(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "2 + 2?", "response": "4", "solution": "4"}\n')
    done = assay("score", rows, "-r", "math", "--rename", "question=prompt,solution=ground_truth")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted(builtins()))
def test_every_built_in_is_explained(name, capsys):
    explain([name])  # also those that want a parameter before they can be made
    said = capsys.readouterr().out
    assert "Hacked by" in said
    assert "takes:" in said or "called once a" in said


def test_a_row_that_is_among_the_best_is_not_among_the_worst_as_well(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "a", "response": "<think>x</think><answer>4</answer>"}\n')
    done = assay("score", rows, "-r", "format")
    assert "Best" in done.stdout
    assert "Worst" not in done.stdout


def test_a_file_or_folder_that_is_not_ours_is_one_line(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "a", "response": "b"}\n')
    (tmp_path / "file").write_text("")
    for words in (
        ("score", rows, "-r", "format", "-o", tmp_path / "file" / "out.jsonl"),  # its folder is a file
        ("score", tmp_path / "file" / "rows.jsonl", "-r", "format"),
    ):
        done = assay(*words)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert "Traceback" not in done.stderr


def test_a_reward_that_is_always_the_same_is_at_one_end_and_not_at_both(tmp_path):
    pytest.importorskip("polars", reason="the extra 'report' is not installed")
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "response": "b"}\n' * 4)
    for value, end in (("0.0", "100.0% dead, 0.0% saturated"), ("1.0", "0.0% dead, 100.0% saturated")):
        (tmp_path / "mine.py").write_text(f"def f(response):\n    return {value}\n")
        assert assay("score", "rows.jsonl", "-r", "mine.py:f", "-o", f"{value}.jsonl", cwd=tmp_path).returncode == 0
        done = assay("inspect", f"{value}.jsonl", cwd=tmp_path)
        assert end in done.stdout, done.stdout + done.stderr
        assert "nothing to learn" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", ["inspect", "report", "compare"])
def test_what_is_no_run_is_one_line(tmp_path, command):
    pytest.importorskip("polars", reason="the extra 'report' is not installed")
    (tmp_path / "binary.parquet").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + b"x" * 400)
    (tmp_path / "folder").mkdir()
    for name in ("binary.parquet", "cut.parquet", "folder", "nothing.jsonl"):
        done = assay(command, name, *(["binary.parquet"] if command == "compare" else []), cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("assay: "), done.stderr
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
