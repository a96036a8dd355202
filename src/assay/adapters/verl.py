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

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.adapters.lower import figures, number, part_names, refuse_groups, stand_in
from assay.engine import needs_groups, score
from assay.errors import InputError, RewardTimeout, require
from assay.reward import RewardFunction, as_reward
from assay.tokens import align, lower, padded
from assay.types import RewardOutput, Trajectory


@dataclass
class _Scorer:
    reward: RewardFunction
    unscored: float

    def said(self, output: RewardOutput) -> dict[str, float]:
        """What verl takes for one sample."""
        parts = figures(output, part_names(self.reward), self.unscored)
        parts.pop("score", None)  # a component of that name must not stand for the whole
        return {"score": number(output, self.unscored), **parts}


class _ComputeScore(_Scorer):
    def __call__(
        self,
        data_source: Any = "",
        solution_str: str = "",
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, float]:
        row = _row(data_source, solution_str, ground_truth, extra_info)
        return self.said(score(self.reward, [row])[0])


class _ComputeScoreBatch(_Scorer):
    def __call__(
        self,
        data_sources: Sequence[Any],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None],
        **_: Any,
    ) -> list[dict[str, float]]:
        rows = [_row(*row) for row in zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)]
        if needs_groups(self.reward) and not all(row.group for row in rows):
            raise InputError(f"reward {self.reward.name!r} needs groups: give each extra_info its prompt's 'index'.")
        return [self.said(output) for output in score(self.reward, rows)]


def compute_score(reward: Any, *, unscored: float) -> _ComputeScore:
    """verl's `compute_score(data_source, solution_str, ground_truth, extra_info)`, by keyword or by place."""
    reward = as_reward(reward)
    refuse_groups(reward, "verl", "Use reward_manager(...), or compute_score_batch(...) with the batch manager.")
    return _ComputeScore(reward, stand_in(unscored))


def compute_score_batch(reward: Any, *, unscored: float) -> _ComputeScoreBatch:
    """The function of verl's batch manager, which has the whole batch. A group is an `index` (or `uid`)."""
    return _ComputeScoreBatch(as_reward(reward), stand_in(unscored))


def _row(data_source: Any, solution: str, truth: Any, extra_info: Mapping[str, Any] | None) -> Trajectory:
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
    base = require("verl.experimental.reward_loop.reward_manager.base", "train", "verl's manager").RewardManagerBase
    scorer = _Scorer(as_reward(reward), stand_in(unscored))
    grouped = needs_groups(scorer.reward)

    class Manager(base):
        def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
            super().__init__(config, tokenizer, compute_score)
            size = int(config.actor_rollout_ref.rollout.n) if grouped else 1
            self.groups = _Groups(scorer.reward, size, group_timeout)

        async def run_single(self, data: Any) -> dict[str, Any]:
            row = _from_proto(data[-1:][0], self.tokenizer, grouped)
            output = (
                await self.groups.score(row) if grouped else (await asyncio.to_thread(score, scorer.reward, [row]))[0]
            )
            on_tokens = lower(output, row, remainder="last") if output.token_rewards else number(output, unscored)
            return {"reward_score": on_tokens, "reward_extra_info": scorer.said(output)}

        @classmethod
        def assemble_rm_scores(cls, data: Any, scores: Sequence[float | list[float]]) -> Any:
            prompt_length = data.batch["prompts"].size(1)
            lengths = data.batch["attention_mask"][:, prompt_length:].sum(dim=1).tolist()
            rows = [_on_tokens(told, int(n)) for told, n in zip(scores, lengths, strict=True)]
            width = data.batch["responses"].size(1)
            torch = require("torch", "train", "verl's manager")
            return torch.tensor(padded(rows, width), dtype=torch.float32, device=data.batch["responses"].device)

    return Manager


def _on_tokens(told: float | list[float], length: int) -> list[float]:
    """A row of verl's tensor: one number a token as given, or the whole on the last token."""
    return told if isinstance(told, list) else [0.0] * (length - 1) + [float(told)]


def _from_proto(item: Any, tokenizer: Any, grouped: bool) -> Trajectory:
    """One item of a DataProto as a trajectory with its tokens."""
    ids = item.batch["responses"]
    length = int(item.batch["attention_mask"][-ids.shape[-1] :].sum())
    ids = [int(i) for i in ids[:length]]
    text = tokenizer.decode(ids, skip_special_tokens=True)
    own = item.non_tensor_batch
    extra = {**(own.get("extra_info") or {}), **({"uid": own["uid"]} if own.get("uid") is not None else {})}
    row = _row(own.get("data_source", ""), text, (own.get("reward_model") or {}).get("ground_truth"), extra)
    if grouped and not row.group:
        raise InputError(f"a reward that looks at a group needs 'uid' in the batch; it has {sorted(own)}.")
    row.tokens = align(tokenizer, ids, text)
    return row


class _Groups:
    """Holds the samples of a prompt until all of them are there; a group that stays a part is an error."""

    def __init__(self, reward: RewardFunction, size: int, timeout: float) -> None:
        self.reward, self.size, self.timeout = reward, size, timeout
        self.open: dict[str, tuple[list[Trajectory], asyncio.Future[list[RewardOutput]]]] = {}

    async def score(self, row: Trajectory) -> RewardOutput:
        rows, done = self.open.setdefault(row.group, ([], asyncio.get_running_loop().create_future()))
        place = len(rows)
        rows.append(row)
        if len(rows) == self.size:
            del self.open[row.group]
            done.set_result(await asyncio.to_thread(score, self.reward, rows))
        try:
            async with asyncio.timeout(self.timeout):
                return (await asyncio.shield(done))[place]
        except TimeoutError:
            raise RewardTimeout(
                f"reward {self.reward.name!r} needs the {self.size} responses to a prompt together; {len(rows)} came "
                f"to this worker within {self.timeout} s. Set reward.num_workers=1, so that no group is split."
            ) from None
