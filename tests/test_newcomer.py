"""What a newcomer stumbles on, and what the command says then."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time

import pytest

from assay import RewardOutput
from assay.cli.explain import explain
from assay.cli.main import COMMANDS, PANELS
from assay.cli.progress import Counted
from assay.load import builtins
from assay.record import RunWriter

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
    assert "takes:" in said
    assert all(line.startswith("  ") for line in said.strip().splitlines()[1:])  # what is wrapped stays under its name


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


REWARDS = {
    "method.py": "class F:\n    def compute_rewad(self, t):\n        return 1.0\n",
    "base.py": "import assay\n\n\nclass F(assay.RewardFunction):\n    def compute_rewad(self, t):\n        return 1.0\n",
    "nothing.py": "def F(response):\n    len(response)\n",
    "raises.py": "def F(response):\n    return 1 / (response != 'b')\n",
    "text.json": "{}",
}


@pytest.fixture
def desk(tmp_path):
    """Rows under columns of their own, and rewards with a mistake in them."""
    for name, text in REWARDS.items():
        (tmp_path / name).write_text(text)
    rows = '{"question": "2 + 2?", "output": "The answer is 4", "solution": "4"}\n'
    (tmp_path / "own.jsonl").write_text(rows + rows.replace("is 4", "is 5"))
    row = '{"prompt": "2 + 2?", "response": "%s", "ground_truth": "4"}\n'
    (tmp_path / "rows.jsonl").write_text(row % "a" + row % "b" + row % "")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # a response that is absent is not an empty one: the row is not scored 0
        ("score own.jsonl -r math --rename solution=ground_truth", "Rename it: --rename output=response"),
        ("score own.jsonl -r format", "has no 'response'"),
        ("differ own.jsonl -r math -r numeric --rename solution=ground_truth", "--rename output=response"),
        ("plan format own.jsonl --batch 8 --step-seconds 1", "--rename output=response"),
        ("plan math rows.jsonl --batch 8 --step-seconds 1 --rename ground_truth=gold", "--rename gold=ground_truth"),
        ("score rows.jsonl -r format -o rows.jsonl", "is the input itself"),
        ("score rows.jsonl -r method.py:F", "It has 'compute_rewad'. Did you mean 'compute_reward'?"),
        ("score rows.jsonl -r base.py:F", "It has 'compute_rewad'. Did you mean 'compute_reward'?"),
        ("score rows.jsonl -r text.json", "is a file, but no reward"),
        ("reweigh nothing.jsonl", "there is no scored file nothing.jsonl"),
        ("rescore rows.jsonl", "is no scored file: its rows have ['prompt', 'response', 'ground_truth']"),
        ("calibrate nothing.jsonl -l rows.jsonl", "needed a number in 'label'"),
        ("eval-rm nothing.jsonl -r format", "there is no file nothing.jsonl"),
    ],
)
def test_a_mistake_is_one_line_that_mends_it(desk, words, said):
    pytest.importorskip("polars", reason="the extra 'report' is not installed")
    done = assay(*words.split(), cwd=desk)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_function_of_other_columns_needs_no_response(desk):
    (desk / "own.py").write_text("def F(solution):\n    return float(solution)\n")
    assert assay("score", "own.jsonl", "-r", "own.py:F", cwd=desk).returncode == 0


def test_the_first_row_that_failed_is_named(desk):
    said = " ".join(assay("score", "rows.jsonl", "-r", "raises.py:F", cwd=desk).stdout.split())
    assert "division by zero (raises.py, line 2) (row 2)" in said
    said = " ".join(assay("score", "rows.jsonl", "-r", "nothing.py:F", cwd=desk).stdout.split())
    assert "in every row; is a `return` missing?" in said


def test_few_values_are_told_one_by_one_and_an_empty_response_is_seen(desk):
    said = assay("score", "rows.jsonl", "-r", "exact_match", cwd=desk).stdout
    assert "(an empty response)" in said
    assert " to " not in said.split("mean")[0]


def test_what_comes_next_is_said(desk):
    done = assay("score", "rows.jsonl", "-r", "math", "-o", "a b.jsonl", cwd=desk)
    assert "look closer: assay inspect 'a b.jsonl'" in done.stderr
    assert "nothing was left to score" in assay("rescore", "a b.jsonl", "--only-failed", cwd=desk).stderr


def test_rows_may_be_gzipped_and_a_cut_file_is_said(desk):
    rows = (desk / "rows.jsonl").read_bytes()
    (desk / "rows.jsonl.gz").write_bytes(gzip.compress(rows))
    assert "3 rows: 3 scored" in assay("score", "rows.jsonl.gz", "-r", "math", cwd=desk).stdout
    many = b"".join(rows.replace(b"2 + 2", b"%d" % n) for n in range(5000))
    packed = gzip.compress(many, compresslevel=1)
    (desk / "cut.gz").write_bytes(packed[: len(packed) - 2000])
    done = assay("score", "cut.gz", "-r", "math", cwd=desk)
    assert done.returncode == 1
    assert "cut or damaged" in done.stderr
    (desk / "bad.gz").write_bytes(b"\x1f\x8bnothing")
    assert "cannot be unpacked" in assay("score", "bad.gz", "-r", "math", cwd=desk).stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", b'prompt,response\n"a, b",c\n', "looks like CSV"),
        ("latin.jsonl", b'{"response": "caf\xe9"}\n', "not UTF-8 (byte 0xe9 at 18)"),
        ("cut.jsonl", b'{"response": \n', "not JSON (Expecting value at character 15)"),
    ],
)
def test_other_files_are_told_for_what_they_are(desk, name, text, said):
    (desk / name).write_bytes(text)
    done = assay("score", name, "-r", "format", cwd=desk)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_byte_order_mark_is_no_csv(desk):
    (desk / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + (desk / "rows.jsonl").read_bytes())
    assert assay("score", "bom.jsonl", "-r", "math", cwd=desk).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_of_a_narrow_encoding_is_printed_to(desk, encoding):
    said = ""
    for words in ("score rows.jsonl -r math -o out.jsonl", "inspect out.jsonl", "explain math", "list"):
        env = {**ENV, "PYTHONIOENCODING": encoding}
        command = [sys.executable, "-m", "assay", *words.split()]
        done = subprocess.run(command, capture_output=True, timeout=120, env=env, cwd=desk)
        assert b"Traceback" not in done.stderr, done.stderr
        said += done.stdout.decode(encoding)
    assert "####" in said


def test_a_full_disk_is_one_line(desk):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    command = [sys.executable, "-m", "assay", "list"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, env=ENV)
    assert "No space left on device. Make room" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_join_that_fails_leaves_no_half_of_a_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("assay.record.shutil.copyfileobj", full)
    row, output = {"response": "a"}, RewardOutput(1.0)
    with pytest.raises(OSError, match="No space"), RunWriter(tmp_path / "out.jsonl", {}) as run:
        run.write([row], [output])
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl.parts"]  # to go on with
    monkeypatch.undo()
    with RunWriter(tmp_path / "out.jsonl", {}, resume=True) as run:
        assert run.done == 1


def test_nothing_comes_back_and_the_hint_is_given(desk, monkeypatch, capsys):
    monkeypatch.setattr("assay.cli.progress.SILENCE", 0.01)
    with Counted(3, if_stuck="stop it with --timeout") as progress:
        for _ in range(500):
            time.sleep(0.01)
            if "--timeout" in capsys.readouterr().err:
                break
        else:
            raise AssertionError("no hint")
        progress.advance(3)


def test_completion_knows_the_commands():
    env = {**ENV, "_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": "assay resc", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "assay"], capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout.split() == ["rescore"]


def test_every_command_stands_in_a_panel_of_the_help():
    assert sorted(name for names in PANELS.values() for name in names) == sorted(COMMANDS)
    assert "--debug" in assay("--help").stdout
