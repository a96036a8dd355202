"""ms-swift: its own GRPO code computes the rewards with the adapted class from `orms`."""

import asyncio

import torch
from common import EXPECTED, RESPONSES, longest, reward
from swift.rewards import orms
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import compute_rewards_per_func

from assay.adapters.swift import orm

orms["toy"] = orm(reward())
orms["filled"] = orm(reward(), unscored=-1.0)
orms["longest"] = orm(longest)


def samples(truth="5", responses=RESPONSES):
    rows = [
        {
            "messages": [{"role": "user", "content": "after 4?"}, {"role": "assistant", "content": response}],
            "ground_truth": truth,
            "prompt_id": str(i // 3),
            "request_id": str(i),
            "finish_reason": "stop",
        }
        for i, response in enumerate(responses)
    ]
    return [GRPOSample.from_row(row) for row in rows]


def lowered(name, given):
    made = orms[name](args=None)
    return compute_rewards_per_func(given, [made], None, torch.device("cpu"))[:, 0]


assert torch.allclose(lowered("toy", samples()), torch.tensor(EXPECTED)), lowered("toy", samples())
assert torch.isnan(lowered("toy", samples(truth=None))).all()
assert (lowered("filled", samples(truth=None)) == -1.0).all()
two_groups = samples(responses=("a", "bb", "cc", "a", "b", "c"))
assert lowered("longest", two_groups).tolist() == [0, 1, 1, 1, 1, 1]


async def judged(response):
    await asyncio.sleep(0.01)
    return EXPECTED[RESPONSES.index(response)]


orms["judge"] = orm(judged)
assert torch.allclose(lowered("judge", samples()), torch.tensor(EXPECTED)), "an AsyncORM"
assert orms["toy"].__name__ != orms["filled"].__name__
print("ran: its GRPO's compute_rewards_per_func")
