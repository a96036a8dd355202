"""`assay rescore`: a Run scored again, in full or only where it failed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.analyze.tally import Tally
from assay.cli.choices import stored_run
from assay.cli.header import unchanged
from assay.cli.progress import Counted
from assay.cli.reweigh import again, whole_chunks
from assay.engine import Engine
from assay.engine import rescore as rescore_rows
from assay.record import RunWriter
from assay.report.terminal import console, summary
from assay.types import FAILURES, RewardOutput

CHUNK = 1024


def rescore(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A Run that `assay score --output` wrote.")],
    reward: Annotated[
        list[str] | None, typer.Option("--reward", "-r", metavar="SPEC", help="The reward; by default the Run's own.")
    ] = None,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Call only what failed or is not stored; keep the rest.")
    ] = False,
    only_changed: Annotated[
        bool, typer.Option("--only-changed", help="Call only the components whose code or configuration changed.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="By default the Run itself.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="weight.NAME=0.5, or a YAML key=value.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a row for rewards that declare no deadline.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes; 0 for none at all.", min=0)] = None,
    cache: Annotated[Path | None, typer.Option(help="A file that keeps the outputs of dear rewards.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Score a Run again; with --only-failed, only the rows and components that have no number because of a failure."""
    stored = stored_run(run)
    before = stored.header
    chosen, header = again(stored, reward, set_, "rescored")
    good = unchanged(before, header) if only_changed else None

    def keep(path: str, output: RewardOutput) -> bool:
        if good is not None:
            return path in good and not (only_failed and output.outcome in FAILURES)
        return only_failed and output.outcome not in FAILURES

    tally, target = Tally(), output or run
    with (
        Engine(timeout=timeout, workers=workers, cache=cache) as engine,
        Counted(before.get("rows"), "rescored", quiet) as progress,
        RunWriter(target, header, reward=chosen) as writer,
    ):
        for chunk in whole_chunks(stored, CHUNK):
            rows, trajectories = [row for row, _, _ in chunk], [t for _, t, _ in chunk]
            outputs = rescore_rows(chosen, trajectories, [output for _, _, output in chunk], keep, engine)
            tally.add(trajectories, outputs)
            writer.write(rows, outputs)
            progress.advance(len(rows))
    if not quiet:
        console().print(summary(tally))
        for name, count in engine.counts.of.items():
            print(f"{name}: called for {count.calls:,} of {tally.rows:,} rows", file=sys.stderr)
        if not engine.counts.of:
            print("nothing was left to score: no reward was called", file=sys.stderr)
    print(f"\nwrote {target} ({tally.rows:,} rows)", file=sys.stderr)
    raise typer.Exit(1 if tally.not_scored else 0)
