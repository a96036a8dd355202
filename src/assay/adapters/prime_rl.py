"""prime-rl: it takes no reward function of its own; it trains on the reward of verifiers' v1 traces.

    # rewards.py
    math = task_reward(MathReward())

    # the environment's task configuration
    [env.taskset.task.rewards.math]
    fn = "rewards.py:math"
    weight = 1.0

A rollout that is not scored keeps None in its trace and an error, and prime-rl leaves rollouts with errors out.
"""

from __future__ import annotations

from assay.adapters.verifiers import task_reward

__all__ = ["task_reward"]
