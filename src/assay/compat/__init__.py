"""The names under which Flux, Agent-Tunix and Twinkle users know these rewards. Names only: the objects are our own.

    import assay.compat
    assay.compat.install()

    from flux.rewards import LengthReward        # is assay.rewards.length.LengthReward

or, for a script as it stands: `python -m assay.compat SCRIPT [ARGUMENTS]`. Nothing happens before `install` is called,
and a package that is really installed under one of these names is left alone.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_REWARDS = {
    "RewardFunction": "assay.reward",
    "RewardOutput": "assay.types",
    "FunctionReward": "assay.reward",
    "CompositeReward": "assay.compose",
    "LengthReward": "assay.rewards.length",
    "FormatReward": "assay.rewards.format",
    "KeywordReward": "assay.rewards.keyword",
    "RewardModel": "assay.rewards.model",
    "LLMJudge": "assay.rewards.judge",
}

NAMES: dict[str, dict[str, str]] = {
    "flux": {},
    "flux.core": {},
    "flux.core.trajectory": {"Trajectory": "assay.types"},
    "flux.rewards": _REWARDS,
    "agent_tunix": {},
    "agent_tunix.rewards": {
        "check_answer": "assay.rewards.math",
        "check_numbers": "assay.rewards.math",
        "match_format_exactly": "assay.rewards.format",
    },
    "twinkle": {},
    "twinkle.reward": {
        "Reward": "assay.reward:RewardFunction",
        "MathReward": "assay.rewards.math",
        "FormatReward": "assay.rewards.format",
    },
    "twinkle.data_format": {"Trajectory": "assay.types"},
    "twinkle.advantage": {
        "GRPOAdvantage": "assay.advantage",
        "RLOOAdvantage": "assay.advantage",
    },
    "twinkle.sampler": {"vLLMSampler": "assay.train.sampler", "TransformersSampler": "assay.train.sampler"},
}
"""Module -> name -> the module where the object lives (`module:name`, where it is called otherwise there)."""


def install() -> None:
    """Make the names importable in this process. Calling it again changes nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())  # the last one asked: whatever is installed comes before it


def uninstall() -> None:
    """Take the names away again, also those that were imported."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in [name for name, module in sys.modules.items() if isinstance(module, _Alias)]:
        del sys.modules[name]


class _Alias(ModuleType):
    """A module whose names are looked up where they live, when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        target = NAMES[self.__name__].get(name)
        if target is None:
            raise AttributeError(f"module {self.__name__!r} has no {name!r}; it has {sorted(NAMES[self.__name__])}.")
        module, _, own = target.partition(":")
        value = getattr(importlib.import_module(module), own or name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *NAMES[self.__name__]})


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in NAMES:
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if parent is not None and not isinstance(parent, _Alias):
            return None  # a real package stands there: it is not mixed with ours
        return ModuleSpec(fullname, self, is_package=any(name.startswith(f"{fullname}.") for name in NAMES))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Alias(spec.name, doc=f"Names for Assay's own objects (assay.compat), as {spec.name} has them.")

    def exec_module(self, module: ModuleType) -> None:
        module.__all__ = sorted(NAMES[module.__name__])  # type: ignore[attr-defined]
