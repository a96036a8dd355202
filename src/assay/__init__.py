"""Assay: the reward layer of RL post-training for language models.

    import assay

    def short(response): return len(response) < 200

    reward = assay.CompositeReward([(assay.FormatReward(), 0.3), (short, 0.7)])
    outputs = assay.score(reward, [{"prompt": "Hi", "response": "Hello!"}])

Every public name is here, flat, and loaded at its first use: `import assay` itself imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from assay._version import __version__ as __version__

_HOMES = {
    "types": ("Message", "Outcome", "RewardOutput", "Tokens", "Trajectory"),
    "errors": (
        "AssayError",
        "ConfigError",
        "InfraError",
        "InputError",
        "MissingColumn",
        "MissingExtra",
        "RewardError",
        "RewardTimeout",
        "UnknownName",
        "UsageError",
        "WrongOutput",
    ),
    "contract": ("Contract", "Per", "declare"),
    "reward": ("FunctionReward", "RewardFunction", "as_reward"),
    "compose": (
        "ByTask",
        "Clip",
        "CompositeReward",
        "Cosine",
        "Curriculum",
        "Gate",
        "Linear",
        "Normalize",
        "Shaped",
        "Steps",
        "Term",
    ),
    "engine": ("Engine", "score"),
    "load": ("load_reward",),
    "record": ("Run",),
    "llm.guard": ("Guard",),
    "llm.judge_model": ("JudgeModel",),
    "rewards.calibrated": ("Calibrated",),
    "rewards.code": ("CodeReward",),
    "rewards.format": ("CodeBlockReward", "FormatReward", "TagCountReward", "match_format_exactly"),
    "rewards.instructions": ("InstructionReward",),
    "rewards.keyword": ("KeywordReward",),
    "rewards.language": ("LanguageReward",),
    "rewards.length": ("CosineLengthReward", "GroupLengthReward", "LengthReward", "OverlongPenalty"),
    "rewards.judge": ("LLMJudge",),
    "rewards.jury": ("Jury",),
    "rewards.listwise": ("ListwiseJudge",),
    "rewards.match": ("ExactMatchReward", "F1Reward", "FuzzyMatchReward"),
    "rewards.math": ("ChoiceReward", "MathReward", "NumericReward", "check_answer", "check_numbers"),
    "rewards.model": ("RewardModel",),
    "rewards.pairwise": ("PairwiseJudge",),
    "rewards.process": ("ProcessRewardModel",),
    "rewards.repetition": ("RepetitionReward",),
    "rewards.schema": ("JsonSchemaReward",),
    "rewards.served": ("ServedRewardModel",),
    "rewards.tools": ("ToolCallReward",),
    "advantage": (
        "DrGRPOAdvantage",
        "GAE",
        "GDPOAdvantage",
        "GRPOAdvantage",
        "RLOOAdvantage",
        "ReinforcePlusPlusAdvantage",
    ),
}
"""Module -> the public names that live in it. One line here makes a name public."""

_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(import_module(f"assay.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
