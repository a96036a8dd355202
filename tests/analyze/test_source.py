from __future__ import annotations

import json
import random

import numpy as np
import planted
import pytest

import assay
from assay.analyze.nearby import clusters, signature
from assay.analyze.source import Source
from assay.analyze.table import Assembly
from assay.analyze.tree import inferred_shape, leaves, shape_of, short_names
from assay.errors import InputError
from assay.plain_data import to_dict
from assay.record import RunWriter

pytest.importorskip("polars", reason="Parquet needs the extra 'report'")


def same(a, b):
    assert a.groups == b.groups
    assert np.array_equal(a.reward, b.reward, equal_nan=True)
    assert np.array_equal(a.group, b.group)
    assert np.array_equal(a.keys, b.keys)
    assert np.array_equal(a.bits, b.bits)
    assert np.array_equal(a.signatures, b.signatures)
    assert a.parts.keys() == b.parts.keys()
    for name, part in a.parts.items():
        assert np.array_equal(part.value, b.parts[name].value, equal_nan=True)
        assert np.array_equal(part.state, b.parts[name].state)
    assert {k: (c.count, c.rows) for k, c in a.complaints.items()} == {
        k: (c.count, c.rows) for k, c in b.complaints.items()
    }


def test_jsonl_and_parquet_are_the_same_table(tmp_path):
    made = planted.rows(60, hacked=0.1, seed=5)
    a, b = (Source(planted.write_run(tmp_path / f"run.{kind}", made)) for kind in ("jsonl", "parquet"))
    same(a.table(), b.table())
    numbers = [3, 400, 7, 3]
    assert [r["response"] for r in a.rows(numbers)] == [r["response"] for r in b.rows(numbers)]
    assert [r["response"] for r in a.rows(numbers)] == [made[i]["response"] for i in numbers]


@pytest.mark.parametrize("stride", [700, 5_000, 1 << 30])
def test_it_does_not_matter_where_a_file_is_cut(hacked_run, stride):
    whole, cut = Source(hacked_run), Source(hacked_run)
    pieces = Assembly(cut.header())
    for chunk in cut.more(stride):
        pieces.add(chunk)
    same(whole.table(), pieces.table())
    assert whole.offsets == cut.offsets
    tail = pieces.table(start=1500)
    assert tail.rows == 500


@pytest.mark.slow
def test_several_processes_measure_the_same(tmp_path, monkeypatch):
    run = planted.write_run(tmp_path / "run.jsonl", planted.rows(60, seed=6))
    monkeypatch.setattr("assay.analyze.source.ALONE", 1)
    monkeypatch.setattr("assay.analyze.source.STRIDE", 100_000)
    a, b = Source(run), Source(run)
    same(a.table(workers=1), b.table(workers=2))
    assert a.offsets == b.offsets


def test_a_run_that_is_being_written_is_followed(tmp_path):
    made = planted.rows(20, seed=8)
    outputs = assay.score(planted.composite(), made)
    path = tmp_path / "run.jsonl"
    with RunWriter(path, {"name": "live"}) as run:
        run.write(made[:80], outputs[:80])
        source = Source(path)
        assert source.growing
        assert source.header()["name"] == "live"
        pieces = Assembly()
        for chunk in source.more():
            pieces.add(chunk)
        assert pieces.rows == 80
        assert list(source.more()) == []
        run.write(made[80:], outputs[80:])
        for chunk in source.more():
            pieces.add(chunk)
        assert pieces.rows == 160
    assert not source.growing
    assert list(source.more()) == []
    assert [row["response"] for row in source.rows([0, 159])] == [made[0]["response"], made[159]["response"]]
    same(pieces.table(), Source(path).table())


def test_broken_lines_are_passed_over_and_numbers_stay_right(tmp_path):
    made = planted.rows(2, seed=9)
    path = planted.write_run(tmp_path / "run.jsonl", made)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "{broken\n", "\n", *lines[3:]]))
    source = Source(path)
    assert source.table().rows == 16
    assert source.rows([3])[0]["response"] == made[3]["response"]
    assert [n for n, _ in source.lines()] == list(range(16))


def test_what_is_no_run_is_refused(tmp_path):
    (tmp_path / "plain.jsonl").write_text(json.dumps({"prompt": "a", "response": "b"}) + "\n")
    with pytest.raises(InputError, match=r"no scored file: its rows have .'prompt', 'response'. and no 'detail'"):
        Source(tmp_path / "plain.jsonl").table()
    with pytest.raises(InputError, match=r"no scored file.*Did you mean 'plain\.jsonl'"):
        Source(tmp_path / "plan.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match=r"no scored file\. Make one"):
        Source(tmp_path / "empty.jsonl").table()


def test_a_component_that_appears_late_is_absent_before(tmp_path):
    def one(response):
        return float(len(response))

    reward = assay.ByTask({"a": assay.CompositeReward({"x": (one, 1.0)}), "b": one})
    rows = [{"prompt": "p", "response": "r" * n, "task": "a" if n > 2 else "b"} for n in range(5)]
    with RunWriter(tmp_path / "run.jsonl", {"shape": shape_of(reward)}) as run:
        run.write(rows, assay.score(reward, rows))
    table = Source(tmp_path / "run.jsonl").table()
    assert table.parts["a/x"].state.tolist() == [6, 6, 6, 0, 0]
    assert table.parts["b"].state.tolist() == [0, 0, 0, 6, 6]


def test_a_shape_is_read_off_a_reward_and_inferred_from_its_output():
    def good(response):
        return 1.0

    reward = assay.Gate(assay.CompositeReward({"a": (good, 0.7), "b": (good, 0.3)}), require=good)
    shape = shape_of(reward)
    assert shape["kind"] == "gate"
    assert leaves(shape) == {"composite/a": 0.7, "composite/b": 0.3}
    inferred = inferred_shape(to_dict(assay.score(reward, ["x"])[0]))
    assert inferred["kind"] == "gate"
    assert leaves(inferred) == leaves(shape)


def test_short_names_are_short_where_that_is_clear():
    assert short_names(["a/x", "b/x", "b/y"]) == {"a/x": "a/x", "b/x": "b/x", "b/y": "y"}


def test_near_duplicates_find_each_other_and_others_do_not():
    r = random.Random(0)
    texts = [planted.remarks(r, 8) for _ in range(30)]
    texts += [texts[3].replace("number", "figure", 1), texts[3][:-10]]
    signatures = np.frombuffer(b"".join(map(signature, texts)), dtype="<u4").reshape(-1, 16)
    found = clusters(signatures, np.arange(len(texts)))
    assert found[3] >= 0
    assert found[3] == found[30] == found[31]
    assert (found[:3] < 0).all()
    assert (np.delete(found[:30], 3) < 0).all()


@pytest.mark.parametrize("text", ["", "a", "short", "😀" * 10, "\udc80 lone", "x" * 5000])
def test_any_text_has_a_signature(text):
    assert len(signature(text)) == 64
