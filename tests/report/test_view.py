"""`assay view`: the page over HTTP, live while a Run grows, and closed to everybody else."""

from __future__ import annotations

import http.client
import json
import threading
import time

import planted
import pytest

import assay
from assay.analyze.labels import labels_of, read_labels
from assay.analyze.source import Source
from assay.errors import ConfigError
from assay.record import RunWriter
from assay.serve.growing import Growing
from assay.serve.view import Viewer


@pytest.fixture
def serve():
    started = []

    def start(run, **options):
        viewer = Viewer(Growing(Source(run)), **options)
        thread = threading.Thread(target=viewer.serve, daemon=True)
        thread.start()
        started.append((viewer, thread))
        wait(lambda: viewer.run.rows > 0 or viewer.run.source.growing)
        return viewer

    yield start
    for viewer, thread in started:
        viewer.stop()
        thread.join(10)


def wait(until, seconds=30):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def until(page, expression, seconds=30):
    # not wait_for_function: that evaluates text inside the page, which its policy forbids
    wait(lambda: page.evaluate(expression), seconds)


def ask(viewer, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=named)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer, text


def test_the_page_is_served_and_works(visit, serve, hacked_run):
    viewer = serve(hacked_run)
    wait(lambda: viewer.run.found is not None)
    page = visit(viewer.url)
    until(page, "assay.table.rows === 800 && assay.head.study")
    page.fill("#filter", "format_only")
    until(page, "!assay.all")
    kinds = [json.loads(line)["kind"] for line in hacked_run.read_text().splitlines()]
    assert page.locator("#count").inner_text().startswith(str(kinds.count("format_only")))
    page.locator(".item").first.click()
    page.wait_for_selector(".card .components")
    page.keyboard.press("Escape")
    page.fill("#filter", '"zero-width nothing of this kind"')
    until(page, "assay.chosen.length === 0")


def test_labels_and_cases_are_written_beside_the_run(visit, serve, tmp_path):
    run = planted.write_run(tmp_path / "run.jsonl", planted.rows(2, seed=1))
    viewer = serve(run)
    page = visit(viewer.url)
    page.on("dialog", lambda dialog: dialog.accept("1"))
    page.locator(".item").first.click()
    page.wait_for_selector(".card .actions")
    page.locator(".card").first.get_by_text("bad").click()
    labels = tmp_path / "run.jsonl.labels.jsonl"
    wait(labels.exists)
    label = json.loads(labels.read_text())
    assert label["label"] == 0
    assert {"row", "prompt", "response", "at"} <= label.keys()
    page.locator(".card").first.get_by_text("make this a test").click()
    cases = tmp_path / "run.jsonl.cases.jsonl"
    wait(cases.exists)
    wait(lambda: cases.read_text().endswith("\n"))
    assert json.loads(cases.read_text())["expected"] == 1
    # and the labels are what `assay compare --labels` reads
    from assay.analyze.table import key_of

    assert key_of(label["prompt"], label["response"]) in Source(run).table().keys.tolist()


def test_what_is_saved_is_whole_however_long(visit, serve, tmp_path):
    rows = [{"prompt": "Say it.", "response": f"{word} " * 20_000, "ground_truth": "x"} for word in ("yes", "no")]
    reward = assay.CompositeReward({"yes": (lambda response: float("yes" in response), 1.0)})
    path = tmp_path / "run.jsonl"
    with RunWriter(path, {"name": "long"}) as run:
        run.write(rows, assay.score(reward, rows))
    viewer = serve(path)
    page = visit(viewer.url)
    page.on("dialog", lambda dialog: dialog.accept("0.5"))
    page.locator(".item").first.click()
    page.wait_for_selector(".card .actions")
    assert len(page.locator(".card .text").first.inner_text()) > 70_000, "a page that is served shows it whole"
    page.locator(".card").nth(0).get_by_text("good").click()
    until(page, "assay.labels.get(0) === 1")
    page.locator(".card").nth(1).get_by_text("bad").click()
    until(page, "assay.labels.get(1) === 0")
    page.locator(".card").nth(1).get_by_text("make this a test").click()
    cases, labels = tmp_path / "run.jsonl.cases.jsonl", tmp_path / "run.jsonl.labels.jsonl"
    wait(lambda: cases.exists() and cases.read_text().endswith("\n"))
    assert json.loads(cases.read_text()) == {**rows[1], "expected": 0.5}
    assert [json.loads(line)["response"] for line in labels.read_text().splitlines()] == [r["response"] for r in rows]
    assert labels_of(Source(path).table(), labels).tolist() == [1.0, 0.0]

    again = visit(viewer.url)
    until(again, "assay.labels.size === 2")
    again.fill("#filter", "label == 0")
    until(again, "assay.chosen.length === 1")
    again.locator(".item").first.click()
    again.wait_for_selector('.card .bad[aria-pressed="true"]')
    again.locator(".card").nth(1).get_by_text("bad").click()  # again: taken back
    until(again, "assay.labels.size === 1")
    assert list(read_labels(labels).values()) == [1.0]


