"""`assay plan`: what it takes that scoring hides behind generation."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.choices import chosen_reward, renames
from assay.cli.progress import tell_broken
from assay.engine import reads_response
from assay.probe.plan import SAMPLE, Plan
from assay.probe.plan import plan as work_out
from assay.report.terminal import console, shortened
from assay.rollouts import Rollouts


class Format(StrEnum):
    """How the plan is written."""

    TERMINAL = "terminal"
    JSON = "json"


def plan(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A reward, as for `assay score --reward`.")],
    rollouts: Annotated[
        str, typer.Argument(metavar="ROLLOUTS", help="Rollouts like those of the training: JSONL or Parquet.")
    ],
    batch: Annotated[int, typer.Option(help="Responses that a training step scores.", min=1)],
    step_seconds: Annotated[float, typer.Option(help="Seconds of generation that scoring is to hide behind.")],
    sample: Annotated[int, typer.Option(help="How many rows are scored to measure with.", min=1)] = SAMPLE,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=NAME", help="Column in the file=name the reward knows.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a row for rewards that declare no deadline.")] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write the plan.")] = Format.TERMINAL,
) -> None:
    """Plan the capacity: seconds a step, stragglers, workers or requests a minute. Exits with 1 where none suffice."""
    reward = chosen_reward([spec], [])
    rows = Rollouts(rollouts, renames(rename or []), max(sample * 8, 2048), to_score=reads_response(reward))
    with redirect_stdout(sys.stderr):  # what a reward prints is no part of the plan
        found = work_out(reward, rows, batch=batch, step_seconds=step_seconds, sample=sample, timeout=timeout)
    tell_broken(rows.broken)
    if format is Format.JSON:
        print(found.to_json())
    else:
        console().print(_page(found))
    raise typer.Exit(0 if found.hides else 1)


def _page(found: Plan) -> Group:
    parts: list[RenderableType] = [
        Text(f"{found.reward}, measured on {found.rows:,} rows: a step scores {found.batch:,} responses"),
        Text(
            f"  a response: mean {_span(found.mean)}, median {_span(found.p50)}, p99 {_span(found.p99)}, "
            f"worst {_span(found.worst)}"
        ),
        Text(f"  a step, one by one: {_span(found.serial_seconds)} beside {_span(found.step_seconds)} of generation"),
        Text(
            f"  the slowest 1 % take {found.straggler_share:.0%} of the time; {found.duplicates:.0%} of the responses "
            f"are duplicates, which are scored once"
        ),
        _table(found),
        *(Text(f"  {line}", style="bold") for line in _needs(found)),
    ]
    if found.straggler_share > 0.2 and found.slowest:
        parts += [Text("\n  the slowest", style="dim")]
        parts += [Text(f"  {_span(s):>8}  {shortened(text, 80)}", style="dim") for s, text in found.slowest]
    return Group(*parts)


def _table(found: Plan) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 2))
    for heading in ("reward", "mean", "p99", "worst", "runs", "failed"):
        table.add_column(heading, justify="left" if heading in ("reward", "runs") else "right")
    for part in found.parts:
        runs = "awaited" if part.waits else "computed"
        failed = f"{part.failed:,}" if part.failed else ""
        table.add_row(part.name, _span(part.mean), _span(part.p99), _span(part.worst), runs, failed)
    return table


def _needs(found: Plan) -> list[str]:
    lines: list[str] = []
    if any(not part.waits for part in found.parts):
        if found.workers is None:
            lines.append("no number of workers is enough: a single response takes longer than the step; set a deadline")
        else:
            lines.append(
                f"needs {found.workers} core{'s' * (found.workers != 1)}, for 95 of 100 steps not to wait for it"
            )
    if any(part.waits for part in found.parts):
        flight = "no number of requests" if found.in_flight is None else f"{found.in_flight} requests"
        lines.append(f"needs {flight} in flight, {found.requests_a_minute:,.0f} requests a minute")
    return lines


def _span(seconds: float) -> str:
    if seconds >= 60:
        return f"{seconds / 60:.3g} min"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
