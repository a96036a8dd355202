"""The adapter in TRL itself, on a model that is built here."""

import pytest

pytest.importorskip("trl", reason="trl is not installed: pip install 'assay[train]'")

from assay.adapters.trl import reward_funcs
from assay.compose import CompositeReward, Gate
from assay.reward import FunctionReward, RewardFunction
from assay.train import toy

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


def grpo(tmp_path, funcs, weights=None, steps=1, **arguments):
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback, set_seed
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(1)
    set_seed(0)
    tokenizer = toy.build_tokenizer()
    given = {"per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 6, **arguments}
    trainer = GRPOTrainer(
        model=toy.build_model(tokenizer, hidden=32, layers=1),
        reward_funcs=funcs,
        args=GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to="none",
            max_steps=steps,
            logging_steps=1,
            save_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=False,
            reward_weights=weights,
            **given,
        ),
        train_dataset=Dataset.from_list(toy.ToyTask().rows(16, 0)),
        processing_class=tokenizer,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


class HasDigit(RewardFunction):
    def __init__(self, digit):
        self.digit = digit

    def compute_reward(self, trajectory):
        return float(self.digit in trajectory.response)


def test_each_component_has_its_curve_and_the_sum_is_the_composites(tmp_path):
    seen = []
    composite = CompositeReward({"length": (lambda response: len(response) / 10, 0.5), "digit": (HasDigit("1"), 2.0)})
    composite.name = "whole"
    funcs, weights = reward_funcs(composite, observe=lambda rows, outputs: seen.extend(outputs))
    (entry,) = grpo(tmp_path, funcs, weights, log_completions=True, num_completions_to_print=0)
    assert entry["rewards/length/mean"] == pytest.approx(sum(o.components["length"].reward for o in seen) / 8, abs=1e-5)
    assert entry["reward"] == pytest.approx(sum(o.reward for o in seen) / 8, abs=1e-5)
    assert entry["assay/whole/unscored"] == 0.0
    assert len(seen) == 8
    polars = pytest.importorskip("polars", reason="polars is not installed")
    (table,) = tmp_path.glob("completions/*.parquet")
    frame = polars.read_parquet(table)
    assert {"length", "digit", "whole/outcome", "whole/why", "whole/details"} <= set(frame.columns)
    assert set(frame["whole/outcome"]) == {"scored"}


def test_two_instances_of_one_class_have_two_curves(tmp_path):
    first, second = HasDigit("1"), HasDigit("2")
    (entry,) = grpo(tmp_path, [first, second], log_completions=True, num_completions_to_print=0)
    curves = {key for key in entry if key.startswith("rewards/") and key.endswith("/mean")}
    assert curves == {f"rewards/{first.__name__}/mean", f"rewards/{second.__name__}/mean"}
    assert len(curves) == 2
    assert {f"assay/{first.__name__}/unscored", f"assay/{second.__name__}/unscored"} <= entry.keys()


def test_what_is_not_scored_is_not_in_the_mean(tmp_path):
    flip = iter(range(100))
    some = FunctionReward(lambda response: None if next(flip) % 2 else 1.0, name="some")
    (entry,) = grpo(tmp_path, reward_funcs(some).funcs)
    assert entry["reward"] == 1.0
    assert entry["assay/some/unscored"] == 0.5
    (entry,) = grpo(tmp_path / "all", reward_funcs(FunctionReward(lambda response: None, name="none")).funcs)
    assert entry["assay/none/unscored"] == 1.0


def test_gates_infinities_and_crashes_do_not_end_the_run(tmp_path):
    def wild(response):
        if len(response) % 2:
            raise RuntimeError("boom")
        return float("inf")

    parts = {"wild": wild, "gate": Gate(HasDigit("1"), require=HasDigit("2"))}
    funcs, weights = reward_funcs(CompositeReward(parts, name="risky"))
    entries = grpo(tmp_path, funcs, weights, steps=2)
    assert len(entries) == 2
    assert entries[0]["assay/risky/wild/unscored"] == 1.0
    assert all(entry["reward"] == entry["reward"] for entry in entries), "no NaN"


def test_the_training_step_reaches_the_reward(tmp_path):
    steps = []

    def watching(response, step):
        steps.append(step)
        return 0.0

    grpo(tmp_path, reward_funcs(watching).funcs, steps=3)
    assert sorted(set(steps)) == [0, 1, 2]


def test_rloo_takes_the_same_functions(tmp_path):
    import torch
    from datasets import Dataset
    from trl import RLOOConfig, RLOOTrainer

    torch.set_num_threads(1)
    funcs, weights = reward_funcs(CompositeReward({"one": (HasDigit("1"), 0.5), "two": (HasDigit("2"), 0.5)}))
    tokenizer = toy.build_tokenizer()
    args = RLOOConfig(
        beta=0.0,
        output_dir=str(tmp_path),
        use_cpu=True,
        bf16=False,
        report_to="none",
        max_steps=1,
        logging_steps=1,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=4,
        disable_tqdm=True,
        reward_weights=weights,
        save_strategy="no",
    )
    trainer = RLOOTrainer(
        model=toy.build_model(tokenizer, 32, 1),
        reward_funcs=funcs,
        args=args,
        train_dataset=Dataset.from_list(toy.ToyTask().rows(16, 0)),
        processing_class=tokenizer,
    )
    trainer.train()
    assert any("rewards/one/mean" in entry for entry in trainer.state.log_history)
