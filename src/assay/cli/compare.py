"""`assay compare`: two Runs of the same rollouts, or a Run and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.choices import estimator_of
from assay.errors import ConfigError
from assay.report.terminal import console


def compare(
    a: Annotated[Path, typer.Argument(metavar="RUN", help="A Run.")],
    b: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="A Run of the same rollouts under another reward or version.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Human labels (JSONL with prompt, response, label), as the page saves them.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="A column of the rollouts that says what is right.")] = None,
    component: Annotated[str | None, typer.Option(help="Hold this component against labels, not the total.")] = None,
    threshold: Annotated[float, typer.Option(help="From where a reward counts as high.")] = 0.5,
    estimator: Annotated[str, typer.Option(help="The advantage in use: grpo, dr_grpo, rloo or gdpo.")] = "grpo",
    max_flips: Annotated[float, typer.Option(help="Exit with 1 where more than this share of rows flip.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Compare two Runs: flips, deltas, ranks, what the policy would be told. Or a Run with labels: agreement."""
    from assay.analyze.compare import compare as compare_tables
    from assay.analyze.source import Source
    from assay.report.comparison import comparison_text

    if (b is not None) + (labels is not None) + (column is not None) != 1:
        raise ConfigError("needed one thing to compare with: a second Run, --labels FILE or --column NAME.")
    first = Source(a)
    if b is None:
        _agree(first, labels, column, component, threshold, as_json)
        return
    found = compare_tables(first.table(), Source(b).table(), threshold, estimator_of(estimator))
    if as_json:
        _print_json(found)
    else:
        console().print(comparison_text(found, lambda row: _response(first, row)))
    raise typer.Exit(1 if (found.ups + found.downs) / found.paired > max_flips else 0)


def _agree(
    source: Any, labels: Path | None, column: str | None, component: str | None, threshold: float, as_json: bool
) -> None:
    from assay.analyze.agreement import agreement
    from assay.analyze.labels import labels_of
    from assay.report.comparison import agreement_text

    table = source.table()
    reference = labels_of(table, labels) if labels else _own_column(table, str(column))
    reward = table.reward
    if component is not None:
        if component not in table.parts:
            raise ConfigError(f"there is no component {component!r}; there is {', '.join(table.parts) or 'none'}.")
        reward = table.parts[component].value
    found = agreement(reward, reference, threshold=threshold)
    if found is None:
        raise ConfigError("fewer than two rows have both a reward and a label.")
    if as_json:
        _print_json(found)
    else:
        what = column or "label"
        console().print(agreement_text(found, what, lambda row: _response(source, row)))


def _own_column(table: Any, name: str) -> Any:
    if name not in table.own:
        known = ", ".join(table.own) or "no numeric column"
        raise ConfigError(f"--column {name}: the rollouts have no such numeric column; they have {known}.")
    return table.own[name]


def _response(source: Any, row: int) -> str:
    from assay.analyze.table import trajectory_of

    return trajectory_of(source.rows([row])[0]).response


def _print_json(found: Any) -> None:
    import json

    from assay.report.plain import plain

    print(json.dumps(plain(found), ensure_ascii=False, indent=1))
