"""ms-swift: a plugin file for `--external_plugins plugin.py --reward_funcs NAME`.

    # plugin.py
    from swift.rewards import orms
    from assay.adapters.swift import orm
    orms["math"] = orm(MathReward(), unscored=0.0)

The class is what ms-swift makes an instance of; for a reward that waits (a judge) its call is async, and ms-swift runs
it beside others. A group that is split over ranks is put together. A row that is not scored is None, which leaves it
out of this function's statistics; where no function scores a row, ms-swift takes the sum for 0, so `unscored` names the
number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from assay.adapters.lower import columns_of, stand_in
from assay.adapters.ranks import whole_groups
from assay.engine import needs_groups, needs_loop, score
from assay.reward import RewardFunction, as_reward
from assay.types import Trajectory


def orm(reward: Any, *, unscored: float | None = None) -> type:
    """A reward class for `orms`. `unscored=None` passes None on, for use beside functions that always score."""
    reward = as_reward(reward)
    instead = None if unscored is None else stand_in(unscored)

    class AssayORM:
        def __init__(self, args: Any = None, **_: Any) -> None:
            self.args = args

        def __call__(self, completions: Sequence[str], **columns: Any) -> Any:
            return scored(*_whole(reward, rows(reward, completions, columns)), _step(columns))

    class AssayAsyncORM(AssayORM):
        async def __call__(self, completions: Sequence[str], **columns: Any) -> Any:
            whole, mine = _whole(reward, rows(reward, completions, columns))
            return await asyncio.to_thread(scored, whole, mine, _step(columns))

    def scored(whole: list[Trajectory], mine: slice, step: int | None) -> list[float | None]:
        outputs = score(reward, whole, step=step)[mine]
        return [instead if output.reward is None else output.reward for output in outputs]

    made = AssayAsyncORM if needs_loop(reward) else AssayORM
    made.__name__ = made.__qualname__ = reward.__name__
    return made


def _whole(reward: RewardFunction, own: list[Trajectory]) -> tuple[list[Trajectory], slice]:
    if not needs_groups(reward):
        return own, slice(0, len(own))
    return whole_groups(own, [row.group for row in own], None)


def rows(reward: RewardFunction, completions: Sequence[str], columns: dict[str, Any]) -> list[Trajectory]:
    """The trajectories of a call: completions are plain text, `messages` the conversation up to it."""
    found: list[Trajectory] = []
    for completion, row in zip(completions, columns_of(columns, len(completions)), strict=True):
        messages = list(row.pop("messages", None) or ())
        while messages and messages[-1].get("role") == "assistant":
            messages.pop()  # the completion itself, or the data set's own answer
        said = {"role": "assistant", "content": completion}
        trajectory = Trajectory.of(row)
        trajectory.messages = [*messages, said] if messages else ()
        trajectory.response = completion
        trajectory.prompt = Trajectory(messages=messages).prompt if messages else trajectory.prompt
        trajectory.group = str(row.get("prompt_id") or trajectory.prompt) if needs_groups(reward) else trajectory.group
        found.append(trajectory)
    return found


def _step(columns: dict[str, Any]) -> int | None:
    return getattr(columns.get("trainer_state"), "global_step", None)