def test_a_run_that_grows_is_shown_as_it_grows(visit, serve, tmp_path):
    made = planted.rows(60, seed=3)
    outputs = assay.score(planted.composite(), made)
    path = tmp_path / "run.jsonl"
    with RunWriter(path, {"name": "live"}) as run:
        run.write(made[:160], outputs[:160])
        viewer = serve(path)
        page = visit(viewer.url)
        until(page, "assay.table.rows === 160")
        until(page, "document.getElementById('facts').classList.contains('live')")
        page.locator(".item").nth(3).click()
        page.wait_for_selector(".card .components")
        run.write(made[160:], outputs[160:])
        until(page, "assay.table.rows === 480")
        assert page.locator(".card").count() == 8, "what one looks at stays where it is"
    until(page, "!document.getElementById('facts').classList.contains('live')")
    until(page, "assay.head.study && assay.head.study.rows === 480")
    assert page.evaluate("Array.from(assay.table.get('reward'))") == pytest.approx([o.reward for o in outputs])


def test_a_run_that_is_scored_anew_is_read_anew(visit, serve, tmp_path):
    path = planted.write_run(tmp_path / "run.jsonl", planted.rows(10, seed=3))
    viewer = serve(path)
    page = visit(viewer.url)
    until(page, "assay.head.study && assay.head.study.rows === 80")
    planted.write_run(path, planted.rows(20, hacked=0.5, seed=4))
    page.wait_for_event("load")  # it loads itself again
    until(page, "globalThis.assay?.head.study && assay.head.study.rows === 160 && assay.table.rows === 160")
    page.locator(".item").first.click()
    page.wait_for_selector(".card .components")
    wanted = [json.loads(line)["response"] for line in path.read_text().splitlines()]
    assert [row["response"] for row in page.evaluate("assay.source.rows([0, 159])")] == [wanted[0], wanted[159]]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_columns_and_rows_over_http(serve, tmp_path, kind):
    made = planted.rows(20, seed=4)
    viewer = serve(planted.write_run(tmp_path / f"run.{kind}", made))
    wait(lambda: viewer.run.rows == 160)
    answer, body = ask(viewer, "/api/rows?ids=0,159,7", X_Assay="1")
    assert answer.status == 200
    assert [row["response"] for row in json.loads(body)] == [made[i]["response"] for i in (0, 159, 7)]
    import numpy as np

    answer, body = ask(viewer, "/api/columns?from=100&groups=0&only=reward,group", X_Assay="1")
    size = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + size])
    assert head["rows"] == 60
    reward = next(c for c in head["columns"] if c["name"] == "reward")
    assert reward["at"] % 8 == 0
    values = np.frombuffer(body, dtype="<f8", count=60, offset=reward["at"])
    assert values == pytest.approx(viewer.run.table().reward[100:])
    answer, body = ask(viewer, "/api/search?q=" + made[0]["prompt"][:20].replace(" ", "%20"), X_Assay="1")
    assert json.loads(body)["rows"][:8] == list(range(8))


def test_other_pages_are_refused(serve, hacked_run):
    viewer = serve(hacked_run)
    own = f"127.0.0.1:{viewer.port}"
    assert ask(viewer, "/")[0].status == 200
    assert ask(viewer, "/api/state")[0].status == 403, "without the header that only this page sends"
    assert ask(viewer, "/api/state", X_Assay="1")[0].status == 200
    assert ask(viewer, "/", Host="evil.example")[0].status == 403, "a name that was pointed at this address"
    assert ask(viewer, "/", Host=f"evil.example:{viewer.port}")[0].status == 403
    assert ask(viewer, "/api/state", X_Assay="1", Origin="http://evil.example")[0].status == 403
    assert ask(viewer, "/api/state", X_Assay="1", Origin="null")[0].status == 403
    assert ask(viewer, "/api/state", X_Assay="1", Origin=f"http://{own}")[0].status == 200
    assert ask(viewer, "/", Sec_Fetch_Site="cross-site")[0].status == 403
    assert ask(viewer, "/api/labels", "POST", b"{}")[0].status == 403


