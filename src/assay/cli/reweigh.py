"""`assay reweigh`: a Run folded again with other weights; no reward is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analyze.tally import Tally
from assay.cli.choices import chosen_reward, stored_run, stored_specs
from assay.cli.header import header_of
from assay.cli.progress import Counted
from assay.compose import Batch, refold
from assay.record import Run, RunWriter
from assay.report.terminal import console, summary
from assay.reward import RewardFunction
from assay.rollouts import Row
from assay.types import RewardOutput, Trajectory

CHUNK = 4096
Scored = tuple[Row, Trajectory, RewardOutput]
Header = dict[str, Any]


def reweigh(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A Run that `assay score --output` wrote.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="weight.NAME=0.5, or a YAML reward's key=value."),
    ] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option("--reward", "-r", metavar="SPEC", help="Fold with this reward; by default the Run's own."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the new Run here.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Fold a Run again with other weights, gates or clips. No reward is called: its components are stored raw."""
    stored = stored_run(run)
    before = stored.header
    chosen, header = again(stored, reward, set_, "reweighed")
    tally = Tally()
    with Counted(before.get("rows"), "folded", quiet) as progress:
        writer = None if output is None else RunWriter(output, header, reward=chosen).__enter__()
        kind: type[BaseException] | None = KeyboardInterrupt  # until the last chunk is through
        try:
            for chunk in whole_chunks(stored, CHUNK):
                rows, trajectories = [row for row, _, _ in chunk], [t for _, t, _ in chunk]
                outputs = refold(chosen, Batch(trajectories), [output for _, _, output in chunk])
                tally.add(trajectories, outputs)
                if writer is not None:
                    writer.write(rows, outputs)
                progress.advance(len(rows))
            kind = None
        finally:
            if writer is not None:
                writer.__exit__(kind)
    if not quiet:
        console().print(summary(tally))
    if output is not None:
        print(f"\nwrote {output} ({tally.rows:,} rows); no reward was called", file=sys.stderr)
    raise typer.Exit(1 if tally.not_scored else 0)


def again(
    run: Run, reward: Sequence[str] | None, set_: Sequence[str] | None, how: str
) -> tuple[RewardFunction, Header]:
    """The reward that a Run is folded or scored with again (its own, where none is named), and the new Run's header."""
    before = run.header
    specs = stored_specs(run, reward)
    settings = [*(before.get("set", []) if not reward else []), *(set_ or [])]
    chosen = chosen_reward(specs, settings)
    header = header_of(specs, settings, chosen, str(run.path), {how: str(run.path)})
    return chosen, {**header, "input": before.get("input", "")}


def whole_chunks(run: Run, size: int) -> Iterator[list[Scored]]:
    """Rows of a Run with their outputs, about `size` at a time; neighbours of one group stay together."""
    rows = ((row, Trajectory.of(row), output) for row, output in run.scored_rows())
    chunk = list(islice(rows, size))
    for scored in rows:
        if len(chunk) >= size and scored[1].group_id != chunk[-1][1].group_id:
            yield chunk
            chunk = []
        chunk.append(scored)
    if chunk:
        yield chunk
