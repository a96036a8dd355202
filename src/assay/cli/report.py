"""`assay report`: a Run as one self-contained page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.choices import estimator_of


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A Run: what `assay score -o` wrote, JSONL or Parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    estimator: Annotated[str, typer.Option(help="The advantage in use: grpo, dr_grpo, rloo or gdpo.")] = "grpo",
    correctness: Annotated[
        str | None, typer.Option(help="The component that says what is right; guessed by name where not given.")
    ] = None,
    everything: Annotated[bool, typer.Option("--everything", help="Embed every text, however large it gets.")] = False,
) -> None:
    """Write one page that needs nothing else: distributions, findings, responses side by side, weights as sliders."""
    from assay.analyze.labels import labels_if_any
    from assay.analyze.source import Source
    from assay.analyze.study import study
    from assay.report.html import write_report

    source = Source(run)
    table = source.table()
    found = study(table, estimator_of(estimator), correctness, labels_if_any(table, run))
    size = write_report(found, source, output, everything)
    said = f"wrote {output} ({size / 1e6:.1f} MB, {found.table.rows:,} rows"
    print(f"{said}, {len(found.findings)} findings)", file=sys.stderr)
