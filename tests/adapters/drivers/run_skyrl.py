"""SkyRL: its registry makes and steps the environment, its generator rolls it out, its own checks read the rewards."""

# ruff: noqa: E402 (a name of typing is set before skyrl is imported)
import asyncio
import os
import re
import typing

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import typing_extensions

typing.TypedDict = typing_extensions.TypedDict  # skyrl 0.3.0 hands pydantic the one that it refuses before Python 3.12

import skyrl_gym
from common import EXPECTED, RESPONSES, longest, reward
from skyrl.train.config import GeneratorConfig, SkyRLGymConfig
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator
from skyrl.train.generators.utils import get_metrics_from_generator_output
from skyrl.train.utils.trainer_utils import validate_generator_output

from assay.adapters.skyrl import rewards, text_env
from assay.engine import score
from assay.errors import ConfigError
from assay.tokens import align
from assay.train.toy import build_tokenizer
from assay.types import RewardOutput, Trajectory

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

tokenizer = build_tokenizer()
SIZE = 4


class Engine:
    """In place of vLLM: what it says to the n-th prompt is the n-th response, in whatever order they come."""

    async def generate(self, engine_input, model=None):
        asked = [tokenizer.decode(ids) for ids in engine_input["prompt_token_ids"]]
        texts = [RESPONSES[int(re.search(r"case (\d)", text)[1]) % len(RESPONSES)] for text in asked]
        count = len(texts)
        ids = [tokenizer(text + "<|im_end|>", add_special_tokens=False)["input_ids"] for text in texts]
        logprobs = [[-1.0] * len(row) for row in ids]
        return {
            "responses": texts,
            "response_ids": ids,
            "stop_reasons": ["stop"] * count,
            "response_logprobs": logprobs,
        }

    async def finish_session(self, session):
        pass


def rolled_out(batched):
    generator = SkyRLGymGenerator(
        GeneratorConfig(batched=batched, max_turns=1, max_input_length=256), SkyRLGymConfig(), Engine(), tokenizer
    )
    batch = {
        "prompts": [[{"role": "user", "content": f"case {i}: after 4?"}] for i in range(SIZE)],
        "env_classes": ["assay_toy"] * SIZE,
        "env_extras": [{"reward_spec": {"ground_truth": "5" if i < 3 else None}} for i in range(SIZE)],
        "sampling_params": {"logprobs": 0},
    }
    output = asyncio.run(generator.generate(batch, disable_tqdm=True))
    validate_generator_output(SIZE, output)
    return output


for batched in (True, False):  # a number a response, and a number a token
    output = rolled_out(batched)
    totals = [sum(r) if isinstance(r, list) else r for r in output["rewards"]]
    assert [round(t, 6) for t in totals] == [*EXPECTED, -1.0], output["rewards"]
    assert output["rollout_metrics"]["environment/scored"] == 0.75, output["rollout_metrics"]

# rewards on tokens, written into a generator's output, pass the checks of its trainer
output = rolled_out(batched=True)
texts = [tokenizer.decode(ids, skip_special_tokens=True) for ids in output["response_ids"]]
rows = [
    Trajectory(response=t, tokens=align(tokenizer, i, t)) for t, i in zip(texts, output["response_ids"], strict=True)
]


def by_word(response):
    return RewardOutput(0.5, token_rewards=[0.5 / len(response.split())] * len(response.split()))


output["rewards"] = rewards(score(by_word, rows), rows, unscored=0.0)
validate_generator_output(SIZE, output)
assert all(abs(sum(row) - 0.5) < 1e-9 for row in output["rewards"])
metrics = get_metrics_from_generator_output(output, ["one"] * SIZE)
assert metrics
assert all(value == value for value in metrics.values()), metrics
print("ran: an environment of its registry, its generator (batched, and in the agent loop), token rewards")
