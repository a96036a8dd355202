"""skyrl-gym: the environment is registered, made and stepped by its own registry."""

import skyrl_gym
from common import EXPECTED, RESPONSES, longest, reward

from assay.adapters.skyrl import text_env
from assay.errors import ConfigError

Toy = text_env(reward(), unscored=-1.0)
skyrl_gym.register(id="assay_toy", entry_point=Toy)
prompt = [{"role": "user", "content": "after 4?"}]
for response, expected in zip(RESPONSES, EXPECTED, strict=True):
    env = skyrl_gym.make("assay_toy", env_config={}, extras={"reward_spec": {"ground_truth": "5"}})
    env.init(prompt)
    said = env.step(response)
    assert abs(said["reward"] - expected) < 1e-6, said
    assert said["done"]
    assert said["metadata"]["outcome"] == "scored"
    assert env.get_metrics()["scored"] == 1.0
env = skyrl_gym.make("assay_toy", env_config={}, extras={})
env.init(prompt)
assert env.step("x")["reward"] == -1.0
try:
    text_env(longest, unscored=0.0)
except ConfigError:
    pass
else:
    raise AssertionError("a group reward must be refused")
print("ran: an environment of skyrl-gym's registry")
