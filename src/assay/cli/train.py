"""`assay train`: a policy against a reward, configured as Hydra's users are used to."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.errors import ConfigError, did_you_mean, require


def train(
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="key=value, as training.reward_function=file.py:name or model.path=Qwen/Qwen3-0.6B"),
    ] = None,
    config_dir: Annotated[
        Path | None, typer.Option(help="A folder with config.yaml in place of the built-in one.")
    ] = None,
) -> None:
    """Train with GRPO (TRL). Without arguments: a toy model that learns in a minute on a CPU."""
    run(compose(overrides or [], config_dir))


def compose(overrides: list[str], config_dir: Path | None = None) -> Mapping[str, Any]:
    """The configuration: the files, with these overrides."""
    hydra = require("hydra", "train", "assay train")
    omegaconf = require("omegaconf", "train", "assay train")
    folder = (config_dir or builtin_config()).resolve()
    if not (folder / "config.yaml").exists():
        raise ConfigError(f"needed a folder with config.yaml; found none in {folder}.")
    known: Any = {}
    try:
        with hydra.initialize_config_dir(str(folder), version_base="1.3"):
            known = omegaconf.OmegaConf.to_container(hydra.compose("config"))
            config = hydra.compose("config", overrides)
    except hydra.errors.HydraException as error:
        said = " ".join(part.strip() for part in str(error).splitlines() if part.strip())
        raise ConfigError(f"the training configuration: {_unknown(said, known) or said}") from None
    return omegaconf.OmegaConf.to_container(config, resolve=True)


def _unknown(said: str, known: Any) -> str:
    """What there is in place of a key that Hydra could not override; Hydra says to append it, which is no use."""
    found = re.search(r"Could not override '([\w.]+)'", said)
    if not found:
        return ""
    path, _, name = found[1].rpartition(".")
    section: Any = known
    for i, part in enumerate(path.split(".") if path else ()):
        if not (isinstance(section, Mapping) and part in section):
            path, name = ".".join(path.split(".")[:i]), part
            break
        section = section[part]
    names = sorted(section) if isinstance(section, Mapping) else []
    if not names:
        return ""
    where = path or "it"
    more = " Any argument of TRL's GRPOConfig: +training.trl.NAME=VALUE." if path == "training" else ""
    return f"{where} has no {name!r}; it has {', '.join(names)}.{did_you_mean(name, names)}{more}"


def builtin_config() -> Path:
    """conf/ as it was installed, or as it stands in a clone."""
    import assay

    package = Path(assay.__file__).parent
    installed = package / "train" / "conf"
    return installed if installed.exists() else package.parents[1] / "conf"


def run(config: Mapping[str, Any]) -> None:
    """Train as configured and say how it went."""
    from assay.train.trainer import Trainer

    say = logging.getLogger("assay.train")
    if not say.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter("%(message)s"))
        say.addHandler(handler)
        say.setLevel(logging.INFO)
        say.propagate = False
    trainer = Trainer(config)
    every = trainer.config.training.logging_steps

    @trainer.add_step_callback
    def tell(result: Any) -> None:
        rewards = result.metrics.get("rewards") or []
        if rewards and result.step % every == 0 and not trainer.config.training.log_rewards:
            say.info("step %4d  reward %.3f", result.step, sum(rewards) / len(rewards))

    result = trainer.train()
    if result.before is not None and result.after is not None:
        say.info("mean reward before %.3f, after %.3f", result.before, result.after)
    left = sorted(p.name for p in Path(result.output_dir).iterdir()) if Path(result.output_dir).is_dir() else []
    see = f"see {result.output_dir}" if left else "training.save_reward_analysis=true keeps what was paid for what"
    say.info("%.0f s, of which the reward took %.2f s; %s", result.seconds, result.reward_seconds, see)
