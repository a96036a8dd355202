"""Awaiting a stranger's coroutine: for so long and no longer, whatever it does.

It runs in a task of its own. One that swallows its cancellation is given up; one that cancels itself, or raises what
would end the loop, has failed; one that holds the loop without awaiting is seen from another thread (`loop.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from assay.engine.boundary import Boundary
from assay.errors import RewardError
from assay.loop import given_up, watch
from assay.reward import RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory

_LATE: Final = 0.02
"""Seconds by which a deadline may come late before that is put down to the loop, and not to the row."""

_left: set[asyncio.Task[Any]] = set()  # tasks that were given up: held until they end


_Said = tuple[RewardFunction, Trajectory, RewardOutput]


@dataclass
class Answers:
    """What async calls of one `score` have answered, so that it is there when a loop was given up and they run again.

    An answer is used once: a reward that is asked twice for a row, because it samples, answers twice.
    """

    before: dict[tuple[int, int], list[_Said]] = field(default_factory=dict[tuple[int, int], "list[_Said]"])
    """What an earlier run has left, by the identities of the reward and of the row, which are held so long."""
    now: list[_Said] = field(default_factory=list[_Said])
    closed: bool = False
    """Whether what is not answered yet is not asked any more."""

    def of(self, reward: RewardFunction, rows: Sequence[Trajectory]) -> list[RewardOutput] | None:
        """The outputs of a call, where an earlier run has left them."""
        left = [self.before.get((id(reward), id(t))) for t in rows]
        if not all(left):
            return [_unasked(reward.name) for _ in rows] if self.closed else None
        said = [answers.pop(0) for answers in left if answers]
        self.now += said
        return [output for _, _, output in said]

    def keep(self, reward: RewardFunction, rows: Sequence[Trajectory], outputs: Sequence[RewardOutput]) -> None:
        """A call has answered."""
        self.now += [(reward, t, output) for t, output in zip(rows, outputs, strict=True)]

    def again(self, guilty: tuple[RewardFunction, Sequence[Trajectory]] | None) -> None:
        """All calls run again; this one held the loop."""
        if guilty is not None:
            reward, rows = guilty
            self.keep(reward, rows, [_held(reward.name) for _ in rows])
        said, self.now = self.now, []
        for reward, t, output in said:
            self.before.setdefault((id(reward), id(t)), []).append((reward, t, output))


def _held(name: str) -> RewardOutput:
    return RewardOutput.failed(
        Outcome.TIMEOUT,
        f"reward {name!r} computed beyond its deadline without awaiting, so nothing else could run. Let it run in "
        f"processes that can be stopped: @declare(workers=True).",
    )


def _unasked(name: str) -> RewardOutput:
    return RewardOutput.failed(
        Outcome.GRADER_ERROR,
        f"reward {name!r} was not asked: async rewards of this batch held the event loop, or cancelled what was not "
        f"theirs, again and again. Let them run in processes: @declare(workers=True).",
    )


async def within(limit: float | None, make: Callable[[], Any], about: Any) -> Any:
    """What the awaitable that `make` makes comes to; `TimeoutError` after so many seconds from its start."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not over.done():
            over.set_result((value, error))

    async def call() -> None:
        if given_up():
            return
        if limit is not None:
            watch(time.monotonic() + limit, about)
            _alarm(loop, limit, lambda: settle(None, TimeoutError()), over)
        with (boundary := Boundary()):
            value = make()
            settle(await value if isinstance(value, Awaitable) else value, None)
            return
        settle(None, boundary.error)

    task = loop.create_task(call())
    task.add_done_callback(lambda task: settle(None, _end_of(task)))
    try:
        value, error = await over
    finally:
        if not task.done():
            _left.add(task)
            task.add_done_callback(_left.discard)
            task.cancel()
    if error is not None:
        raise error
    return value


def _end_of(task: asyncio.Task[Any]) -> BaseException:
    """Of a task that settled nothing before it ended."""
    error = None if task.cancelled() else task.exception()
    return RewardError("it cancelled its own task" if error is None else f"it raised {type(error).__name__}")


def _alarm(
    loop: asyncio.AbstractEventLoop, seconds: float, ring: Callable[[], None], over: asyncio.Future[Any]
) -> None:
    """Ring after so many seconds. Where the loop was held by others meanwhile, it first gets to what has come."""
    due = loop.time() + seconds

    def expired() -> None:
        if not over.done():
            late = loop.time() - due
            if late > _LATE:
                _alarm(loop, min(late, seconds), ring, over)
            else:
                ring()

    handle = loop.call_at(due, expired)
    over.add_done_callback(lambda _: handle.cancel())
