"""The audit: every case of every rule tried on a reward, and the reward itself looked at; the worst is told first."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.load import load_reward
from assay.probe.lints import lint
from assay.probe.opening import LIMIT, open_trial
from assay.probe.rule import RULES, Case, Finding, Rule, Severity, finding
from assay.probe.trial import TELLING, Sense, Trial
from assay.rollouts import Rollouts

ROWS = 512
"""How many rows of an examples file are read, at most."""

ALIKE = 4
"""From how many rules on a failure that they share is one finding."""

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class Audit:
    """What was tried on a reward, and what came of it."""

    reward: str
    findings: list[Finding]
    """Errors first."""
    sense: Sense = Sense.FORM
    """What the reward was seen to read."""
    examples: int = 0
    tried: Counter[str] = field(default_factory=Counter[str])
    """Cases by rule."""
    honest: float | None = None
    """What the honest responses earn, on average."""
    seconds: float = 0.0

    def count(self, severity: Severity) -> int:
        """How many findings are this bad."""
        return sum(f.severity == severity for f in self.findings)

    @property
    def passed(self) -> bool:
        """Whether there is no error."""
        return not self.count(Severity.ERROR)


def audit(
    reward: Any,
    examples: str | Path | Iterable[Any] | None = None,
    *,
    limit: int = LIMIT,
    timeout: float | None = None,
    rules: Iterable[Rule] | None = None,
) -> Audit:
    """Attack a reward, and lint it.

    `reward` is anything that `assay score --reward` takes, or a reward; `examples` is a file or rows, with responses of
    which the best one to each prompt is taken to be honest (or those whose column `honest` is true). With none, a
    few examples that come along are used. `limit` is how many prompts are tried, `timeout` the seconds a response.
    """
    started = time.perf_counter()
    trial = open_trial(load_reward(reward), _rows(examples), limit=limit, timeout=timeout)
    with trial.engine:
        looked = lint(trial)
        cases = [] if _is_chance(trial) else trial.cases(rules)
        judged = [*trial.judge_all(cases)]
        if any(f.rule == "lint/nondeterminism" and f.severity is Severity.ERROR for f in looked):
            judged = _found_again(trial, cases, judged)
        found = [*trial.troubles, *_failing_alike(judged, len(cases)), *_told_once(trial, len(cases)), *looked]
    found.sort(key=lambda f: (_ORDER[f.severity], f.rule, f.example))
    honest = [m.honest for m in trial.measured.values()]
    return Audit(
        trial.reward.name,
        found,
        trial.sense,
        len(trial.examples),
        Counter(case.rule.name for case in cases),
        sum(honest) / len(honest) if honest else None,
        time.perf_counter() - started,
    )


def cases(
    reward: Any,
    examples: str | Path | Iterable[Any] | None = None,
    *,
    kinds: Sequence[str] = ("attack", "equivalence", "distinction"),
    limit: int = LIMIT,
    timeout: float | None = None,
) -> list[Case]:
    """The cases of a reward, as pytest parameters: `@pytest.mark.parametrize("case", cases(...), ids=str)`.

    The honest response of each example is measured at once; each case is scored when its `check()` is called.
    """
    trial = open_trial(load_reward(reward), _rows(examples), limit=limit, timeout=timeout)
    return trial.cases(rule for rule in RULES.values() if rule.kind in kinds)


def _rows(examples: str | Path | Iterable[Any] | None) -> Iterable[Any] | None:
    return Rollouts(examples, limit=ROWS, to_score=True) if isinstance(examples, str | Path) else examples


def _is_chance(trial: Trial) -> bool:
    """Whether the reward scores at random, or counts its calls: then nothing that an attack earns means anything."""
    return not trial.declares_noise and trial.spread > TELLING * trial.scale


def _found_again(trial: Trial, cases: Sequence[Case], found: Sequence[Finding]) -> list[Finding]:
    """Of a reward that wavers, what a second look finds as well."""
    ids = {f.id for f in found}
    again = {f.id for f in trial.judge_all([case for case in cases if case.id in ids])}
    return [f for f in found if f.id in again]


def _failing_alike(found: Sequence[Finding], cases: int) -> list[Finding]:
    """A failure that many rules ran into, for one and the same reason, is told once."""
    alike: dict[str, list[Finding]] = {}
    for f in found:
        if f.earned is None:
            alike.setdefault(re.sub(r"\d+", "#", f.message), []).append(f)
    many = {reason: fs for reason, fs in alike.items() if len({f.rule for f in fs}) >= ALIKE}
    told = {id(f) for fs in many.values() for f in fs}
    once = [
        replace(
            fs[0],
            rule="lint/hangs" if fs[0].severity is Severity.ERROR else "lint/fails",
            message=f"on {len(fs)} of {cases} cases: {fs[0].message}",
            id=f"lint/fails:{hashlib.sha1(reason.encode(), usedforsecurity=False).hexdigest()[:16]}",
        )
        for reason, fs in many.items()
    ]
    return [f for f in found if id(f) not in told] + once


def _told_once(trial: Trial, cases: int) -> list[Finding]:
    if not trial.examples:
        return [
            finding(
                "example/none",
                Severity.ERROR,
                "no example has a response that is scored, so nothing could be tried",
                "Pass rows of your data with --examples, and see why they are not scored: assay score",
            )
        ]
    if _is_chance(trial):
        said = f"the same response earned up to {trial.spread:.3g} more or less, so no attack was tried"
        return [finding("example/chance", Severity.ERROR, said, "Make it deterministic, or declare that it is not.")]
    told = list(_fitting(trial))
    rules = [name.partition("/")[2] for name, count in trial.paid_form.items() if count]
    if not rules:
        return told
    reads = ("form only", "words only", "content, and not the right answer")[min(trial.sense, Sense.CONTENT)]
    return [
        *told,
        finding(
            "attack/form-only",
            Severity.NOTE,
            f"the reward reads {reads}: {sum(trial.paid_form.values())} of {cases} cases earn what the honest "
            f"response earns ({', '.join(rules[:8])})",
            "Weigh it low, or use it as a gate beside a reward that reads the answer.",
        ),
    ]


def _fitting(trial: Trial) -> Iterator[Finding]:
    """Whether the examples are any for this reward: where even the best response earns little, little was tried."""
    best = max(m.honest for m in trial.measured.values())
    low = min(v for m in trial.measured.values() for v in (m.honest, m.mistaken, m.hollow, m.shuffled) if v is not None)
    declared = trial.reward.contract.range
    top = declared[1] if declared else best + trial.scale * trial.builtin
    if best <= low + trial.slack and best < top - 0.5 * trial.scale:
        own = "the built-in examples do not fit this reward" if trial.builtin else "the examples show nothing"
        yield finding(
            "example/low",
            Severity.WARNING,
            f"the best response of any example earns {best:.3g}, no more than a worthless one: {own}",
            "Pass rows with a response that deserves the reward: assay check SPEC --examples rollouts.jsonl",
        )
