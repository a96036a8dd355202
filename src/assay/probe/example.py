"""One example, taken apart: the honest response, its gold, and the shape that the answer stands in.

Every hostile response is made from an example's own parts, so the attacks fit a boxed answer, an `<answer>` tag, a JSON
object or a plain word alike.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from assay.calling import ALIASES
from assay.probe.answers import as_json, boxed, gold_text, other_answer
from assay.types import Message, Tokens, Trajectory, completion_of

_ANSWER_TAG = re.compile(r"<(answer|final|output|solution)>\s*", re.IGNORECASE)
_HASHES = re.compile(r"####[ \t]*")
_SAYS = re.compile(r"\b(?:answer|result|output)\b(?:\s+is)?\s*:?\s*\**", re.IGNORECASE)
_FENCE = re.compile(r"```([\w+-]*)[^\n]*\n(.*?)\n?```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shape:
    """A response, cut where its answer stands."""

    before: str
    answer: str
    after: str
    commit: Callable[[str], str]
    """The shortest text that gives an answer in this form: `\\boxed{7}`, `#### 7`, `<answer>7</answer>`."""

    def inline(self, answer: str) -> str:
        """An answer within a sentence: in its box or tag, or bare."""
        return answer if self.commit is _said else self.commit(answer)

    def fill(self, answer: str) -> str:
        """The response with another answer in the place of its own."""
        return self.before + answer + self.after


def shape_of(response: str, gold: str | None) -> Shape:
    """Find the answer in a response: in a box, a tag, after ####, as JSON, as the gold itself, or after "is"."""

    def cut(start: int, end: int, commit: Callable[[str], str]) -> Shape:
        return Shape(response[:start], response[start:end], response[end:], commit)

    if span := boxed(response):
        return cut(*span, lambda a: f"\\boxed{{{a}}}")
    for m in reversed(list(_ANSWER_TAG.finditer(response))):
        tag = m.group(1)
        end = response.find(f"</{tag}>", m.end())
        if end >= 0:
            end = m.end() + len(response[m.end() : end].rstrip())
            return cut(m.end(), end, lambda a, tag=tag: f"<{tag}>{a}</{tag}>")
    if marks := list(_HASHES.finditer(response)):
        start = marks[-1].end()
        end = response.find("\n", start)
        return cut(start, len(response) if end < 0 else end, lambda a: f"#### {a}")
    for m in _FENCE.finditer(response):
        if as_json(m.group(2)) is not None:
            return cut(m.start(2), m.end(2), lambda a: f"```json\n{a}\n```")
    if as_json(response) is not None:
        return cut(0, len(response), lambda a: a)
    if gold and (places := [*standing(gold).finditer(response)]):
        return cut(*places[-1].span(), _said)
    if said := list(_SAYS.finditer(response)):
        start = said[-1].end()
        end = start + len(re.split(r"\.(?!\d)|\n", response[start:], maxsplit=1)[0])
        return cut(start, end, _said)
    return Shape(f"{response}\n" if response else "", "", "", _said)


def _said(answer: str) -> str:
    return f"The answer is {answer}."


def standing(answer: str) -> re.Pattern[str]:
    """The answer where it stands for itself, not inside of another word or number."""
    return re.compile(rf"(?<![\w.]){re.escape(answer)}(?![\w]|\.\d)")


@dataclass(frozen=True)
class Example:
    """A prompt with its honest response and what is known to be right: what all cases are made of."""

    trajectory: Trajectory
    """The row; its response is the honest one."""
    number: int = 0
    """Which example it is, counted from 1 in messages."""

    @property
    def honest(self) -> str:
        """The honest response."""
        return self.trajectory.response

    @property
    def prompt(self) -> str:
        """What was asked."""
        return self.trajectory.prompt

    @cached_property
    def gold(self) -> str | None:
        """The right answer as text, where there is one."""
        return gold_of(self.trajectory)

    @cached_property
    def shape(self) -> Shape:
        """The honest response, cut where its answer stands."""
        return shape_of(self.honest, self.gold)

    @cached_property
    def wrong(self) -> str | None:
        """An answer of the gold's kind that is wrong."""
        return None if self.gold is None else other_answer(self.gold)

    @cached_property
    def mistaken(self) -> str | None:
        """The honest response with a wrong answer wherever the right one stood; None without a gold."""
        if self.gold is None or self.wrong is None:
            return None
        there, wrong = standing(self.gold), self.wrong
        before, after = (there.sub(lambda _: wrong, part) for part in (self.shape.before, self.shape.after))
        return before + wrong + after

    @cached_property
    def hollow(self) -> str:
        """The form of the honest response with nothing in it: same marks, same length, made-up words."""
        return "".join(map(hollowed, (self.shape.before, self.shape.answer, self.shape.after)))

    @cached_property
    def shuffled(self) -> str:
        """The words of the honest response, sorted: all there, and saying nothing."""
        return shuffled(self.honest)

    def row(self, response: str, worthless: bool = False) -> Trajectory:
        """This example's row with another response; a worthless one takes the columns of `when_wrong`, if there are."""
        own = with_response(self.trajectory, response)
        other = own.metadata.pop("when_wrong", None)
        if worthless and isinstance(other, Mapping):
            own.metadata |= cast("Mapping[str, Any]", other)
        return own

    def row_for(self, gold: str) -> Trajectory:
        """The honest row where another answer is the right one, or with "" none; wherever its columns say so."""
        own = self.row(self.honest)
        if gold_text(own.ground_truth) is not None:
            own.ground_truth = gold
        for column in ALIASES["ground_truth"]:
            if self.gold is not None and gold_text(own.metadata.get(column)) == self.gold:
                own.metadata[column] = gold
        return own


