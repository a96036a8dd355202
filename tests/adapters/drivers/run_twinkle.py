"""Twinkle's advantages on adapted rewards, and an Assay reward beside its own."""

import importlib.metadata

from common import RESPONSES, reward
from twinkle.advantage import GRPOAdvantage, RLOOAdvantage
from twinkle.reward.base import Reward

import assay.compat
from assay import advantage
from assay.adapters.twinkle import twinkle_reward


def said(text, truth="5"):
    messages = [{"role": "user", "content": "after 4?"}, {"role": "assistant", "content": text}]
    return {"messages": messages, "user_data": [("ground_truth", truth)]}


fn = twinkle_reward(reward(), unscored=0.0)
rewards = fn([said(r) for r in (*RESPONSES, RESPONSES[0])])
assert [round(r, 6) for r in rewards] == [1.0, 0.1, 0.0, 1.0], rewards
assert fn([said(RESPONSES[0])], [said(RESPONSES[0])]) == [1.0]

for theirs, ours in ((GRPOAdvantage(), advantage.GRPOAdvantage()), (RLOOAdvantage(), advantage.RLOOAdvantage())):
    for scale in ("group", "batch", "none"):
        there = theirs(rewards, num_generations=4, scale=scale).tolist()
        here = ours(rewards, num_generations=4, scale=scale)
        assert all(abs(a - b) < 5e-3 for a, b in zip(there, here, strict=True)), (ours, scale, there, here)

# the names of assay.compat yield to the package that is really there
assay.compat.install()
import twinkle.reward  # noqa: E402

assert "site-packages" in str(twinkle.reward.__file__)
assert issubclass(twinkle.reward.MathReward, Reward)
print("ran: its advantages on adapted rewards; twinkle-kit", importlib.metadata.version("twinkle-kit"))
