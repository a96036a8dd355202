"""The reward for following instructions that a program can check, as IFEval has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.calling import missing_column
from assay.contract import Contract
from assay.errors import ConfigError, RewardError, did_you_mean
from assay.reward import RewardFunction
from assay.text.instructions import INSTRUCTIONS, follows
from assay.types import RewardOutput, Trajectory


@dataclass
class InstructionReward(RewardFunction):
    """1 when every instruction is followed, 0 when none is; the share of them between, or all or nothing if `strict`.

    Instructions are names, or `{"name": "punctuation:no_comma"}` with arguments beside the name; or, with none given,
    what the row says in the columns `instruction_id_list` and `kwargs`: IFEval's own. The table of them is
    `assay.text.instructions.INSTRUCTIONS`.

    Example:
        >>> InstructionReward([{"name": "punctuation:no_comma"}, {"name": "change_case:english_lowercase"}])(["Yes."])
        [0.5]

    Hacked by: following the letter and saying nothing: any text without a comma has no comma.
    """

    instructions: Sequence[Mapping[str, Any] | str] = ()
    """What every response must do; empty: each row's own."""
    strict: bool = False
    """All or nothing."""

    contract = Contract()

    def __post_init__(self) -> None:
        if isinstance(self.instructions, str | Mapping):
            raise ConfigError(f"reward 'instruction' needs a list of instructions; found {self.instructions!r:.80}.")
        for name, _ in map(_own, self.instructions):
            if name not in INSTRUCTIONS:
                raise ConfigError(
                    f"reward 'instruction' needs instructions with a known 'name'; found {name!r}."
                    f"{did_you_mean(name, INSTRUCTIONS)}"
                )

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        wanted = [_own(one) for one in self.instructions] or _of_row(trajectory, self.name)
        try:
            followed = [(name, follows(name, trajectory.response, arguments)) for name, arguments in wanted]
        except (ConfigError, TypeError, ValueError) as error:  # the row's arguments say what cannot be
            raise RewardError(f"reward {self.name!r}: {error}") from None
        share = sum(kept for _, kept in followed) / len(followed)
        metadata = {
            "followed": [name for name, kept in followed if kept],
            "broken": [name for name, kept in followed if not kept],
        }
        return RewardOutput(float(share == 1.0) if self.strict else share, metadata=metadata)


def _own(one: Mapping[str, Any] | str) -> tuple[str, Mapping[str, Any]]:
    if isinstance(one, str):
        return one, {}
    arguments = {key: value for key, value in one.items() if key not in ("name", "kwargs")}
    return str(one.get("name")), {**(one.get("kwargs") or {}), **arguments}


def _of_row(trajectory: Trajectory, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    names = trajectory.metadata.get("instruction_id_list")
    if not names:
        raise missing_column(name, "instruction_id_list", trajectory)
    arguments = trajectory.metadata.get("kwargs") or [{}] * len(names)
    if len(arguments) != len(names):
        raise RewardError(
            f"reward {name!r} needs one entry in 'kwargs' for each of 'instruction_id_list'; found {len(arguments)} "
            f"for {len(names)}."
        )
    return [(str(n), a or {}) for n, a in zip(names, arguments, strict=True)]
