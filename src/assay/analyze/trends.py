"""Run rules: what shows only in all rows together. Drift over steps, length that pays, one component that rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.analyze.attribution import Attribution
from assay.analyze.groups import FLAT, Groups, guess_correctness
from assay.analyze.hacking import Finding, Severity
from assay.analyze.nearby import clusters
from assay.analyze.stats import StepPoint, compact, mean_of, strata
from assay.analyze.table import STATES, Array, Table, numpy
from assay.errors import require


def run_findings(
    table: Table, groups: Groups, attribution: Attribution | None, steps: list[StepPoint]
) -> list[Finding]:
    """Every run rule that holds, the gravest first."""
    found = [
        *_not_scored(table),
        *_signal(table, groups),
        *_length_pays(table),
        *_alike(table),
        *(_taught(table, attribution) if attribution else ()),
        *_drift(steps),
        *_gains(table, steps),
        *_gold_gap(table, steps),
    ]
    return sorted(found, key=lambda f: ("alarm", "warning", "note").index(f.severity))


def _finding(rule: str, severity: Severity, says: str, table: Table, rows: Array) -> Finding:
    return Finding(rule, severity, says, len(rows), len(rows) / max(1, table.rows), 0.0, tuple(rows[:1000].tolist()))


def _not_scored(table: Table) -> Iterator[Finding]:
    np = numpy()
    rows = np.flatnonzero(~table.scored)
    if len(rows):
        share = len(rows) / table.rows
        why = max(table.reasons, key=lambda r: table.reasons[r], default="no reason given")
        severity: Severity = "alarm" if share > 0.05 else "warning" if share > 0.005 else "note"
        yield _finding(
            "not_scored", severity, f"{share:.1%} of the rows have no reward. Most often: {why}", table, rows
        )
    for name, part in table.parts.items():
        failed = np.flatnonzero((part.state >= STATES.index("timeout")) & (part.state <= STATES.index("infra_error")))
        if len(failed) > 0.005 * table.rows:
            says = f"component {name!r} failed on {len(failed) / table.rows:.1%} of the rows"
            yield _finding("component_fails", "warning", says, table, failed)


def _signal(table: Table, groups: Groups) -> Iterator[Finding]:
    np = numpy()
    if groups.flat > 0.3:
        severity: Severity = "alarm" if groups.flat > 0.6 else "warning"
        says = (
            f"{groups.flat:.0%} of the groups have no signal (all rewards equal): {groups.dead_share:.0%} at the "
            f"lowest reward, {groups.saturated_share:.0%} at the highest. Their tokens are generated for nothing"
        )
        known = table.reward[table.scored]
        if known.max() - known.min() <= FLAT:
            says = (
                f"every row has the reward {known[0]:g}: there is nothing to learn. Look at what was extracted from "
                f"these rows, and at the gold beside it"
            )
        rows = np.array([p.rows[0] for p in (*groups.dead, *groups.saturated) if p.rows], dtype=int)
        yield _finding("no_signal", severity, says, table, rows)


def _length_pays(table: Table) -> Iterator[Finding]:
    """Does the longer of two equally right responses of one group get more?"""
    np = numpy()
    correct = guess_correctness(table)
    known = np.flatnonzero(table.scored)
    right = table.parts[correct].value[known] if correct else np.zeros(len(known))
    stratum = strata(table.group[known], np.round(np.nan_to_num(right, nan=-1.0), 3))
    several = np.bincount(stratum)[stratum] > 1
    if several.sum() < 30:
        return
    known, stratum = known[several], compact(stratum[several])
    length = _less_mean(np.log1p(table.numbers["length"][known].astype(np.float64)), stratum)
    reward = _less_mean(table.reward[known], stratum)
    if length.std() < 1e-9 or reward.std() < 1e-9:
        return
    r = float((length * reward).mean() / (length.std() * reward.std()))
    if abs(r) > 0.5:
        way = "longer" if r > 0 else "shorter"
        beside = f" of equal {correct!r}" if correct else ""
        order = known[np.argsort(-(length * reward * np.sign(r)), kind="stable")][:50]
        says = f"within a group, the {way} response{beside} gets more: correlation {r:+.2f} of reward and log length"
        yield _finding("length_pays", "warning" if abs(r) < 0.8 else "alarm", says, table, order)


def _less_mean(values: Array, codes: Array) -> Array:
    np = numpy()
    return values - (np.bincount(codes, weights=values) / np.bincount(codes))[codes]


def _alike(table: Table) -> Iterator[Finding]:
    """Responses to one prompt that are nearly the same: exploration has ended."""
    np = numpy()
    members = np.flatnonzero(table.numbers["length"] >= 80)
    if len(members) < 8:
        return
    cluster = clusters(table.signatures, members)
    codes = strata(table.group[members], cluster)
    same = (np.bincount(codes)[codes] > 1) & (cluster >= 0)
    if same.mean() > 0.5:
        says = f"{same.mean():.0%} of the responses have a near-duplicate within their own group"
        yield _finding("alike", "warning" if same.mean() < 0.8 else "alarm", says, table, members[same])


def _taught(table: Table, a: Attribution) -> Iterator[Finding]:
    np = numpy()
    nothing = np.zeros(0, dtype=int)
    for c in a.components:
        if c.dead and c.weight:
            says = f"component {c.name!r} (weight {c.weight:g}) never differs within a group: it teaches nothing"
            yield _finding("dead_component", "warning", says, table, nothing)
        elif c.share > 0.5 and c.share > c.configured + 0.25 and c.name != a.correctness:
            says = (
                f"component {c.name!r} makes {c.share:.0%} of the advantage at {c.configured:.0%} of the weights "
                f"({a.estimator})"
            )
            yield _finding("dominance", "alarm", says, table, nothing)
    if a.correctness and a.flips > 0.02:
        says = f"in {a.flips:.1%} of the rows the advantage has the other sign than {a.correctness!r} alone would give"
        yield _finding("sign_flips", "alarm" if a.flips > 0.1 else "warning", says, table, np.array(a.rows, dtype=int))
    if a.correctness and a.overruled > 0.3:
        says = (
            f"{a.overruled:.0%} of the advantage's size lies in groups where {a.correctness!r} does not differ: "
            f"there the policy is taught by the other components alone"
        )
        yield _finding("taught_by_others", "warning", says, table, nothing)


def _drift(steps: list[StepPoint]) -> Iterator[Finding]:
    if len(steps) < 5:
        return
    first, last = _ends(steps)

    def mean(points: list[StepPoint], of: str) -> float:
        return sum(getattr(p, of) for p in points) / len(points)

    def told(rule: str, severity: Severity, says: str) -> Finding:
        return Finding(rule, severity, says, len(steps), 1.0, 0.0, ())

    before, after = mean(first, "length"), mean(last, "length")
    if max(before, after) > 1.5 * max(1.0, min(before, after)) and abs(_rank(steps, "length")) > 0.6:
        yield told("length_drift", "warning", f"the median response went from {before:.0f} to {after:.0f} characters")
    before, after = mean(first, "vocabulary"), mean(last, "vocabulary")
    if after < 0.75 * before and _rank(steps, "vocabulary") < -0.6:
        says = (
            f"the words of a response narrow: distinct ones over the root of all went from {before:.1f} to {after:.1f}"
        )
        yield told("vocabulary_narrows", "warning", says)
    before, after = mean(first, "repetition"), mean(last, "repetition")
    if after > before + 0.1 and _rank(steps, "repetition") > 0.6:
        says = f"responses say more and more again: from {before:.0%} to {after:.0%} of a text, on average"
        yield told("repetition_drift", "warning", says)
    flat_before, flat_after = mean(first, "flat"), mean(last, "flat")
    if flat_after > flat_before + 0.2:
        says = f"groups without signal went from {flat_before:.0%} to {flat_after:.0%} as training went on"
        yield told("signal_fades", "warning", says)
    for name in steps[0].parts:
        paid = [p.parts[name] for p in steps if p.parts[name] == p.parts[name]]
        if len(paid) >= 5 and paid[-1] > 0.98 and paid[0] < 0.8:
            yield told("saturated_component", "note", f"component {name!r} went from {paid[0]:.2f} to {paid[-1]:.2f}")


def _ends(steps: list[StepPoint]) -> tuple[list[StepPoint], list[StepPoint]]:
    """The first and the last fifth."""
    size = max(1, len(steps) // 5)
    return steps[:size], steps[-size:]


def _gains(table: Table, steps: list[StepPoint]) -> Iterator[Finding]:
    """The reward rises, and what says what is right has little part in that."""
    right = guess_correctness(table)
    weights = table.weights()
    if len(steps) < 5 or right is None or not weights.get(right):
        return
    first, last = _ends(steps)

    def gained(of: Callable[[StepPoint], float]) -> float:
        known = [[v for p in points if (v := of(p)) == v] for points in (last, first)]
        return sum(known[0]) / len(known[0]) - sum(known[1]) / len(known[1]) if all(known) else 0.0

    total = gained(lambda p: p.mean)
    parts = {name: w * gained(lambda p, name=name: p.parts[name]) for name, w in weights.items()}
    if total <= 0.05 or parts[right] >= 0.5 * total or _rank(steps, "mean") <= 0.6:
        return
    best = max((name for name in parts if name != right), key=lambda name: parts[name], default=None)
    if best is None or parts[best] <= 0.0:
        return
    says = (
        f"the reward rose by {total:+.3f} as training went on, of which {right!r} makes {parts[right]:+.3f} and "
        f"{best!r} {parts[best]:+.3f}: what is learnt is not what is right"
    )
    yield Finding("gains_without_right", "alarm", says, len(steps), 1.0, 0.0, ())


def _rank(steps: list[StepPoint], of: str) -> float:
    stats = require("scipy.stats", "report", "analysing a Run over steps")
    return float(stats.spearmanr(range(len(steps)), [getattr(p, of) for p in steps]).statistic)


def _gold_gap(table: Table, steps: list[StepPoint]) -> Iterator[Finding]:
    """The reward rises while a column that says what is really right (`gold`, `human`, `label`) does not."""
    np = numpy()
    name = next((n for n in table.own if n.lower() in ("gold", "human", "label", "gold_reward", "true_reward")), None)
    if name is None:
        return
    gold = table.own[name]
    both = table.scored & (gold == gold)
    if both.sum() < 30 or gold[both].std() < 1e-9:
        return
    top = table.reward >= np.nanpercentile(table.reward, 90)
    gap = mean_of(gold[both]) - mean_of(gold[both & top])
    if gap > 0.02:
        says = f"the best paid tenth has a lower {name!r} than all rows: {mean_of(gold[both & top]):.2f} against "
        rows = np.flatnonzero(both & top & (gold < mean_of(gold[both])))
        yield _finding("gold_gap", "alarm", says + f"{mean_of(gold[both]):.2f}", table, rows)
