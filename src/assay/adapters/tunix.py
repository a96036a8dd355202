"""tunix: a function for `GRPOLearner(..., reward_fns=[...])`.

    reward_fns = [reward_fn(MathReward(), unscored=0.0)]

tunix sums what its functions say and counts None and NaN as nothing, which is a 0: so `unscored` names the number. It
takes lists and spreads a short array over the batch without a word; here there is one number a row, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.adapters.lower import columns_of, number, refuse_steps, stand_in
from assay.engine import check_columns, score
from assay.reward import as_reward
from assay.types import Trajectory


def reward_fn(reward: Any, *, unscored: float) -> _RewardFn:
    """The reward as tunix calls one: `fn(prompts, completions, **columns) -> list[float]`."""
    return _RewardFn(reward, unscored)


class _RewardFn:
    def __init__(self, reward: Any, unscored: float) -> None:
        self.reward, self.unscored = as_reward(reward), stand_in(unscored)
        refuse_steps(self.reward, "tunix")
        self.__name__ = self.reward.__name__

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float]:
        given = columns_of(columns, len(completions))
        rows = [
            Trajectory.of({**row, "prompt": str(prompt), "response": str(completion)})
            for prompt, completion, row in zip(prompts, completions, given, strict=True)
        ]
        if rows:
            check_columns(self.reward, rows[0])
        return [number(output, self.unscored) for output in score(self.reward, rows)]
