"""What a reward has learnt so far (running means and the like), kept in a checkpoint and brought back.

A curriculum and a scheduled weight need nothing kept: they read the training step, which the trainer restores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.compose import Composition
from assay.errors import ConfigError
from assay.reward import RewardFunction

FILE = "assay_reward.json"


def stateful(reward: RewardFunction, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every part of a reward that has `state_dict` and `load_state_dict`, with its place in the tree."""
    place = f"{path}/{reward.name}"
    if hasattr(reward, "state_dict") and hasattr(reward, "load_state_dict"):
        yield place, reward
    if isinstance(reward, Composition):
        for name, child in reward.children.items():
            yield from stateful(child, f"{place}/{name}")


def save_reward_state(reward: RewardFunction, checkpoint: Path) -> None:
    """Write the state of all parts into the checkpoint's folder."""
    states = {place: part.state_dict() for place, part in stateful(reward)}
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / FILE).write_text(json.dumps(states, indent=1), encoding="utf-8")


def load_reward_state(reward: RewardFunction, checkpoint: Path) -> None:
    """Bring the state back; a checkpoint of another reward is refused."""
    file = checkpoint / FILE
    parts = dict(stateful(reward))
    saved: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if saved.keys() != parts.keys():
        raise ConfigError(
            f"the checkpoint {checkpoint} keeps the state of {sorted(saved) or 'no reward'}; this reward has "
            f"{sorted(parts) or 'none'}. Resume with the reward that it was made with."
        )
    for place, part in parts.items():
        part.load_state_dict(saved[place])
