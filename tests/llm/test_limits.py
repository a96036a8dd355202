"""What holds calls back."""

from __future__ import annotations

import asyncio
import email.utils
import pickle
import time

import pytest

from assay.llm.limits import Bucket, Budget, BudgetSpent, CoolDown, backoff, retry_after


def test_a_bucket_lets_so_many_through_a_minute():
    async def main():
        bucket, started = Bucket(1200), time.monotonic()  # 20 a second, 20 at once
        for _ in range(30):
            await bucket.take(1)
        return time.monotonic() - started

    assert 0.4 <= asyncio.run(main()) < 1.5


def test_a_bucket_keeps_the_order_of_asking():
    async def main():
        bucket, order = Bucket(6000), []

        async def one(i):
            await bucket.take(10)
            order.append(i)

        await asyncio.gather(*(one(i) for i in range(20)))
        return order

    assert asyncio.run(main()) == list(range(20))


def test_no_limit_waits_for_nothing():
    started = time.monotonic()
    asyncio.run(Bucket(0).take(1e9))
    assert time.monotonic() - started < 0.2


def test_what_was_overestimated_is_given_back():
    async def main():
        bucket = Bucket(600)
        await bucket.take(10)
        bucket.correct(-10)
        started = time.monotonic()
        await bucket.take(10)
        return time.monotonic() - started

    assert asyncio.run(main()) < 0.2


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"Retry-After": "3"}, 3), ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5)]
)
def test_the_wait_that_a_server_asks_for(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(("ahead", "low", "high"), [(1000, 900, 1001), (-100, 0, 0)])
def test_the_wait_until_a_time_of_day(ahead, low, high):
    at = email.utils.formatdate(time.time() + ahead, usegmt=True)
    assert low <= retry_after({"Retry-After": at}) <= high


@pytest.mark.parametrize("value", ["", "soon", "-5", "inf", "nan"])
def test_a_wait_that_is_none(value):
    assert retry_after({"Retry-After": value}) is None


def test_backoff_grows_varies_and_ends():
    assert len({backoff(3) for _ in range(20)}) == 20
    assert all(0.125 <= backoff(0) <= 0.5 for _ in range(50))
    assert all(backoff(50) <= 30 for _ in range(50))


def test_a_cool_down_only_grows():
    cool = CoolDown()
    cool.extend(5)
    cool.extend(1)
    assert 4 < cool.left() <= 6
    assert CoolDown().left() == 0.0


def test_a_budget_is_never_overspent():
    budget = Budget(1.0)
    budget.reserve(0.6)
    with pytest.raises(BudgetSpent, match="budget of 1 is spent"):
        budget.reserve(0.6)
    budget.settle(0.6, 0.1)
    budget.reserve(0.6)
    budget.settle(0.6, 0.6)
    assert budget.spent == pytest.approx(0.7)
    assert pickle.loads(pickle.dumps(budget)).limit == 1.0
