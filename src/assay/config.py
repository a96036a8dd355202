"""A reward as a YAML file. This module is the file's shape; unknown keys are refused, and YAML is safe-loaded.

    terms:                                     # a weighted sum ...
      format: {reward: format, weight: 0.3}
      length: {reward: length, with: {target: 200}, weight: 0.7, on_missing: skip}
    gate: {reward: format, at_least: 1.0}      # ... behind a gate,
    clip: [0, 1]                               # held between bounds

In place of `terms`: `reward` (with `with`) for a single one, `by_task: {key: task, rewards: {...}}`, or
`curriculum: [{from_step: 0, reward: ...}, ...]`. Wherever a reward stands, a name does (`length`, `file.py:name`,
another YAML file), or a mapping of this same shape; `with` holds a built-in's, a class's or a function's parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.compose import (
    ByTask,
    Clip,
    CompositeReward,
    Cosine,
    Curriculum,
    Gate,
    Linear,
    Normalize,
    Schedule,
    Shaped,
    Steps,
    Term,
)
from assay.errors import ConfigError, InputError, did_you_mean
from assay.load import load_reward
from assay.reward import RewardFunction

Policy = Literal["reweight", "skip", "drop_group", "impute"] | float


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class ScheduleConfig(_Strict):
    """A weight over training steps: `{kind: linear, start: 0, end: 1, steps: 1000}` or `{pieces: [[0, 0.1], ...]}`."""

    kind: Literal["linear", "cosine", "steps"] = "linear"
    start: float = 0.0
    end: float = 1.0
    steps: int = 1000
    after: int = 0
    pieces: list[tuple[int, float]] = Field(default_factory=list[tuple[int, float]])


class TermConfig(_Strict):
    """One component: which reward, with what parameters and weight."""

    reward: str | RewardConfig
    with_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="with")
    weight: float | ScheduleConfig = 1.0
    on_missing: Policy | None = None


class GateConfig(_Strict):
    """What must hold, or else the whole is `otherwise`."""

    reward: str | RewardConfig
    with_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="with")
    at_least: float = 1.0
    otherwise: float = 0.0


class BonusConfig(_Strict):
    """A bonus that can move the whole by at most `limit`."""

    reward: str | RewardConfig
    with_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="with")
    limit: float = 0.2


class StageConfig(_Strict):
    """One stage of a curriculum."""

    from_step: int
    reward: str | RewardConfig
    with_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="with")


class TasksConfig(_Strict):
    """One reward for each task."""

    key: str = "task"
    rewards: dict[str, str | RewardConfig]
    default: str | RewardConfig | None = None


class RewardConfig(_Strict):
    """The whole file."""

    name: str | None = None
    reward: str | None = None
    with_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="with")
    terms: dict[str, TermConfig] | None = None
    on_missing: Policy = "reweight"
    lazy: bool | Literal["group"] = False
    by_task: TasksConfig | None = None
    curriculum: list[StageConfig] | None = None
    bonus: BonusConfig | None = None
    gate: GateConfig | None = None
    normalize: Literal["group", "running", "minmax"] | None = None
    clip: tuple[float, float] | None = None


def load_config(path: Path, settings: Mapping[str, Any] | None = None) -> RewardFunction:
    """The reward that a YAML file describes. `settings` are dotted overrides: `{"terms.math.weight": 0.5}`."""
    if not path.is_file():
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.y*ml")]) if path.parent.is_dir() else ""
        raise InputError(f"there is no reward configuration {path}.{near}")
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: needed a mapping with 'terms' or 'reward'; found {type(data).__name__}.")
    for key, value in (settings or {}).items():
        _override(data, key, value, path)
    try:
        config = RewardConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_first(error)}") from error
    return _build(config, path.parent, str(path))


def _override(data: dict[str, Any], key: str, value: Any, path: Path) -> None:
    *parents, last = key.split(".")
    at: Any = data
    for parent in parents:
        if not isinstance(at, dict) or parent not in at:
            known = list(at) if isinstance(at, dict) else []
            raise ConfigError(f"--set {key}: {path} has no {parent!r}.{did_you_mean(parent, known)}")
        at = at[parent]
    at[last] = value


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("RewardConfig", "str", "function-after"))
    if first["type"] == "extra_forbidden":
        fields = {f.alias or name for cls in _Strict.__subclasses__() for name, f in cls.model_fields.items()}
        near = did_you_mean(where.rpartition(".")[2], fields)
        known = ", ".join(f.alias or name for name, f in RewardConfig.model_fields.items())
        return f"unknown key {where!r}.{near or ('' if '.' in where else f' A reward file may hold {known}.')}"
    return f"{where}: {first['msg']}; found {first['input']!r:.60}"


def _build(config: RewardConfig, base: Path, where: str) -> RewardFunction:
    kinds = {"terms": config.terms, "reward": config.reward, "by_task": config.by_task, "curriculum": config.curriculum}
    given = [kind for kind, value in kinds.items() if value is not None]
    if len(given) != 1:
        raise ConfigError(f"{where}: needed one of {', '.join(kinds)}; found {' and '.join(given) or 'none of them'}.")
    reward = _core(config, base, where)
    if config.bonus:
        bonus = config.bonus
        reward = Shaped(reward, _named(bonus.reward, bonus.with_, base, where), limit=bonus.limit)
    if config.gate:
        gate = config.gate
        reward = Gate(reward, _named(gate.reward, gate.with_, base, where), gate.at_least, gate.otherwise)
    if config.normalize:
        reward = Normalize(reward, config.normalize)
    if config.clip:
        reward = Clip(reward, *config.clip)
    if config.name:
        reward.name = config.name
    return reward


def _core(config: RewardConfig, base: Path, where: str) -> RewardFunction:
    if config.terms is not None:
        terms = {
            name: Term(_named(t.reward, t.with_, base, where), _weight(t.weight), name, t.on_missing)
            for name, t in config.terms.items()
        }
        return CompositeReward(terms, on_missing=config.on_missing, lazy=config.lazy)
    if config.by_task is not None:
        tasks = config.by_task
        rewards = {task: _named(r, {}, base, where) for task, r in tasks.rewards.items()}
        default = None if tasks.default is None else _named(tasks.default, {}, base, where)
        return ByTask(rewards, key=tasks.key, default=default)
    if config.curriculum is not None:
        return Curriculum([(s.from_step, _named(s.reward, s.with_, base, where)) for s in config.curriculum])
    return _named(config.reward or "", config.with_, base, where)


def _named(reward: str | RewardConfig, parameters: Mapping[str, Any], base: Path, where: str) -> RewardFunction:
    if isinstance(reward, RewardConfig):
        if parameters:
            raise ConfigError(f"{where}: 'with' goes beside a reward's name; a mapping holds its own.")
        return _build(reward, base, where)
    return load_reward(reward, base, {key: _within(value, base, where) for key, value in parameters.items()})


def _within(value: Any, base: Path, where: str) -> Any:
    """A parameter, with the rewards that are written out in it made: `jurors: [{reward: length, with: {...}}]`."""
    if isinstance(value, list):
        return [_within(one, base, where) for one in value]
    if not (isinstance(value, dict) and isinstance(value.get("reward"), str)):
        return value
    try:
        return _build(RewardConfig.model_validate(value), base, where)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_first(error)}") from error


def _weight(weight: float | ScheduleConfig) -> float | Schedule:
    if not isinstance(weight, ScheduleConfig):
        return weight
    if weight.pieces or weight.kind == "steps":
        return Steps(weight.pieces)
    shape = Cosine if weight.kind == "cosine" else Linear
    return shape(weight.start, weight.end, weight.steps, weight.after)


def reweighted(reward: RewardFunction, weights: Mapping[str, float]) -> RewardFunction:
    """The same composite with other weights; its components are the same objects."""
    if not isinstance(reward, CompositeReward):
        raise ConfigError(f"--set weight.NAME=... needs a composite; {reward.name!r} is {type(reward).__name__}.")
    for name in weights:
        if name not in reward.children:
            raise ConfigError(
                f"--set weight.{name}: there is no component {name!r}; there is {', '.join(reward.children)}."
                f"{did_you_mean(name, reward.children)}"
            )
    terms: Sequence[Term] = [Term(t.reward, weights.get(t.name, t.weight), t.name, t.on_missing) for t in reward.terms]
    return CompositeReward(terms, on_missing=reward.on_missing, name=reward.name, lazy=reward.lazy)
