"""verl: a file for `reward.custom_reward_function.path`, and managers for what one sample at a time cannot do.

    # reward_file.py
    from assay.adapters import verl
    compute_score = verl.compute_score(MathReward(), unscored=0.0)              # custom_reward_function.name
    compute_score_batch = verl.compute_score_batch(MathReward(), unscored=0.0)  # for the classic batch manager
    Manager = verl.reward_manager(process_reward, unscored=0.0)                 # reward_manager.source=importlib

Every sample's dictionary has the same keys: `score`, each component, and `scored` (verl takes the keys of the first
sample for all, and fails on None). verl has no mask for a reward: `unscored` is the number for what was not scored.
`Manager` gives rewards their token ids, so that rewards on steps and words reach verl's tensor, and waits for whole
groups where a reward needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.adapters.lower import figures, number, part_names, refuse_groups, refuse_steps, stand_in
from assay.engine import needs_groups, score
from assay.errors import InputError
from assay.reward import RewardFunction, as_reward
from assay.types import RewardOutput, Trajectory


@dataclass
class Scorer:
    """A reward, and what verl gets of it for one sample."""

    reward: RewardFunction
    unscored: float

    def said(self, output: RewardOutput) -> dict[str, float]:
        """What verl takes for one sample."""
        parts = figures(output, part_names(self.reward), self.unscored)
        parts.pop("score", None)  # a component of that name must not stand for the whole
        return {"score": number(output, self.unscored), **parts}


class _ComputeScore(Scorer):
    def __call__(
        self,
        data_source: Any = "",
        solution_str: str = "",
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, float]:
        row = row_of(data_source, solution_str, ground_truth, extra_info)
        return self.said(score(self.reward, [row])[0])


class _ComputeScoreBatch(Scorer):
    def __call__(
        self,
        data_sources: Sequence[Any],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None],
        **_: Any,
    ) -> list[dict[str, float]]:
        rows = [row_of(*row) for row in zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)]
        if needs_groups(self.reward) and not all(row.group for row in rows):
            raise InputError(f"reward {self.reward.name!r} needs groups: give each extra_info its prompt's 'index'.")
        return [self.said(output) for output in score(self.reward, rows)]


def compute_score(reward: Any, *, unscored: float) -> _ComputeScore:
    """verl's `compute_score(data_source, solution_str, ground_truth, extra_info)`, by keyword or by place."""
    reward = as_reward(reward)
    refuse_groups(reward, "verl", "Use reward_manager(...), or compute_score_batch(...) with the batch manager.")
    refuse_steps(reward, "verl")
    return _ComputeScore(reward, stand_in(unscored))


def compute_score_batch(reward: Any, *, unscored: float) -> _ComputeScoreBatch:
    """The function of verl's batch manager, which has the whole batch. A group is an `index` (or `uid`)."""
    reward = as_reward(reward)
    refuse_steps(reward, "verl")
    return _ComputeScoreBatch(reward, stand_in(unscored))


def row_of(data_source: Any, solution: str, truth: Any, extra_info: Mapping[str, Any] | None) -> Trajectory:
    """A sample as a trajectory; the columns of `extra_info` are its own."""
    extra = dict(extra_info or {})
    prompt = extra.get("prompt") or extra.get("question") or ""
    group = next((str(extra[key]) for key in ("uid", "index") if extra.get(key) is not None), "")
    return Trajectory(
        prompt=prompt if isinstance(prompt, str) else "",
        response=solution,
        ground_truth=truth,
        metadata={**extra, "data_source": data_source, "extra_info": extra},
        group=group,
    )


def reward_manager(reward: Any, *, unscored: float, group_timeout: float = 1800.0) -> type:
    """A manager class for verl's reward loop (`reward.reward_manager.source=importlib`)."""
    from assay.adapters.verl_manager import manager_of

    reward = as_reward(reward)
    refuse_steps(reward, "verl")
    return manager_of(Scorer(reward, stand_in(unscored)), group_timeout)
