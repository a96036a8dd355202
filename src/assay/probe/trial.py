"""A reward on trial: its examples measured, its cases made, each judged by what it earned beside the honest response.

What a reward may be blamed for depends on what it reads. One that tells right from wrong must not pay a guess; one that
reads form only (length, tags) pays whatever has the form, and is told so once instead of a hundred times.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property

from assay.engine import Engine, leaves
from assay.engine import score as score_rows
from assay.probe.example import Example, shuffled
from assay.probe.rule import RULES, Case, Expect, Finding, Rule, Severity, cases_of
from assay.reward import RewardFunction
from assay.types import FAILURES, Outcome, RewardOutput, Trajectory

TELLING = 0.05
"""Share of the scale by which the honest response must beat a wrong one, to be an example of anything."""
OF_THE_ANSWER = frozenset(
    f"attack/{name}"
    for name in ("gold", "enumeration", "hedge", "negation", "contradiction", "padded-mistake", "unclosed-think")
) | {"distinction/answer"}
"""Rules that only a reward can break which is told what the right answer is."""
HANGS, FAILS = "it was not done", "the reward fails on it, so it is not scored"
"""How a finding begins that is about no payment."""


class Sense(IntEnum):
    """What a reward reads, as its examples show; each reads what those before it read, too."""

    FORM = 0  # made-up words in the same form earn as much
    WORDS = 1  # the right words in any order earn as much
    CONTENT = 2  # made-up or shuffled words earn less
    ANSWER = 3  # a wrong answer in the same form earns less


class Company(Enum):
    """What beside the response itself decides what it earns in a batch."""

    NONE = "none"
    ORDER = "order"  # where in the batch it stands
    NEIGHBOURS = "neighbours"  # who else is in the batch


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
    runs: list[list[RewardOutput]] = field(default_factory=list[list[RewardOutput]])
    """What the same responses earned again and again: in a worker, and last of all in this process."""
    spread: float = 0.0
    """How far the scores of one and the same response lay apart."""
    builtin: bool = False
    """Whether the examples are those that come along."""
    company: Company = Company.NONE
    """What of a batch decides beside the response; where anything does, each response is scored alone."""
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
        return Sense.WORDS if m.shuffled is not None and m.honest - m.shuffled <= gap else Sense.CONTENT

    @cached_property
    def is_blind(self) -> bool:
        """Whether the gold is not read: honest responses earn the same where another answer is the right one."""
        known = [e for e in self.examples if e.gold is not None and e.wrong is not None]
        outputs = self.score([(e, e.row_for(e.wrong or "")) for e in known])
        slack = 2 * self.spread + 1e-9
        return not any(
            differ(o.reward, self.measured[e.number].honest, slack) for e, o in zip(known, outputs, strict=True)
        )

    def cases(self, rules: Iterable[Rule] | None = None) -> list[Case]:
        """Every case of every rule, bound to this trial."""
        chosen = list(RULES.values() if rules is None else rules)
        first = self.examples[:1]
        return [
            dataclasses.replace(case, trial=self)
            for example in self.examples
            for case in cases_of(example, (r for r in chosen if example in first or not r.once))
        ]

    @property
    def declares_noise(self) -> bool:
        """Whether some part of the reward says that it may score the same response differently."""
        return not all(leaf.contract.deterministic for leaf in leaves(self.reward))

    def both_ways(self) -> list[Trajectory]:
        """Honest and wrong responses side by side, so that a batch holds more than one value."""
        return [
            dataclasses.replace(e.row(text, text != e.honest), group=e.trajectory.group_id or f"example-{e.number}")
            for e in self.examples
            for text in (e.honest, e.mistaken or e.hollow)
        ]

    def score(self, asked: Sequence[tuple[Example, Trajectory]], engine: Engine | None = None) -> list[RewardOutput]:
        """Score rows of examples; where a reward sees groups, each beside its example's honest response."""
        engine = engine or self.engine
        for i, (_, row) in enumerate(asked):
            row.group = f"probe-{i}"  # nobody is to be scored beside another attack
        if self.company is not Company.NONE and not self._grouped:
            return [score_rows(self.reward, [row], engine=engine)[0] for _, row in asked]
        if not self._grouped:
            return score_rows(self.reward, [row for _, row in asked], engine=engine)
        pairs: list[Trajectory] = []
        for e, row in asked:
            pairs += [dataclasses.replace(e.row(e.honest), group=row.group), row]
        return score_rows(self.reward, pairs, engine=engine)[1::2]

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
            found = self._verdict(case, output, other)
            if found and not (other and found.earned is not None and self._pays_its_words(case, found.earned)):
                yield found

    def _pays_its_words(self, case: Case, earned: float) -> bool:
        """Whether the words of a text in any order earn as much: then it is they that pay, and not what it says."""
        pairs = zip(case.beside, case.response, strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
        text = f"{case.response[:same]}{shuffled(case.response[same:])}"
        (output,) = self.score([(case.example, case.example.row(text, worthless=True))])
        return output.reward is not None and output.reward >= earned - self.slack

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
            return case.rule.name != "equivalence/spelling" or self.sense is Sense.ANSWER or not self.is_blind
        return not self._grouped and case.response.split() == case.example.honest.split()

    def _below(self, case: Case, earned: float, m: Measured) -> Finding | None:
        said = f"it earns {earned:.3g}, the honest response {m.honest:.3g}"
        sense = self.sense
        if sense < Sense.CONTENT or (sense is Sense.CONTENT and case.rule.name in OF_THE_ANSWER and self.is_blind):
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
            said = f"{HANGS} after {self.timeout:g} s, and the reward declares no deadline"
            return self._found(case, None, said, Severity.ERROR, "Declare Contract(timeout=...).")
        if output.outcome in FAILURES:
            said = f"{FAILS}: {output.error[:200]}"
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
            said if said.startswith((HANGS, FAILS)) else f"{case.rule.title}: {said}",
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


def values_of(outputs: Sequence[RewardOutput]) -> list[float | None]:
    """The numbers of outputs, None where there is none."""
    return [output.reward for output in outputs]


def differ(a: float | None, b: float | None, slack: float) -> bool:
    """Whether two rewards are not the same; one that is not scored differs from any number."""
    return a is not b if a is None or b is None else abs(a - b) > slack
