"""The way a reward made of rewards works: it asks, and folds what comes back; it calls nothing itself.

A composition's `flow` is a generator: it yields `Ask`s and is sent the outputs. The Engine drives it by scoring;
`refold` drives the same generator from outputs that are stored, so that re-weighting a million rollouts calls no
reward. Raw parts are always kept.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias, cast

from assay.reward import RewardFunction
from assay.types import FAILURES, Outcome, RewardOutput, Trajectory


@dataclass(slots=True)
class Batch:
    """What a composition is folded over: the trajectories, and the training step where it is known."""

    trajectories: Sequence[Trajectory]
    step: int | None = None

    def step_of(self, i: int) -> int | None:
        """The training step of one row: the batch's, or the row's own column, or 0. None: the column says no number."""
        if self.step is not None:
            return self.step
        own = self.trajectories[i].metadata.get("step")
        try:
            return 0 if own is None else int(own)
        except (TypeError, ValueError, OverflowError):
            return None

    def groups(self) -> dict[str, list[int]]:
        """Row numbers by GRPO group, in order of appearance."""
        groups: dict[str, list[int]] = {}
        for i, t in enumerate(self.trajectories):
            groups.setdefault(t.group_id, []).append(i)
        return groups


@dataclass(frozen=True, slots=True)
class Ask:
    """A composition's request: this component's output for these rows."""

    name: str
    reward: RewardFunction
    rows: Sequence[int]


Flow: TypeAlias = Generator[list[Ask], list[list[RewardOutput]], list[RewardOutput]]


class Composition(RewardFunction):
    """A reward made of others."""

    children: dict[str, RewardFunction]
    made_of: tuple[str, ...] = ()
    """The parameters that are rewards, for one that is loaded by its name."""
    asks_all: bool = True
    """Whether every row is put to every child; False where the row or the step chooses one."""

    follows_steps: bool = False
    """Whether its own rule changes with the training step."""
    why_not_asked: str = ""
    """Where it does not ask a child for every row: 'gate' or 'lazy'; the engine counts the calls that were saved."""

    def flow(self, batch: Batch) -> Flow:
        """Ask for components, fold what comes back into one output a row."""
        raise NotImplementedError  # a subclass without a flow is refused by this line, not scored as nothing

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.children)})"


def refold(reward: RewardFunction, batch: Batch, stored: Sequence[RewardOutput]) -> list[RewardOutput]:
    """Fold stored outputs again, under this composition's weights and rules; no reward is called.

    A component that is not stored for a row (a gate was shut then, and is open now) is not scored, and says so.
    """
    if not isinstance(reward, Composition):
        return list(stored)
    flow = reward.flow(batch)
    try:
        asks = next(flow)
        while True:
            asks = flow.send([_from_store(ask, batch, stored) for ask in asks])
    except StopIteration as done:
        return cast("list[RewardOutput]", done.value)


def _from_store(ask: Ask, batch: Batch, stored: Sequence[RewardOutput]) -> list[RewardOutput]:
    missing = RewardOutput(None, error=f"component {ask.name!r} is not stored for this row; score it again")
    kept = [stored_part(stored[i], ask.name) or missing for i in ask.rows]
    return refold(ask.reward, Batch([batch.trajectories[i] for i in ask.rows], batch.step), kept)


def stored_part(whole: RewardOutput | None, name: str) -> RewardOutput | None:
    """A component's stored output; None where it was not called (its gate was shut, it could not change anything)."""
    part = whole.components.get(name) if whole is not None else None
    return None if part is None or NOT_CALLED & part.metadata.keys() else part


NOT_CALLED = frozenset({"gated", "lazy"})
"""Keys in the metadata of an output that stands for a call which was not made."""


def unscored(parts: dict[str, RewardOutput], metadata: dict[str, Any] | None = None) -> RewardOutput:
    """The output of a row that cannot be folded: its worst component's outcome, and every reason."""
    lacking = {n: p for n, p in parts.items() if p.reward is None}
    outcome = next((p.outcome for p in lacking.values() if p.outcome in FAILURES), Outcome.ABSTAINED)
    why = "; ".join(dict.fromkeys(p.error for p in lacking.values() if p.error))
    return RewardOutput(None, metadata=metadata or {}, components=parts, outcome=outcome, error=why)


NO_STEP = "its column 'step' is no number, and the weights follow the training step; rename that column"


def folded(number: float, metadata: dict[str, Any], parts: dict[str, RewardOutput]) -> RewardOutput:
    """The output of a row that is folded. Finite parts may come to what is beyond a float: that is no score."""
    if isfinite(number):
        return RewardOutput(number, [], metadata, parts)
    why = f"its parts are so large that they come to {number}"
    return RewardOutput(None, [], metadata, parts, Outcome.GRADER_ERROR, why)


def distinct(rewards: Iterable[RewardFunction]) -> dict[str, RewardFunction]:
    """Rewards by name, in order; a name that comes again gets a number: length, length_2."""
    named: dict[str, RewardFunction] = {}
    for reward in rewards:
        named[free_name(reward.name, named)] = reward
    return named


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or the first of name_2, name_3 ... that is not taken."""
    used = set(taken)
    return next(n for k in range(1, len(used) + 2) if (n := name if k == 1 else f"{name}_{k}") not in used)


def union(ranges: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """The range that holds all of these; None where one is not known."""
    known = [r for r in ranges if r is not None]
    if len(known) < len(ranges):
        return None
    return min(r[0] for r in known), max(r[1] for r in known)
