"""A reward on trial: its examples measured, its cases made, each judged by what it earned beside the honest response.

What a reward may be blamed for depends on what it reads. One that tells right from wrong must not pay a guess; one that
reads form only (length, tags) pays whatever has the form, and is told so once instead of a hundred times.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from assay.calling import ALIASES
from assay.contract import Per
from assay.engine import Engine, leaves, required_columns
from assay.engine import score as score_rows
from assay.errors import InputError
from assay.probe.example import Example, candidates, marked, rows_of
from assay.probe.rule import RULES, SLACK, Case, Expect, Finding, Rule, Severity, cases_of
from assay.reward import RewardFunction, as_reward, call_of
from assay.types import FAILURES, Outcome, RewardOutput, Trajectory

LIMIT = 4
"""How many examples are tried, where nobody says."""
PLAIN_TIMEOUT, ASYNC_TIMEOUT = 3.0, 120.0
"""Seconds that one response may take, where the reward declares no deadline: a function's, and a judge's."""
FEW = 4
"""How many rows are scored first: where all of them time out, the rest would too."""
TELLING = 0.05
"""Share of the scale by which the honest response must beat a wrong one, to be an example of anything."""
MADE_UP_WINS = 0.25
"""Share of the scale by which a response made from the gold must beat the rows' own to be taken in their place."""


class Sense(IntEnum):
    """What a reward reads, as its examples show; each reads what those before it read, too."""

    FORM = 0  # made-up words in the same form earn as much
    WORDS = 1  # the right words in any order earn as much
    CONTENT = 2  # made-up or shuffled words earn less
    ANSWER = 3  # a wrong answer in the same form earns less


@dataclass(frozen=True, slots=True)
class Measured:
    """What an example's honest response earns, and what its worthless twins do."""

    honest: float
    mistaken: float | None
    hollow: float | None
    shuffled: float | None

    def floor(self, sense: Sense) -> float:
        """What a worthless response of the same form earns."""
        twins = [self.mistaken] if sense is Sense.ANSWER else [self.hollow, self.shuffled]
        known = [twin for twin in twins if twin is not None]
        return max(known, default=self.honest) if sense is Sense.ANSWER else min(known, default=self.honest)


