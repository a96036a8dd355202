"""Twinkle (twinkle-kit): a reward for its loop.

    reward_fn = twinkle_reward(MathReward(), unscored=0.0)
    rewards = reward_fn(trajectories, ground_truths)        # or reward_fn(trajectories), with user_data

Its trajectories are dictionaries with `messages` and `user_data`, a list of (key, value) pairs. One NaN would make a
whole group's advantages NaN there, so `unscored` names the number; assay.advantage takes None and keeps the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.adapters.lower import number, refuse_steps, stand_in
from assay.engine import score
from assay.reward import as_reward
from assay.types import Trajectory, text_of


def twinkle_reward(reward: Any, *, unscored: float) -> _TwinkleReward:
    """The reward as Twinkle calls one."""
    return _TwinkleReward(reward, unscored)


class _TwinkleReward:
    def __init__(self, reward: Any, unscored: float) -> None:
        self.reward, self.unscored = as_reward(reward), stand_in(unscored)
        refuse_steps(self.reward, "Twinkle")

    def __call__(
        self, trajectories: Sequence[Mapping[str, Any]], ground_truths: Sequence[Any] | None = None, **_: Any
    ) -> list[float]:
        truths: Sequence[Any] = ground_truths if ground_truths is not None else [None] * len(trajectories)
        rows = [_row(t, truth) for t, truth in zip(trajectories, truths, strict=True)]
        return [number(output, self.unscored) for output in score(self.reward, rows)]


def _row(trajectory: Mapping[str, Any], truth: Any) -> Trajectory:
    columns: dict[str, Any] = dict(trajectory.get("user_data") or ())
    rest = {key: value for key, value in trajectory.items() if key not in ("messages", "user_data")}
    row = Trajectory.of({**rest, **columns, "messages": list(trajectory.get("messages") or ())})
    if truth is not None:
        row.ground_truth = _said(truth)
    return row


def _said(truth: Any) -> Any:
    """A ground truth may itself be a trajectory: then it is what its assistant said, or its own `ground_truth`."""
    if not isinstance(truth, Mapping):
        return truth
    columns: dict[str, Any] = dict(truth.get("user_data") or ())
    if "ground_truth" in columns:
        return columns["ground_truth"]
    messages: Sequence[Any] = truth.get("messages") or ()
    return text_of(messages[-1]) if messages else truth
