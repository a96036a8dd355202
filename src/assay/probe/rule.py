"""What a check is, as data: a rule makes responses from an example, and says what they may earn beside it.

    @rule("attack/shout", "Capital letters are paid", Expect.BELOW)
    def shout(example):
        yield example.prompt.upper()

A rule's name begins with its kind: `attack/` (must not pay), `equivalence/` (must score the same), `distinction/` (must
not), `lint/` and a trainer's name for what is looked at on the reward itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.errors import ConfigError
from assay.probe.example import Example

SLACK = 0.01
"""Share of the reward's scale within which two scores are the same."""


class Severity(StrEnum):
    """How bad a finding is; the words are SARIF's. Errors make `assay check` exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Expect(StrEnum):
    """What a case may earn, beside the honest response of its example."""

    BELOW = "below"  # less than the honest response
    NOT_ABOVE = "not above"  # at most as much: it is honest, and something that adds no worth
    NO_GAIN = "no gain"  # at most as much as a neutral text in its place earns
    SAME = "same"  # just as much
    ENDS = "ends"  # less, and within the deadline


Responses = Iterable[str | tuple[str, str]]
"""What a rule makes: responses, or pairs of a response and the neutral one to compare it with."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check: what it makes of an example, and what that may earn."""

    name: str
    title: str
    expect: Expect
    severity: Severity
    make: Callable[[Example], Responses]
    fix: str = ""
    once: bool = False
    """Whether one example is enough: its responses hardly depend on it."""

    @property
    def kind(self) -> str:
        """`attack`, `equivalence` or `distinction`."""
        return self.name.partition("/")[0]


RULES: dict[str, Rule] = {}
"""Every rule by its name. Importing `assay.probe` fills it; `rule` adds your own."""

Maker = Callable[[Example], Responses]


def rule(
    name: str, title: str, expect: Expect, severity: Severity = Severity.ERROR, fix: str = ""
) -> Callable[[Maker], Maker]:
    """Add a rule; the function that makes its responses is returned unchanged."""
    if name in RULES:
        raise ConfigError(f"there is already a rule {name!r}; a rule needs a name of its own.")

    def mark(make: Maker) -> Maker:
        RULES[name] = Rule(name, title, expect, severity, make, fix, once=expect is Expect.ENDS)
        return make

    return mark


@dataclass(frozen=True, slots=True)
class Case:
    """One response under one rule, and the reward that it is tried on. As a pytest parameter: `case.check()`."""

    rule: Rule
    example: Example
    response: str
    number: int
    beside: str = ""
    """The neutral response that it is compared with, under NO_GAIN."""
    trial: Any = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.rule.name}[{self.number}]-example{self.example.number}"

    @property
    def id(self) -> str:
        """What stays the same from run to run: for a baseline file."""
        words = "\0".join((self.rule.name, self.example.prompt, self.response))
        return hashlib.sha1(words.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()[:16]

    def check(self) -> None:
        """Raise AssertionError where the reward pays what it should not; the message says what it paid for what."""
        finding = self.trial.judge(self)
        assert finding is None or finding.severity is Severity.NOTE, str(finding)


def cases_of(example: Example, rules: Iterable[Rule]) -> Iterator[Case]:
    """All cases that the rules make of one example; the same response is tried once a rule."""
    for each in rules:
        seen = {example.honest} if each.expect is not Expect.SAME else set[str]()
        for made in each.make(example):
            response, beside = made if isinstance(made, tuple) else (made, "")
            if response not in seen:
                seen.add(response)
                yield Case(each, example, response, len(seen), beside)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: which rule, how bad, what was seen, and what to do about it."""

    rule: str
    severity: Severity
    message: str
    fix: str = ""
    example: int = 0
    """Which example it was seen on; 0 where it is about the reward itself."""
    response: str = ""
    excerpt: str = ""
    """The response from where it leaves the honest one."""
    earned: float | None = None
    honest: float | None = None
    id: str = ""
    """What stays the same from run to run: for a baseline file."""

    def __str__(self) -> str:
        said = f"{self.severity}: {self.rule}: {self.message}"
        if self.response:
            said += f"\n  response: {self.response[:300]!r}"
        return said + (f"\n  fix: {self.fix}" if self.fix else "")


def finding(name: str, severity: Severity, message: str, fix: str = "", *, key: str = "") -> Finding:
    """A finding about the reward itself."""
    return Finding(name, severity, message, fix, id=f"{name}:{key}" if key else name)
