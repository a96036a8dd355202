"""Everything that is found in a Run, in one place: what `assay inspect` prints and `assay report` draws."""

from __future__ import annotations

from dataclasses import dataclass

from assay.analyze import hacking, kinds, stats, trends
from assay.analyze.agreement import Agreement, agreement
from assay.analyze.attribution import Attribution, Estimator, attribute
from assay.analyze.groups import Groups, groups
from assay.analyze.hacking import Finding, Flags
from assay.analyze.kinds import Failure, Kind
from assay.analyze.stats import Distribution, StepPoint
from assay.analyze.table import Array, Table


@dataclass(frozen=True, slots=True)
class Study:
    """The findings of one Run."""

    table: Table
    distributions: list[Distribution]
    """The total first, then each component."""
    steps: list[StepPoint]
    groups: Groups
    attribution: Attribution | None
    kinds: list[Kind]
    clusters: list[Kind]
    failures: list[Failure]
    flags: Flags
    findings: list[Finding]
    """The gravest first."""
    agreement: Agreement | None = None
    """The reward beside the labels that were given to its rows; None where fewer than two have one."""

    @property
    def alarms(self) -> list[Finding]:
        """The findings for which `assay inspect` exits with 1."""
        return [f for f in self.findings if f.severity == "alarm"]


def study(
    table: Table, estimator: Estimator = "grpo", correctness: str | None = None, labels: Array | None = None
) -> Study:
    """Look at a Run from every side. `labels` has a person's label of each row, NaN where there is none."""
    grouped = groups(table, correctness)
    taught = attribute(table, estimator, correctness)
    steps = stats.over_steps(table)
    flagged = hacking.flags(table)
    found = [*hacking.row_findings(table, flagged), *trends.run_findings(table, grouped, taught, steps)]
    return Study(
        table=table,
        distributions=stats.distributions(table),
        steps=steps,
        groups=grouped,
        attribution=taught,
        kinds=kinds.kinds(table),
        clusters=kinds.clusters(table),
        failures=kinds.failures(table),
        flags=flagged,
        findings=sorted(found, key=lambda f: ("alarm", "warning", "note").index(f.severity)),
        agreement=None if labels is None else agreement(table.reward, labels),
    )
