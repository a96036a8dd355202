"""ms-swift: a plugin file for `--external_plugins plugin.py --reward_funcs NAME`.

    # plugin.py
    from swift.rewards import orms
    from assay.adapters.swift import orm
    orms["math"] = orm(MathReward(), unscored=0.0)

The class is what ms-swift makes an instance of. A row that is not scored is None, which leaves it out of this
function's statistics; where no function scores a row, ms-swift takes the sum for 0, so `unscored` names the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.adapters.lower import columns_of, stand_in
from assay.engine import needs_groups, score
from assay.reward import RewardFunction, as_reward
from assay.types import Trajectory


def orm(reward: Any, *, unscored: float | None = None) -> type:
    """A reward class for `orms`. `unscored=None` passes None on, for use beside functions that always score."""
    reward = as_reward(reward)
    instead = None if unscored is None else stand_in(unscored)

    class AssayORM:
        def __init__(self, args: Any = None, **_: Any) -> None:
            self.args = args

        def __call__(self, completions: Sequence[str], **columns: Any) -> list[float | None]:
            outputs = score(reward, rows(reward, completions, columns), step=_step(columns))
            return [instead if output.reward is None else output.reward for output in outputs]

    AssayORM.__name__ = AssayORM.__qualname__ = reward.__name__
    return AssayORM


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
