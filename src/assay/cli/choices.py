"""The options that several commands share, read into what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.load import load_reward
from assay.record import Run, check_scored
from assay.reward import RewardFunction


def pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """`["a=b", "c=d"]` -> {"a": "b", "c": "d"}."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise ConfigError(f"{option} needs name=value; found {word!r}.")
        found[name] = value
    return found


def renames(words: Sequence[str]) -> dict[str, str]:
    """`--rename a=b --rename c=d`, or both in one word: `--rename a=b,c=d`."""
    split = [part for word in words for part in (word.split(",") if word.count("=") > 1 else [word])]
    return pairs(split, "--rename")


def chosen_reward(specs: Sequence[str], settings: Sequence[str]) -> RewardFunction:
    """The reward of `--reward SPEC [--reward SPEC ...] [--set key=value ...]`; several are a composite."""
    import yaml

    from assay.compose import CompositeReward
    from assay.config import load_config, reweighted

    values: dict[str, Any] = {key: yaml.safe_load(value) for key, value in pairs(settings, "--set").items()}
    weights = {k.removeprefix("weight."): v for k, v in values.items() if k.startswith("weight.")}
    rest = {k: v for k, v in values.items() if not k.startswith("weight.")}
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ConfigError(f"--set weight.{name} needs a number; found {weight!r}.")
    if rest and not (len(specs) == 1 and specs[0].endswith((".yaml", ".yml"))):
        raise ConfigError(
            f"--set {next(iter(rest))}: only a YAML reward has such keys; any composite takes weight.NAME."
        )
    if len(specs) == 1:
        reward = load_config(Path(specs[0]), rest) if rest else load_reward(specs[0])
    else:
        rewards = [load_reward(spec) for spec in specs]
        reward = CompositeReward([(r, 1.0 / len(rewards)) for r in rewards])
    return reweighted(reward, weights) if weights else reward


def refuse_the_input(output: Path, source: str) -> None:
    """Raise where a Run would be written over the rollouts that it is made of."""
    if source != "-" and output.exists() and Path(source).exists() and output.samefile(source):
        raise ConfigError(f"--output {output} is the input itself, which would be overwritten. Name another file.")


def stored_run(path: Path) -> Run:
    """The Run at a path, or an error that says what is there instead."""
    check_scored(path)
    return Run(path)


def stored_specs(run: Run, given: Sequence[str] | None) -> list[str]:
    """The reward that a Run is folded or scored with: the one that is given, or else its own."""
    specs = list(given or run.header.get("reward", ()))
    if not specs:
        raise ConfigError(f"{run.path} has no header that names its reward. Name it: --reward SPEC")
    return specs


def estimator_of(name: str) -> Any:
    """The estimator of `--estimator`, or an error that lists them."""
    from assay.analyze.attribution import ESTIMATORS

    if name not in ESTIMATORS:
        raise ConfigError(f"--estimator is one of {', '.join(ESTIMATORS)}; found {name!r}.")
    return name