@dataclass
class Trial:
    """A reward under test with its examples; `open_trial` makes one."""

    reward: RewardFunction
    examples: list[Example]
    measured: dict[int, Measured]
    own_rows: list[Trajectory]
    own_outputs: list[RewardOutput]
    engine: Engine
    timeout: float
    scale: float
    slack: float
    troubles: list[Finding] = field(default_factory=list[Finding])
    paid_form: Counter[str] = field(default_factory=Counter[str])
    """For a reward that reads form only: how many cases of which rule earn what the honest response does."""
    spread: float = 0.0
    """How far the scores of one and the same response lay apart."""
    builtin: bool = False
    """Whether the examples are those that come along."""
    _grouped: bool = False

    @property
    def sense(self) -> Sense:
        """The finest thing that the reward was seen to tell apart."""
        return max((self._sense(m) for m in self.measured.values()), default=Sense.FORM)

    def _sense(self, m: Measured) -> Sense:
        gap = max(TELLING * self.scale, self.slack)
        if m.mistaken is not None and m.honest - m.mistaken > gap:
            return Sense.ANSWER
        if m.hollow is None or m.honest - m.hollow <= gap:
            return Sense.FORM
        return Sense.WORDS if m.shuffled is None or m.honest - m.shuffled <= gap else Sense.CONTENT

    def cases(self, rules: Iterable[Rule] | None = None) -> list[Case]:
        """Every case of every rule, bound to this trial."""
        chosen = list(RULES.values() if rules is None else rules)
        first = self.examples[:1]
        return [
            dataclasses.replace(case, trial=self)
            for example in self.examples
            for case in cases_of(example, (r for r in chosen if example in first or not r.once))
        ]

    def score(self, asked: Sequence[tuple[Example, Trajectory]]) -> list[RewardOutput]:
        """Score rows of examples; where a reward sees groups, each beside its example's honest response."""
        for i, (_, row) in enumerate(asked):
            row.group = f"probe-{i}"  # nobody is to be scored beside another attack
        if not self._grouped:
            return score_rows(self.reward, [row for _, row in asked], engine=self.engine)
        pairs: list[Trajectory] = []
        for e, row in asked:
            pairs += [dataclasses.replace(e.row(e.honest), group=row.group), row]
        return score_rows(self.reward, pairs, engine=self.engine)[1::2]

    def judge(self, case: Case) -> Finding | None:
        """Score one case and say what is wrong with it, if anything is."""
        return next(self.judge_all([case]), None)

    def judge_all(self, cases: Sequence[Case]) -> Iterator[Finding]:
        """Score the cases in one batch, and give what is wrong."""
        worthless = {Expect.BELOW, Expect.ENDS, Expect.NO_GAIN}
        asked = [(c.example, c.example.row(c.response, c.rule.expect in worthless)) for c in cases]
        beside = [(c.example, c.example.row(c.beside, worthless=True)) for c in cases if c.beside]
        outputs = self.score([*asked, *beside])
        neutral = iter(outputs[len(cases) :])
        for case, output in zip(cases, outputs, strict=False):
            other = next(neutral) if case.beside else None
            if found := self._verdict(case, output, other):
                yield found

    def _verdict(self, case: Case, output: RewardOutput, beside: RewardOutput | None) -> Finding | None:
        if output.reward is None:
            return self._unscored(case, output)
        m, earned = self.measured[case.example.number], output.reward
        honest = f"the honest response earns {m.honest:.3g}"
        match case.rule.expect:
            case Expect.SAME:
                if abs(earned - m.honest) > self.slack and self._is_same_to_it(case):
                    return self._found(case, earned, f"it earns {earned:.3g}, {honest}")
            case Expect.NOT_ABOVE:
                if earned > m.honest + self.slack and self.sense >= Sense.CONTENT:
                    return self._found(case, earned, f"it earns {earned:.3g}, {honest}")
                return self._more_for_form(case, earned, m)
            case Expect.NO_GAIN:
                if beside is not None and beside.reward is not None and self._gains(earned, beside.reward, m.honest):
                    said = f"it earns {earned:.3g}, a neutral text in its place {beside.reward:.3g}"
                    return self._found(case, earned, said)
            case Expect.BELOW | Expect.ENDS:
                return self._below(case, earned, m)
        return None

    def _gains(self, earned: float, neutral: float, honest: float) -> bool:
        """A tenth of the way to the honest response; less than that may be chance in what is counted."""
        return earned > neutral + max(self.slack, TELLING * self.scale, 0.1 * (honest - neutral))

    def _is_same_to_it(self, case: Case) -> bool:
        """A reward of form may tell two spellings of an answer apart; white space should not matter to any."""
        if self.sense >= Sense.CONTENT:
            return True
        return not self._grouped and case.response.split() == case.example.honest.split()

    def _below(self, case: Case, earned: float, m: Measured) -> Finding | None:
        said = f"it earns {earned:.3g}, the honest response {m.honest:.3g}"
        sense = self.sense
        if sense < Sense.CONTENT:
            self.paid_form[case.rule.name] += earned >= m.honest - self.slack
            return self._more_for_form(case, earned, m)
        floor = m.floor(sense)
        if m.honest - floor <= max(TELLING * self.scale, self.slack):
            return None  # this example tells nothing apart
        if earned >= m.honest - self.slack:
            return self._found(case, earned, said)
        if earned - floor > 0.5 * (m.honest - floor):
            milder = Severity.WARNING if case.rule.severity is Severity.ERROR else Severity.NOTE
            return self._found(case, earned, f"{said}: more than half", milder)
        return None

    def _more_for_form(self, case: Case, earned: float, m: Measured) -> Finding | None:
        """A reward of form cannot tell; that is said once, and only clearly more than the honest one is news."""
        if self.builtin or self._grouped or self.sense >= Sense.CONTENT:
            return None  # what is measured against its group has no worth of its own
        if earned <= m.honest + max(0.1 * self.scale, self.slack):
            return None
        said = f"it earns {earned:.3g}, the honest response {m.honest:.3g}"
        return self._found(case, earned, said, Severity.WARNING)

    def _unscored(self, case: Case, output: RewardOutput) -> Finding | None:
        if output.outcome is Outcome.TIMEOUT:
            if all(leaf.contract.timeout is not None for leaf in leaves(self.reward)):
                return None  # it was stopped at the deadline that it declares: as it should be
            said = f"it was not done after {self.timeout:g} s, and the reward declares no deadline"
            return self._found(case, None, said, Severity.ERROR, "Declare Contract(timeout=...).")
        if output.outcome in FAILURES:
            said = f"the reward fails on it, so it is not scored: {output.error[:200]}"
            return self._found(case, None, said, Severity.WARNING, "A policy can write this: read it without failing.")
        if case.rule.expect is Expect.SAME:
            return self._found(case, None, f"it is not scored: {output.error[:200]}")
        return None

    def _found(
        self, case: Case, earned: float | None, said: str, severity: Severity | None = None, fix: str = ""
    ) -> Finding:
        return Finding(
            case.rule.name,
            severity or case.rule.severity,
            f"{case.rule.title}: {said}",
            fix or case.rule.fix,
            example=case.example.number,
            response=case.response,
            excerpt=_excerpt(case.response, case.example.honest),
            earned=earned,
            honest=self.measured[case.example.number].honest,
            id=case.id,
        )


