"""A real browser: Debian's chromium, headless, driven by Playwright. Absent, its tests are skipped and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import planted
import pytest

pytest.importorskip("numpy", reason="the report needs the extra 'report'")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def hacked_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """800 rollouts, a tenth of them hacked."""
    return planted.write_run(tmp_path_factory.mktemp("runs") / "hacked.jsonl", planted.rows(100, hacked=0.1, seed=1))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. For one file of tests, not for the session: while Playwright lives, its loop runs in this thread."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page and wait until it is drawn; whatever it logs or throws fails the test."""
    context = browser.new_context(viewport={"width": 1500, "height": 900}, accept_downloads=True)
    trouble: list[str] = []

    def open_page(url: str, **options: Any) -> Any:
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(f"threw: {error}"))
        page.on("console", lambda m: trouble.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.goto(url)
        page.wait_for_selector("body[data-ready]", timeout=options.get("timeout", 30_000))
        return page

    yield open_page
    context.close()
    assert trouble == []
