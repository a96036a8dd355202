"""verifiers: a reward for a v1 task, a Rubric of v0 from a reward, and a reward from a Rubric.

    # rewards.py, plugged in by configuration: [task.rewards.math] fn = "rewards.py:math"
    math = task_reward(MathReward())                            # verifiers 0.4, and prime-rl which reads its traces

    rubric = rubric(MathReward(), unscored=0.0)                 # Rubric of verifiers 0.1 to 0.3
    reward = from_rubric(their_rubric)                          # a composite of their functions, with their weights

v1 understands "not scored": the adapter raises, the trace keeps None, and the rollout is marked. v0 turns an error into
0.0, so there `unscored` names the number; `from_rubric` calls the functions itself and keeps an error an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from assay.adapters.lower import part_names, refuse_groups, refuse_steps
from assay.adapters.rubric import from_rubric, plain, rubric
from assay.engine import score
from assay.errors import OUTCOME_ERRORS, RewardError
from assay.reward import as_reward
from assay.types import Trajectory

__all__ = ["from_rubric", "from_trace", "rubric", "task_reward"]


def task_reward(reward: Any) -> Callable[..., Any]:
    """A function for `TaskConfig.rewards`: scores a finished trace; its components become metrics of the trace."""
    reward = as_reward(reward)
    refuse_groups(reward, "verifiers", "Give it a reward that scores each rollout by itself.")
    refuse_steps(reward, "verifiers")

    async def scored(task: Any, trace: Any) -> float:
        (output,) = await asyncio.to_thread(score, reward, [from_trace(task, trace)])
        for name in part_names(reward):
            if (part := output.components.get(name)) and part.reward is not None:
                trace.record_metric(f"{reward.name}/{name}", part.reward)
        if output.reward is None:
            raise OUTCOME_ERRORS.get(output.outcome, RewardError)(output.error or f"not scored ({output.outcome})")
        return output.reward

    scored.__name__ = scored.__qualname__ = reward.name
    return scored


def from_trace(task: Any, trace: Any) -> Trajectory:
    """A v1 trace as a trajectory: its messages, and the task's own fields as columns."""
    columns: dict[str, Any] = task.model_dump(exclude={"prompt"})
    columns.setdefault("ground_truth", columns.get("answer"))
    return Trajectory.of({**columns, "messages": [plain(m) for m in trace.messages]})