@pytest.mark.parametrize(
    ("path", "method", "body", "status"),
    [
        ("/api/rows?ids=99999999", "GET", None, 404),
        ("/api/rows?ids=-1", "GET", None, 400),
        ("/api/rows?ids=1;ls", "GET", None, 400),
        ("/api/rows?ids=" + "1," * 600, "GET", None, 400),
        ("/api/columns?from=x", "GET", None, 400),
        ("/../../etc/passwd", "GET", None, 404),
        ("/api/labels", "POST", b"[1]", 400),
        ("/api/labels", "POST", b"{", 400),
        ("/api/labels", "POST", b'{"row": true, "label": 1}', 400),
        ("/api/labels", "POST", b'{"row": -1, "label": 1}', 400),
        ("/api/labels", "POST", b'{"row": 999999, "label": 1}', 404),
        ("/api/labels", "POST", b'{"row": 1, "label": NaN}', 400),
        ("/api/labels", "POST", b'{"row": 1, "label": "<b>"}', 400),
        ("/api/cases", "POST", b'{"row": 1, "expected": null}', 400),
        ("/api/run", "POST", b"{}", 404),
    ],
)
def test_what_makes_no_sense_is_refused(serve, hacked_run, path, method, body, status):
    assert ask(serve(hacked_run), path, method, body, X_Assay="1")[0].status == status


def test_a_body_too_large_is_refused_unread(serve, hacked_run):
    viewer = serve(hacked_run)
    answer, _ = ask(viewer, "/api/labels", "POST", X_Assay="1", Content_Length="99999999")
    assert answer.status == 413


def test_anything_but_loopback_needs_the_token(serve, hacked_run):
    viewer = serve(hacked_run, host="0.0.0.0")
    assert len(viewer.token) > 20
    assert viewer.url.endswith(f"/?token={viewer.token}")
    assert ask(viewer, "/")[0].status == 403
    assert ask(viewer, "/?token=wrong")[0].status == 403
    answer, _ = ask(viewer, f"/?token={viewer.token}")
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(viewer, "/api/state", X_Assay="1", Cookie=cookie.partition(";")[0])[0].status == 200
    assert ask(viewer, "/api/state", X_Assay="1")[0].status == 403


def test_headers_keep_a_browser_strict(serve, hacked_run):
    answer, body = ask(serve(hacked_run), "/")
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert b"script-src 'sha256-" in body
    assert b"connect-src 'self'" in body


def test_a_port_that_is_taken_is_told(serve, hacked_run):
    viewer = serve(hacked_run)
    with pytest.raises(ConfigError, match="cannot listen"):
        Viewer(Growing(Source(hacked_run)), port=viewer.port)


@pytest.mark.slow
def test_a_hundred_thousand_rows(visit, serve, tmp_path):
    path = tmp_path / "run.jsonl"
    made = planted.rows(1250, hacked=0.05, seed=5)
    outputs = assay.score(planted.composite(), made)
    with RunWriter(path, {"name": "many"}) as run:
        for n in range(10):
            run.write([{**row, "group": f"{n} {row['group']}"} for row in made], outputs)
    viewer = serve(path)
    page = visit(viewer.url)
    assert page.locator(".item").count() > 5, "what is read is shown before all is read"
    until(page, "assay.table.rows === 100000", 180)
    until(page, "assay.head.study && assay.head.study.rows === 100000", 180)
    page.fill("#filter", "right == 1 and chars > 400")
    until(page, "!assay.all")
    assert page.evaluate("assay.took") < 2000
    assert page.locator(".item").count() < 60, "only the lines in sight exist"
    page.keyboard.press("Escape")
    page.keyboard.press("G")
    page.wait_for_timeout(300)
    last = page.evaluate("assay.list.items[assay.list.items.length - 1]")
    assert page.locator(".item.here .name").inner_text() == page.evaluate(f"assay.table.titles[{last}]")
