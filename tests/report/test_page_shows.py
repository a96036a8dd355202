"""What the page shows of real rewards: failed tests, judge calls, turns with tools, gates, and on a narrow screen."""

from __future__ import annotations

import json
from pathlib import Path

import planted
import pytest

import assay
from assay.analyze.attribution import weights_for
from assay.analyze.source import Source
from assay.analyze.study import study
from assay.analyze.tree import shape_of
from assay.record import RunWriter
from assay.report.html import write_report
from assay.report.row import row_for_page


def written(path: Path, rows, outputs, reward=None) -> str:
    """The report of these rows and outputs."""
    with RunWriter(path, {"name": "shown", **({"shape": shape_of(reward)} if reward else {})}) as run:
        run.write(rows, outputs)
    source = Source(path)
    write_report(study(source.table()), source, path.with_suffix(".html"))
    return path.with_suffix(".html").as_uri()


def coded(outcomes, form="cases"):
    """An output as CodeReward writes it."""
    tests = [{"outcome": o, "detail": d, "cpu_s": 0.0, "wall_s": 0.0, "memory_mb": 0.0} for o, d in outcomes]
    passed = sum(o == "pass" for o, _ in outcomes)
    said = {"form": form, "verdict": "fail", "passed": passed, "total": len(tests), "tests": tests}
    return assay.RewardOutput(0.0, metadata=said)


STDIO = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\nok\nend\n", "7\nok\nend\n"]}
CASES = {"entry_point": "add", "cases": [{"args": [1, 2], "kwargs": {"base": 10}, "expected": [3]}]}
CHECK = {
    "entry_point": "f",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 6",
}


@pytest.mark.parametrize(
    ("tests", "output", "failed"),
    [
        (
            STDIO,
            coded([("pass", ""), ("wrong_answer", "printed '7\\nend\\n'")], "stdio"),
            [{"n": 2, "input": "3 4\n", "expected": "7\nok\nend\n", "got": "7\nend\n", "outcome": "wrong_answer"}],
        ),
        (
            CASES,
            coded([("wrong_answer", "returned [4]")]),
            [{"n": 1, "input": "add(1, 2, base=10)", "expected": "[3]", "got": "[4]", "outcome": "wrong_answer"}],
        ),
        (
            CASES,
            coded([("exception", "ValueError: <b>no</b>")]),
            [{"n": 1, "input": "add(1, 2, base=10)", "expected": "[3]", "outcome": "exception"}],
        ),
        (
            CHECK,
            coded([("wrong_answer", "AssertionError at line 3 of the test")], "check"),
            [{"n": 1, "source": "assert candidate(3) == 6", "outcome": "wrong_answer"}],
        ),
        ("not tests at all", coded([("timeout_cpu", "limit 1 s")]), [{"n": 1, "outcome": "timeout_cpu"}]),
        (None, coded([("timeout_cpu", "limit 1 s"), ("not_run", "")]), [{"n": 1, "outcome": "timeout_cpu"}]),
    ],
)
def test_a_failed_test_has_its_input_and_what_was_expected(tmp_path, tests, output, failed):
    rows = [{"prompt": "p", "response": "```python\n```", "tests": tests}]
    for target in (tmp_path / "run.jsonl", tmp_path / "run.parquet"):
        with RunWriter(target, {"name": "code"}) as run:
            run.write(rows, [output])
        source = Source(target)
        assert source.table().rows == 1
        shown = row_for_page(source.rows([0])[0])["detail"]["metadata"]["failed"]
        assert [{k: v for k, v in test.items() if k != "detail"} for test in shown] == failed


def test_failed_tests_are_shown_with_a_diff(visit, tmp_path):
    rows = [{"prompt": "p", "response": "```python\nprint(1)\n```", "tests": STDIO} for _ in range(2)]
    outputs = [
        coded([("pass", ""), ("wrong_answer", "printed '7\\nend\\n'")], "stdio"),
        coded([("pass", "")] * 2, "stdio"),
    ]
    page = visit(written(tmp_path / "run.jsonl", rows, outputs))
    page.keyboard.press("Enter")
    page.wait_for_selector(".card .test")
    card = page.locator(".card").first
    assert card.locator(".tests summary").inner_text() == "1 of 2 tests passed"
    assert card.locator(".diff .minus").all_text_contents() == ["− ok\n"]
    assert card.locator(".diff .plus").count() == 0
    assert "3 4" in card.locator(".test").inner_text()
    assert page.locator(".card").nth(1).locator(".test").count() == 0


