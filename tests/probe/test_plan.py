"""The capacity plan: what is worked out from times that are known."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from assay.errors import ConfigError, InputError
from assay.probe.plan import makespan, plan, quantile

ROWS = [{"prompt": str(i), "response": f"answer {i}"} for i in range(40)]


def waits_a_little(response):
    time.sleep(0.005)
    return 1.0


async def judged(response):
    await asyncio.sleep(0.02)
    return 1.0


def test_the_makespan_is_that_of_the_slowest_worker():
    assert makespan([1.0, 1.0, 1.0, 1.0], 2) == 2.0
    assert makespan([4.0, 1.0, 1.0, 1.0], 2) == 4.0
    assert makespan([1.0] * 10, 100) == 1.0
    assert makespan([], 3) == 0.0


def test_quantiles_are_values_that_were_seen():
    values = [float(i) for i in range(1, 101)]
    assert [quantile(values, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert quantile([7.0], 0.99) == 7.0


def test_a_quick_reward_needs_one_core():
    found = plan(lambda response: float(len(response)), ROWS, batch=64, step_seconds=10)
    assert (found.workers, found.in_flight, found.hides) == (1, None, True)
    assert found.rows == 40
    assert found.requests_a_minute == 0.0


def test_a_slow_reward_needs_as_many_cores_as_the_step_asks_for():
    found = plan(waits_a_little, ROWS, batch=400, step_seconds=1.0)
    assert found.mean >= 0.005
    assert found.workers is not None
    # 400 responses of 5 ms or more in one second: two of them at least, and not far from the mean's own share
    assert 2 <= found.workers <= 2 * found.serial_seconds + 1
    assert 0.0 < found.straggler_share < 1.0


def test_what_takes_longer_than_the_step_cannot_hide():
    found = plan(waits_a_little, ROWS, batch=8, step_seconds=0.001)
    assert found.workers is None
    assert not found.hides


def test_a_judge_is_planned_by_requests():
    found = plan(judged, ROWS, batch=600, step_seconds=2.0)
    assert found.workers == 0
    assert found.requests_a_minute == 600 / 2.0 * 60
    assert found.in_flight is not None
    assert found.in_flight >= 6  # 600 x 20 ms in 2 s
    assert [part.waits for part in found.parts] == [True]


def test_duplicates_are_counted():
    found = plan(lambda response: 1.0, ROWS[:5] * 8, batch=8, step_seconds=1)
    assert found.duplicates == pytest.approx(0.875)


def test_the_sample_is_bounded_and_the_same_each_time():
    seen = []

    def note(response):
        seen.append(response)
        return 1.0

    plan(note, ROWS, batch=8, step_seconds=1, sample=10)
    first, seen[:] = list(seen), []
    plan(note, ROWS, batch=8, step_seconds=1, sample=10)
    assert seen == first
    assert len(set(seen)) == 10


def test_a_plan_is_json():
    told = json.loads(plan(judged, ROWS[:4], batch=8, step_seconds=1).to_json())
    assert told["hides"] is True
    assert told["parts"][0]["name"] == "judged"


@pytest.mark.parametrize("options", [{"batch": 0, "step_seconds": 1}, {"batch": 8, "step_seconds": 0}])
def test_what_cannot_be_planned_is_refused(options):
    with pytest.raises(ConfigError, match="needed a batch of 1 or more"):
        plan(judged, ROWS, **options)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="found none"):
        plan(judged, [], batch=8, step_seconds=1)
