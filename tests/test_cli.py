"""The command as a person meets it: exit codes, one-line errors, output that can be piped, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from assay.record import Run

ENV = {**os.environ, "COLUMNS": "120", "PYTHONWARNINGS": "error"}


def assay(*words, stdin=None, cwd=None, columns="80"):
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, input=stdin, timeout=120, env={**ENV, "COLUMNS": columns}, cwd=cwd
    )


@pytest.fixture
def files(tmp_path):
    rows = [{"prompt": "q", "response": "x" * n, "solution": "xx"} for n in range(6)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "mine.py").write_text(
        "def short(response): return len(response) < 3\n"
        "def gold(response, ground_truth): return response == ground_truth\n"
        "def breaks(response): return 1.0 / len(response)\n"
    )
    return tmp_path


def test_score_prints_what_was_paid_and_why(files):
    done = assay("score", "rows.jsonl", "--reward", "mine.py:short", "--reward", "length:target=1", cwd=files)
    assert done.returncode == 0, done.stderr
    for said in ("6 rows", "Distribution", "mean", "Components", "short", "length", "Best", "Worst"):
        assert said in done.stdout
    assert "\x1b" not in done.stdout
    assert "scored 6 of 6 rows" in done.stderr


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_score_writes_a_run_that_reads_back(files, name):
    if name.endswith("parquet"):
        pytest.importorskip("polars")
    done = assay(
        "score", "rows.jsonl", "-r", "mine.py:gold", "--rename", "solution=ground_truth", "-o", name, cwd=files
    )
    assert done.returncode == 0, done.stderr
    pairs = list(Run(files / name))
    assert [o.reward for _, o in pairs] == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert pairs[2][0].ground_truth == "xx"
    assert Run(files / name).header["rows"] == 6
    assert sorted(p.name for p in files.iterdir() if "out" in p.name) == [name, f"{name}.header.json"]


def test_rows_that_fail_are_counted_and_are_no_zeros(files):
    done = assay("score", "rows.jsonl", "-r", "mine.py:breaks", "-o", "out.jsonl", cwd=files)
    assert done.returncode == 1
    assert "5 scored, 1 grader_error" in done.stdout
    assert "ZeroDivisionError" in done.stdout
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert (rows[0]["reward"], rows[0]["outcome"]) == (None, "grader_error")


def test_on_failure(files):
    raised = assay("score", "rows.jsonl", "-r", "mine.py:breaks", "--on-failure", "raise", cwd=files)
    assert (raised.returncode, raised.stdout) == (1, "")
    assert "row 1: reward 'breaks': ZeroDivisionError" in raised.stderr
    valued = assay("score", "rows.jsonl", "-r", "mine.py:breaks", "--on-failure", "-1", "-o", "out.jsonl", cwd=files)
    first = json.loads((files / "out.jsonl").read_text().splitlines()[0])
    assert (valued.returncode, first["reward"], first["outcome"]) == (1, -1.0, "grader_error")
    wrong = assay("score", "rows.jsonl", "-r", "mine.py:breaks", "--on-failure", "shrug", cwd=files)
    assert wrong.returncode == 2


def test_a_broken_line_is_told_and_the_rest_goes_on(files):
    with (files / "rows.jsonl").open("a") as file:
        file.write('{"response": \n[1]\n{"response": "ok"}\n')
    done = assay("score", "rows.jsonl", "-r", "mine.py:short", cwd=files)
    assert done.returncode == 1
    assert "7 rows" in done.stdout
    assert "rows.jsonl, line 7: not JSON" in done.stderr
    assert "line 8: needed an object {...}, found list" in done.stderr


def test_a_row_without_a_response_is_no_empty_answer(files):
    rows = [{"response": "ok"}, {"response": None}, {"response": 12}, {"prompt": "q"}, {"messages": "abc"}]
    rows += [{"messages": [{"role": "user", "content": "q"}]}, {"response": ""}]
    (files / "gaps.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = assay("score", "gaps.jsonl", "-r", "mine.py:short", "-o", "out.jsonl", cwd=files)
    assert done.returncode == 1
    assert "gaps.jsonl, row 2: needed a row with a response" in done.stderr
    assert "row 3: needed 'response' as text or as a list of messages; found int 12" in done.stderr
    assert "row 5: needed messages as a list" in done.stderr
    assert [t.response for t, _ in Run(files / "out.jsonl")] == ["ok", ""]
    resumed = assay("score", "gaps.jsonl", "-r", "mine.py:short", "-o", "out.jsonl", "--resume", cwd=files)
    assert (resumed.returncode, "is complete" in resumed.stderr) == (0, True)


def test_a_pipe_is_read_once(files):
    (files / "run.sh").write_text(f"{sys.executable} -m assay score <(cat rows.jsonl) -r mine.py:short -o out.jsonl")
    done = subprocess.run(["bash", "run.sh"], capture_output=True, text=True, env=ENV, cwd=files, check=False)
    assert done.returncode == 0, done.stderr
    assert Run(files / "out.jsonl").header["rows"] == 6


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_half_characters_and_deep_brackets_are_written_and_read_back(files, name):
    if name.endswith("parquet"):
        pytest.importorskip("polars")
    rows = [
        {"response": "\ud800 x"},
        {"response": "[" * 20_000 + "]" * 20_000},
        {"response": "ok", "ground_truth": 10**40},
    ]
    (files / "odd.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = assay("score", "odd.jsonl", "-r", "mine.py:short", "-o", name, cwd=files)
    assert done.returncode == 0, done.stderr
    if name == "out.jsonl":
        (files / name).read_text(encoding="utf-8")
    again = assay("rescore", name, "-o", f"again-{name}", cwd=files)
    assert again.returncode == 0, again.stderr
    back = [t for t, _ in Run(files / f"again-{name}")]
    assert [t.response[1:] for t in back] == [" x", rows[1]["response"][1:], "k"]
    assert int(back[2].ground_truth) == 10**40


def test_a_terminal_of_another_alphabet_is_no_reason_to_stop(files):
    command = [sys.executable, "-m", "assay", "score", "rows.jsonl", "-r", "mine.py:short"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**ENV, "PYTHONIOENCODING": "ascii"}, cwd=files, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Best" in done.stdout


def test_several_rewards_weights_limit_and_standard_input(files):
    words = ["score", "-", "-r", "mine.py:short", "-r", "length:target=1", "--set", "weight.short=2", "--limit", "3"]
    done = assay(*words, "-o", "out.jsonl", stdin=(files / "rows.jsonl").read_text(), cwd=files)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert len(rows) == 3
    assert rows[0]["detail"]["metadata"]["weights"] == {"short": 2.0, "length": 0.5}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rows.jsonl", "-r", "lenght"], "Did you mean 'length'"),
        (["rows.jsonl", "-r", "mine.py:gold"], "--rename solution=ground_truth"),
        (["rosw.jsonl", "-r", "length:target=3"], "Did you mean 'rows.jsonl'"),
        ([".", "-r", "length:target=3"], "is a directory"),
        (["empty", "-r", "length:target=3"], "is empty"),
        (["binary", "-r", "length:target=3"], "is not text"),
        (["fake.parquet", "-r", "length:target=3"], "cannot be read"),
        (["words.txt", "-r", "length:target=3"], "holds no rows"),
        (["other.jsonl", "-r", "length:target=3"], "--rename output=response"),
        (["null.jsonl", "-r", "length:target=3"], "holds no row that can be scored"),
        (["rows.jsonl", "-r", "length:target=3", "--on-failure", "nan"], "a finite number"),
        (["rows.jsonl", "-r", "broken.py:f"], "failed to import at line 1"),
        (["rows.jsonl", "-r", "bad.yaml"], "unknown key"),
        (["rows.jsonl", "-r", "length:target=3", "--rename", "oops"], "--rename needs name=value"),
        (["rows.jsonl", "-r", "length:target=3", "-o", "out.csv"], ".jsonl or .parquet"),
        (["rows.jsonl", "-r", "length:target=3", "--set", "weight.x=1"], "needs a composite"),
        (["rows.jsonl"], "Missing option"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(files, words, said):
    (files / "empty").write_text("")
    (files / "binary").write_bytes(bytes(range(256)))
    (files / "fake.parquet").write_bytes(b"PAR1 and nothing more")
    (files / "words.txt").write_text("just words\nand more\n")
    (files / "other.jsonl").write_text('{"question": "q", "output": "a"}\n')
    (files / "null.jsonl").write_text('{"prompt": "q", "response": null}\n')
    (files / "broken.py").write_text("import nothing_there\n")
    (files / "bad.yaml").write_text("trems: {}\n")
    done = assay("score", *words, cwd=files)
    assert done.returncode == 2, done.stderr
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    if said != "Missing option":
        assert done.stderr.startswith("assay: ") or "\nassay: " in done.stderr
        debugged = assay("score", *words, "--debug", cwd=files)
        assert debugged.returncode == 2
        assert "Traceback" in debugged.stderr


def test_list_and_explain(files):
    listed = assay("list")
    assert listed.returncode == 0
    assert "length" in listed.stdout
    assert "target_length" in listed.stdout
    explained = assay("explain", "length:target=3")
    assert "Hacked by" in explained.stdout
    assert "ground_truth" in assay("explain", "mine.py:gold", cwd=files).stdout
    assert assay("explain", "lenght").returncode == 2


def test_a_line_that_is_broken_off_stays_at_its_depth():
    said = assay("explain", "math", columns="60").stdout.splitlines()
    assert len(said) > 8
    assert all(line.startswith("  ") and len(line.rstrip()) <= 60 for line in said[1:])


def test_version_and_help():
    assert assay("--version").stdout.strip()
    assert "score" in assay("--help").stdout


def test_ctrl_c_keeps_what_is_scored(files):
    (files / "slow.py").write_text("import time\ndef slow(response):\n    time.sleep(0.001)\n    return 1.0\n")
    with (files / "many.jsonl").open("w") as file:
        file.writelines(json.dumps({"response": str(n)}) + "\n" for n in range(60_000))
    command = [sys.executable, "-m", "assay", "score", "many.jsonl", "-r", "slow.py:slow", "-o", "out.jsonl"]
    with subprocess.Popen(command, cwd=files, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        parts = files / "out.jsonl.parts"
        deadline = time.monotonic() + 60
        while not (parts.is_dir() and any(p.suffix == ".jsonl" for p in parts.iterdir())):
            assert time.monotonic() < deadline, "nothing was written within a minute"
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=60)
    assert running.returncode == 130, error
    kept = (files / "out.jsonl").read_text().splitlines()
    assert 0 < len(kept) < 60_000
    assert all(json.loads(line)["reward"] == 1.0 for line in kept)
