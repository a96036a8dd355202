"""Each lint finds the fault that it is for, and says nothing of a sound reward."""

from __future__ import annotations

import functools

import pytest
import rewards

import assay
from assay.probe import Severity, audit
from assay.probe.lints import source_lints, unpicklable
from assay.types import Trajectory

ROWS = [
    {"prompt": f"What is {n} + 1?", "response": f"It is \\boxed{{{n + 1}}}.", "ground_truth": str(n + 1)}
    for n in range(10, 14)
]


def lints(reward, rows=ROWS):
    report = audit(reward, rows, rules=[])
    return {f.rule: f for f in report.findings if f.rule.startswith("lint/")}


def test_a_sound_reward_has_no_lint():
    assert lints(rewards.sound) == {}


def test_nondeterminism():
    assert lints(rewards.noisy)["lint/nondeterminism"].severity is Severity.ERROR
    declared = assay.FunctionReward(rewards.noisy, deterministic=False)
    assert lints(declared)["lint/nondeterminism"].severity is Severity.NOTE


def test_mutation():
    assert "metadata" in lints(rewards.careless)["lint/mutation"].message


def test_what_differs_from_process_to_process():
    assert "in another process" in lints(rewards.hashed)["lint/nondeterminism"].message


@pytest.mark.parametrize(("reward", "what"), [(rewards.clears, "ground_truth"), (rewards.talks_on, "messages")])
def test_mutation_of_what_is_handed_over(reward, what):
    assert what in lints(reward)["lint/mutation"].message


@pytest.mark.parametrize(
    ("reward", "expected"),
    [(rewards.less_for_doubles, "lint/neighbours"), (rewards.first_takes_all, "lint/order")],
)
def test_what_depends_on_its_batch_is_attacked_alone(reward, expected):
    report = audit(reward, [{**ROWS[0], "prompt": "The same again?"}, *ROWS])
    assert expected in {f.rule for f in report.findings}
    assert not [f for f in report.findings if f.rule.startswith(("attack/", "distinction/"))]
    assert report.tried["attack/hedge"]


def test_order_and_neighbours():
    assert "lint/order" in lints(rewards.in_batch_order)
    found = lints(
        rewards.normalised, [{**ROWS[0], "prompt": "Again?", "response": "At some length: \\boxed{11}."}, *ROWS]
    )
    assert "lint/neighbours" in found


def test_range():
    reward = assay.FunctionReward(rewards.wordy, range=(0.0, 0.001))
    assert "outside of the range [0, 0.001]" in lints(reward)["lint/range"].message
    declared = assay.FunctionReward(lambda response: 5.0, range=(0.0, 1.0))
    assert lints(declared)["lint/range"].severity is Severity.ERROR


def test_a_range_that_nobody_declared_is_a_warning():
    found = lints(assay.CompositeReward([(rewards.Signed(), 1.0)]))["lint/range"]
    assert (found.severity, "declares no range" in found.message) == (Severity.WARNING, True)


def test_what_cannot_be_pickled_is_audited_all_the_same():
    report = audit(rewards.Locked(), ROWS)
    assert {"lint/pickle", "attack/hedge"} <= {f.rule for f in report.findings}


def test_what_does_not_pickle():
    handle = open(__file__)  # noqa: SIM115
    with handle:
        assert unpicklable(functools.partial(print, file=handle))
    assert unpicklable(rewards.contains) == ""
    assert "lint/pickle" in lints(lambda response: float(len(response)))


def test_absent_gold_is_not_scored():
    assert lints(rewards.trl_sound, [{**row, "solution": row["ground_truth"]} for row in ROWS]) == {}
    assert "not scored is not zero" in lints(rewards.last_box)["lint/absent-gold"].message


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([0.0] * 12, "lint/flat"), ([0.0] * 40 + [1.0], "lint/sparse"), ([1.0] * 40 + [0.0], "lint/saturated")],
)
def test_signal(scores, expected):
    rows = [{"prompt": str(i), "response": "x", "is": score} for i, score in enumerate(scores)]

    assert expected in lints(_column, rows)


def _column(trajectory):
    return trajectory.metadata["is"]


def test_rows_that_are_not_scored_are_counted():
    rows = [{"prompt": str(i), "response": "x", "is": 1.0 if i % 2 else None} for i in range(12)]
    assert lints(_column, rows)["lint/unscored"].message.startswith("6 of 12 rows")


def test_a_swallowed_exception():
    (found,) = source_lints(rewards.swallowing)
    assert found.rule == "lint/swallowed-exception"
    assert "any exception becomes 0.0" in found.message
    assert f"line {rewards.swallowing.__code__.co_firstlineno + 3}" in found.message


@pytest.mark.parametrize(
    "reward",
    [
        rewards.suppressing,
        rewards.falls_through,
        rewards.swallows_in_a_dict,
        rewards.swallows_for_all,
        rewards.calls_what_swallows,
        rewards.decorated,
        rewards.Swallowing,
    ],
)
def test_each_way_to_swallow_is_seen(reward):
    assert [f.rule for f in source_lints(reward)] == ["lint/swallowed-exception"]


def test_an_exception_that_is_expected_is_none_of_our_business():
    def careful(response):
        try:
            return float(response)
        except ValueError:
            return 0.0

    def abstains(response):
        try:
            return float(response)
        except Exception:  # noqa: BLE001
            return None

    assert [*source_lints(careful), *source_lints(abstains)] == []


def test_trying_again_and_leaving_out_are_no_swallowing():
    def tries_again(response):
        tries = 0
        while True:
            try:
                return float(response)
            except Exception:
                tries = 1
                if tries > 0:
                    raise

    def skips(response):
        found = []
        for word in response.split():
            try:
                found.append(float(word))
            except Exception:  # noqa: BLE001
                continue
        return sum(found)

    assert [*source_lints(tries_again), *source_lints(skips)] == []


def test_alarms_and_exec():
    def alarmed(response):
        import signal

        signal.alarm(1)
        exec(response)

    assert {f.rule for f in source_lints(alarmed)} == {"lint/alarm", "lint/exec"}


def test_the_input_of_the_lints_stays_as_it_was():
    rows = [Trajectory.of(row) for row in ROWS]
    before = repr(rows)
    audit(rewards.careless, rows, rules=[])
    assert repr(rows) == before
