from __future__ import annotations

import json
import re

import planted
import pytest

from assay.analyze.source import Source
from assay.analyze.study import study
from assay.cli.main import main
from assay.report.html import inert, report_page


def test_the_page_needs_nothing_from_elsewhere(hacked_run):
    source = Source(hacked_run)
    page = report_page(study(source.table()), source)
    outside = [u for u in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'<>]*", page) if "www.w3.org/2000/svg" not in u]
    assert outside == []
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", page)
    assert "default-src 'none'" in page
    assert "{{" not in page.partition("<script type=")[0]


def test_the_policy_names_the_very_script(hacked_run):
    import base64
    import hashlib

    source = Source(hacked_run)
    page = report_page(study(source.table()), source)
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page


@pytest.mark.parametrize("text", ["</script>", "<!--", "\u2028", "<script", "{{js}}"])
def test_data_cannot_end_its_script(text):
    said = inert({"x": text})
    assert "<" not in said
    assert "\u2028" not in said
    assert json.loads(said)["x"] == text


def test_ten_thousand_rows_fit_into_a_page_of_one_and_a_half_megabytes(tmp_path, capsys):
    made = planted.rows(1250, hacked=0.05, seed=6)
    assert sum(len(str(row["response"])) for row in made) > 4_000_000
    run = planted.write_run(tmp_path / "run.jsonl", made)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(run), "-o", str(tmp_path / "page.html")])
    assert ended.value.code == 0
    assert "10,000 rows" in capsys.readouterr().err
    size = (tmp_path / "page.html").stat().st_size
    assert size < 1_500_000
    page = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    kept = {row for block in data["blocks"] for row in block}
    assert len(kept) > 500
    suspicious = {row for f in data["head"]["study"]["findings"] for row in f["rows"][:8]}
    assert suspicious <= kept, "the text of every row that a finding cites first is in the page"


def test_everything_is_embedded_where_that_is_asked(tmp_path):
    run = planted.write_run(tmp_path / "run.jsonl", planted.rows(30, seed=7))
    source = Source(run)
    page = report_page(study(source.table()), source, everything=True)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert sorted(row for block in data["blocks"] for row in block) == list(range(240))
