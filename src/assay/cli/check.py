"""`assay check`: attack a reward, lint it, and call it as a trainer would, before a GPU is taken."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from assay.cli.choices import chosen_reward, renames
from assay.cli.progress import tell_broken
from assay.engine import reads_response
from assay.errors import ConfigError
from assay.probe import Audit, Finding, Severity, audit, output
from assay.probe.opening import LIMIT
from assay.probe.preflight import preflight
from assay.probe.trainers import TRAINERS
from assay.report.terminal import console, shortened
from assay.reward import RewardFunction
from assay.rollouts import Rollouts


class Format(StrEnum):
    """How the findings are written."""

    TERMINAL = "terminal"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def check(
    spec: Annotated[
        list[str],
        typer.Argument(metavar="SPEC", help="A reward, as for `assay score --reward`; several are a composite."),
    ],
    examples: Annotated[
        Path | None, typer.Option("--examples", "-e", help="Rows with good responses; without, built-in ones are used.")
    ] = None,
    for_: Annotated[
        list[str] | None,
        typer.Option("--for", help=f"Call it as this trainer does: {', '.join(TRAINERS)} (repeatable)."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write the findings.")] = Format.TERMINAL,
    baseline: Annotated[Path | None, typer.Option(help="Known findings: only what is new fails the check.")] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the baseline as it is now.")
    ] = False,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=NAME", help="Column in the file=name the reward knows.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="weight.NAME=0.5, or a YAML file's key=value."),
    ] = None,
    limit: Annotated[int, typer.Option(help="How many prompts are tried.", min=1)] = LIMIT,
    timeout: Annotated[float | None, typer.Option(help="Seconds that one response may take.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail the check, too.")] = False,
) -> None:
    """Attack a reward, look at the reward itself, call it as a trainer would. Exits with 1 where errors are found."""
    if update_baseline and baseline is None:
        raise ConfigError("--update-baseline needs a file: --baseline FILE.")
    reward = chosen_reward(spec, set_ or [])
    rows = Rollouts(examples, renames(rename or []), 512, to_score=reads_response(reward)) if examples else None
    with redirect_stdout(sys.stderr):  # what a reward prints is no finding
        found = audit(reward, rows, limit=limit, timeout=timeout)
        for trainer in for_ or []:
            flown = preflight(reward, trainer, rows, timeout=timeout or 10.0)
            found = replace(found, findings=[*found.findings, *flown])
    tell_broken(rows.broken if rows else ())
    known = output.read_baseline(baseline, found.reward) if baseline else frozenset[str]()
    if update_baseline and baseline:
        output.write_baseline(baseline, found.reward, found.findings)
        print(f"wrote {baseline} ({len(found.findings):,} known findings)", file=sys.stderr)
        return
    old = sum(f.id in known for f in found.findings)
    found = replace(found, findings=[f for f in found.findings if f.id not in known])
    _tell(found, reward, spec[0], format, old)
    failing = found.count(Severity.ERROR) + strict * found.count(Severity.WARNING)
    raise typer.Exit(1 if failing else 0)


def _tell(found: Audit, reward: RewardFunction, spec: str, format: Format, known: int) -> None:
    place = output.place_of(reward, spec)
    match format:
        case Format.JSON:
            print(output.as_json(found))
        case Format.SARIF:
            print(output.sarif(found, place))
        case Format.GITHUB:
            if text := output.github(found, place):
                print(text)
        case Format.TERMINAL:
            console().print(_page(found, known))


def _page(found: Audit, known: int) -> Group:
    honest = "" if found.honest is None else f", which earn {found.honest:.3g} on average"
    parts: list[RenderableType] = [
        Text(f"{found.reward}: {sum(found.tried.values()):,} cases of {len(found.tried)} rules, beside "
             f"{found.examples} honest responses{honest}, in {found.seconds:.1f} s.{_reads(found)}")
    ]  # fmt: skip
    for several in output.by_rule(found.findings):
        parts += _lines(several)
    counts = ", ".join(f"{found.count(s)} {s}{'s' * (found.count(s) != 1)}" for s in Severity)
    parts.append(Text(f"\n{counts}" + (f"; {known} known from the baseline" if known else ""), style="bold"))
    return Group(*parts)


def _reads(found: Audit) -> str:
    reads = ("form only", "words only", "content", "the answer")[found.sense]
    return f" It reads {reads}." if found.examples else ""


_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def _lines(several: Sequence[Finding]) -> list[RenderableType]:
    worst = max(several, key=lambda f: -1.0 if f.earned is None else f.earned)
    count = f"  ({len(several)} cases)" if len(several) > 1 else ""
    title = Text.assemble("\n", (f"{worst.severity:<8}", _STYLES[worst.severity]), (worst.rule, "bold"), count)
    lines: list[Text] = []
    lines.append(Text(worst.message))
    if worst.response or worst.earned is not None:
        lines.append(Text(f"response: {shortened(worst.excerpt, 160) or '(empty)'}", style="cyan"))
    if worst.fix:
        lines.append(Text(f"fix: {worst.fix}", style="dim"))
    return [title, *(Padding(line, (0, 0, 0, 8), expand=False) for line in lines)]
