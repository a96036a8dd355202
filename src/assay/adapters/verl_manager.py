"""The manager of verl's reward loop: rewards on tokens reach its tensor, those on groups wait for whole groups."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from assay.adapters.lower import number
from assay.adapters.verl import Scorer, row_of
from assay.engine import needs_groups, score
from assay.errors import InputError, RewardTimeout, require
from assay.reward import RewardFunction
from assay.tokens import align, lower, padded
from assay.types import RewardOutput, Trajectory


def manager_of(scorer: Scorer, group_timeout: float) -> type:
    """The class. A group's samples are held until the last of them has come."""
    base = require("verl.experimental.reward_loop.reward_manager.base", "train", "verl's manager").RewardManagerBase
    grouped = needs_groups(scorer.reward)

    class Manager(base):
        def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
            super().__init__(config, tokenizer, compute_score)
            size = int(config.actor_rollout_ref.rollout.n) if grouped else 1
            self.groups = Groups(scorer.reward, size, group_timeout)

        async def run_single(self, data: Any) -> dict[str, Any]:
            row = _from_proto(data[-1:][0], self.tokenizer, grouped)
            output = (
                await self.groups.score(row) if grouped else (await asyncio.to_thread(score, scorer.reward, [row]))[0]
            )
            on_tokens = (
                lower(output, row, remainder="last") if output.token_rewards else number(output, scorer.unscored)
            )
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
    row = row_of(own.get("data_source", ""), text, (own.get("reward_model") or {}).get("ground_truth"), extra)
    if grouped and not row.group:
        raise InputError(f"a reward that looks at a group needs 'uid' in the batch; it has {sorted(own)}.")
    written = item.batch.get("response_mask", None)
    mask = () if written is None else [bool(own) for own in written[:length]]
    row.tokens = align(tokenizer, ids, text, mask)
    return row


class Groups:
    """Holds the samples of a prompt until all of them are there; a group that stays a part is an error."""

    def __init__(self, reward: RewardFunction, size: int, timeout: float) -> None:
        self.reward, self.size, self.timeout = reward, size, timeout
        self.open: dict[str, tuple[list[Trajectory], asyncio.Future[asyncio.Task[list[RewardOutput]]]]] = {}

    async def score(self, row: Trajectory) -> RewardOutput:
        """The row's output, once its group is whole."""
        rows, whole = self.open.setdefault(row.group, ([], asyncio.get_running_loop().create_future()))
        place = len(rows)
        rows.append(row)
        if len(rows) == self.size:
            del self.open[row.group]
            whole.set_result(asyncio.create_task(asyncio.to_thread(score, self.reward, rows)))
        try:
            async with asyncio.timeout(self.timeout):
                scored = await asyncio.shield(whole)
        except TimeoutError:
            if self.open.get(row.group, ([], None))[1] is whole:
                del self.open[row.group]  # a sample that comes later must not complete a group that was given up
            raise RewardTimeout(
                f"reward {self.reward.name!r} needs the {self.size} responses to a prompt together; {len(rows)} came "
                f"to this worker within {self.timeout} s. Set reward.num_workers=1, so that no group is split."
            ) from None
        # all wait for the one task: its error reaches each of them, and none that goes away takes it from the others
        return (await asyncio.shield(scored))[place]
