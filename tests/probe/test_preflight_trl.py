"""What the preflight says of TRL is what TRL does: the same rewards through the real trainer's own call."""

from __future__ import annotations

import pytest
import rewards

from assay.probe import Severity
from assay.probe.preflight import preflight
from assay.train import toy

pytest.importorskip("trl", reason="the real trainer is of the extra 'train'")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ROWS = [
    {"prompt": "after 4?", "response": "It is 5.", "ground_truth": "5"},
    {"prompt": "after 6?", "response": "It is 8.", "ground_truth": "7"},
]
BREAKS = {"trl/signature", "trl/raises", "trl/returns", "trl/length"}


def returns_dicts(completions, **kwargs):
    return [{"score": 1.0} for _ in completions]


def abstains(completions, **kwargs):
    return [None for _ in completions]


def needs_solution(completions, solution, **kwargs):
    return [0.0 for _ in completions]


def raises(completions, **kwargs):
    raise KeyError("no such table")


async def awaited(completions, **kwargs):
    return [0.5 for _ in completions]


@pytest.fixture(scope="module")
def calculate(tmp_path_factory):
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(1)
    tokenizer = toy.build_tokenizer()
    args = GRPOConfig(
        output_dir=str(tmp_path_factory.mktemp("trl")),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=4,
        dataloader_pin_memory=False,
    )

    def call(fn, conversational):
        prompts = [[{"role": "user", "content": row["prompt"]}] if conversational else row["prompt"] for row in ROWS]
        completions = [
            [{"role": "assistant", "content": row["response"]}] if conversational else row["response"] for row in ROWS
        ]
        inputs = [{"prompt": p, "ground_truth": row["ground_truth"]} for p, row in zip(prompts, ROWS, strict=True)]
        trainer = GRPOTrainer(
            model=toy.build_model(tokenizer, hidden=16, layers=1),
            reward_funcs=[fn],
            args=args,
            train_dataset=Dataset.from_list(inputs),
            processing_class=tokenizer,
        )
        return trainer._calculate_rewards(inputs, prompts, completions, [[1, 2], [1, 2]])

    return call


@pytest.mark.parametrize(
    "fn",
    [
        rewards.trl_own,
        rewards.trl_no_kwargs,
        rewards.trl_short,
        rewards.trl_strings_only,
        returns_dicts,
        abstains,
        needs_solution,
        raises,
        awaited,
    ],
    ids=lambda fn: fn.__name__,
)
def test_the_real_trainer_fails_where_the_preflight_says_so(calculate, fn):
    told = preflight(fn, "trl", ROWS)
    said = {f.rule for f in told if f.severity is Severity.ERROR} & BREAKS
    assert fails(calculate, fn, conversational=False) == bool(said), [str(f) for f in told]
    if not said:
        warned = any(f.rule == "trl/messages" for f in told)
        assert fails(calculate, fn, conversational=True) == warned, [str(f) for f in told]


def fails(calculate, fn, conversational):
    try:
        calculate(fn, conversational)
    except Exception:  # noqa: BLE001  (whatever it is: the run would end)
        return True
    return False


def test_inf_passes_the_real_trainer_in_silence_and_not_the_preflight(calculate):
    assert not fails(calculate, rewards.trl_inf, conversational=False)
    assert "trl/inf" in {f.rule for f in preflight(rewards.trl_inf, "trl", ROWS)}
