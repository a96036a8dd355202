"""One reward over one batch, in this process: which rows go into which call, and what comes of each call."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from types import SimpleNamespace
from typing import Any

from assay.calling import Call, arguments
from assay.compose.flow import Batch
from assay.contract import Per
from assay.engine.awaiting import Answers, within
from assay.engine.boundary import Boundary, NeedsLoop
from assay.errors import RewardError, RewardTimeout, WrongOutput
from assay.loop import is_driven
from assay.returned import as_output, failure, is_whole
from assay.reward import RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory

MAX_SPLITS = 64
"""How often a batch that raised is halved to find the rows that did it, before the rest share the blame."""


SMALL_BATCH = 16
"""Rows in one call of a batch reward that has a deadline and declares no `max_batch`."""


def _whole_groups(groups: Iterable[list[int]], size: int) -> Iterable[list[int]]:
    rows: list[int] = []
    for group in groups:
        if rows and len(rows) + len(group) > size:
            yield rows
            rows = []
        rows = rows + group
    if rows:
        yield rows


def pause(tried: int) -> float:
    """Seconds to wait before the next try: doubling, with jitter so that many callers do not return as one."""
    return min(30.0, 0.5 * 2**tried) * random.uniform(0.5, 1.0)


@dataclass(slots=True)
class Leaf:
    """One reward over one batch, in this process."""

    reward: RewardFunction
    call: Call
    trajectories: Sequence[Trajectory]
    context: Mapping[str, Any]
    limit: float | None = None
    """The deadline of an async call."""
    share: float = 1.0
    """The part of the reward's concurrency that may be used here."""

    answers: Answers = field(default_factory=Answers)
    """What async calls have answered so far."""
    landed: Callable[[Sequence[int], Sequence[RewardOutput]], None] | None = None
    """Called for an async call as soon as its outputs are there, with the numbers of its rows."""
    lend: bool = True
    """Whether a stranger's reward gets copies of the rows."""

    @property
    def lends(self) -> bool:
        """Whether rows are lent: a stranger who writes into one must not change what its neighbours are told of it."""
        return self.lend and self.call.lends and not self.ours

    @property
    def ours(self) -> bool:
        """Whether it is one of Assay's own rewards: what they return is whole, and they write into no row."""
        return type(self.reward).__module__.startswith("assay.rewards.")

    async def score(self) -> list[RewardOutput]:
        """One output for each trajectory; failures are carried."""
        if not self.trajectories:
            return []
        if self.call.is_async:
            return await self._score_async()
        if self.call.per is Per.TRAJECTORY:
            return await self.one_by_one(self.trajectories)
        outputs: list[RewardOutput] = [RewardOutput()] * len(self.trajectories)
        for rows in self.calls():
            place(outputs, rows, await self._call_batch(rows, [MAX_SPLITS]))
        return outputs

    async def one_by_one(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """The outputs of these rows, each from a call of its own."""
        # The hot loop: nothing is looked up or made here beyond what a row needs, and the boundary is entered once,
        # and again behind a row that raised.
        call, name, context, clock = self.call, self.reward.name, self.context, time.perf_counter
        fn, plain, ours = call.fn, call.plain, self.ours
        outputs: list[RewardOutput] = []
        boundary, count = Boundary(), len(trajectories)
        rows = map(Trajectory.lent, trajectories) if self.lends else iter(trajectories)
        then = clock()
        while len(outputs) < count:
            with boundary:
                for t in rows:
                    value = fn(t) if plain else fn(**arguments(call, name, (t,), context))
                    if not (type(value) is RewardOutput and type(value.reward) is float and isfinite(value.reward)):
                        if type(value) not in _SETTLED and inspect.isawaitable(value):
                            value = await _settled(value)
                        value = as_output(value, name)
                    elif not (ours or is_whole(value)):
                        value = as_output(value, name)
                    now = clock()
                    value.seconds, then = now - then, now
                    outputs.append(value)
                break
            outputs.append(failure(boundary.error, name))
            now = clock()
            outputs[-1].seconds, then = now - then, now
        return outputs

    def calls(self, small: bool = False) -> Iterable[list[int]]:
        """The row numbers of each call. Small: a batch is cut into whole groups of a few rows."""
        everyone = list(range(len(self.trajectories)))
        if self.call.per is Per.TRAJECTORY:
            return ([i] for i in everyone)
        if self.call.per is Per.GROUP:
            return Batch(self.trajectories).groups().values()
        size = self.reward.contract.max_batch or len(everyone)
        if small and self.limit is not None and not self.reward.contract.max_batch:
            return _whole_groups(Batch(self.trajectories).groups().values(), SMALL_BATCH)
        return (everyone[i : i + size] for i in range(0, len(everyone), size))

    async def _call_batch(self, rows: list[int], splits: list[int]) -> list[RewardOutput]:
        started = time.perf_counter()
        name = self.reward.name
        with (boundary := Boundary()):
            values = self._invoke(rows)
            values = await _settled(values) if inspect.isawaitable(values) else values
            return self._outputs(values, rows, time.perf_counter() - started)
        if self.call.per is Per.BATCH and len(rows) > 1 and splits[0] > 0 and not is_stated(boundary.error):
            # one bad row must not cost its neighbours: halve until it stands alone
            splits[0] -= 1
            middle = len(rows) // 2
            first = await self._call_batch(rows[:middle], splits)
            return first + await self._call_batch(rows[middle:], splits)
        return [failure(boundary.error, name) for _ in rows]

    def _invoke(self, rows: Sequence[int]) -> Any:
        call, batch = self.call, [self.trajectories[i] for i in rows]
        if self.lends:
            batch = [t.lent() for t in batch]
        if call.plain:
            return call.fn(batch[0] if call.per is Per.TRAJECTORY else batch)
        return call.fn(**arguments(call, self.reward.name, batch, self.context))

    def _outputs(self, values: Any, rows: Sequence[int], seconds: float) -> list[RewardOutput]:
        name, share = self.reward.name, seconds / len(rows)
        listed = values.tolist() if hasattr(values, "tolist") else values  # arrays and tensors
        if not isinstance(listed, Sequence) or isinstance(listed, str | bytes) or len(listed) != len(rows):
            found = f"{len(listed)} values" if isinstance(listed, Sequence) else f"{type(values).__name__}"
            raise WrongOutput(
                f"reward {name!r} returned {found} for {len(rows)} trajectories; needed a list with one for each."
            )
        outputs: list[RewardOutput] = []
        boundary = Boundary()
        for value in listed:
            output = None
            with boundary:
                output = as_output(value, name)
            if output is None:
                output = failure(boundary.error, name)
            output.seconds = output.seconds or share
            outputs.append(output)
        return outputs

    async def _score_async(self) -> list[RewardOutput]:
        outputs: list[RewardOutput] = [RewardOutput()] * len(self.trajectories)
        calls = iter(self.calls())

        async def lane() -> None:
            for rows in calls:
                batch = [self.trajectories[i] for i in rows]
                known = self.answers.of(self.reward, batch)
                place(outputs, rows, known or await self._await_call(rows, batch))
                if self.landed is not None:
                    self.landed(rows, [outputs[i] for i in rows])

        lanes = max(1, int(self.reward.contract.concurrency * self.share))
        await asyncio.gather(*(lane() for _ in range(min(lanes, len(outputs)))))
        return outputs

    async def _await_call(self, rows: list[int], batch: Sequence[Trajectory]) -> list[RewardOutput]:
        contract, name = self.reward.contract, self.reward.name
        limit = None if self.limit is None else self.limit * len(rows)
        boundary, tried = Boundary(), 0
        for tried in range(contract.retries + 1):
            started = time.perf_counter()
            with boundary:
                try:
                    outputs = await within(limit, lambda: self._asked(rows, batch), (self.reward, batch))
                except TimeoutError as error:
                    if limit is None or time.perf_counter() - started < limit:
                        raise  # its own
                    raise RewardTimeout(f"reward {name!r} was stopped at its deadline of {limit:g} s.") from error
                return _tried(outputs, tried)
            if getattr(boundary.error, "outcome", None) is not Outcome.INFRA_ERROR or tried == contract.retries:
                break
            await asyncio.sleep(pause(tried))
        outputs = _tried([failure(boundary.error, name) for _ in rows], tried)
        self.answers.keep(self.reward, batch, outputs)
        return outputs

    async def _asked(self, rows: list[int], batch: Sequence[Trajectory]) -> list[RewardOutput]:
        """One call, its answer kept at once: another may hold the loop before this one's turn comes again."""
        started = time.perf_counter()
        value = await self._invoke(rows)
        values = [value] if self.call.per is Per.TRAJECTORY else value
        outputs = self._outputs(values, rows, time.perf_counter() - started)
        self.answers.keep(self.reward, batch, outputs)
        return outputs


_SETTLED = frozenset({RewardOutput, float, int, bool, dict, type(None)})
"""What authors return most: nothing to await, and not worth asking."""


def _tried(outputs: list[RewardOutput], tried: int) -> list[RewardOutput]:
    for output in outputs if tried else ():
        output.metadata = {**output.metadata, "tries": tried + 1}
    return outputs


def is_stated(error: BaseException) -> bool:
    """Whether it is one of our own errors about what a reward returned: halving the batch would not mend it."""
    return isinstance(error, RewardError)


def place(outputs: list[RewardOutput], rows: Sequence[int], values: Sequence[RewardOutput]) -> None:
    """Put the values where their rows are."""
    for i, value in zip(rows, values, strict=True):
        outputs[i] = value


async def _settled(value: Any) -> Any:
    if is_driven():
        if inspect.iscoroutine(value):
            value.close()
        raise NeedsLoop
    return await value


def context_of(step: int | None, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a reward may ask for that comes from the call and not from the row."""

    def log_extra(column: str, values: Sequence[Any]) -> None: ...

    def log_metric(name: str, value: float) -> None: ...

    base = {"step": step, "log_extra": log_extra, "log_metric": log_metric}
    return {**base, "trainer_state": SimpleNamespace(global_step=step or 0), **(given or {})}
