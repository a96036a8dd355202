"""`assay inspect`: the verdict on a Run, in the terminal; the exit code is for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.choices import estimator_of, pairs
from assay.errors import ConfigError
from assay.report.terminal import console


def inspect(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A Run: what `assay score -o` wrote, JSONL or Parquet.")],
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
    share: Annotated[
        list[str] | None,
        typer.Option(help="NAME=0.8: tell the weights that give a component this share of the advantage."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    fail_on: Annotated[str, typer.Option(help="Exit with 1 at: alarm, warning, or never.")] = "alarm",
) -> None:
    """Inspect a Run: what was found, how rewards are distributed, and the most suspicious rows; exits with 1 for CI."""
    from assay.analyze.attribution import weights_for
    from assay.analyze.labels import labels_if_any
    from assay.analyze.source import Source
    from assay.analyze.study import study
    from assay.report.inspection import inspection, suspects
    from assay.report.plain import plain, study_as_data

    if fail_on not in ("alarm", "warning", "never"):
        raise ConfigError(f"--fail-on is alarm, warning or never; found {fail_on!r}.")
    source = Source(run)
    table = source.table()
    found = study(table, estimator_of(estimator), correctness, labels_if_any(table, run))
    sampled = _sampled(found.table, source, gold, repeat, budget)
    if share:
        sampled["weights"] = weights_for(table, _shares(share), estimator_of(estimator))
    if as_json:
        more = {name: plain(sample) for name, sample in sampled.items()}
        print(json.dumps({**study_as_data(found), **more}, ensure_ascii=False, indent=1))
    else:
        numbers = suspects(found, rows)
        console().print(inspection(found, dict(zip(numbers, source.rows(numbers), strict=True))))
        _tell(sampled, table, source, estimator)
    grave = {"alarm": ("alarm",), "warning": ("alarm", "warning"), "never": ()}[fail_on]
    raise typer.Exit(1 if any(f.severity in grave for f in found.findings) else 0)


def _shares(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text, share in pairs(given, "--share").items():
        try:
            found[text] = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
        except ValueError:
            raise ConfigError(f"--share needs NAME=0.8 or NAME=80%; found {text}={share}.") from None
        if not 0 <= found[text] <= 1:
            raise ConfigError(f"--share {text}: a share is from 0 to 1; found {share}.")
    if sum(found.values()) > 1:
        raise ConfigError(f"--share: the shares sum to {sum(found.values()):g}; needed at most 1.")
    return found


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


def _tell(sampled: dict[str, Any], table: Any, source: Any, estimator: Any) -> None:
    from assay.analyze.table import trajectory_of
    from assay.report.comparison import gold_text, noise_text
    from assay.report.terminal import heading

    def excerpt(row: int) -> str:
        return trajectory_of(source.rows([row])[0]).response

    if "weights" in sampled:
        from assay.analyze.attribution import shares_under

        reached = shares_under(table, sampled["weights"], estimator)
        told = [f"{f'  --set weight.{n}={w:.4g}':<44} {reached[n]:.1%}" for n, w in sampled["weights"].items()]
        console().print(heading("Weights for these shares of the advantage (assay reweigh)"), *told, sep="\n")
    if "gold" in sampled:
        console().print(heading("Against the stronger verifier"), gold_text(sampled["gold"], excerpt))
    if "noise" in sampled:
        console().print(heading("The judge's own noise"), noise_text(sampled["noise"]))
