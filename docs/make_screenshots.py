"""Makes the pictures of the page in docs/images: the bundled rollouts under the demo's reward, in a real browser.

python docs/make_screenshots.py        needs chromium and playwright
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]

PICTURES = {
    "page-group.png": ("light", ["s", "Enter", "n", "n", "n", "n"]),
    "page-findings.png": ("dark", ["f"]),
}
"""Name -> colour scheme, and the keys that lead to what is shown."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run, page_file = Path(folder) / "scored.jsonl", Path(folder) / "report.html"
        assay = [sys.executable, "-m", "assay"]
        score = ["score", "examples/rollouts.jsonl", "-r", "examples/demo_reward.yaml", "-o", str(run), "-q"]
        subprocess.run([*assay, *score], cwd=ROOT, check=False)
        subprocess.run([*assay, "report", str(run), "-o", str(page_file)], cwd=ROOT, check=True)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (scheme, keys) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": 1440, "height": 900}, color_scheme=scheme, device_scale_factor=1.5
            )
            page.goto(page_file.as_uri())
            page.wait_for_selector("body[data-ready=yes]")
            for key in keys:
                page.keyboard.press(key)
                page.wait_for_timeout(400)
            page.screenshot(path=ROOT / "docs" / "images" / name)
        browser.close()


if __name__ == "__main__":
    main()
