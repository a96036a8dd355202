"""What comparing Runs, rewards and labels found, as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from assay.analyze.agreement import Agreement
from assay.analyze.compare import Change, Comparison
from assay.analyze.differ import Difference
from assay.analyze.sample import GoldGap, JudgeNoise
from assay.report.terminal import heading, shortened

Excerpt = Callable[[int], str]
"""The beginning of a row's response."""


def comparison_text(c: Comparison, excerpt: Excerpt) -> Group:
    """Two Runs of the same rollouts: what changed, flips first."""
    others = f"; {c.only_a:,} only in the first, {c.only_b:,} only in the second" if c.only_a or c.only_b else ""
    parts: list[RenderableType] = [
        Text(f"{c.paired:,} rollouts in both{others}"),
        Text.assemble(
            (f"{c.downs:,} fell", "bold red" if c.downs else "dim"),
            f" below {c.threshold:g}, ",
            (f"{c.ups:,} rose", "bold green" if c.ups else "dim"),
            " to it or above",
        ),
        Text(
            f"ranks: Spearman {c.spearman:.3f}, Kendall {c.kendall:.3f}; advantages: correlation {c.correlation:.3f}, "
            f"{c.sign_changes:.1%} have the other sign"
        ),
    ]
    grid = _grid("", "rows", "before", "after", "mean change (95 %)", "changed")
    for d in c.deltas:
        low, high = d.interval
        change = f"{d.mean:+.4f} ({low:+.4f} to {high:+.4f})"
        grid.add_row(d.name, f"{d.count:,}", f"{d.before:.3f}", f"{d.after:.3f}", change, f"{d.changed:.1%}")
    parts += [heading("Means"), grid]
    if c.outcomes:
        parts += [heading("Outcomes"), *(Text(f"{n:>8,}  {change}") for change, n in c.outcomes.items())]
    for title, changes in (("Fell", c.down), ("Rose", c.up)):
        if changes:
            parts += [heading(title), *(_change(change, excerpt) for change in changes[:5])]
    if not c.ups and not c.downs and c.largest:
        parts += [heading("Largest changes"), *(_change(change, excerpt) for change in c.largest[:5])]
    return Group(*parts)


def _change(change: Change, excerpt: Excerpt) -> Text:
    said = [("  -  " if v is None else f"{v:.3f}") for v in (change.before, change.after)]
    line = Text(f" {said[0]} -> {said[1]}  row {change.row_a + 1}  ", no_wrap=True, overflow="ellipsis")
    return line.append(shortened(excerpt(change.row_a), 160), style="cyan")


def agreement_text(found: Agreement, what: str, excerpt: Excerpt) -> Group:
    """A reward beside labels."""
    c = found.confusion
    auc = f"AUC {found.auc:.3f}, " if found.auc is not None else ""
    parts: list[RenderableType] = [
        Text(f"{found.count:,} rows have both the reward and {what}"),
        Text(
            f"{auc}Spearman {found.spearman:.3f}, Kendall {found.kendall:.3f}, Krippendorff's alpha {found.alpha:.3f}"
        ),
    ]
    grid = _grid(f"at {found.threshold:g}", f"{what}: high", f"{what}: low")
    grid.add_row("paid", f"{c['tp']:,}", f"{c['fp']:,}")
    grid.add_row("not paid", f"{c['fn']:,}", f"{c['tn']:,}")
    parts += [heading("Confusion"), grid]
    for title, rows in (("Paid, and should not be", found.false_positives), ("Should be paid", found.false_negatives)):
        if rows:
            parts += [heading(title), *(_row(row, excerpt) for row in rows[:5])]
    if found.calibration:
        grid = _grid("reward", "rows", "mean reward", f"share high in {what}")
        for b in found.calibration:
            grid.add_row(f"{b.low:.1f} to {b.high:.1f}", f"{b.count:,}", f"{b.mean:.3f}", f"{b.right:.3f}")
        parts += [heading(f"Calibration (off by {found.error:.3f} on average)"), grid]
    return Group(*parts)


