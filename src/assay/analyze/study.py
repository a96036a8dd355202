"""Everything that is found in a Run, in one place: what `assay inspect` prints and `assay report` draws."""

from __future__ import annotations

from dataclasses import dataclass

from assay.analyze import hacking, kinds, stats, trends
from assay.analyze.attribution import Attribution, Estimator, attribute
from assay.analyze.groups import Groups, groups
from assay.analyze.hacking import Finding, Flags
from assay.analyze.kinds import Failure, Kind
from assay.analyze.stats import Distribution, StepPoint
from assay.analyze.table import Table


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

    @property
    def alarms(self) -> list[Finding]:
        """The findings for which `assay inspect` exits with 1."""
        return [f for f in self.findings if f.severity == "alarm"]


def study(table: Table, estimator: Estimator = "grpo", correctness: str | None = None) -> Study:
    """Look at a Run from every side."""
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
    )
