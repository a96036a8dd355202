"""One reward's share of a batch: which rows it must really be called for, and how the others come by their output."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from assay.cache import Cache, key_of
from assay.calling import ARGUMENTS, CONTEXT, Call
from assay.contract import Per
from assay.engine.counts import Counts
from assay.fingerprint import fingerprint
from assay.plain_data import from_dict, to_dict, to_json
from assay.reward import RewardFunction
from assay.types import FAILURES, RewardOutput, Trajectory

_LOOK_AGAIN: Final = (0.005, 0.5)
"""Seconds between two looks for what somebody else is scoring: at first, and at most."""


@dataclass(slots=True)
class Work:
    """One reward over the rows that it was asked for."""

    name: str
    reward: RewardFunction
    call: Call
    rows: Sequence[int]
    """Row numbers in the batch."""
    trajectories: Sequence[Trajectory]
    """Of those rows."""
    leg: int | None = None
    """Its number in the pool; None where it runs in this process."""
    limit: float | None = None
    todo: list[int] = field(default_factory=list[int])
    """Positions in `trajectories` that are to be scored."""
    twins: dict[int, int] = field(default_factory=dict[int, int])
    """Position -> the position of its equal, which is scored for both."""
    keys: dict[int, str] = field(default_factory=dict[int, str])
    kept: set[int] = field(default_factory=set[int])
    """Positions whose output is in the cache by now."""
    elsewhere: list[int] = field(default_factory=list[int])
    """Positions that somebody else is scoring at this moment."""
    outputs: dict[int, RewardOutput] = field(default_factory=dict[int, RewardOutput])

    def pays(self) -> bool:
        """Whether a call is dear enough that looking for equals is worth it, and equals may share an output."""
        contract = self.reward.contract
        if self.call.per is not Per.TRAJECTORY or not contract.deterministic:
            return False
        return self.leg is not None or self.call.is_async or contract.cost > 0

    def is_plain(self) -> bool:
        """Whether there is nothing to it but calling the reward for every row, here and at once."""
        alone = self.leg is None and not self.call.is_async and self.call.per is Per.TRAJECTORY
        return alone and not self.reward.contract.retries and not self.pays()

    def find_twins(self) -> None:
        """Equal inputs are scored once."""
        if not self.pays():
            self.todo = list(range(len(self.trajectories)))
            return
        seen: dict[bytes, int] = {}
        for i, t in enumerate(self.trajectories):
            inputs = inputs_of(self.reward, self.call, t)
            if inputs is not None and (first := seen.setdefault(inputs, i)) != i:
                self.twins[i] = first
            else:
                self.todo.append(i)

    def look_up(self, cache: Cache) -> None:
        """Take what is cached, claim what is not."""
        if not self.pays():
            return
        own = fingerprint(self.reward).key
        for i in self.todo:
            if (inputs := inputs_of(self.reward, self.call, self.trajectories[i])) is not None:
                self.keys[i] = key_of(own, inputs)
        found = _stored(cache.get(self.keys.values()))
        mine = set(cache.claim(key for key in self.keys.values() if key not in found))
        if late := [key for key in self.keys.values() if key in mine]:  # finished between the two looks
            found.update(done := _stored(cache.get(late)))
            cache.put({}, list(done))
            mine -= set(done)
        for i, key in self.keys.items():
            if key in found:
                self.outputs[i] = found[key]
        self.elsewhere = [i for i, key in self.keys.items() if i not in self.outputs and key not in mine]
        away = set(self.elsewhere)
        self.todo = [i for i in self.todo if i not in self.outputs and i not in away]

    def keep(self, cache: Cache, positions: Sequence[int] | None = None) -> None:
        """Store what was scored, and give up the claims on what was not: of some rows, or of all that are left."""
        mine = [i for i in (self.todo if positions is None else positions) if i in self.keys and i not in self.kept]
        self.kept.update(mine)
        values = {
            self.keys[i]: to_json(to_dict(self.outputs[i]))
            for i in mine
            if i in self.outputs and self.outputs[i].outcome not in FAILURES
        }
        if mine:
            cache.put(values, [self.keys[i] for i in mine])

    async def wait(self, cache: Cache) -> None:
        """Wait for what somebody else scores; what nobody does any more is ours, and stands in `todo`."""
        delay, most = _LOOK_AGAIN
        while self.elsewhere:
            await asyncio.sleep(delay)
            delay = min(most, delay * 1.5)
            found = _stored(cache.get(self.keys[i] for i in self.elsewhere))
            for i in self.elsewhere:
                if self.keys[i] in found:
                    self.outputs[i] = found[self.keys[i]]
            left = [i for i in self.elsewhere if i not in self.outputs]
            free = set(cache.claim(self.keys[i] for i in left))
            self.todo = [i for i in left if self.keys[i] in free]
            self.elsewhere = [i for i in left if self.keys[i] not in free]
            if self.todo:
                return

    def finish(self, counts: Counts, calls: int) -> list[RewardOutput]:
        """One output for each row; equals get a copy of the one that was scored."""
        for i, first in self.twins.items():
            twin = copy.copy(self.outputs[first])
            twin.metadata, twin.seconds = dict(twin.metadata), 0.0
            self.outputs[i] = twin
        outputs = [self.outputs[i] for i in range(len(self.trajectories))]
        counts.saved(self.name, "duplicate", len(self.twins))
        counts.ended(self.name, outputs, calls)
        return outputs


def _stored(texts: Mapping[str, str]) -> dict[str, RewardOutput]:
    """The outputs that a cache had, by their keys; what is no output was never stored."""
    outputs: dict[str, RewardOutput] = {}
    for key, text in texts.items():
        try:
            output = from_dict(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        if output.reward is None or isinstance(output.reward, float):
            output.seconds, outputs[key] = 0.0, output
    return outputs


def inputs_of(reward: RewardFunction, call: Call, t: Trajectory) -> bytes | None:
    """A hash of what the reward reads of a row; None where that cannot be told from what it is not."""
    named = reward.contract.inputs
    if named is None and not call.plain and not call.rest:
        named = _parameters(call, t)
    everything: Any
    if named is None:
        everything = [t.prompt, t.response, list(t.messages), t.ground_truth, t.metadata, t.group]
    else:
        everything = [ARGUMENTS[name](t) if name in ARGUMENTS else t.metadata.get(name) for name in named]
    try:
        text = json.dumps(everything, sort_keys=True)  # plain ASCII: what else there is, is escaped
        return hashlib.blake2b(text.encode(), digest_size=20).digest()
    except (TypeError, ValueError, RecursionError):
        return None


def _parameters(call: Call, t: Trajectory) -> tuple[str, ...] | None:
    """The columns that a function's parameters name; None where it takes the trajectory whole."""
    names = [call.rename.get(p, p) for p in (*call.required, *call.optional)]
    if "metadata" in names or any(n in CONTEXT or ARGUMENTS.get(n) is ARGUMENTS["trajectory"] for n in names):
        return None
    whole = {"trajectory", "t", "traj", "sample", "rollout", "row", "tokens", "extra_info", "group"}
    return None if whole & set(names) else tuple(names)