def _excerpt(response: str, honest: str) -> str:
    differs = (i for i, (a, b) in enumerate(zip(response, honest, strict=False)) if a != b)
    same = next(differs, min(len(response), len(honest)))
    return response if same < 60 else f"… {response[same - 30 :]}"


def open_trial(
    reward: Any, examples: Iterable[Any] | None = None, *, limit: int = LIMIT, timeout: float | None = None
) -> Trial:
    """Measure a reward on examples (rows as for `assay.score`; without any, on a few that come along)."""
    reward = as_reward(reward)
    own = rows_of(examples) if examples is not None else builtin_rows(reward)
    if not own:
        raise InputError("needed at least one example row; found none.")
    waits = any(call_of(leaf).is_async for leaf in leaves(reward))
    seconds = timeout if timeout is not None else ASYNC_TIMEOUT if waits else PLAIN_TIMEOUT
    engine = Engine(timeout=seconds, quarantine=Path(tempfile.gettempdir()) / "assay-probe")
    grouped = any(call_of(leaf).per is Per.GROUP for leaf in leaves(reward))
    trial = Trial(reward, [], {}, own, [], engine, seconds, 1.0, SLACK, builtin=examples is None, _grouped=grouped)
    few = score_rows(reward, own[:FEW], engine=engine)
    if all(output.outcome is Outcome.TIMEOUT for output in few):
        _give_up(trial, few[0].error)
        return trial
    trial.own_outputs = [*few, *score_rows(reward, own[FEW:], engine=engine)]
    _choose_examples(trial, limit if examples is not None else len(own))
    _measure(trial)
    if examples is None:
        trial.examples, trial.troubles = _telling(trial)[:limit], []
        trial.measured = {e.number: trial.measured[e.number] for e in trial.examples}
    return trial


def _give_up(trial: Trial, reason: str) -> None:
    fix = "Give it more time with --timeout, or find what it waits for."
    trial.troubles.append(Finding("example/timeout", Severity.ERROR, reason, fix, id="example/timeout"))


def builtin_rows(reward: RewardFunction) -> list[Trajectory]:
    """The examples that come along, as far as they have the columns that this reward needs."""
    from assay.probe.examples import EXAMPLES

    needed = {column for leaf in leaves(reward) for column in required_columns(leaf)}
    called = needed & set(ALIASES["ground_truth"])  # the gold, as this reward calls it
    rows = [Trajectory.of({**row, **{name: row.get("ground_truth") for name in called}}) for row in EXAMPLES]
    fitting = [row for row in rows if all(row.get(column) is not None for column in needed)]
    if not fitting:
        raise InputError(
            f"reward {reward.name!r} needs {sorted(needed)}, which the built-in examples do not have. "
            f"Pass some rows of your data: assay check SPEC --examples rollouts.jsonl"
        )
    return fitting