def difference_text(found: Difference, excerpt: Excerpt) -> Group:
    """Who disagrees with whom, and how often each is wrong."""
    parts: list[RenderableType] = [Text(f"{found.rows:,} rows, {len(found.names)} rewards")]
    grid = _grid("", "both", "only the first", "only the second", "differ", "kappa", "rows")
    for p in found.pairs:
        share = (p.only_a + p.only_b) / max(1, p.both)
        rows = ", ".join(str(r + 1) for r in p.rows[:4])
        numbers = [f"{p.both:,}", f"{p.only_a:,}", f"{p.only_b:,}", f"{share:.1%}", f"{p.kappa:.3f}"]
        grid.add_row(f"{p.a} | {p.b}", *numbers, rows)
    parts += [heading("Who disagrees with whom"), grid]
    if found.estimates:
        grid = _grid("", "passes", "false positives (95 %)", "false negatives (95 %)", "no verdict")
        for e in found.estimates:
            fp = f"{e.false_positive:.1%} ({e.false_positive_interval[0]:.1%} to {e.false_positive_interval[1]:.1%})"
            fn = f"{e.false_negative:.1%} ({e.false_negative_interval[0]:.1%} to {e.false_negative_interval[1]:.1%})"
            grid.add_row(e.name, f"{e.positive:.1%}", fp, fn, f"{e.silent:,}")
        said = f"Estimated without labels ({found.prevalence:.1%} of the rows are right)"
        kind = "It is taken that they err independently; where they share mistakes these figures are too kind."
        parts += [heading(said), grid, Text(kind, style="dim")]
    else:
        parts.append(Text("\nWith three rewards or more, each one's errors could be estimated too.", style="dim"))
    disputed = [(p, n, rows) for p, n, rows in found.patterns if len({v for v in p if v is not None}) > 1]
    if disputed:
        parts.append(heading(f"Disputed: {sum(n for _, n, _ in disputed):,} rows"))
        for pattern, n, rows in disputed[:6]:
            verdict = ", ".join(
                f"{name} {'-' if v is None else 'yes' if v else 'no'}"
                for name, v in zip(found.names, pattern, strict=True)
            )
            parts += [Text(f"{n:>8,}  {verdict}", style="bold"), *(_row(row, excerpt) for row in rows[:2])]
    return Group(*parts)


def gold_text(found: GoldGap, excerpt: Excerpt) -> Group:
    """What a stronger verifier says of a sample."""
    low, high = found.interval
    failed = f", {found.failed:,} of them without a verdict" if found.failed else ""
    parts: list[RenderableType] = [
        Text(f"{found.looked_at + found.failed:,} rows scored by the stronger verifier{failed}"),
        Text.assemble(
            ("the reward exceeds it by ", ""), (f"{found.gap:+.4f}", "bold"), f" ({low:+.4f} to {high:+.4f})"
        ),
    ]
    grid = _grid("rewards", "rows", "looked at", "reward", "gold")
    for s in found.strata:
        band = f"{s.low:.3f} to {s.high:.3f}"
        grid.add_row(band, f"{s.rows:,}", f"{s.looked_at:,}", f"{s.proxy:.3f}", f"{s.gold:.3f}")
    parts.append(grid)
    if found.overpaid:
        parts += [heading("Overpaid"), *(_row(row, excerpt) for row in found.overpaid[:5])]
    return Group(*parts)


def noise_text(found: JudgeNoise) -> Group:
    """How much of the advantage is the judge's wavering."""
    ratio = f"{found.signal_to_noise:.2f}"
    grid = _grid("judged", *(f"{n} x" for n in found.reliability))
    grid.add_row("signal in the spread", *(f"{share:.1%}" for share in found.reliability.values()))
    return Group(
        Text(f"{found.looked_at:,} rows judged {found.repeats} times each"),
        Text(
            f"variance on the same row {found.noise:.5f}, within a group {found.spread:.5f}: signal to noise {ratio}; "
            f"{found.pair_flips:.1%} of the pairs in a group would turn round"
        ),
        grid,
    )


def _row(row: int, excerpt: Excerpt) -> Text:
    line = Text(f"          row {row + 1}  ", no_wrap=True, overflow="ellipsis")
    return line.append(shortened(excerpt(row), 160), style="cyan")


def _grid(first: str, *others: str) -> Grid:
    grid = Grid(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(first, no_wrap=True)
    for name in others:
        grid.add_column(name, justify="right")
    return grid


def excerpts(texts: Sequence[str]) -> Excerpt:
    """Excerpts of texts that are at hand."""
    return lambda row: texts[row] if 0 <= row < len(texts) else ""
