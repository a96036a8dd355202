"""verl: the classic managers, the reward loop's managers loaded from a configuration, and its Ray workers."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from common import EXPECTED, RESPONSES, longest, reward
from omegaconf import OmegaConf
from verl import DataProto
from verl.trainer.ppo.reward import load_reward_manager
from verl.workers.reward_manager import get_reward_manager_cls

from assay.adapters import verl as adapter
from assay.train.toy import build_tokenizer

torch.set_num_threads(1)
tokenizer = build_tokenizer()
ANSWERS = (*RESPONSES, RESPONSES[0])
PROMPT, WIDTH = 40, 24


def objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def batch(truth="5", responses=ANSWERS):
    size = len(responses)
    prompts = torch.full((size, PROMPT), tokenizer.pad_token_id)
    answers = torch.full((size, WIDTH), tokenizer.pad_token_id)
    mask = torch.zeros((size, PROMPT + WIDTH), dtype=torch.long)
    for i, response in enumerate(responses):
        asked = tokenizer("after 4?", add_special_tokens=False)["input_ids"]
        said = tokenizer(response + "<|im_end|>", add_special_tokens=False)["input_ids"][:WIDTH]
        prompts[i, PROMPT - len(asked) :] = torch.tensor(asked)
        answers[i, : len(said)] = torch.tensor(said)
        mask[i, PROMPT - len(asked) : PROMPT + len(said)] = 1
    return DataProto.from_dict(
        tensors={
            "prompts": prompts,
            "responses": answers,
            "attention_mask": mask,
            "input_ids": torch.cat([prompts, answers], 1),
        },
        non_tensors={
            "data_source": objects(["toy"] * size),
            "reward_model": objects([{"style": "rule", "ground_truth": truth} for _ in range(size)]),
            "extra_info": objects([{"index": i // 2} for i in range(size)]),
            "uid": objects([str(i // 2) for i in range(size)]),
        },
    )


def close(got, expected):
    assert all(abs(a - b) < 1e-5 for a, b in zip(got, expected, strict=True)), (got, expected)


# the classic managers
compute = adapter.compute_score(reward(), unscored=-1.0)
for name, fn in (
    ("naive", compute),
    ("dapo", compute),
    ("batch", adapter.compute_score_batch(reward(), unscored=-1.0)),
):
    said = get_reward_manager_cls(name)(tokenizer=tokenizer, num_examine=0, compute_score=fn)(batch(), return_dict=True)
    close(said["reward_tensor"].sum(-1).tolist(), [*EXPECTED, 1.0])
    assert {"score", "shape", "right", "scored"} <= set(said["reward_extra_info"]), said["reward_extra_info"].keys()
groups = get_reward_manager_cls("batch")(
    tokenizer=tokenizer, num_examine=0, compute_score=adapter.compute_score_batch(longest, unscored=0.0)
)
close(groups(batch(responses=("a", "bb", "cc", "c")), return_dict=True)["reward_tensor"].sum(-1).tolist(), [0, 1, 1, 0])

FILE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from common import longest, reward
from assay.adapters import verl
from assay.types import RewardOutput
compute_score = verl.compute_score(reward(), unscored=-1.0)

def by_word(response):
    values = [1.0 if word == "good" else -0.5 for word in response.split()]
    return RewardOutput(sum(values), token_rewards=values)

Groups = verl.reward_manager(longest, unscored=0.0, group_timeout=5.0)
Tokens = verl.reward_manager(by_word, unscored=0.0)
"""


def config(file, folder, source="register", name="naive"):
    manager = {"source": source, "name": name, "module": {"path": str(file), "name": name}}
    return OmegaConf.create(
        {
            "reward": {
                "num_workers": 1,
                "custom_reward_function": {"path": str(file), "name": "compute_score", "reward_kwargs": {}},
                "reward_manager": manager,
                "reward_model": {"enable": False, "model_path": None},
                "reward_kwargs": {},
                "sandbox_fusion": {"url": None, "max_concurrent": 64, "memory_limit_mb": 1024},
            },
            "actor_rollout_ref": {"model": {"tokenizer_path": str(folder), "path": str(folder)}, "rollout": {"n": 2}},
            "trainer": {"experiment_name": "toy"},
        }
    )


async def run(settings, data):
    manager = load_reward_manager(settings, tokenizer)
    said = await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))
    scores = [s["reward_score"] for s in said]
    return type(manager).assemble_rm_scores(data, scores), [s["reward_extra_info"] for s in said]


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "reward_file.py"
    file.write_text(FILE)
    tokenizer.save_pretrained(folder)

    for name in ("naive", "gdpo"):
        tensor, infos = asyncio.run(run(config(file, folder, name=name), batch()))
        close(tensor.sum(-1).tolist(), [*EXPECTED, 1.0])
        assert all(info.keys() == infos[0].keys() for info in infos)
    tensor, infos = asyncio.run(run(config(file, folder), batch(truth=None)))
    close(tensor.sum(-1).tolist(), [-1.0] * 4)
    assert infos[0]["scored"] == 0.0

    tensor, _ = asyncio.run(run(config(file, folder, "importlib", "Groups"), batch(responses=("a", "bb", "cc", "c"))))
    close(tensor.sum(-1).tolist(), [0, 1, 1, 0])

    tensor, _ = asyncio.run(run(config(file, folder, "importlib", "Tokens"), batch(responses=("good bad", "a good"))))
    close(tensor.sum(-1).tolist(), [0.5, 0.5])
    assert tensor[0].tolist()[:8] == [0, 0, 0, 1.0, 0, 0, 0, -0.5], tensor[0]

    if "--ray" in sys.argv:
        import ray
        from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

        paths = os.pathsep.join([*map(str, (Path(__file__).parent, Path(adapter.__file__).parents[2]))])
        ray.init(
            num_cpus=1, include_dashboard=False, logging_level="ERROR", runtime_env={"env_vars": {"PYTHONPATH": paths}}
        )
        worker = ray.remote(RewardLoopWorker).remote(config(file, folder), None)
        said = ray.get(worker.compute_score_batch.remote(batch()))
        close([s["reward_score"] for s in said], [*EXPECTED, 1.0])
        ray.shutdown()
        print("ran: the classic managers, the reward loop, and a RewardLoopWorker as a Ray actor")
    else:
        print("ran: the classic managers and the reward loop's managers")
