"""The page in a real browser: what a person does with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import planted
import pytest

import assay
from assay.analyze.source import Source
from assay.analyze.study import study
from assay.analyze.tree import shape_of
from assay.record import RunWriter
from assay.report.html import write_report


def report(run: Path, everything=False) -> str:
    source = Source(run)
    target = run.with_suffix(".html")
    write_report(study(source.table()), source, target, everything)
    return target.as_uri()


@pytest.fixture(scope="module")
def url(hacked_run):
    return report(hacked_run)


def settled(page):
    page.wait_for_timeout(350)


def lines(page):
    return page.locator(".item")


def test_it_loads_and_shows_groups_first(visit, url):
    page = visit(url)
    assert page.locator("body").get_attribute("data-ready") == "yes"
    assert "800 rows · 100 prompts" in page.locator("#facts").inner_text()
    assert lines(page).first.locator(".cell").count() == 8
    assert page.locator(".slider").count() == 4
    assert page.locator(".histogram").count() >= 5


def test_a_filter_by_expression(visit, url, hacked_run):
    page = visit(url)
    page.keyboard.press("/")
    page.keyboard.type("keyword_stuffing and right == 0")
    settled(page)
    kinds = [json.loads(line)["kind"] for line in hacked_run.read_text().splitlines()]
    expected = kinds.count("keyword_stuffing")
    assert page.locator("#count").inner_text() == f"{expected} of 800 rows"
    assert "filter=keyword_stuffing" in page.url


@pytest.mark.parametrize(
    ("filter", "count"),
    [
        ("not scored", "0 of 800"),
        ("scored", "800 rows"),
        ("chars > 300 or not chars > 300", "800 rows"),
        ('outcome == "scored"', "800 rows"),
        ("row <= 8", "8 of 800"),
        ("(row + 2) * 3 == 9", "1 of 800"),
        ("-row > -3", "2 of 800"),
        ("flat == 0", None),
    ],
)
def test_expressions(visit, url, filter, count):
    page = visit(url)
    page.fill("#filter", filter)
    settled(page)
    assert page.locator("#told").inner_text() == ""
    if count is not None:
        assert page.locator("#count").inner_text().startswith(count)


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        ("nosuch == 1", 'there is no "nosuch"'),
        ("right ==", "something is missing at the end"),
        ("(right == 1", "a bracket is not closed"),
        ("right == 1 form == 0", "join parts with and, or"),
        ("right == 1; alert(1)", "cannot read"),
    ],
)
def test_a_wrong_filter_says_what_is_wrong_and_keeps_the_rows(visit, url, filter, said):
    page = visit(url)
    page.fill("#filter", filter)
    settled(page)
    assert said in page.locator("#told").inner_text()
    assert lines(page).count() > 5


def test_a_text_is_found(visit, url, hacked_run):
    page = visit(url)
    rows = [json.loads(line) for line in hacked_run.read_text().splitlines()]
    wanted = next(r["prompt"] for r in rows)[:30]
    page.fill("#filter", f'"{wanted}"')
    page.wait_for_timeout(1500)
    expected = sum(wanted.lower() in json.dumps(r).lower() for r in rows)
    assert page.locator("#count").inner_text() == f"{expected} of 800 rows"


def test_weights_as_sliders_fold_again(visit, url, hacked_run):
    page = visit(url)
    slider = page.locator('[data-weight="right"]')
    slider.evaluate("n => { n.value = 0; n.dispatchEvent(new Event('input', { bubbles: true })); }")
    settled(page)
    weights = {"right": 0.0, "form": 0.2, "words": 0.15, "length": 0.15}
    expected = [
        sum(weights[n] * json.loads(line)[f"reward/{n}"] for n in weights)
        for line in hacked_run.read_text().splitlines()
    ]
    assert page.evaluate("Array.from(assay.reward)") == pytest.approx(expected)
    assert page.locator(".fact b").first.inner_text() == f"{sum(expected) / len(expected):.3f}"
    assert "weights=" in page.url
    assert page.locator('[data-share="right"]').inner_text().startswith("0% of the advantage")
    page.click("#reset")
    assert page.evaluate("assay.reward === undefined || Object.keys(assay.state.weights).length") == 0


def test_brushing_a_histogram_filters(visit, url):
    page = visit(url)
    box = page.locator(".histogram").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.99, box["y"] + 10)
    page.mouse.up()
    settled(page)
    assert re.fullmatch(r"reward >= [\d.]+ and reward <= [\d.]+", page.input_value("#filter"))
    low = float(page.input_value("#filter").split()[2])
    shown = page.evaluate("Array.from(assay.chosen, i => assay.reward[i])")
    assert shown
    assert min(shown) >= low


def test_a_group_is_opened_with_its_responses_side_by_side(visit, url):
    page = visit(url)
    lines(page).nth(2).click()
    page.wait_for_selector(".card")
    rewards = [float(v) for v in page.locator(".card > .head .value").all_inner_texts()]
    assert len(rewards) == 8
    assert rewards == sorted(rewards, reverse=True)
    assert page.locator(".card").first.locator(".component").count() == 4
    assert "open=2" in page.url
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden()


def test_keys_walk_and_open(visit, url):
    page = visit(url)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card")
    assert "open=1" in page.url
    page.keyboard.press("n")
    assert page.locator(".card.here").evaluate("n => [...n.parentNode.children].indexOf(n)") == 1
    page.keyboard.press("p")
    page.keyboard.press("r")
    assert page.locator(".raw").count() == 8
    page.keyboard.press("j")
    settled(page)
    assert "open=2" in page.url
    page.keyboard.press("G")
    settled(page)
    assert page.locator(".item.here").count() == 1
    assert "open=99" in page.url
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    assert page.locator(".finding").count() >= 4


def test_sort_by_suspicion_brings_the_hacks_up(visit, url, hacked_run):
    page = visit(url)
    page.click("#mode button:nth-child(2)")
    page.keyboard.press("Escape")
    page.select_option("#sort", "suspicion")
    settled(page)
    kinds = [json.loads(line)["kind"] for line in hacked_run.read_text().splitlines()]
    first = page.evaluate("Array.from(assay.list.items.slice(0, 30))")
    assert all(kinds[i] in planted.HACKS for i in first)


def test_the_state_is_in_the_url(visit, url):
    page = visit(f"{url}#filter=form+%3D%3D+1&sort=high&open=5&weights=%7B%22%22%3A%7B%22form%22%3A0.9%7D%7D")
    page.wait_for_selector(".card")
    assert page.input_value("#filter") == "form == 1"
    assert page.locator("#sort").input_value() == "high"
    assert page.locator('[data-weight="form"]').input_value() == "0.9"


def test_light_and_dark(visit, url):
    page = visit(url)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_make_this_a_test_hands_over_a_case(visit, url):
    page = visit(url)
    page.on("dialog", lambda dialog: dialog.accept("0.25"))
    lines(page).first.click()
    page.wait_for_selector(".card")
    with page.expect_download() as download:
        page.locator(".card").first.get_by_text("make this a test").click()
    case = json.loads(Path(download.value.path()).read_text().splitlines()[-1])
    assert case["expected"] == 0.25
    assert {"prompt", "response", "ground_truth", "group"} <= case.keys()
    assert "detail" not in case


# -- what a rollout may contain


PROBES = [
    "<script>window.hit=1</script>",
    '<img src=x onerror="window.hit=1">',
    "</script><script>window.hit=1</script>",
    "<svg/onload=window.hit=1>",
    "javascript:window.hit=1",
    "{{js}}{{data}}",
    "<!--<script>",
    "]]></style></title></textarea><iframe srcdoc='<script>parent.hit=1</script>'>",
    "\u202egnitroppus\u202c\u200b\u0000\u0007\ud83d lone surrogate",
]


def test_a_rollout_may_contain_html_and_scripts(visit, tmp_path):
    rows = [
        {
            "prompt": probe,
            "response": f"<think>{probe}</think>{probe}",
            "ground_truth": probe,
            "group": f"{probe}{n}",
            probe[:20]: probe,
        }
        for n, probe in enumerate(PROBES)
    ]
    reward = assay.CompositeReward(
        {
            "<b>x</b>": (
                lambda response: {"reward": 1.0, "reason": response, "extracted": response, response: response},
                1.0,
            )
        }
    )
    with RunWriter(tmp_path / "run.jsonl", {"name": PROBES[2], "shape": shape_of(reward)}) as run:
        run.write(rows, assay.score(reward, rows))
    page = visit(report(tmp_path / "run.jsonl", everything=True))
    for n in range(len(PROBES)):
        page.evaluate(f"assay.open({n})")
        page.wait_for_timeout(120)
        assert page.locator(".card").count() == 1
        page.keyboard.press("r")
    page.keyboard.press("Escape")
    page.fill("#filter", '"<script>"')
    page.wait_for_timeout(400)
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    assert page.locator("main script, main iframe, main img, main svg[onload]").count() == 0
    assert "<script>window.hit=1</script>" in page.evaluate("assay.source.rows([0]).then(r => r[0].response)")
