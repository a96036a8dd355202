"""OpenRLHF: a reward file for `--reward.remote_url /path/reward.py`, and the wire format of its HTTP rewards.

    # reward.py
    from assay.adapters.openrlhf import reward_func as adapt
    reward_func = adapt(MathReward(), unscored=0.0)

`assay serve SPEC` answers the same over HTTP: `--reward.remote_url http://host:8000/get_reward`. OpenRLHF cannot say
"not scored" (a reward that is None ends the run), so `unscored` is the number that it gets; `extra_logs/scored` tells
how often. It sends one sample a call: rewards that look at a group are refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from assay.adapters.lower import SCORED, figures, number, part_names, refuse_groups, refuse_steps, stand_in
from assay.engine import score
from assay.errors import InputError
from assay.reward import as_reward
from assay.types import RewardOutput, Trajectory

_END = re.compile(r"(?:\s*(?:<\|[\w ]{1,40}\|>|</s>|<eos>|<end_of_turn>|<pad>))+\s*\Z")
"""Special tokens at the end: OpenRLHF leaves them in the text that it sends."""


def rows(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> list[Trajectory]:
    """The trajectories of a call: a query is the prompt and the response in one."""
    if not len(queries) == len(prompts) == len(labels):
        found = f"{len(queries)}, {len(prompts)} and {len(labels)}"
        raise InputError(f"needed as many queries as prompts and labels; found {found}.")
    return [
        Trajectory(prompt=prompt, response=_response(query, prompt), ground_truth=label, metadata={"label": label})
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]


def _response(query: Any, prompt: Any) -> str:
    if not isinstance(query, str) or not isinstance(prompt, str):
        found = f"{type(query).__name__} and {type(prompt).__name__}"
        raise InputError(f"needed queries and prompts as text; found {found}.")
    start = query.find(prompt)  # a tokenizer may have put a token of its own before the prompt
    if start < 0:
        raise InputError(f"needed a query that contains its prompt; found {query[:60]!r} for {prompt[:60]!r}.")
    return _END.sub("", query[start + len(prompt) :])


def answer(outputs: Sequence[RewardOutput], names: Sequence[str], unscored: float) -> dict[str, Any]:
    """What OpenRLHF takes: rewards, scores in [0, 1] for its dynamic filtering, and numbers to log."""
    rewards = [number(output, unscored) for output in outputs]
    logs = [figures(output, names, unscored) for output in outputs]
    return {
        "rewards": rewards,
        "scores": [min(1.0, max(0.0, r)) for r in rewards],
        "extra_logs": {name: [log[name] for log in logs] for name in (*names, SCORED)},
    }


def reward_func(reward: Any, *, unscored: float) -> Callable[..., dict[str, Any]]:
    """The function that OpenRLHF looks for in a reward file."""
    reward, unscored = as_reward(reward), stand_in(unscored)
    refuse_groups(reward, "OpenRLHF", "Use a reward that scores each response by itself.")
    refuse_steps(reward, "OpenRLHF")
    names = part_names(reward)

    def adapted(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any) -> dict[str, Any]:
        found = answer(score(reward, rows(queries, prompts, labels)), names, unscored)
        torch = sys.modules.get("torch")  # of lists OpenRLHF makes tensors with one dimension too many
        return found if torch is None else {**found, **{k: torch.tensor(found[k]) for k in ("rewards", "scores")}}

    return adapted
