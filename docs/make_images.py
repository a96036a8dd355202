"""Makes the pictures of terminal output in docs/images: `python docs/make_images.py`.

They are drawn from real runs on the bundled rollouts, so a picture is as true as the day it was made.
"""

from __future__ import annotations

import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from assay import load_reward, score
from assay.analyze.tally import Tally
from assay.report.terminal import summary
from assay.rollouts import Rollouts
from assay.types import Trajectory

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"


def score_summary() -> None:
    """What `make demo` prints."""
    rows = [Trajectory.of(row) for row in Rollouts(ROOT / "examples" / "rollouts.jsonl")]
    tally = Tally()
    tally.add(rows, score(load_reward(str(ROOT / "examples" / "demo_reward.yaml")), rows))
    console = Console(record=True, width=118, file=(ROOT / "docs" / ".unseen").open("w"), markup=False, highlight=False)
    console.print("$ make demo", style="bold green")
    console.print(summary(tally))
    save(console, "score.svg", "assay score")
    (ROOT / "docs" / ".unseen").unlink()


def save(console: Console, name: str, title: str) -> None:
    """Write the picture; it names no font that would have to be fetched."""
    svg = console.export_svg(title=title, theme=MONOKAI)
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S).replace("Fira Code", "ui-monospace, Menlo, Consolas")
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / name).write_text(re.sub(r"\n\s*\n", "\n", svg), encoding="utf-8")


if __name__ == "__main__":
    score_summary()
