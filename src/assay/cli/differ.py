"""`assay differ`: several rewards on the same rollouts, with no labels."""

from __future__ import annotations

import itertools
import json
from typing import Annotated

import typer

from assay.cli.choices import renames
from assay.cli.progress import Counted, tell_broken
from assay.engine import Engine, check_columns, reads_response
from assay.engine import score as score_rows
from assay.errors import ConfigError, InputError
from assay.load import load_reward
from assay.report.terminal import console
from assay.rollouts import Rollouts, chunks


def differ(
    input: Annotated[str, typer.Argument(metavar="ROLLOUTS", help="Rollouts: a JSONL or Parquet file.")],
    reward: Annotated[
        list[str] | None,
        typer.Option("--reward", "-r", metavar="SPEC", help="A reward, as for `assay score` (repeat it)."),
    ] = None,
    rewards: Annotated[str | None, typer.Option(help="The same in one word: a,b,c")] = None,
    threshold: Annotated[float, typer.Option(help="From where a reward counts as yes.")] = 0.5,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=NAME", help="Column in the file=name the reward knows.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="The first N rows only.", min=1)] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a row for rewards that declare no deadline.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Hold rewards against each other: who disagrees with whom, on which rows, and how often each errs."""
    from assay.analyze.differ import differ as differ_columns
    from assay.analyze.differ import verdicts
    from assay.compose.flow import distinct
    from assay.report.comparison import difference_text, excerpts
    from assay.report.plain import plain

    specs = [*(reward or []), *split_specs(rewards or "")]
    if len(specs) < 2:
        raise ConfigError(f"needed at least two rewards: -r a -r b; found {len(specs)}.")
    named = distinct(load_reward(spec) for spec in specs)
    rollouts = Rollouts(input, renames(rename or []), limit, to_score=any(map(reads_response, named.values())))
    columns: dict[str, list[int | None]] = {name: [] for name in named}
    texts: list[str] = []
    engine = Engine(timeout=timeout)
    with Counted(rollouts.size(), quiet=quiet) as progress:
        for n, chunk in enumerate(chunks(rollouts, 2048)):
            trajectories = [t for _, t in chunk]
            texts += [t.response[:400] for t in trajectories]
            for name, one in named.items():
                if n == 0:
                    check_columns(one, trajectories[0])
                columns[name] += verdicts(score_rows(one, trajectories, engine=engine), threshold)
            progress.advance(len(chunk))
    tell_broken(rollouts.broken)
    if not texts:
        raise InputError(f"{input} holds no rows.")
    found = differ_columns(columns)
    if as_json:
        print(json.dumps(plain(found), ensure_ascii=False, indent=1))
    else:
        console().print(difference_text(found, excerpts(texts)))
    silent = all(v is None for v in itertools.chain.from_iterable(columns.values()))
    raise typer.Exit(1 if silent else 0)


def split_specs(text: str) -> list[str]:
    """`math,match:mode=exact,trim=true` -> two: what follows a comma and has a `=` but no `:` is a parameter."""
    specs: list[str] = []
    for piece in filter(None, (p.strip() for p in text.split(","))):
        if specs and "=" in piece and ":" not in piece.partition("=")[0]:
            specs[-1] += f",{piece}"
        else:
            specs.append(piece)
    return specs
