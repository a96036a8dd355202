"""The Engine: the only place where a reward is called.

Order, chunks, deadlines, retries and failures are its work, driven by the reward's `Contract`; there are no wrappers
around rewards. One list in, one list out, in order. What a reward raises becomes the stated outcome of its rows and
never a number. Plain rewards run where they are; async ones are gathered, each under its own deadline.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import math
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Any, Literal

from assay.calling import Call, arguments, missing_column
from assay.compose.flow import Ask, Batch, Composition
from assay.contract import Per
from assay.errors import OUTCOME_ERRORS, MissingColumn, RewardError, RewardTimeout, WrongOutput
from assay.loop import drive, run
from assay.returned import as_output, failure
from assay.reward import RewardFunction, as_reward, call_of
from assay.types import FAILURES, Outcome, RewardOutput, Tokens, Trajectory

MAX_SPLITS = 64
"""How often a batch that raised is halved to find the rows that did it, before the rest share the blame."""


class _NeedsLoop(Exception):
    """A plain function returned something to await; the whole call is run again on a loop."""


_PASSES = (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, _NeedsLoop)


class _Boundary:
    """The one place where a stranger's exception stops: it is kept, and becomes an outcome.

    SystemExit counts, for a reward that calls `sys.exit()` must not end the run. Ctrl-C and cancellation pass through.
    """

    __slots__ = ("error",)

    def __enter__(self) -> _Boundary:
        self.error: BaseException = RewardError("no error")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        if error is None or isinstance(error, _PASSES):
            return False
        self.error = error
        return True


@dataclass
class Engine:
    """Runs rewards. Make one to choose how; `score()` uses one with the defaults.

    Example: `outputs = await Engine(timeout=2.0).score(reward, trajectories)`.
    """

    timeout: float | None = None
    """Seconds a trajectory for every reward that declares no deadline of its own."""

    async def score(
        self, reward: Any, trajectories: Sequence[Trajectory], step: int | None = None, context: Any = None
    ) -> list[RewardOutput]:
        """One output for each trajectory, in order. Failures are carried in the outputs, never raised."""
        reward = as_reward(reward)
        if isinstance(reward, Composition):
            return await self._compose(reward, Batch(trajectories, step), context)
        return await _Leaf(self, reward, trajectories, _context(step, context)).score()

    async def _compose(self, reward: Composition, batch: Batch, context: Any) -> list[RewardOutput]:
        flow = reward.flow(batch)
        started = time.perf_counter()
        try:
            asks = next(flow)
            while True:
                asks = flow.send(await self._answer(asks, batch, context))
        except StopIteration as done:
            outputs: list[RewardOutput] = done.value
        share = (time.perf_counter() - started) / max(1, len(outputs))
        for output in outputs:
            output.seconds = share
        return outputs

    async def _answer(self, asks: list[Ask], batch: Batch, context: Any) -> list[list[RewardOutput]]:
        def answer(ask: Ask) -> Any:
            everyone = len(ask.rows) == len(batch.trajectories)
            rows = batch.trajectories if everyone else [batch.trajectories[i] for i in ask.rows]
            return self.score(ask.reward, rows, batch.step, context)

        if len(asks) > 1 and any(needs_loop(ask.reward) for ask in asks):
            return list(await asyncio.gather(*(answer(ask) for ask in asks)))
        return [await answer(ask) for ask in asks]


@dataclass(slots=True)
class _Leaf:
    """One reward over one batch: which rows go into which call, and what comes of each call."""

    engine: Engine
    reward: RewardFunction
    trajectories: Sequence[Trajectory]
    context: Mapping[str, Any]

    async def score(self) -> list[RewardOutput]:
        if not self.trajectories:
            return []
        call = call_of(self.reward)
        if call.is_async:
            return await self._score_async(call)
        if call.per is Per.TRAJECTORY:
            return await self._score_singly(call)
        outputs: list[RewardOutput] = [RewardOutput()] * len(self.trajectories)
        for rows in self._calls(call):
            _place(outputs, rows, await self._call_batch(call, rows, [MAX_SPLITS]))
        return outputs

    async def _score_singly(self, call: Call) -> list[RewardOutput]:
        # The hot loop: nothing is looked up or made here beyond what a row needs.
        fn, name, plain, clock = call.fn, self.reward.name, call.plain, time.perf_counter
        boundary = _Boundary()
        outputs: list[RewardOutput] = []
        then = clock()
        for t in self.trajectories:
            output = None
            with boundary:
                value = fn(t) if plain else fn(**arguments(call, name, (t,), self.context))
                if type(value) not in _SETTLED and inspect.isawaitable(value):
                    value = await _settled(value)
                output = as_output(value, name)
            if output is None:
                output = failure(boundary.error, name)
            now = clock()
            output.seconds, then = now - then, now
            outputs.append(output)
        return outputs

    def _calls(self, call: Call) -> Iterable[list[int]]:
        everyone = list(range(len(self.trajectories)))
        if call.per is Per.TRAJECTORY:
            return ([i] for i in everyone)
        if call.per is Per.GROUP:
            return Batch(self.trajectories).groups().values()
        size = self.reward.contract.max_batch or len(everyone)
        return (everyone[i : i + size] for i in range(0, len(everyone), size))

    async def _call_batch(self, call: Call, rows: list[int], splits: list[int]) -> list[RewardOutput]:
        started = time.perf_counter()
        name = self.reward.name
        with (boundary := _Boundary()):
            values = self._invoke(call, rows)
            values = await _settled(values) if inspect.isawaitable(values) else values
            return self._outputs(values, rows, time.perf_counter() - started)
        if call.per is Per.BATCH and len(rows) > 1 and splits[0] > 0 and not isinstance(boundary.error, RewardError):
            # one bad row must not cost its neighbours: halve until it stands alone
            splits[0] -= 1
            middle = len(rows) // 2
            first = await self._call_batch(call, rows[:middle], splits)
            return first + await self._call_batch(call, rows[middle:], splits)
        return [failure(boundary.error, name) for _ in rows]

    def _invoke(self, call: Call, rows: Sequence[int]) -> Any:
        batch = [self.trajectories[i] for i in rows]
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
        boundary = _Boundary()
        for value in listed:
            output = None
            with boundary:
                output = as_output(value, name)
            if output is None:
                output = failure(boundary.error, name)
            output.seconds = output.seconds or share
            outputs.append(output)
        return outputs

    async def _score_async(self, call: Call) -> list[RewardOutput]:
        slots = asyncio.Semaphore(max(1, self.reward.contract.concurrency))
        outputs: list[RewardOutput] = [RewardOutput()] * len(self.trajectories)

        async def one(rows: list[int]) -> None:
            async with slots:
                _place(outputs, rows, await self._await_call(call, rows))

        await asyncio.gather(*(one(rows) for rows in self._calls(call)))
        return outputs

    async def _await_call(self, call: Call, rows: list[int]) -> list[RewardOutput]:
        contract, name = self.reward.contract, self.reward.name
        limit = contract.timeout if contract.timeout is not None else self.engine.timeout
        boundary = _Boundary()
        for tried in range(contract.retries + 1):
            started = time.perf_counter()
            with boundary:
                deadline = asyncio.timeout(limit)
                try:
                    async with deadline:
                        value = await self._invoke(call, rows)
                except TimeoutError:
                    if deadline.expired():
                        raise RewardTimeout(f"reward {name!r} was stopped at its deadline of {limit} s.") from None
                    raise
                values = [value] if call.per is Per.TRAJECTORY else value
                return self._outputs(values, rows, time.perf_counter() - started)
            if getattr(boundary.error, "outcome", None) is not Outcome.INFRA_ERROR or tried == contract.retries:
                break
            await asyncio.sleep(min(30.0, 0.5 * 2**tried) * random.uniform(0.5, 1.0))
        return [failure(boundary.error, name) for _ in rows]


_SETTLED = frozenset({RewardOutput, float, int, bool, dict, type(None)})
"""What authors return most: nothing to await, and not worth asking."""


def _place(outputs: list[RewardOutput], rows: Sequence[int], values: Sequence[RewardOutput]) -> None:
    for i, value in zip(rows, values, strict=True):
        outputs[i] = value


async def _settled(value: Any) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if inspect.iscoroutine(value):
            value.close()
        raise _NeedsLoop from None
    return await value


def _context(step: int | None, given: Mapping[str, Any] | None) -> dict[str, Any]:
    def log_extra(column: str, values: Sequence[Any]) -> None: ...

    def log_metric(name: str, value: float) -> None: ...

    base = {"step": step, "log_extra": log_extra, "log_metric": log_metric}
    return {**base, "trainer_state": SimpleNamespace(global_step=step or 0), **(given or {})}


def leaves(reward: RewardFunction, of_every_row: bool = False) -> Iterable[RewardFunction]:
    """The rewards that do the work, without the compositions around them; or only those that every row is put to."""
    if isinstance(reward, Composition):
        for child in reward.children.values() if reward.asks_all or not of_every_row else ():
            yield from leaves(child, of_every_row)
    else:
        yield reward


def needs_loop(reward: RewardFunction) -> bool:
    """Whether any part of the reward waits for something."""
    return any(call_of(leaf).is_async for leaf in leaves(reward))


# -- from plain code -------------------------------------------------------------------------------------------------


def score(
    reward: Any,
    rows: Iterable[Any],
    *,
    step: int | None = None,
    on_failure: Literal["carry", "raise"] = "carry",
    engine: Engine | None = None,
    context: Mapping[str, Any] | None = None,
) -> list[RewardOutput]:
    """Score rows (trajectories, dicts, message lists or responses) with any reward; one output for each, in order.

    A failure is carried as the row's outcome, or raised at the first one with `on_failure="raise"`. Works in scripts,
    threads, and inside a running event loop. `context` is what a trainer hands along: its loggers and its state.

    >>> [o.reward for o in score(lambda response: len(response) > 3, [{"response": "four"}, {"response": "no"}])]
    [1.0, 0.0]
    """
    outputs = _run(as_reward(reward), [Trajectory.of(row) for row in rows], step, context, engine)
    if on_failure == "raise":
        for i, output in enumerate(outputs):
            if output.outcome in FAILURES:
                raise OUTCOME_ERRORS[output.outcome](f"row {i}: {output.error}")
    return outputs


def score_one(reward: RewardFunction, trajectory: Any) -> RewardOutput:
    """Score one trajectory by hand: a failure is raised."""
    row = Trajectory.of(trajectory)
    check_columns(reward, row)
    (output,) = _run(reward, [row], None, None, None)
    if output.outcome in FAILURES:
        raise OUTCOME_ERRORS[output.outcome](output.error)
    return output


def call(
    reward: RewardFunction,
    trajectories: Sequence[Any] | None,
    ground_truths: Sequence[Any] | None,
    columns: Mapping[str, Any],
) -> list[Any]:
    """A reward called as a trainer calls a function; see `RewardFunction.__call__`."""
    if trajectories is not None:
        rows = [Trajectory.of(row) for row in trajectories]
        if ground_truths is not None:
            rows = [_with_truth(t, truth) for t, truth in zip(rows, _repeated(ground_truths, rows), strict=True)]
        outputs = _run(reward, rows, None, None, None)
        return [math.nan if output.reward is None else output.reward for output in outputs]
    if "completions" not in columns:
        raise TypeError(
            f"reward {reward.name!r} is called with trajectories (and ground_truths), or with TRL's keywords "
            f"prompts= and completions=; found {sorted(columns) or 'nothing'}."
        )
    rows, context = from_trl(columns)
    if rows:
        check_columns(reward, rows[0])
    state = context.get("trainer_state")
    return [output.reward for output in _run(reward, rows, getattr(state, "global_step", None), context, None)]


def _with_truth(trajectory: Trajectory, truth: Any) -> Trajectory:
    own = copy.copy(trajectory)  # the caller's row is not ours to change
    own.ground_truth = truth
    return own


def _repeated(truths: Sequence[Any], rows: Sequence[Trajectory]) -> list[Any]:
    """One truth for each row; one for each prompt will do where the rows are several samples of each, in order."""
    each = len(rows) // len(truths) if truths else 0
    blocks = [rows[i * each : (i + 1) * each] for i in range(len(truths))]
    if each * len(truths) == len(rows) and all(len({t.group_id for t in block}) == 1 for block in blocks):
        return [truth for truth in truths for _ in range(each)]
    return list(truths)


_NOT_COLUMNS = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric", "environments")


def from_trl(columns: Mapping[str, Any]) -> tuple[list[Trajectory], dict[str, Any]]:
    """The trajectories in a call with TRL's keywords, and what comes from the call itself: the step, the loggers."""
    completions = columns["completions"]
    data = {name: values for name, values in columns.items() if name not in _NOT_COLUMNS}
    prompts = columns.get("prompts") or [""] * len(completions)
    rows = [
        Trajectory.of({**{k: v[i] for k, v in data.items()}, "prompt": prompts[i], "response": completions[i]})
        for i in range(len(completions))
    ]
    for row, ids in zip(rows, columns.get("completion_ids") or (), strict=False):
        row.tokens = Tokens(ids=ids)
    return rows, {name: columns[name] for name in ("trainer_state", "log_extra", "log_metric") if name in columns}


def check_columns(reward: RewardFunction, row: Trajectory) -> None:
    """Raise `MissingColumn` where the first row lacks a column that some part of the reward cannot do without."""
    for leaf in leaves(reward, of_every_row=True):
        for column in required_columns(leaf):
            if column == "ground_truth" and row.ground_truth is None:
                raise missing_column(leaf.name, column, row)
            if column not in row:
                raise missing_column(leaf.name, column, row)


def required_columns(leaf: RewardFunction) -> list[str]:
    """The columns that a reward cannot do without."""
    return list(dict.fromkeys([*leaf.contract.columns, *call_of(leaf).columns()]))


def _run(
    reward: RewardFunction, rows: list[Trajectory], step: int | None, context: Any, engine: Engine | None
) -> list[RewardOutput]:
    engine = engine or Engine()
    if not needs_loop(reward):
        try:
            return drive(engine.score(reward, rows, step, context))
        except _NeedsLoop:
            pass
    return run(engine.score(reward, rows, step, context))


__all__ = ["Engine", "MissingColumn", "call", "check_columns", "leaves", "needs_loop", "score", "score_one"]
