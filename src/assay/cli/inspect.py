"""`assay inspect`: the verdict on a Run, in the terminal; the exit code is for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.choices import estimator_of
from assay.report.terminal import console


def inspect(
    run: Annotated[Path, typer.Argument(help="A Run: what `assay score -o` wrote, JSONL or Parquet.")],
    estimator: Annotated[str, typer.Option(help="The advantage in use: grpo, dr_grpo, rloo or gdpo.")] = "grpo",
    correctness: Annotated[
        str | None, typer.Option(help="The component that says what is right; guessed by name where not given.")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many suspicious rows to show.", min=0)] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    fail_on: Annotated[str, typer.Option(help="Exit with 1 at: alarm, warning, or never.")] = "alarm",
) -> None:
    """Inspect a Run: what was found, how rewards are distributed, and the most suspicious rows; exits with 1 for CI."""
    from assay.analyze.source import Source
    from assay.analyze.study import study
    from assay.errors import ConfigError
    from assay.report.inspection import inspection, suspects
    from assay.report.plain import study_as_data

    if fail_on not in ("alarm", "warning", "never"):
        raise ConfigError(f"--fail-on is alarm, warning or never; found {fail_on!r}.")
    source = Source(run)
    found = study(source.table(), estimator_of(estimator), correctness)
    if as_json:
        import json

        print(json.dumps(study_as_data(found), ensure_ascii=False, indent=1))
    else:
        numbers = suspects(found, rows)
        console().print(inspection(found, dict(zip(numbers, source.rows(numbers), strict=True))))
    grave = {"alarm": ("alarm",), "warning": ("alarm", "warning"), "never": ()}[fail_on]
    raise typer.Exit(1 if any(f.severity in grave for f in found.findings) else 0)