def shuffled(text: str) -> str:
    """The words of a text in another order, each once."""
    words = re.findall(r"\w+", text[:20_000])
    ordered = sorted(set(words))
    return " ".join(ordered if ordered != words else ordered[::-1])


def gold_of(trajectory: Trajectory) -> str | None:
    """The right answer of a row as text: its ground truth, or the column that others call so."""
    gold = gold_text(trajectory.ground_truth)
    for column in ALIASES["ground_truth"]:
        gold = gold or gold_text(trajectory.metadata.get(column))
    return gold


def with_response(trajectory: Trajectory, response: str) -> Trajectory:
    """The same row with another response; in a conversation, with another last turn of the assistant."""
    own = dataclasses.replace(trajectory, response=response, metadata=dict(trajectory.metadata))
    if trajectory.messages:
        own.messages = _with_last_turn(trajectory.messages, response)
    if trajectory.tokens is not None:
        own.tokens = Tokens(ids=range(len(re.findall(r"\w+|[^\w\s]", response))))
    return own


def _with_last_turn(messages: Sequence[Message], response: str) -> list[Message]:
    turns = list(messages)
    first = len(turns) - len(completion_of(turns))
    for i in range(len(turns) - 1, first - 1, -1):
        if turns[i].get("role") == "assistant":
            turns[i] = {**turns[i], "content": response}
            return turns
    return [*turns, {"role": "assistant", "content": response}]


_KEPT = re.compile(
    r"</?[\w|-]+>|\\[a-zA-Z]+|^#{1,6} .*$|```[\w+-]*|<\|[^|\n]*\|>|(?P<word>\w+)",
    re.MULTILINE,
)


_PLAIN = (
    "a I",
    "of to in it is on as at by we so up",
    "the and one day way now old few two our",
    "when that with some also over many then long like",
    "where there while other under three never small place",
    "around people little before during number always nearly",
    "because several another morning through thought country",
    "children together evidence remember possible somebody",
    "different sometimes important afternoon somewhere",
    "throughout themselves generation everything university",
)
"""Words that say nothing of anything, by their length."""


def hollowed(text: str) -> str:
    """The text with other words of the same length in it; tags, commands, headings and marks stay."""
    chance = random.Random(len(text))

    def empty_word(m: re.Match[str]) -> str:
        word = m.group("word")
        if word is None:
            return m.group(0)
        known = _PLAIN[min(len(word), len(_PLAIN)) - 1].split()
        other = chance.choice(known).ljust(len(word), "s")
        return other.capitalize() if word[0].isupper() else other

    return _KEPT.sub(empty_word, text)


def candidates(trajectory: Trajectory) -> Iterable[str]:
    """Honest responses made from the gold, in the forms that rewards look for; which one counts is the reward's say."""
    gold = gold_of(trajectory)
    if gold is None:
        return
    why = "I work it out step by step and check the result."
    if as_json(gold) is not None:
        yield from (gold, f"```json\n{gold}\n```", f"<answer>{gold}</answer>")
    yield f"{why} The answer is \\boxed{{{gold}}}."
    yield f"{why} The answer is {gold}."
    yield f"<think>{why}</think><answer>{gold}</answer>"
    yield f"<think>{why}</think>\n<answer>\\boxed{{{gold}}}</answer>"
    yield f"<think>{why}</think>\nThe answer is \\boxed{{{gold}}}."
    yield f"{why}\n#### {gold}"
    yield gold


def rows_of(examples: Iterable[Any]) -> list[Trajectory]:
    """Examples in any of the shapes of a row, as trajectories."""
    return [Trajectory.of(row) for row in examples]


def marked(trajectory: Trajectory) -> bool | None:
    """What a row says of itself in its column `honest`: it is, it is not, or nothing."""
    said = trajectory.metadata.get("honest")
    return bool(said) if isinstance(said, bool | int) else None


def columns_of(trajectory: Trajectory) -> Mapping[str, Any]:
    """The row's own columns, as a data set has them."""
    gold = {} if trajectory.ground_truth is None else {"ground_truth": trajectory.ground_truth}
    return {**trajectory.metadata, **gold}
