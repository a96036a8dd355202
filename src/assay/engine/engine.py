"""The Engine: the only place where a reward is called.

Order, chunks, deadlines, workers, duplicates, the cache, retries and failures are its work, driven by the reward's
`Contract`; there are no wrappers around rewards. One list in, one list out, in order. What a reward raises becomes the
stated outcome of its rows and never a number. Cheap rewards run where they are; what declares a deadline or asks for
workers runs in processes that can be killed; async ones are gathered, each under its own deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from assay.cache import Cache
from assay.compose.flow import Ask, Batch, Composition
from assay.engine.again import Keep, rescored
from assay.engine.awaiting import Answers
from assay.engine.boundary import NeedsLoop
from assay.engine.counts import Counts
from assay.engine.leaf import Leaf, context_of, pause
from assay.engine.remote import Order, can_be_halved, halves, read, tasks_of
from assay.engine.staff import Staff, Terms
from assay.engine.work import Work
from assay.errors import InfraError
from assay.loop import aside
from assay.pool import Death, Pool, Quarantine, default_folder
from assay.reward import RewardFunction, as_reward, call_of
from assay.types import FAILURES, Outcome, RewardOutput, Trajectory, trajectories_of

T = TypeVar("T")

BLOCK = 32
"""Rows that one cheap reward scores before the next one does."""


@dataclass
class Engine:
    """Runs rewards. Make one to choose how; `score()` uses one with the defaults.

    Example: `outputs = await Engine(timeout=2.0).score(reward, trajectories)`.
    """

    timeout: float | None = None
    """Seconds a trajectory for every reward that declares no deadline of its own."""
    workers: int | None = None
    """Worker processes. None: as many as there are processors, for the rewards that declare a deadline or ask for
    workers. A number: that many, for everything that is not async. 0: none; then no plain reward can be stopped."""
    memory_mb: int | None = None
    """What a worker may hold before it is stopped, for rewards that do not declare it."""
    cache: Cache | str | Path | None = None
    """Where outputs of dear rewards are kept: a file."""
    quarantine: str | Path | None = None
    """The folder for inputs that killed a worker; by default `.assay/quarantine`."""
    share: float = 1.0
    """The part of an async reward's concurrency that is this engine's, where several engines share one limit."""
    inherit: bool = False
    """Fork the workers from this process for rewards that cannot be pickled: they come along with their locks and open
    files as they are. Good for a look at a reward, as `assay check` takes it; a run wants rewards that can be sent."""
    lend: bool = True
    """Whether a stranger's reward gets its own copy of a row's fields, so that what it writes into them stays with it.
    False: the row itself, for who wants to see what is written."""
    counts: Counts = field(default_factory=Counts, repr=False)
    """What was done, by component: outcomes, calls, calls saved, retries."""
    _staff: Staff = field(default_factory=Staff, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.cache, str | Path):
            self.cache = Cache(self.cache)
        self._quarantine = Quarantine(Path(self.quarantine) if self.quarantine else default_folder())

    async def score(
        self, reward: Any, trajectories: Sequence[Trajectory], step: int | None = None, context: Any = None
    ) -> list[RewardOutput]:
        """One output for each trajectory, in order. Failures are carried in the outputs, never raised."""
        reward = as_reward(reward)
        return await self.answer(reward, rows_for(reward, trajectories), step, context, Answers())

    async def answer(
        self, reward: RewardFunction, trajectories: Sequence[Trajectory], step: int | None, context: Any, known: Answers
    ) -> list[RewardOutput]:
        """The same, without asking for what is known already."""
        with self._staff.hired(leaves(reward), self.terms, self.inherit) as (pool, legs):
            call = _Call(self, pool, legs, step, context, known, self.needs_loop(reward))
            return await call.score(reward, trajectories)

    async def rescore(
        self,
        reward: Any,
        trajectories: Sequence[Trajectory],
        stored: Sequence[RewardOutput],
        keep: Keep,
        known: Answers | None = None,
    ) -> list[RewardOutput]:
        """Score again only what `keep(path, output)` does not hold good or what is not stored, and fold all anew."""
        reward, so_far = as_reward(reward), known or Answers()

        async def fresh(leaf: RewardFunction, rows: Sequence[Trajectory]) -> list[RewardOutput]:
            return await self.answer(leaf, rows, None, None, so_far)

        whole = Ask(reward.name, reward, range(len(trajectories)))
        return await rescored(fresh, whole, Batch(trajectories), stored, keep)

    def plan(self, reward: Any) -> dict[str, str]:
        """Where each part of a reward would run, and why: its name -> in words."""
        return {leaf.name: self.terms.why(leaf) for leaf in leaves(as_reward(reward))}

    def needs_loop(self, reward: RewardFunction) -> bool:
        """Whether scoring waits for anything: a coroutine, a worker, a retry, somebody else's answer."""
        return any(
            call_of(leaf).is_async or leaf.contract.retries or self.cache is not None or self.terms.remote(leaf)
            for leaf in leaves(reward)
        )

    @property
    def terms(self) -> Terms:
        """What decides where a reward runs."""
        return Terms(self.workers, self.timeout, self.memory_mb)

    def close(self) -> None:
        """End the worker processes now. Without it they end with this process."""
        self._staff.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        names = ("timeout", "workers", "memory_mb", "cache", "quarantine", "share", "inherit", "lend")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)


