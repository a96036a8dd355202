"""Outputs that are described at the first look are plain ones to whoever looks, in whatever way."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from assay.described import Described, described
from assay.engine import score
from assay.plain_data import to_dict
from assay.returned import as_output
from assay.rewards.math import MathReward
from assay.types import Outcome, RewardOutput, Trajectory

SAID = {"rule": "exact numbers"}


def fresh() -> RewardOutput:
    return described(RewardOutput(1.0, seconds=0.5), lambda: dict(SAID))


LOOKS: dict[str, Callable[[RewardOutput], Any]] = {
    "read": lambda o: o,
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda o: pickle.loads(pickle.dumps(o)),
    "replaced": dataclasses.replace,
    "as a dict": lambda o: RewardOutput(**{**dataclasses.asdict(o), "outcome": o.outcome}),
}


@pytest.mark.parametrize("how", LOOKS)
def test_whoever_looks_sees_a_plain_output(how: str) -> None:
    seen = LOOKS[how](fresh())
    assert type(seen.metadata) is dict
    assert seen.metadata == SAID
    assert type(seen) is RewardOutput
    assert (seen.reward, seen.seconds, seen.outcome) == (1.0, 0.5, Outcome.SCORED)


def test_equal_from_both_sides_and_shown_as_what_it_is() -> None:
    plain = RewardOutput(1.0, metadata=dict(SAID), seconds=0.5)
    assert fresh() == plain
    assert plain == fresh()
    assert fresh() == fresh()
    assert fresh() != RewardOutput(1.0)
    assert repr(fresh()) == repr(plain)
    assert to_dict(fresh()) == to_dict(plain)


def test_it_is_described_once_and_may_be_given_other_metadata_before() -> None:
    calls: list[int] = []
    output = described(RewardOutput(0.0), lambda: calls.append(1) or {})
    assert type(output) is Described
    assert output.metadata is output.metadata
    assert calls == [1]
    other = described(RewardOutput(0.0), lambda: calls.append(1) or {})
    other.metadata = {"mine": 1}
    assert (type(other), other.metadata, calls) == (RewardOutput, {"mine": 1}, [1])


def test_no_words_are_made_for_a_caller_who_takes_the_number() -> None:
    row = Trajectory(response=r"\boxed{\frac{2}{4}}", ground_truth="0.5")
    (output,) = score(MathReward(), [row])
    assert type(output) is Described
    assert as_output(output, "math") is output
    assert output.reward == 1.0
    assert type(output) is Described
    assert json.loads(json.dumps(output.metadata))["canonical"] == "1/2"
    assert type(output) is RewardOutput
