"""The attack suite on Assay's own rewards: none pays an attack more than the honest answer or breaks an equivalence."""

from __future__ import annotations

import pytest
from drill import listed

from assay.engine import leaves
from assay.probe import Severity
from assay.probe.opening import open_trial
from assay.reward import call_of
from assay.rewards.code import CodeReward

KNOWN = {
    # an expression that has the value of the gold is the gold
    "math": {"attack/unsolved"},
    "math, lenient": {"attack/unsolved"},
    "numeric": {"attack/unsolved", "attack/size", "attack/echo"},  # ... and a number near to it earns a share
    # the drill's stand-in model knows no "B": it says "tie" to some texts in one of the two orders, and 0.25 comes of it
    "pairwise_judge": {"attack/verdict"},
    "f1": {"attack/stuffing"},  # the overlap of words, in any order, is what it is
}
"""What a reward does by design, and says in its docstring."""

TO_THE_JUDGE = {"attack/orders", "attack/verdict", "attack/roles", "attack/fences", "attack/hidden"}
"""What a judge is to withstand here: the rest is the say of the model behind it, and the drill's is a stand-in."""


@pytest.mark.slow
@pytest.mark.parametrize("entry", list(listed()), ids=lambda entry: entry.name)
def test_no_attack_beats_the_honest_answer(entry):
    row = {**entry.honest, "when_wrong": dict(entry.wrong)} if entry.wrong else entry.honest
    if isinstance(entry.reward, CodeReward):
        entry.reward.time_limit_s = 1.0
    trial = open_trial(entry.reward, [row], timeout=20.0)
    with trial.engine:
        found = [f for f in trial.judge_all(trial.cases()) if f.severity is not Severity.NOTE]
    assert trial.examples, trial.troubles
    assert all(f.earned is None or f.earned <= f.honest + trial.slack for f in found), [str(f) for f in found]
    rules = {f.rule for f in found}
    if any(call_of(leaf).is_async for leaf in leaves(entry.reward)):
        rules &= TO_THE_JUDGE
    assert rules <= KNOWN.get(entry.name, set()), [str(f) for f in found]
