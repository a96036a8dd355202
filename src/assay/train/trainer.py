"""A policy trained against a reward with GRPO; TRL underneath.

trainer = Trainer({"training": {"steps": 100}}, reward_function=my_reward)

@trainer.add_step_callback
def watch(result):
    print(result.step, sum(result.metrics["rewards"]))

result = trainer.train()
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.adapters.trl import reward_funcs
from assay.engine import score
from assay.errors import ConfigError, InputError, UnknownName, require
from assay.load import builtins, load_reward
from assay.reward import RewardFunction
from assay.rollouts import Rollouts
from assay.train import toy
from assay.train.config import TrainConfig
from assay.train.sampler import TransformersSampler
from assay.train.state import load_reward_state, save_reward_state
from assay.train.telemetry import no_telemetry
from assay.train.watch import StepCallback, StepResult, Watch

_CHECKPOINTING = ("activation_checkpointing", "gradient_checkpointing")  # its name since transformers 5.23, and before

__all__ = ["StepResult", "TrainResult", "Trainer", "find_reward"]


@dataclass
class TrainResult:
    """How a training run ended."""

    before: float | None
    """The mean reward of fresh samples before the first step."""
    after: float | None
    history: list[dict[str, float]]
    """TRL's log."""
    seconds: float
    reward_seconds: float
    output_dir: Path


