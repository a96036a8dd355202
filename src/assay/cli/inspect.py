"""`assay inspect`: the verdict on a Run, in the terminal; the exit code is for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

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
    gold: Annotated[
        str | None, typer.Option(help="A stronger verifier: scores a share of the rows and tells the gap.")
    ] = None,
    repeat: Annotated[str | None, typer.Option(help="The judge itself, to be asked again: tells its noise.")] = None,
    budget: Annotated[str, typer.Option(help="For --gold and --repeat: 2% of the rows, or a number of them.")] = "2%",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    fail_on: Annotated[str, typer.Option(help="Exit with 1 at: alarm, warning, or never.")] = "alarm",
) -> None:
    """Inspect a Run: what was found, how rewards are distributed, and the most suspicious rows; exits with 1 for CI."""
    from assay.analyze.labels import labels_if_any
    from assay.analyze.source import Source
    from assay.analyze.study import study
    from assay.errors import ConfigError
    from assay.report.inspection import inspection, suspects
    from assay.report.plain import plain, study_as_data

    if fail_on not in ("alarm", "warning", "never"):
        raise ConfigError(f"--fail-on is alarm, warning or never; found {fail_on!r}.")
    source = Source(run)
    table = source.table()
    found = study(table, estimator_of(estimator), correctness, labels_if_any(table, run))
    sampled = _sampled(found.table, source, gold, repeat, budget)
    if as_json:
        more = {name: plain(sample) for name, sample in sampled.items()}
        print(json.dumps({**study_as_data(found), **more}, ensure_ascii=False, indent=1))
    else:
        numbers = suspects(found, rows)
        console().print(inspection(found, dict(zip(numbers, source.rows(numbers), strict=True))))
        _tell(sampled, source)
    grave = {"alarm": ("alarm",), "warning": ("alarm", "warning"), "never": ()}[fail_on]
    raise typer.Exit(1 if any(f.severity in grave for f in found.findings) else 0)


def _sampled(table: Any, source: Any, gold: str | None, repeat: str | None, budget: str) -> dict[str, Any]:
    """What a stronger verifier, or the same judge again, says of a share of the rows."""
    from assay.analyze.sample import budget_of, gold_gap, judge_noise
    from assay.analyze.table import trajectory_of
    from assay.engine import score
    from assay.load import load_reward

    def scorer(spec: str) -> Any:
        reward = load_reward(spec)

        def of(rows: Sequence[int]) -> list[float | None]:
            return [o.reward for o in score(reward, [trajectory_of(row) for row in source.rows(rows)])]

        return of

    found: dict[str, Any] = {}
    if gold is not None:
        found["gold"] = gold_gap(table, scorer(gold), budget_of(budget, table.rows))
    if repeat is not None:
        found["noise"] = judge_noise(table, scorer(repeat), budget_of(budget, table.rows))
    return found


def _tell(sampled: dict[str, Any], source: Any) -> None:
    from assay.analyze.table import trajectory_of
    from assay.report.comparison import gold_text, noise_text
    from assay.report.terminal import heading

    def excerpt(row: int) -> str:
        return trajectory_of(source.rows([row])[0]).response

    if "gold" in sampled:
        console().print(heading("Against the stronger verifier"), gold_text(sampled["gold"], excerpt))
    if "noise" in sampled:
        console().print(heading("The judge's own noise"), noise_text(sampled["noise"]))