def test_judge_calls_are_whole_and_verdicts_in_sight(visit, tmp_path):
    call = {
        "path": "/chat/completions",
        "request": [{"role": "system", "content": "You grade."}, {"role": "user", "content": "Is <b>this</b> right?"}],
        "reply": '{"verdict": "4"}',
        "spent": {"tokens": [120, 9], "cost": 0.0, "seconds": 0.5, "attempts": 2, "cached": False},
    }
    verdict = {"label": "4", "value": 0.75, "read": "schema", "reason": "It is <i>nearly</i> right."}
    judge = {"model": "tiny", "verdicts": {"score": verdict}, "calls": [call], "score": 4.0, "scale": [1, 5]}
    rows = [{"prompt": "p", "response": "r"}]
    page = visit(written(tmp_path / "run.jsonl", rows, [assay.RewardOutput(0.75, metadata={"judge": judge})]))
    page.keyboard.press("Enter")
    page.wait_for_selector(".card .judge")
    assert "score 4 It is <i>nearly</i> right." in page.locator(".component").inner_text()
    assert "120 + 9 tokens · 0.5 s · 2 attempts" in page.locator(".judge summary").first.inner_text()
    page.locator(".judge summary").first.click()
    assert page.locator(".judge").first.locator("pre").all_inner_texts()[:3] == [
        "You grade.",
        "Is <b>this</b> right?",
        '{"verdict": "4"}',
    ]


def test_turns_are_a_timeline(visit, tmp_path):
    called = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo", "days": 2}'}}
    messages = [
        {"role": "user", "content": "How is it?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c", "name": "look", "content": "cold " * 600},
        {"role": "assistant", "content": "It is cold."},
    ]
    output = assay.RewardOutput(1.0, metadata={"steps": [0.25, 0.75]})
    page = visit(written(tmp_path / "run.jsonl", [{"messages": messages, "ground_truth": "cold"}], [output]))
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn")
    assert page.locator(".turn > b").all_inner_texts() == ["user", "assistant", "tool", "assistant"]
    assert page.locator(".call").inner_text() == 'look(city="Oslo", days=2)'
    assert page.locator(".turn .tag").all_inner_texts() == ["reward 0.25", "reward 0.75"]
    assert page.locator(".turn.tool details").count() == 1, "what a tool said at length is folded"


def test_gated_and_not_scored_look_different_from_zero(visit, tmp_path):
    reward = assay.Gate(
        assay.CompositeReward({"b": (lambda response: None if "lost" in response else 0.0, 1.0)}),
        require=assay.as_reward(lambda response: float("open" in response)),
    )
    rows = [{"prompt": "p", "response": r} for r in ("open", "open, lost", "shut")]
    page = visit(written(tmp_path / "run.jsonl", rows, assay.score(reward, rows), reward))
    zero, lost, shut = (page.locator(".item .cell").nth(k) for k in range(3))
    image = "n => getComputedStyle(n).backgroundImage"
    assert zero.evaluate(image) == "none"
    assert "repeating-linear-gradient" in lost.evaluate(image)
    assert "linear-gradient" in shut.evaluate(image)
    assert "none" in lost.get_attribute("class")
    assert "1 abstained, 1 gated" in page.locator("#side").inner_text()


def test_a_share_of_the_advantage_can_be_asked_for(visit, tmp_path):
    run = planted.write_run(tmp_path / "run.jsonl", planted.rows(60, hacked=0.1, seed=2))
    table = Source(run).table()
    for estimator in ("grpo", "dr_grpo", "rloo"):
        source = Source(run)
        write_report(study(source.table()), source, run.with_suffix(".html"))
        page = visit(run.with_suffix(".html").as_uri() + f"#estimator={estimator}")
        found = page.evaluate(f"weightsFor(assay.table, assay.terms, assay.reward, '{estimator}', 'right', 0.8)")
        assert found == pytest.approx(weights_for(table, {"right": 0.8}, estimator), rel=1e-6)
    box = page.locator('[data-share="right"]').bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 5)
    page.wait_for_timeout(400)
    assert page.evaluate("assay.shares.right") == pytest.approx(0.75, abs=0.03)
    assert "right" in json.loads(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('weights')"))[""]


def test_a_narrow_screen_has_everything(browser, tmp_path):
    run = planted.write_run(tmp_path / "run.jsonl", planted.rows(30, hacked=0.1, seed=2))
    source = Source(run)
    write_report(study(source.table()), source, run.with_suffix(".html"))
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(run.with_suffix(".html").as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("tab", name="Weights").click()
    assert page.locator(".slider").first.is_visible()
    page.get_by_role("tab", name="Findings").click()
    assert page.locator(".finding").first.is_visible()
    assert page.evaluate("document.getElementById('findings').scrollWidth") <= 390
    page.get_by_role("tab", name="Responses").click()
    page.locator(".item").first.click()
    page.wait_for_selector(".card")
    assert page.locator("#list").is_hidden()
    page.close()
