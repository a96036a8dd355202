"""What `assay train` is told: the shape of the files in conf/, and of `Trainer(config)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.errors import ConfigError, did_you_mean


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class ModelConfig(_Strict):
    """The policy: a model on disk or a hub by `path`, or the toy that is built on the spot."""

    path: str | None = None
    hidden: int = 64
    layers: int = 2
    warm_up_steps: int = 80


class DataConfig(_Strict):
    """The prompts: a JSONL or Parquet file with `prompt` and what the reward needs, or the toy's own task."""

    path: str | None = None
    rename: dict[str, str] = Field(default_factory=dict)
    limit: int | None = None
    rows: int = 512
    """How many rows of the toy's task."""


class TrainingConfig(_Strict):
    """The reward, and GRPO as TRL runs it."""

    reward_function: Any = None
    """As on the command line: a built-in, file.py:name, package.module.name, a YAML file; or the name of a function in
    one of `reward_files`. None: the toy's own."""
    reward_files: list[str] = Field(default_factory=list)
    """Where a bare name that is no built-in is looked for."""
    log_rewards: bool = False
    """Print and log each batch's distribution."""
    save_reward_analysis: bool = False
    """Write all scored responses, and which kinds of them get high and low rewards."""
    report_to: list[str] | None = None
    """TRL's sinks: tensorboard, wandb, trackio ...; None: tensorboard where it is installed and log_rewards is on."""
    steps: int = 100
    prompts_per_step: int = 10
    num_generations: int = 16
    max_completion_length: int = 8
    learning_rate: float = 1e-3
    temperature: float = 1.0
    beta: float = 0.0
    logging_steps: int = 5
    save_steps: int = 0
    """A checkpoint every so many steps; 0 is none."""
    resume_from: str | None = None
    """A checkpoint's folder, to go on from."""
    threads: int = 1
    """Torch's own; a model as small as the toy loses by more than one."""
    measure_samples: int = 320
    """How many fresh samples tell the mean reward before and after; 0: it is not measured."""
    trl: dict[str, Any] = Field(default_factory=dict)
    """Any further argument of TRL's GRPOConfig."""


class TrainConfig(_Strict):
    """The whole."""

    seed: int = 0
    output_dir: str = "runs/train"
    model: ModelConfig = Field(default_factory=ModelConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)

    @classmethod
    def of(cls, given: TrainConfig | Mapping[str, Any] | None) -> TrainConfig:
        """Read a mapping, with an error that names the key that is wrong."""
        if isinstance(given, TrainConfig):
            return given
        try:
            return cls.model_validate(dict(given or {}))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            if first["type"] == "extra_forbidden":
                known = _keys(cls, [str(part) for part in first["loc"][:-1]])
                hint = did_you_mean(str(first["loc"][-1]), known)
                raise ConfigError(f"the training configuration has no {where!r}.{hint}") from None
            raise ConfigError(f"the training configuration's {where}: {first['msg']}") from None


def _keys(model: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        inner = model.model_fields[part].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)
