"""Every listed reward through the one drill; see drill.py for how to list one."""

from __future__ import annotations

import doctest
import importlib
import pickle
import random
import time

import pytest
from drill import FRAGMENTS, HOSTILE, Entry, from_cases, listed, outcomes, probes, sample, score_of, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay import Outcome, score

ENTRIES = list(listed())
NAMES = [f"{i}-{entry.name}" for i, entry in enumerate(ENTRIES)]

NOT_LISTED = {
    "ProcessRewardModel": "needs a model; drilled with one made on the spot in test_rewards_process.py",
    "RewardModel": "needs a model; drilled with one made on the spot in test_rewards_model.py",
    "ServedRewardModel": "needs a server; drilled against a local one in test_rewards_process.py",
}

every = pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)


def test_every_built_in_reward_is_listed_or_says_why_not() -> None:
    built_in = [assay.__dict__.get(name) or getattr(assay, name) for name in assay.__all__]
    classes = {
        value.__name__
        for value in built_in
        if isinstance(value, type) and issubclass(value, assay.RewardFunction) and "rewards" in value.__module__
    }
    listed_classes = {type(entry.reward).__name__ for entry in ENTRIES}
    left = classes - listed_classes - NOT_LISTED.keys()
    assert not left, f"give {', '.join(sorted(left))} a case that scores in tests/cases/*.jsonl (see CONTRIBUTING.md)"


def test_a_reward_that_only_has_golden_cases_is_drilled_with_its_best() -> None:
    cases = [
        {"reward": "LengthReward", "with": {"target": 2}, "response": "one", "score": 0.5},
        {"reward": "LengthReward", "with": {"target": 2}, "response": "one two", "score": 1.0},
        {"reward": "F1Reward", "row": {"response": "a", "ground_truth": "b"}, "score": 0.0},
    ]
    (entry,) = from_cases(cases, set())
    assert entry.name == "length"
    assert entry.honest == {"response": "one two"}
    assert list(from_cases(cases, {assay.LengthReward})) == []


@every
def test_a_batch_scores_as_its_rows_do_one_by_one(entry: Entry) -> None:
    rows = sample(entry)
    if entry.reward.contract.per == "group":
        groups = sorted({t.group for t in rows})
        alone = {g: score(entry.reward, [t for t in rows if t.group == g]) for g in groups}
        singles = [alone[t.group].pop(0) for t in rows]
    else:
        singles = [score(entry.reward, [t])[0] for t in rows]
    assert outcomes(score(entry.reward, rows)) == outcomes(singles)


@every
def test_order_does_not_matter(entry: Entry) -> None:
    rows = sample(entry)
    order = list(range(len(rows)))
    random.Random(7).shuffle(order)
    straight = outcomes(score(entry.reward, rows))
    mixed = outcomes(score(entry.reward, [rows[i] for i in order]))
    assert [straight[i] for i in order] == mixed


@every
def test_it_is_deterministic(entry: Entry) -> None:
    if not entry.reward.contract.deterministic:
        pytest.skip("declares that it is not")
    assert outcomes(score(entry.reward, sample(entry))) == outcomes(score(entry.reward, sample(entry)))


@every
def test_it_pickles(entry: Entry) -> None:
    again = pickle.loads(pickle.dumps(entry.reward))
    assert outcomes(score(again, sample(entry))) == outcomes(score(entry.reward, sample(entry)))


@every
@pytest.mark.parametrize("kind", HOSTILE)
def test_it_survives(entry: Entry, kind: str) -> None:
    started = time.process_time()
    output = score_of(entry, entry.row(HOSTILE[kind]))
    assert time.process_time() - started < entry.seconds
    assert output.outcome in (Outcome.SCORED, Outcome.ABSTAINED), output.error


@every
@settings(max_examples=20, deadline=None, derandomize=True)
@given(pieces=st.lists(st.sampled_from(FRAGMENTS), max_size=20))
def test_it_survives_what_nobody_thought_of(entry: Entry, pieces: list[str]) -> None:
    output = score_of(entry, entry.row("".join(pieces)))
    assert output.outcome in (Outcome.SCORED, Outcome.ABSTAINED), output.error
    if output.reward is not None and entry.reward.contract.range is not None:
        low, high = entry.reward.contract.range
        assert low <= output.reward <= high


@every
def test_it_stays_in_its_range(entry: Entry) -> None:
    bounds = entry.reward.contract.range
    if bounds is None:
        pytest.skip("declares no range")
    scored = [o.reward for o in score(entry.reward, sample(entry)) if o.reward is not None]
    assert scored
    assert all(bounds[0] <= reward <= bounds[1] for reward in scored)


@every
def test_it_leaves_its_input_as_it_is(entry: Entry) -> None:
    rows = sample(entry)
    before = snapshot(rows)
    score(entry.reward, rows)
    assert snapshot(rows) == before


@every
def test_its_docstring_holds(entry: Entry) -> None:
    cls = type(entry.reward)
    assert "Hacked by:" in (cls.__doc__ or ""), "say how it is known to be hacked"
    module = importlib.import_module(cls.__module__)
    (example,) = doctest.DocTestFinder(recurse=False).find(cls, name=cls.__name__, globs=dict(vars(module)))
    assert example.examples, "give one example that runs"
    report: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=report.append).failed == 0, "".join(report)


@every
def test_the_honest_answer_is_scored_well(entry: Entry) -> None:
    output = score_of(entry, entry.honest)
    assert output.reward is not None, output.error
    low, high = entry.reward.contract.range or (0.0, 1.0)
    assert (output.reward - low) / (high - low) >= entry.at_least


@every
def test_no_simple_hack_beats_the_honest_answer(entry: Entry) -> None:
    honest = score_of(entry, entry.honest).reward
    assert honest is not None
    for name, response in probes(entry).items():
        hacked = score_of(entry, entry.row(response)).reward
        assert hacked is None or hacked <= honest, f"{name} scores {hacked}, the honest answer {honest}: {response:.80}"
