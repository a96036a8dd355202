"""What `assay report` and `assay view` cost: 200,000 rows, or 20,000 with --quick.

    python benchmarks/report.py [--quick]

There is no peer that draws the same page; each figure stands beside its floor. Seconds are of the wall on this machine;
CPU seconds are of all processes together, for a machine that is busy with other things.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]


def make_run(path: Path, rows: int) -> None:
    """A Run of planted rollouts, each different, with 50 training steps."""
    import planted

    import assay
    from assay.analyze.tree import shape_of
    from assay.record import RunWriter

    reward = planted.composite()
    with RunWriter(path, {"name": "bench", "shape": shape_of(reward)}) as run:
        for n, start in enumerate(range(0, rows, 4_000)):
            made = planted.rows(500, hacked=0.05, seed=n)[: rows - start]
            made = [{**row, "group": f"{n}-{row['group']}", "step": n} for row in made]
            run.write(made, assay.score(reward, made))


def cpu() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_report(run: Path) -> list[tuple[str, str, str]]:
    before, begun = cpu(), time.perf_counter()
    page = run.with_suffix(".html")
    subprocess.run(
        [sys.executable, "-m", "assay", "report", str(run), "-o", str(page)], check=True, stderr=subprocess.DEVNULL
    )
    wall, used = time.perf_counter() - begun, cpu() - before
    return [
        ("assay report, wall", f"{wall:.1f} s", "20 s on two idle cores"),
        ("assay report, CPU of all processes", f"{used:.1f} s", "40 s"),
        ("size of the page", f"{page.stat().st_size / 1e6:.1f} MB", "1.5 MB for 10,000 rows"),
    ]


def measure_view(run: Path, rows: int) -> list[tuple[str, str, str]]:
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return [("assay view", "skipped: playwright is not installed", "")]
    if chromium is None:
        return [("assay view", "skipped: chromium is not installed", "")]
    command = [sys.executable, "-m", "assay", "view", str(run), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[0]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 1500, "height": 900})
            begun = time.perf_counter()
            page.goto(url)
            page.wait_for_selector(".item", timeout=120_000)
            first = time.perf_counter() - begun
            while page.evaluate("assay.table.rows") < rows or not page.evaluate("Boolean(assay.head.study)"):
                time.sleep(0.5)
            measured = time.perf_counter() - begun
            again = browser.new_page(viewport={"width": 1500, "height": 900})
            begun = time.perf_counter()
            again.goto(url)
            again.wait_for_selector(".item", timeout=120_000)
            warm = time.perf_counter() - begun
            while again.evaluate("assay.table.rows") < rows:
                time.sleep(0.2)
            took = [again.evaluate(_FILTER % text) for text in FILTERS]
            slide = again.evaluate(_SLIDE)
            browser.close()
    finally:
        server.terminate()
        server.wait(30)
    return [
        ("assay view, first paint while it is still read", f"{first:.2f} s", "2 s"),
        ("assay view, first paint once it is read", f"{warm:.2f} s", "2 s"),
        ("assay view, every row measured and studied", f"{measured:.1f} s", ""),
        *((f"filter: {text}", f"{ms:.0f} ms", "300 ms") for text, ms in zip(FILTERS, took, strict=True)),
        ("a slider moved: fold, advantages, shares, order", f"{slide:.0f} ms", ""),
    ]


FILTERS = (
    "right == 1 and chars > 800",
    "keyword_stuffing or format_only",
    "reward > 0.3 and not flagged and step >= 20",
)
_FILTER = """(async () => { assay.state.filter = '%s'; const t = performance.now(); await assay.refilter();
return performance.now() - t; })()"""
_SLIDE = """(async () => {
assay.state.filter = ""; assay.state.weights = {"": {right: 0.2}}; const t = performance.now();
assay.refold(); await assay.refilter(true); return performance.now() - t; })()"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_args()
    rows = given.rows or (20_000 if given.quick else 200_000)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.jsonl"
        make_run(run, rows)
        print(
            f"{rows:,} rows, {run.stat().st_size / 1e6:.0f} MB; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )
        for name, figure, floor in [*measure_report(run), *measure_view(run, rows)]:
            print(f"  {name:<52} {figure:>12}   {floor}", flush=True)


if __name__ == "__main__":
    main()
