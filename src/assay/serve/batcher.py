"""Requests in, batches to the Engine: whatever has come while one batch is scored is the next one.

No request waits for others, and under load batches grow by themselves. A request that comes again with the same key is
the same request: it gets the first one's answer, and nothing is scored twice. A reward that does not come to an end
costs its thread, not the server: the thread is left behind, and from then on rows run in processes that are stopped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.engine import Engine, needs_loop, score
from assay.errors import ConfigError
from assay.reward import RewardFunction
from assay.serve.lane import Lane
from assay.types import Outcome, RewardOutput, Trajectory

log = logging.getLogger("assay.serve")

REMEMBERED_ROWS = 200_000
"""How many rows of finished requests are kept for those that come again."""
LANES_WAITING = 16
"""Batches at once for a reward that mostly waits (a judge); one that computes gets one."""


class Full(Exception):
    """The queue has no room; come again in `retry_after` seconds."""

    def __init__(self, rows: int, retry_after: int) -> None:
        super().__init__(f"the queue is full: {rows} rows are waiting")
        self.retry_after = retry_after


class Closed(Exception):
    """The server is shutting down and takes nothing new."""


@dataclass(slots=True)
class _Job:
    rows: Sequence[Trajectory]
    step: int | None
    done: asyncio.Future[list[RewardOutput]]


@dataclass
class Batcher:
    """Scores what is given to it, in batches, in threads of its own."""

    reward: RewardFunction
    engine: Engine = field(default_factory=Engine)
    batch_rows: int = 1024
    """The most rows of a batch."""
    queue_rows: int = 16_384
    """The most rows that may wait."""
    merge: bool = True
    """Whether rows of several requests may stand in one batch. Not for rewards that look at a group."""
    patience: float = 300.0
    """Seconds after which a batch is taken for stuck. A quarter of it is a row's deadline from then on."""

    def __post_init__(self) -> None:
        self._waiting: deque[_Job] = deque()
        self._known: OrderedDict[str, asyncio.Future[list[RewardOutput]]] = OrderedDict()
        self._known_rows = 0
        self._running: set[asyncio.Task[None]] = set()
        self._lanes = LANES_WAITING if needs_loop(self.reward) else 1
        self._idle: list[Lane] = []
        self._closed = False
        self.waiting_rows = 0

    async def score(self, rows: Sequence[Trajectory], step: int | None = None, key: str = "") -> list[RewardOutput]:
        """One output for each row. Raises `Full` or `Closed` without having taken anything."""
        if key and (known := self._known.get(key)):
            return await asyncio.shield(known)
        if self._closed:
            raise Closed("the server is shutting down")
        if self.waiting_rows and self.waiting_rows + len(rows) > self.queue_rows:
            raise Full(self.waiting_rows, retry_after=1)
        job = _Job(rows, step, asyncio.get_running_loop().create_future())
        if key:
            self._remember(key, job)
        self._waiting.append(job)
        self.waiting_rows += len(rows)
        self._start()
        # a caller that goes away does not take the answer from one that asks again
        return await asyncio.shield(job.done)

    async def close(self) -> None:
        """Take nothing new, finish what was taken."""
        self._closed = True
        while self._running:
            await asyncio.wait(self._running)
        for lane in self._idle:
            lane.close()

    def _remember(self, key: str, job: _Job) -> None:
        self._known[key] = job.done
        self._known_rows += len(job.rows)
        while self._known_rows > REMEMBERED_ROWS and (oldest := next(iter(self._known.values()))).done():
            self._known_rows -= len(oldest.result())
            self._known.popitem(last=False)

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._lanes:
            task = asyncio.create_task(self._run(self._next()))
            self._running.add(task)
            task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._start()

    def _next(self) -> list[_Job]:
        jobs = [self._waiting.popleft()]
        rows = len(jobs[0].rows)
        while self.merge and self._waiting and self._waiting[0].step == jobs[0].step:
            if rows + len(self._waiting[0].rows) > self.batch_rows:
                break
            jobs.append(self._waiting.popleft())
            rows += len(jobs[-1].rows)
        self.waiting_rows -= rows
        return jobs

    async def _run(self, jobs: list[_Job]) -> None:
        rows = [row for job in jobs for row in job.rows]
        outputs = await self._in_a_lane(rows, jobs[0].step)
        if outputs is None and self._moved_to_workers():
            outputs = await self._in_a_lane(rows, jobs[0].step)
        if outputs is None:
            said = f"reward {self.reward.name!r} was not done after {self.patience:g} s, and could not be stopped."
            outputs = [RewardOutput.failed(Outcome.TIMEOUT, said) for _ in rows]
        start = 0
        for job in jobs:
            job.done.set_result(outputs[start : start + len(job.rows)])
            start += len(job.rows)

    async def _in_a_lane(self, rows: list[Trajectory], step: int | None) -> list[RewardOutput] | None:
        """The rows scored in a thread; None where that did not come to an end and the thread was left behind."""
        lane = self._idle.pop() if self._idle else Lane()
        work = asyncio.wrap_future(lane.submit(lambda: self._score(rows, step)))
        await asyncio.wait([work], timeout=self.patience)
        if not work.done():
            lane.leave()
            return None
        error = work.exception()  # a reward's own failures are in the outputs; this would be the Engine's
        if error is None or isinstance(error, Exception):  # anything else has ended the thread
            self._idle.append(lane)
        if error is None:
            return work.result()
        said = f"the engine failed: {type(error).__name__}: {error}"
        return [RewardOutput.failed(Outcome.INFRA_ERROR, said) for _ in rows]

    def _moved_to_workers(self) -> bool:
        """From now on rows run in processes that can be stopped; False where the reward cannot be sent to them."""
        engine = replace(self.engine, timeout=self.patience / 4)
        how = "Declare a deadline: @declare(timeout=...), or serve it with --row-timeout."
        try:
            score(self.reward, [], engine=engine)
        except ConfigError as error:
            log.error("reward %r was not done after %g s. %s (%s)", self.reward.name, self.patience, how, error)
            return False
        said = "reward %r was not done after %g s; its rows now run in processes that are stopped after %g s. %s"
        log.error(said, self.reward.name, self.patience, engine.timeout, how)
        self.engine = engine
        return True

    def _score(self, rows: list[Trajectory], step: int | None) -> list[RewardOutput]:
        outputs = self._outputs(rows, step)
        # A worker may have been killed from outside (by an operator, or for want of memory): its row is tried once
        # more. One that kills its worker by itself does so again, and stays not scored.
        again = [i for i, output in enumerate(outputs) if _lost_its_worker(output)]
        if again and self.merge:
            for i, output in zip(again, self._outputs([rows[i] for i in again], step), strict=True):
                outputs[i] = output
        return self._outputs(rows, step) if again and not self.merge else outputs

    def _outputs(self, rows: list[Trajectory], step: int | None) -> list[RewardOutput]:
        return score(self.reward, rows, step=step, engine=self.engine)


def _lost_its_worker(output: RewardOutput) -> bool:
    own = output.outcome is Outcome.GRADER_ERROR and "quarantined" in output.metadata
    return own or any(_lost_its_worker(part) for part in output.components.values())
