"""Rewards that compare a response with what is known to be right, as text: exactly, nearly, or by shared words."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from assay.calling import missing_column
from assay.contract import Contract
from assay.errors import ConfigError, RewardError
from assay.reward import RewardFunction
from assay.text.denied import denied
from assay.text.extract import THINKING, after_thinking
from assay.text.normalize import common_subsequence, normalize, overlap
from assay.types import RewardOutput, Trajectory

_LONGEST_GOLD = 20_000
"""Characters of a ground truth that are compared letter by letter; more would let one row hold up a batch."""


@dataclass
class ExactMatchReward(RewardFunction):
    """1 when the answer is the ground truth (or one of several), 0 when it is not.

    Case, width, spaces, punctuation and English articles do not count unless `normalized=False`; numbers keep their
    points, signs and per cent. With `tag` the answer is what stands in the last `<tag>...</tag>` outside the thought,
    and "not <answer>4</answer>" gives none.

    Example:
        >>> rows = [{"response": "Paris.", "ground_truth": "paris"}, {"response": "Lyon", "ground_truth": "paris"}]
        >>> ExactMatchReward()(rows)
        [1.0, 0.0]

    Hacked by: nothing known where the ground truth is not in the prompt.
    """

    tag: str = ""
    """Where the answer stands; empty: all of the response."""
    normalized: bool = True
    """Whether form is set aside."""

    contract = Contract(columns=("ground_truth",))

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        golds, answer = _golds(trajectory, self.name), _answer(trajectory.response, self.tag)
        if answer is None:
            return RewardOutput(0.0, metadata={"answer": None, "why": f"no closed <{self.tag}> that holds"})
        said = normalize(answer) if self.normalized else answer
        matched = next((g for g in golds if answer.strip() and self._is_same(answer, said, g)), None)
        return RewardOutput(float(matched is not None), metadata={"answer": answer[:200], "matched": matched})

    def _is_same(self, answer: str, said: str, gold: str) -> bool:
        if not self.normalized:
            return answer == gold
        return said == normalize(gold) if said else answer.strip() == gold.strip()  # "?" is not "!"


@dataclass
class FuzzyMatchReward(RewardFunction):
    """1 when the answer is the ground truth letter for letter, 0 when they share none; their likeness between.

    Likeness is twice the longest common subsequence over both lengths (rapidfuzz's ratio; with or without rapidfuzz
    the number is the same). Below `threshold` it is 0.

    Example:
        >>> FuzzyMatchReward()([{"response": "colour", "ground_truth": "color"}])
        [0.9090909090909091]

    Hacked by: an answer that is nearly right, where nearly right is wrong: 1914 is three quarters 1915.
    """

    threshold: float = 0.0
    """What is less alike than this scores 0."""
    tag: str = ""
    """Where the answer stands; empty: all of the response."""

    contract = Contract(columns=("ground_truth",))

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigError(f"reward 'fuzzy_match' needs a threshold from 0 to 1; found {self.threshold}.")

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        golds, answer = _golds(trajectory, self.name), _answer(trajectory.response, self.tag)
        if answer is None or not answer.strip():
            return RewardOutput(0.0, metadata={"answer": answer, "why": "no answer"})
        said = normalize(answer)
        likeness, matched = max((_likeness(said, normalize(g), self.name), g) for g in golds)
        score = likeness if likeness >= self.threshold else 0.0
        return RewardOutput(score, metadata={"answer": answer[:200], "matched": matched, "likeness": likeness})


@dataclass
class F1Reward(RewardFunction):
    """1 when the answer has just the words of the ground truth, 0 when it has none of them; their F1 between.

    SQuAD's F1, in any script. A word counts as often as it comes, so saying the right one ten times costs precision.

    Example:
        >>> F1Reward()([{"response": "Paris, France", "ground_truth": "Paris"}])
        [0.6666666666666666]

    Hacked by: the ground truth's words in any order, with "not" before them.
    """

    tag: str = ""
    """Where the answer stands; empty: all of the response."""

    contract = Contract(columns=("ground_truth",))

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        golds, answer = _golds(trajectory, self.name), _answer(trajectory.response, self.tag)
        if answer is None or not answer.strip():
            return RewardOutput(0.0, metadata={"answer": answer, "why": "no answer"})
        said = normalize(answer)
        (precision, recall, f1), matched = max(
            ((overlap(said, normalize(g)), g) for g in golds), key=lambda found: found[0][2]
        )
        metadata = {"answer": answer[:200], "matched": matched, "precision": precision, "recall": recall}
        return RewardOutput(f1, metadata=metadata)


def _golds(trajectory: Trajectory, name: str) -> list[str]:
    """The accepted answers, as texts."""
    truth = trajectory.ground_truth
    if truth is None or truth == "" or truth == []:
        raise missing_column(name, "ground_truth", trajectory)
    golds = cast("list[Any]", list(truth) if isinstance(truth, list | tuple) else [truth])
    for gold in golds:
        if not isinstance(gold, str | int | float):
            raise RewardError(
                f"reward {name!r} needs a ground_truth of text, a number, or a list of those; found "
                f"{type(gold).__name__} {gold!r:.60}."
            )
    return [str(int(gold)) if isinstance(gold, float) and gold.is_integer() else str(gold) for gold in golds]


def _answer(response: str, tag: str) -> str | None:
    """What the response gives as its answer: all of it, or the last closed tag that is not thought and not denied."""
    if not tag:
        return response
    text = response if tag in THINKING else after_thinking(response)
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, max(end, 0))
    if start < 0 or denied(text, start, end + len(tag) + 3):
        return None
    return text[start + len(tag) + 2 : end]


def _likeness(said: str, gold: str, name: str) -> float:
    if said == gold:
        return 1.0
    if len(gold) > _LONGEST_GOLD:
        raise RewardError(
            f"reward {name!r} needs a ground_truth of at most {_LONGEST_GOLD} characters; found {len(gold)}."
        )
    # What lies far behind the length of the gold cannot lift the likeness over 0.4; its letters are not looked at.
    shared = _subsequence()(gold, said[: 4 * len(gold) + 1000])
    return 2.0 * shared / (len(said) + len(gold))


@functools.cache
def _subsequence() -> Callable[[str, str], int]:
    """The faster of two that count the same: rapidfuzz's where it is installed, else our own."""
    try:
        return importlib.import_module("rapidfuzz.distance.LCSseq").similarity
    except ImportError:
        return common_subsequence
