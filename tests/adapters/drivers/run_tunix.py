"""tunix: its reward manager calls the adapted reward, and GRPOLearner trains a step with it on a CPU."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import optax
from common import EXPECTED, RESPONSES, reward
from flax import nnx
from grain import python as grain
from jax.interpreters import pxla
from tunix.rl import reward_manager
from tunix.rl.grpo import grpo_learner
from tunix.rl.rollout import base_rollout
from tunix.tests import test_common

from assay.adapters.tunix import reward_fn

try:
    from tunix.rl import rl_engine as engines
except ImportError:
    from tunix.rl import rl_cluster as engines
Engine = getattr(engines, "RLEngine", None) or engines.RLCluster

fn = reward_fn(reward(), unscored=-1.0)
manager = reward_manager.SequenceRewardManager([fn], grpo_learner.GRPOConfig(num_generations=3))
said = manager(["after 4?"] * 3, list(RESPONSES), ground_truth=["5"] * 3)
assert [round(float(r), 4) for r in said["rewards"]] == list(EXPECTED), said["rewards"]
said = manager(["after 4?"] * 3, list(RESPONSES), ground_truth=["5", None, "5"])
assert [round(float(r), 4) for r in said["rewards"]] == [1.0, -1.0, 0.0], said["rewards"]

calls = []


def hello(prompt, response, answer):
    calls.append((prompt, answer))
    return response.split().count("hello") / 6


vocab = test_common.MockVocab()


def model():
    config = test_common.ModelConfig(vocab_size=vocab.GetPieceSize())
    return test_common.ToyTransformer(config=config, rngs=nnx.Rngs(0))


class Source(grain.RandomAccessDataSource):
    rows = ("input string", "hello world", "My name", "hello there")

    def __getitem__(self, i):
        return self.rows[i]

    def __len__(self):
        return len(self.rows)


mesh, role = pxla.thread_resources.env.physical_mesh, engines.Role
cluster = engines.ClusterConfig(
    role_to_mesh={role.ACTOR: mesh, role.REFERENCE: mesh, role.ROLLOUT: mesh},
    rollout_engine="vanilla",
    offload_to_cpu=False,
    training_config=engines.RLTrainingConfig(actor_optimizer=optax.adam(1e-2), eval_every_n_steps=100, max_steps=1),
    rollout_config=base_rollout.RolloutConfig(
        max_tokens_to_generate=6, max_prompt_length=16, kv_cache_size=64, temperature=1.0
    ),
)
made = Engine(actor=model(), reference=model(), tokenizer=vocab, cluster_config=cluster)
data = grain.MapDataset.source(Source()).batch(4).map(lambda x: {"prompts": x, "answer": x})
algorithm = grpo_learner.GRPOConfig(num_generations=2, num_iterations=1, beta=0.0)
grpo_learner.GRPOLearner(made, algo_config=algorithm, reward_fns=[reward_fn(hello, unscored=0.0)]).train(data)
assert len(calls) == 8, len(calls)
assert all(prompt == answer for prompt, answer in calls)
print("ran: its reward manager, and a GRPO step on a CPU")