class Trainer:
    """Trains the configured policy against a reward."""

    def __init__(self, config: TrainConfig | Mapping[str, Any] | None = None, reward_function: Any = None) -> None:
        self.config = TrainConfig.of(config)
        chosen = self.config.training.reward_function if reward_function is None else reward_function
        self.reward = find_reward(chosen, self.config.training.reward_files)
        self.output_dir = Path(self.config.output_dir)
        self.model: Any = None
        self.tokenizer: Any = None
        self.watch = Watch(self.config, self.reward.name)

    def add_step_callback(self, callback: StepCallback) -> StepCallback:
        """Have `callback(result)` called after every training step. Usable as a decorator."""
        self.watch.callbacks.append(callback)
        return callback

    def train(self) -> TrainResult:
        """Train to the end; measure before and after, where that is asked for."""
        torch = require("torch", "train", "training")
        _quiet()
        torch.set_num_threads(self.config.training.threads)
        started = time.perf_counter()
        self.output_dir.mkdir(parents=True, exist_ok=True)
        rows = self._rows()
        self._build()
        rows = [self._as_chat(row) for row in rows]
        before = self.measure(rows)
        trainer = self._trl(rows)
        with self.watch, warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # TRL's own use of names that transformers has renamed
            trainer.train(resume_from_checkpoint=self.config.training.resume_from)
        after = self.measure(rows)
        history = list(trainer.state.log_history)
        seconds = time.perf_counter() - started
        return TrainResult(before, after, history, seconds, self.watch.reward_seconds, self.output_dir)

    def measure(self, rows: Sequence[Mapping[str, Any]]) -> float | None:
        """The mean reward of fresh samples, outside the trainer and without touching its random numbers."""
        count = self.config.training.measure_samples
        if not count:
            return None
        torch = require("torch", "train", "training")
        prompts = [dict(rows[i % len(rows)]) for i in range(min(len(rows), max(1, count // 8)))]
        each = -(-count // len(prompts))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed + 1000)
            length = self.config.training.max_completion_length
            sampler = TransformersSampler(model=self.model, tokenizer=self.tokenizer, max_tokens=length)
            sampled = sampler.sample(prompts, num_samples=each).trajectories
        for i, trajectory in enumerate(sampled):
            own = prompts[i // each]
            trajectory.metadata = {k: v for k, v in own.items() if k not in ("prompt", "ground_truth")}
        known = [o.reward for o in score(self.reward, sampled) if o.reward is not None]
        return sum(known) / len(known) if known else None

    # -- the parts ---------------------------------------------------------------------------------------------------

    def _rows(self) -> list[dict[str, Any]]:
        data = self.config.data
        if data.path is None:
            return toy.ToyTask().rows(data.rows, self.config.seed)
        rows = list(Rollouts(data.path, rename=data.rename, limit=data.limit))
        if not rows or "prompt" not in rows[0]:
            found = list(rows[0]) if rows else "no rows"
            raise InputError(
                f"training needs rows with 'prompt' in {data.path}; found {found}. Rename the one that holds it: "
                f"+data.rename.NAME=prompt"
            )
        return rows

    def _as_chat(self, row: dict[str, Any]) -> dict[str, Any]:
        """A prompt that is plain text as a user's turn, where the model knows turns."""
        if not isinstance(row["prompt"], str) or not getattr(self.tokenizer, "chat_template", None):
            return row
        return {**row, "prompt": [{"role": "user", "content": row["prompt"]}]}

    def _build(self) -> None:
        transformers = require("transformers", "train", "training")
        transformers.set_seed(self.config.seed)
        model = self.config.model
        if model.path is not None:
            try:
                self.tokenizer = transformers.AutoTokenizer.from_pretrained(model.path, padding_side="left")
                self.model = transformers.AutoModelForCausalLM.from_pretrained(model.path)
            except (OSError, ValueError) as error:
                raise ConfigError(f"model.path={model.path}: no model could be loaded from there: {error}") from error
            if self.tokenizer.pad_token is None:
                self.tokenizer.pad_token = self.tokenizer.eos_token
            return
        self.tokenizer = toy.build_tokenizer()
        self.model = toy.build_model(self.tokenizer, model.hidden, model.layers)
        toy.warm_up(self.model, self.tokenizer, self.config.seed, model.warm_up_steps)

    def _trl(self, rows: list[dict[str, Any]]) -> Any:
        no_telemetry()
        trl = require("trl", "train", "training")
        datasets = require("datasets", "train", "training")
        transformers = require("transformers", "train", "training")
        own = self.config.training
        funcs, weights = reward_funcs(self.reward, num_generations=own.num_generations, observe=self.watch.observe)
        trainer = trl.GRPOTrainer(
            model=self.model,
            reward_funcs=funcs,
            args=trl.GRPOConfig(**{**self._arguments(), "reward_weights": weights, **own.trl}),
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=self.tokenizer,
            callbacks=[_callback(transformers.TrainerCallback, self)],
        )
        trainer.remove_callback(transformers.PrinterCallback)
        return trainer

    def _arguments(self) -> dict[str, Any]:
        own = self.config.training
        cuda = require("torch", "train", "training").cuda.is_available()
        known = {f.name for f in dataclasses.fields(require("trl", "train", "training").GRPOConfig)}
        return {
            "output_dir": str(self.output_dir),
            "use_cpu": not cuda,
            "bf16": cuda,
            next(name for name in _CHECKPOINTING if name in known): cuda,
            "dataloader_pin_memory": cuda,
            "report_to": self._sinks(),
            "seed": self.config.seed,
            "data_seed": self.config.seed,
            "learning_rate": own.learning_rate,
            "lr_scheduler_type": "constant",
            "per_device_train_batch_size": own.num_generations * own.prompts_per_step,
            "num_generations": own.num_generations,
            "max_completion_length": own.max_completion_length,
            "max_steps": own.steps,
            "logging_steps": own.logging_steps,
            "save_strategy": "steps" if own.save_steps else "no",
            "save_steps": own.save_steps or 500,
            "beta": own.beta,
            "temperature": own.temperature,
            "disable_tqdm": True,
        }

    def _sinks(self) -> list[str]:
        given = self.config.training.report_to
        if given is None:
            there = importlib.util.find_spec("tensorboard") is not None
            return ["tensorboard"] if self.config.training.log_rewards and there else []
        return given


def _callback(base: type[Any], trainer: Trainer) -> Any:
    """TRL's events, passed on. The class is made here, for its base comes from a package that may not be there."""

    class Events(base):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if trainer.config.training.resume_from:
                load_reward_state(trainer.reward, Path(trainer.config.training.resume_from))

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            last = state.log_history[-1] if state.log_history else {}
            trainer.watch.step(state.global_step, last)

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            save_reward_state(trainer.reward, Path(args.output_dir) / f"checkpoint-{state.global_step}")

    return Events()


def find_reward(spec: Any, files: Sequence[str] = ()) -> RewardFunction:
    """The reward that a configuration names: as on the command line, or by a bare name defined in one of `files`."""
    if spec is None:
        return toy.toy_reward()
    if not isinstance(spec, str) or not spec.isidentifier() or spec in builtins():
        return load_reward(spec)
    there = [file for file in files if Path(file).exists()]
    for file in there:
        if re.search(rf"^(?:async\s+)?(?:def|class)\s+{spec}\b|^{spec}\s*[:=]", Path(file).read_text("utf-8"), re.M):
            return load_reward(f"{file}:{spec}")
    raise UnknownName(
        f"there is no reward {spec!r}: it is no built-in, and not defined in {' or '.join(there or files)}. "
        f"Name where it is: file.py:{spec}, or package.module.{spec}."
    )


def _quiet() -> None:
    """No download, no progress bars of others; a user's own settings stay."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    require("transformers", "train", "training").utils.logging.set_verbosity_error()
    require("datasets", "train", "training").disable_progress_bars()
