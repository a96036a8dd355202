"""Scoring again in part: what is stored and still good is kept, the rest is called, and everything is folded anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from assay.calling import Call
from assay.compose.flow import Ask, Batch, Composition, stored_part
from assay.contract import Per
from assay.reward import RewardFunction, call_of
from assay.types import RewardOutput, Trajectory

Keep = Callable[[str, RewardOutput], bool]
"""Whether the stored output of the component at this path is still good."""
Score = Callable[[RewardFunction, Sequence[Trajectory]], Awaitable[list[RewardOutput]]]


async def rescored(
    score: Score, ask: Ask, batch: Batch, stored: Sequence[RewardOutput | None], keep: Keep
) -> list[RewardOutput]:
    """The outputs of one component, whose path is the ask's name; `stored` is parallel to the batch."""
    reward, path = ask.reward, ask.name
    if not isinstance(reward, Composition):
        return await _leaf(score, ask, batch, stored, keep)
    flow = reward.flow(batch)
    try:
        asks = next(flow)
        while True:
            columns: list[list[RewardOutput]] = []
            for below in asks:
                rows = [batch.trajectories[i] for i in below.rows]
                parts = [stored_part(stored[i], below.name) for i in below.rows]
                inner = Ask(f"{path}/{below.name}", below.reward, range(len(rows)))
                columns.append(await rescored(score, inner, Batch(rows, batch.step), parts, keep))
            asks = flow.send(columns)
    except StopIteration as done:
        outputs: list[RewardOutput] = done.value
    for output in outputs:
        output.seconds = sum(part.seconds for part in output.components.values())
    return outputs


async def _leaf(
    score: Score, ask: Ask, batch: Batch, stored: Sequence[RewardOutput | None], keep: Keep
) -> list[RewardOutput]:
    good = [output if output is not None and keep(ask.name, output) else None for output in stored]
    wanting = _whole(call_of(ask.reward), batch, [i for i, output in enumerate(good) if output is None])
    fresh = await score(ask.reward, [batch.trajectories[i] for i in wanting]) if wanting else []
    found = dict(zip(wanting, fresh, strict=True))
    outputs: list[RewardOutput] = []
    for i, output in enumerate(good):
        outputs.append(found[i] if output is None or i in found else output)
    return outputs


def _whole(call: Call, batch: Batch, wanting: list[int]) -> list[int]:
    """A group reward is called for whole groups."""
    if call.per is not Per.GROUP or not wanting:
        return wanting
    some = set(wanting)
    return sorted(i for rows in batch.groups().values() if some & set(rows) for i in rows)
