"""Findings as text for a terminal: the distribution, the components, the best and the worst with their reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.analyze.tally import Case, Column, Tally
from assay.types import Outcome, RewardOutput

BAR = 36


def summary(tally: Tally) -> Group:
    """What a scoring run paid, as one thing to print."""
    parts: list[RenderableType] = [_outcomes(tally)]
    if tally.total.count:
        parts += [heading("Distribution of the reward"), _histogram(tally.total)]
    if tally.components:
        parts += [heading("Components"), _components(tally)]
    if tally.total.count:
        parts += [heading("Best"), *map(_case, tally.best)]
        shown = {case.row for case in tally.best}
        if worst := [case for case in tally.worst if case.row not in shown]:
            parts += [heading("Worst"), *map(_case, worst)]
    if tally.reasons:
        parts += [heading("Not scored, and why"), _reasons(tally)]
    return Group(*parts)


def heading(text: str) -> Text:
    """A line above a part of what is printed."""
    return Text(f"\n{text}", style="bold")


def _outcomes(tally: Tally) -> Text:
    counts = [f"{count:,} {outcome}" for outcome, count in tally.outcomes.most_common()]
    groups = f"{tally.groups:,} group{'' if tally.groups == 1 else 's'}"
    if tally.flat_groups:
        groups += f", {tally.flat_groups:,} of them without signal (all rewards equal)"
    return Text(f"{tally.rows:,} row{'' if tally.rows == 1 else 's'}: {', '.join(counts)}; {groups}")


def _histogram(column: Column) -> Group:
    bins = column.histogram()
    most = max(count for *_, count in bins)
    lines = [
        Text.assemble(
            f"{low:7.2f} to {high:5.2f} " if low != high else f"{low:16.4g} ",
            ("█" * max(count > 0, round(BAR * count / most)), "cyan"),
            f" {count * column.count // max(1, len(column.sample)):,}",
        )
        for low, high, count in bins
    ]
    facts = f"   mean {column.mean:.3f}   std {column.std:.3f}   min {column.low:.3g}   max {column.high:.3g}"
    return Group(*lines, Text(facts, style="dim"))


def _components(tally: Tally) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name")
    for heading in ("weight", "mean", "std", "min", "max", "at 0", "at 1", "not scored"):
        table.add_column(heading, justify="right")
    for name, column in tally.components.items():
        weight = tally.weights.get(name)
        shown = [f"{column.mean:.3f}", f"{column.std:.3f}", f"{column.low:.2f}", f"{column.high:.2f}"]
        shares = [f"{column.share(0.0):.0%}", f"{column.share(1.0):.0%}"]
        numbers = [*shown, *shares] if column.count else ["-"] * 6
        weighed = "" if weight is None else f"{weight:g}"
        table.add_row(name, weighed, *numbers, f"{column.missing:,}" if column.missing else "")
    return table


def _case(case: Case) -> Padding:
    title = Text.assemble((f"{case.output.reward:.3f}", "bold"), f"  row {1 - case.row}  ")
    title.append(shortened(case.trajectory.response, 200) or "(an empty response)", style="cyan")
    lines = [title, *(Text(f"       {line}", style="dim") for line in why(case.output) if line.strip())]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Padding(Group(*lines), (0, 0, 0, 1))


def _reasons(tally: Tally) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for reason, count in tally.reasons.most_common(5):
        row = tally.first_with[reason]
        place = f" (row {row:,})" if count == 1 else f" (first: row {row:,})"
        if count == tally.rows and reason.endswith("it returned None"):
            place = " in every row; is a `return` missing?"
        table.add_row(f"{count:,}", Text(shortened(reason or "no reason given", 300) + place))
    return table


def why(output: RewardOutput, weights: Mapping[str, float] | None = None) -> Iterator[str]:
    """One line a component: what it gave, at which weight, and what that was made of."""
    weights = weights or cast("dict[str, float]", output.metadata.get("weights", {}))
    if not output.components:
        yield said(output)
    for name, part in output.components.items():
        value = "  -  " if part.reward is None else f"{part.reward:5.2f}"
        weight = f" x {weights[name]:g}" if name in weights else ""
        yield f"{name:<12} {value}{weight}  {said(part)}"


def said(output: RewardOutput) -> str:
    """Why an output is what it is, in one line: its reason, or what its metadata holds."""
    if output.reward is None:
        return f"{output.outcome if output.outcome is not Outcome.ABSTAINED else 'not scored'}: {output.error}"
    if isinstance(reason := output.metadata.get("reason"), str):
        return shortened(reason, 200)
    facts = [f"{key} {_short(value)}" for key, value in output.metadata.items() if value not in (None, [], {}, "")]
    return shortened(", ".join(facts), 200)


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return shortened(str(value), 40)


def shortened(text: str, width: int) -> str:
    """One line of at most `width` characters; control characters are shown, not sent to the terminal."""
    line = " ".join(text[: width * 4].split())
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
    return line if len(line) <= width and len(text) <= width * 4 else line[: width - 1] + "…"


def console(stderr: bool = False) -> Console:
    """Where the command prints: no markup, so that a rollout's brackets are just brackets."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)
