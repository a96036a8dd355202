"""A study of a Run as text for a terminal: the verdict, what was found, how it is distributed, whom to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from assay.analyze.hacking import ROW_RULES, Finding
from assay.analyze.stats import Distribution
from assay.analyze.study import Study
from assay.analyze.table import trajectory_of
from assay.analyze.tree import short_names
from assay.report.terminal import heading, shortened
from assay.rollouts import Row

BLOCKS = " ▁▂▃▄▅▆▇█"
STYLES = {"alarm": "bold red", "warning": "yellow", "note": "dim"}
MOST_HISTOGRAMS = 6


def inspection(study: Study, suspicious: Mapping[int, Row]) -> Group:
    """The whole of it. `suspicious` are the rows to show, whole, the most suspicious first."""
    parts: list[RenderableType] = [verdict(study)]
    if study.findings:
        parts += [heading("Found"), *map(_finding, study.findings)]
    parts += [heading("Distributions"), _histograms(study.distributions)]
    parts += [heading("Groups"), _groups(study)]
    if study.attribution:
        parts += [heading(f"What the advantage is made of ({study.attribution.estimator})"), _attribution(study)]
    if a := study.agreement:
        auc = "" if a.auc is None else f"AUC {a.auc:.3f}, "
        said = f"{auc}Spearman {a.spearman:.3f}, Krippendorff's alpha {a.alpha:.3f} over {a.count:,} rows; "
        wrong = f"{a.confusion['fp']:,} paid and bad, {a.confusion['fn']:,} good and not paid (at {a.threshold:g})"
        parts += [heading("Against the labels beside this Run"), Text(said + wrong)]
    parts += [heading("Kinds of response"), _kinds(study)]
    if study.failures:
        parts += [heading("What components complained of"), _failures(study)]
    if suspicious:
        parts += [
            heading("The most suspicious rows"),
            *(_row(study, number, row) for number, row in suspicious.items()),
        ]
    return Group(*parts)


def verdict(study: Study) -> Text:
    """One line: whether there is something to be alarmed about."""
    alarms = len(study.alarms)
    warnings = sum(f.severity == "warning" for f in study.findings)
    table = study.table
    told = f"{table.rows:,} rows, {study.groups.count:,} groups; "
    if alarms:
        return Text.assemble(told, (f"{alarms} alarm{'s' * (alarms > 1)}", "bold red"), f", {warnings} warnings")
    if warnings:
        return Text.assemble(told, (f"no alarm, {warnings} warning{'s' * (warnings > 1)}", "yellow"))
    return Text.assemble(told, ("nothing suspicious", "green"))


def suspects(study: Study, most: int = 10) -> list[int]:
    """The rows to look at first: the most suspicious, none that no rule holds for."""
    order = (-study.flags.suspicion).argsort(kind="stable")[:most]
    return [int(i) for i in order if study.flags.bits[i]]


def rules_of(study: Study, row: int) -> list[str]:
    """The names of the rules that hold for a row."""
    bits = int(study.flags.bits[row])
    return [rule.name for k, rule in enumerate(ROW_RULES) if bits >> k & 1]


def _finding(finding: Finding) -> Padding:
    where = f"  {finding.count:,} rows ({finding.share:.1%})" if finding.rows else ""
    paid = f", {finding.paid:.0%} paid above their group" if finding.paid else ""
    rows = ", ".join(str(row + 1) for row in finding.rows[:6])
    lines: list[RenderableType] = [
        Text.assemble((f"{finding.severity:<8}", STYLES[finding.severity]), (finding.rule, "bold"), where + paid),
        Padding(Text(finding.says), (0, 0, 0, 8)),
    ]
    if rows:
        lines.append(Text(f"        rows {rows}{', …' if finding.count > 6 else ''}", style="dim"))
    return Padding(Group(*lines), (0, 0, 0, 1))


def spark(counts: Sequence[int]) -> str:
    """A histogram in one line: ▁ for few, █ for the most."""
    most = max(counts, default=0) or 1
    return "".join(BLOCKS[0 if not c else max(1, round(8 * c / most))] for c in counts)


def _histograms(distributions: Sequence[Distribution]) -> Grid:
    grid = _grid("", "", "mean", "std", "min", "med", "max", "low%", "top%", "not scored")
    names = short_names([d.name for d in distributions])
    for d in distributions[:MOST_HISTOGRAMS]:
        missing = ", ".join(f"{n:,} {why}" for why, n in d.missing.items())
        if not d.count:
            grid.add_row(names[d.name], "", *["-"] * 7, missing)
            continue
        numbers = [_number(n) for n in (d.mean, d.std, d.low, d.quantiles["p50"], d.high)]
        shares = [f"{d.at_floor:.0%}", f"{d.at_ceiling:.0%}"]
        grid.add_row(names[d.name], Text(spark(d.counts), style="cyan"), *numbers, *shares, missing)
    return grid


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:.3g}"


def _groups(study: Study) -> Text:
    g = study.groups
    passed = ", ".join(f"pass@{k} {p:.1%}" for k, p in g.pass_at.items())
    lines = [
        f"{g.count:,} groups of {g.size:.1f}; {g.flat:.1%} without signal ({g.dead_share:.1%} dead, "
        f"{g.saturated_share:.1%} saturated); {g.effective_size:.1f} different rewards in one",
        f"variance within {g.within:.4f}, between {g.between:.4f}" + (f"; {passed} ({g.passing})" if passed else ""),
    ]
    for title, prompts in (("dead", g.dead), ("saturated", g.saturated)):
        lines += [f"  {title}: {shortened(p.name, 90)} (row {p.rows[0] + 1})" for p in prompts[:3]]
    return Text("\n".join(lines))


def _attribution(study: Study) -> Group:
    a = study.attribution
    assert a is not None
    names = short_names([c.name for c in a.components])
    grid = _grid("component", "weight", "of weights", "of advantage", "silent groups", "flips", "")
    for c in sorted(a.components, key=lambda c: -c.share):
        said = "teaches nothing" if c.dead else ""
        shares = [f"{c.configured:.0%}", f"{c.share:.1%}", f"{c.silent:.0%}", f"{c.flips:.1%}"]
        grid.add_row(names[c.name], f"{c.weight:g}", *shares, said)
    if abs(a.rest) > 0.005:
        grid.add_row("gates and policies", "", "", f"{a.rest:.1%}", "", "", "")
    if not a.correctness:
        return Group(grid)
    facts = f"against {a.correctness!r} alone: {a.flips:.1%} of the signs are turned round, "
    facts += f"{a.overruled:.1%} of the advantage lies where it does not differ"
    return Group(grid, Text(facts, style="dim"))


def _kinds(study: Study) -> Grid:
    grid = _grid("kind", "rows", "share", "mean", "others", "within group", "look at rows")
    for kind in (*study.kinds[:9], *study.clusters[:1], *study.clusters[-1:]):
        numbers = [
            f"{kind.count:,}",
            f"{kind.share:.1%}",
            f"{kind.mean:.3f}",
            f"{kind.others:.3f}",
            f"{kind.within:+.3f}",
        ]
        grid.add_row(kind.name.replace("_", " "), *numbers, ", ".join(str(r + 1) for r in kind.rows[:3]))
    return grid


def _failures(study: Study) -> Grid:
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for failure in study.failures[:6]:
        rows = ", ".join(str(r + 1) for r in failure.rows[:3])
        grid.add_row(f"{failure.count:,}", Text.assemble(shortened(failure.name, 140), (f"  rows {rows}", "dim")))
    return grid


def _row(study: Study, number: int, row: Row) -> Padding:
    reward = study.table.reward[number]
    shown = f"{reward:.3f}" if reward == reward else "  -  "
    title = Text.assemble((shown, "bold"), f"  row {number + 1}  ", (", ".join(rules_of(study, number)), "red"))
    text = Text(
        "       " + shortened(trajectory_of(row).response, 220), style="cyan", no_wrap=True, overflow="ellipsis"
    )
    return Padding(Group(title, text), (0, 0, 0, 1))


def _grid(first: str, *others: str) -> Grid:
    grid = Grid(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column(first, no_wrap=first == "", min_width=8)
    for name in others:
        left = name in ("", "look at rows", "not scored")
        grid.add_column(name, justify="left" if left else "right", no_wrap=True)
    return grid