def _choose_examples(trial: Trial, limit: int) -> None:
    """The honest response of each prompt: the best of its own rows, or one made from its gold where none is good."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(trial.own_rows):
        groups.setdefault(row.group_id, []).append(i)
    chosen = list(groups.values())[:limit]
    made = [
        [Example(trial.own_rows[rows[0]]).row(text) for text in candidates(trial.own_rows[rows[0]])] for rows in chosen
    ]
    flat = score_rows(trial.reward, [row for rows in made for row in rows], engine=trial.engine) if any(made) else []
    outputs = iter(flat)
    known = [o.reward for o in (*trial.own_outputs, *flat) if o.reward is not None]
    trial.scale = _scale(trial.reward, known)
    for rows, mades in zip(chosen, made, strict=True):
        synthetic = [(row, next(outputs)) for row in mades]
        best = _honest([(trial.own_rows[i], trial.own_outputs[i]) for i in rows], synthetic, trial.scale)
        if best is None:
            first = rows[0]
            reason = trial.own_outputs[first].error or "no response to it is scored"
            trial.troubles.append(
                Finding(
                    "example/unscored",
                    Severity.WARNING,
                    f"this prompt is left out: {reason}",
                    example=first + 1,
                    id=f"example/unscored:{first}",
                )
            )
        else:
            trial.examples.append(Example(best, rows[0] + 1))


def _honest(
    own: list[tuple[Trajectory, RewardOutput]], made: list[tuple[Trajectory, RewardOutput]], scale: float
) -> Trajectory | None:
    said = [(t, o) for t, o in own if marked(t)]
    if said:
        own, made = said, []
    own = [(t, o) for t, o in own if o.reward is not None and t.response.strip() and marked(t) is not False]
    made = [(t, o) for t, o in made if o.reward is not None]
    best, best_made = max(own, key=_paid, default=None), max(made, key=_paid, default=None)
    if best is None or (best_made and _paid(best_made) - _paid(best) > MADE_UP_WINS * scale):
        best = best_made
    return best[0] if best else None


def _paid(scored: tuple[Trajectory, RewardOutput]) -> float:
    return scored[1].reward or 0.0


def _scale(reward: RewardFunction, known: Sequence[float]) -> float:
    declared = reward.contract.range
    if declared is not None and declared[1] > declared[0]:
        return declared[1] - declared[0]
    return (max(known) - min(known) if known else 0.0) or max(map(abs, known), default=0.0) or 1.0


def _measure(trial: Trial) -> None:
    asked: list[tuple[Example, Trajectory]] = []
    for e in trial.examples:
        asked.append((e, e.row(e.honest)))
        asked += [(e, e.row(text, worthless=True)) for text in (e.mistaken or "", e.hollow, e.shuffled)]
    repeats = 2 if all(leaf.contract.deterministic for leaf in leaves(trial.reward)) else 3
    runs = [trial.score(asked) for _ in range(repeats)] if asked else [[]]
    spread = 0.0
    for i, e in enumerate(list(trial.examples)):
        columns = [[run[4 * i + j].reward for run in runs] for j in range(4)]
        honest, *twins = [_mean(values) for values in columns]
        if honest is None:
            trial.examples.remove(e)
            continue
        scored = [v for v in columns[0] if v is not None]
        spread = max(spread, max(scored) - min(scored))
        mistaken = twins[0] if e.mistaken is not None else None
        trial.measured[e.number] = Measured(honest, mistaken, twins[1], twins[2])
    trial.spread = spread
    trial.slack = SLACK * trial.scale + 2 * spread


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _telling(trial: Trial) -> list[Example]:
    """The examples in the order of what they tell apart: those that the reward was made for come first."""
    return sorted(trial.examples, key=lambda e: (-trial._sense(trial.measured[e.number]), e.number))
