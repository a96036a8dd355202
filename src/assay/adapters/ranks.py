"""Whole groups where a batch is split: TRL may hand each rank a part of a prompt's responses."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

from assay.errors import ConfigError
from assay.types import Trajectory


def whole_groups(
    rows: Sequence[Trajectory], prompts: Sequence[Any], num_generations: int | None
) -> tuple[list[Trajectory], slice]:
    """All groups of which this rank has a row, each whole and named; and where among them this rank's own rows are.

    With `num_generations` a group is known by its place in the batch, as TRL orders it; else it is a prompt's rows.
    """
    asked = [prompt if isinstance(prompt, str) else json.dumps(prompt, default=str) for prompt in prompts]
    everyone, mine = _gathered(list(zip(rows, asked, strict=True)))
    if num_generations is not None:
        _check_places([prompt for _, prompt in everyone], num_generations)
    for i, (row, prompt) in enumerate(everyone):
        row.group = str(i // num_generations) if num_generations else row.group or prompt
    own = {row.group for row, _ in everyone[mine]}
    before = sum(row.group in own for row, _ in everyone[: mine.start])
    return [row for row, _ in everyone if row.group in own], slice(before, before + len(rows))


Asked: TypeAlias = tuple[Trajectory, str]


def _gathered(rows: list[Asked]) -> tuple[list[Asked], slice]:
    """The rows of all ranks in order, and which of them are this rank's."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return rows, slice(0, len(rows))
    parts: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(parts, rows)
    start = sum(len(part) for part in parts[: distributed.get_rank()])
    return [row for part in parts for row in part], slice(start, start + len(rows))


def _check_places(prompts: Sequence[str], size: int) -> None:
    """Refuse a batch whose blocks of `size` rows are not each one prompt's: groups made of them would be wrong."""
    if len(prompts) % size:
        raise ConfigError(
            f"a reward needs whole groups of {size} responses; the batch has {len(prompts)} on all ranks together. "
            f"Make per_device_train_batch_size x ranks a multiple of num_generations."
        )
    for start in range(0, len(prompts), size):
        if len(set(prompts[start : start + size])) > 1:
            raise ConfigError(
                f"a reward needs whole groups of {size} responses; rows {start} to {start + size - 1} answer several "
                f"prompts. Give reward_funcs() the trainer's own num_generations, and num_generations_eval the same."
            )
