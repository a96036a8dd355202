"""SkyRL: an environment for skyrl-gym whose reward is yours, and rewards for a generator's output.

    register(id="assay", entry_point="my_module:MathEnv")         # MathEnv = text_env(MathReward(), unscored=0.0)

    generator_output["rewards"] = rewards(outputs, trajectories, unscored=0.0)

`rewards` gives one number a response, or one number a token for each where a reward is that fine, as SkyRL takes both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.adapters.lower import number, part_names, refuse_groups, refuse_steps, stand_in
from assay.engine import score
from assay.errors import require
from assay.reward import as_reward
from assay.tokens import lower
from assay.types import RewardOutput, Trajectory


def text_env(reward: Any, *, unscored: float) -> type:
    """A single-turn environment: the ground truth and every other column come from the data set's row (`extras`)."""
    base = require("skyrl_gym.envs.base_text_env", "train", "SkyRL's environment").BaseTextEnv
    reward, unscored = as_reward(reward), stand_in(unscored)
    refuse_groups(reward, "SkyRL's environment", "Score the generator's output with rewards(...).")
    refuse_steps(reward, "SkyRL's environment")

    class AssayEnv(base):
        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            self.extras = dict(extras or {})
            self.chat: list[Any] = list(self.extras.get("prompt") or ())
            self.output = RewardOutput()

        def init(self, prompt: Any) -> Any:
            self.chat = list(prompt)
            return prompt, {}

        def step(self, action: str) -> dict[str, Any]:
            (self.output,) = score(reward, [_row(self.chat, action, self.extras)])
            said = {"outcome": str(self.output.outcome), "why": self.output.error, **self.output.metadata}
            return {"observations": [], "reward": number(self.output, unscored), "done": True, "metadata": said}

        def get_metrics(self) -> dict[str, float]:
            known = {n: self.output.components[n].reward for n in part_names(reward) if n in self.output.components}
            return {"scored": float(self.output.scored), **{n: r for n, r in known.items() if r is not None}}

    return AssayEnv


def _row(chat: Sequence[Any], action: str, extras: Mapping[str, Any]) -> Trajectory:
    spec: Any = extras.get("reward_spec") or {}
    columns = {k: v for k, v in extras.items() if k not in ("prompt", "reward_spec", "response", "messages")}
    messages = [*chat, {"role": "assistant", "content": action}]
    return Trajectory.of({"ground_truth": spec.get("ground_truth"), **columns, "messages": messages})


def rewards(
    outputs: Sequence[RewardOutput], trajectories: Sequence[Trajectory], *, unscored: float
) -> list[float] | list[list[float]]:
    """A number a response; or, where any output has token rewards, a number a token for each of them."""
    if not any(output.token_rewards for output in outputs):
        return [number(output, unscored) for output in outputs]
    rows: list[list[float]] = []
    for output, trajectory in zip(outputs, trajectories, strict=True):
        told = output if output.reward is not None else RewardOutput(unscored)
        rows.append(lower(told, trajectory))
    return rows