@dataclass(slots=True)
class _Call:
    """One call of `Engine.score`: a reward over a batch."""

    engine: Engine
    pool: Pool | None
    legs: dict[int, int]
    """Id of a reward -> its number in the pool."""
    step: int | None
    context: Any
    known: Answers
    waits: bool
    """Whether some part waits for something: then what only computes does so aside, and does not hold the loop."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One reward at a time computes in this process."""

    async def score(self, reward: RewardFunction, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        if isinstance(reward, Composition):
            return await self._compose(reward, Batch(trajectories, self.step))
        batch = Batch(trajectories, self.step)
        (outputs,) = await self._answer([Ask(reward.name, reward, range(len(trajectories)))], batch)
        return outputs

    async def _compose(self, reward: Composition, batch: Batch) -> list[RewardOutput]:
        flow = reward.flow(batch)
        started = time.perf_counter()
        try:
            asks = next(flow)
            while True:
                for ask in asks if reward.why_not_asked else ():
                    saved = len(batch.trajectories) - len(ask.rows)
                    self.engine.counts.saved(ask.name, reward.why_not_asked, saved)
                asks = flow.send(await self._answer(asks, batch))
        except StopIteration as done:
            outputs: list[RewardOutput] = done.value
        share = (time.perf_counter() - started) / max(1, len(outputs))
        for output in outputs:
            output.seconds = share
        return outputs

    async def _answer(self, asks: list[Ask], batch: Batch) -> list[list[RewardOutput]]:
        """The outputs of every ask. What goes to workers goes first, so that they work while this process does."""
        columns: dict[int, list[RewardOutput]] = {}
        works = {k: self._work(ask, batch) for k, ask in enumerate(asks) if not isinstance(ask.reward, Composition)}
        if len(works) == len(asks) and all(work.is_plain() for work in works.values()):
            return await self._aside(lambda: self._run_plain(works))
        away = {k: work for k, work in works.items() if work.leg is not None}

        async def remotely() -> None:
            columns.update(zip(away, await self._run(list(away.values()), batch), strict=True))

        async def here(k: int, ask: Ask) -> None:
            if k in works:
                (columns[k],) = await self._run([works[k]], batch)
            else:
                columns[k] = await self.score(ask.reward, _rows(ask, batch))

        tasks = [remotely()] if away else []
        tasks += [here(k, ask) for k, ask in enumerate(asks) if k not in away]
        if len(tasks) > 1 and any(self.engine.needs_loop(ask.reward) for ask in asks):
            async with asyncio.TaskGroup() as group:  # where one is cancelled, so are the others
                for task in tasks:
                    group.create_task(task)
        else:
            for task in tasks:
                await task
        return [columns[k] for k in range(len(asks))]

    def _work(self, ask: Ask, batch: Batch) -> Work:
        reward, engine = ask.reward, self.engine
        call, leg = call_of(reward), self.legs.get(id(reward))
        return Work(ask.name, reward, call, ask.rows, _rows(ask, batch), leg, engine.terms.limit(reward))

    async def _run_plain(self, works: dict[int, Work]) -> list[list[RewardOutput]]:
        """Cheap rewards, all of them on a few rows and then on the next: a row is read once while it is at hand."""
        columns: list[list[RewardOutput]] = [[] for _ in works]
        leaves = [self._leaf(work, None) for work in works.values()]
        longest = max((len(leaf.trajectories) for leaf in leaves), default=0)
        for start in range(0, longest, BLOCK):
            for leaf, column in zip(leaves, columns, strict=True):
                column += await leaf.one_by_one(leaf.trajectories[start : start + BLOCK])
        for work, column in zip(works.values(), columns, strict=True):
            self.engine.counts.ended(work.name, column, len(column))
        return columns

    async def _run(self, works: list[Work], batch: Batch) -> list[list[RewardOutput]]:
        """Score these rewards' rows, each row that has to be scored once; retry what its infrastructure failed."""
        cache = self.engine.cache if isinstance(self.engine.cache, Cache) else None
        calls = [0] * len(works)
        for work in works:
            work.find_twins()
            if cache is not None:
                work.look_up(cache)
                self.engine.counts.saved(work.name, "cache", len(work.outputs))
        while True:
            try:
                for k, work in enumerate(works):
                    calls[k] += len(work.todo)
                await self._attempts(works, batch)
            finally:
                if cache is not None:
                    for work in works:
                        work.keep(cache)
            if cache is None:
                break
            for work in works:
                work.todo = []
            await asyncio.gather(*(work.wait(cache) for work in works if work.elsewhere))
            if not any(work.todo for work in works):
                break
        return [work.finish(self.engine.counts, n) for work, n in zip(works, calls, strict=True)]

    async def _attempts(self, works: list[Work], batch: Batch) -> None:
        todo = [list(work.todo) for work in works]
        tried = 0
        while any(todo):
            await self._attempt(works, todo, batch)
            again = [
                [i for i in mine if work.outputs[i].outcome is Outcome.INFRA_ERROR] if _may_retry(work, tried) else []
                for work, mine in zip(works, todo, strict=True)
            ]
            if not any(again):
                return
            for work, mine in zip(works, again, strict=True):
                self.engine.counts[work.name].retries += len(mine)
            await asyncio.sleep(pause(tried))
            todo, tried = again, tried + 1

    async def _attempt(self, works: list[Work], todo: list[list[int]], batch: Batch) -> None:
        if works[0].leg is None or self.pool is None:
            for work, mine in zip(works, todo, strict=True):
                leaf = self._leaf(work, mine)
                leaf.landed = self._keeping(work, mine)
                outputs = await (leaf.score() if leaf.call.is_async else self._aside(leaf.score))
                work.outputs.update(zip(mine, outputs, strict=True))
            return
        orders: list[Order] = []
        places: list[tuple[Work, list[int]]] = []
        for work, mine in zip(works, todo, strict=True):
            for numbers in self._leaf(work, mine).calls(small=True) if mine else ():
                positions = [mine[i] for i in numbers]
                places.append((work, positions))
                orders.append(Order(work.reward, work.leg or 0, [work.rows[i] for i in positions], work.limit))
        answers = await self._deliver(orders, batch)
        for (work, positions), outputs in zip(places, answers, strict=True):
            work.outputs.update(zip(positions, outputs, strict=True))

    async def _aside(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if not self.waits:
            return await make()
        async with self.turn:
            try:
                return await aside(make)
            except NeedsLoop:
                return await make()

    def _keeping(self, work: Work, todo: list[int]) -> Callable[[Sequence[int], Sequence[RewardOutput]], None] | None:
        """Puts a dear answer into the cache as soon as it is there: what is killed then has lost nothing."""
        cache = self.engine.cache
        if not isinstance(cache, Cache) or not work.keys:
            return None

        def keep(rows: Sequence[int], outputs: Sequence[RewardOutput]) -> None:
            positions = [todo[i] for i in rows]
            work.outputs.update(zip(positions, outputs, strict=True))
            good = [i for i in positions if work.outputs[i].outcome not in FAILURES]
            work.keep(cache, good)

        return keep

    async def _deliver(self, orders: list[Order], batch: Batch) -> list[list[RewardOutput]]:
        """Run orders in the pool. A batch of many rows that killed its worker is halved, to find the row that did."""
        assert self.pool is not None
        tasks = tasks_of(orders, batch.trajectories, self.step)
        try:
            await asyncio.wrap_future(self.pool.run([task for task, _ in tasks]))
        except InfraError as error:  # the pool could not go on: what it has answered stands
            for task, _ in tasks:
                for leg in task.left:
                    task.replies[leg] = Death("infra", str(error))
        replies = {id(order): task.replies[order.leg] for task, together in tasks for order in together}
        split_up = [o for o in orders if can_be_halved(o, replies[id(o)])]
        parts = await self._deliver([part for o in split_up for part in halves(o)], batch) if split_up else []
        split = {id(o): parts[2 * k] + parts[2 * k + 1] for k, o in enumerate(split_up)}
        return [
            split[id(o)]
            if id(o) in split
            else read(replies[id(o)], o, [batch.trajectories[i] for i in o.rows], self.engine._quarantine, self.context)
            for o in orders
        ]

    def _leaf(self, work: Work, todo: list[int] | None) -> Leaf:
        everyone = todo is None or len(todo) == len(work.trajectories)
        rows = work.trajectories if everyone else [work.trajectories[i] for i in todo or ()]
        context, share = context_of(self.step, self.context), self.engine.share
        return Leaf(work.reward, work.call, rows, context, work.limit, share, self.known, lend=self.engine.lend)


def _rows(ask: Ask, batch: Batch) -> Sequence[Trajectory]:
    everyone = len(ask.rows) == len(batch.trajectories)
    return batch.trajectories if everyone else [batch.trajectories[i] for i in ask.rows]


def _may_retry(work: Work, tried: int) -> bool:
    # an async reward has retried call by call
    return tried < work.reward.contract.retries and (work.leg is not None or not work.call.is_async)


def leaves(reward: RewardFunction, of_every_row: bool = False) -> Iterable[RewardFunction]:
    """The rewards that do the work, without the compositions around them; or only those that every row is put to."""
    if isinstance(reward, Composition):
        for child in reward.children.values() if reward.asks_all or not of_every_row else ():
            yield from leaves(child, of_every_row)
    else:
        yield reward


def reads_response(reward: RewardFunction) -> bool:
    """Whether some part of a reward looks at what came back: to that part, a row that holds nothing is no row."""
    return any(call_of(leaf).reads_response for leaf in leaves(reward))


def rows_for(reward: RewardFunction, rows: Iterable[Any]) -> list[Trajectory]:
    """Rows read for a reward. One that holds no response is refused, unless nobody looks at that."""
    return trajectories_of(rows, unanswered=not reads_response(reward))
