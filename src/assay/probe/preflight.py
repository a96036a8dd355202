"""The preflight: a reward is called in a worker, stage by stage, as a trainer calls it, before a GPU is taken.

The flight is itself a reward, so that the Engine's deadlines and workers hold it: a reward that hangs or ends its
process is a finding, and the next stage goes on.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from assay.contract import Contract
from assay.engine import Engine
from assay.engine import score as score_rows
from assay.errors import InputError, UnknownName, did_you_mean
from assay.load import load_reward
from assay.probe.desk import ERROR, Desk
from assay.probe.example import Example, rows_of
from assay.probe.lints import changed, unpicklable
from assay.probe.opening import builtin_rows
from assay.probe.rule import Finding, Severity, finding
from assay.probe.trainers import TRAINERS
from assay.reward import RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory

PROMPTS = 3
"""How many rows fly, each with its own response and a worthless one."""


@dataclass
class Flight(RewardFunction):
    """Flies one stage of a trainer for each row, and keeps what was found in the metadata."""

    reward: RewardFunction
    trainer: str
    rows: list[Trajectory]
    timeout: float = 10.0
    contract: Contract = field(init=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.contract = Contract(timeout=self.timeout, workers=True, range=None)

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        """Fly the stage that the row names."""
        rows = copy.deepcopy(self.rows)
        desk = Desk(self.trainer, self.reward, copy.deepcopy(rows))
        TRAINERS[self.trainer].stages[trajectory.metadata["stage"]](desk)
        fields = sorted({name for a, b in zip(rows, desk.rows, strict=True) for name in changed(a, b)})
        if fields:
            said = f"it changes the {', '.join(fields)} that {self.trainer} hands over, which the next reward reads too"
            desk.say("mutation", ERROR, said, "Copy what you change.")
        found = [(f.rule, f.severity.value, f.message, f.fix, f.id) for f in desk.findings]
        return RewardOutput(0.0, metadata={"findings": found})


def preflight(
    reward: Any, trainer: str, examples: Iterable[Any] | None = None, *, timeout: float = 10.0
) -> list[Finding]:
    """Call a reward as a trainer does, and say what breaks where.

    `trainer` is one of trl, verl, openrlhf, swift, verifiers, twinkle and tunix. Rows of the data set that it will be
    trained on as `examples` let it see that set's columns; without any, a few that come along are used.
    """
    if trainer not in TRAINERS:
        raise UnknownName(
            f"there is no trainer {trainer!r}; there is {', '.join(TRAINERS)}.{did_you_mean(trainer, TRAINERS)}"
        )
    reward = load_reward(reward)
    given = builtin_rows(reward) if examples is None else rows_of(examples)
    if not given:
        raise InputError("needed at least one example row; found none.")
    several = [Example(row) for row in given[:PROMPTS]]
    rows = [
        dataclasses.replace(e.row(text, text != e.honest), group=e.trajectory.group_id or "prompt")
        for e in several
        for text in (e.honest, e.mistaken or e.hollow)
    ]
    stages = list(TRAINERS[trainer].stages)
    flights = [Trajectory(response=stage, metadata={"stage": stage}) for stage in stages]
    outputs = score_rows(Flight(reward, trainer, rows, timeout), flights, engine=Engine(inherit=True))
    found: dict[str, Finding] = {}
    for stage, output in zip(stages, outputs, strict=True):
        for told in _landed(trainer, stage, output, timeout):
            found.setdefault(told.id, told)
    if TRAINERS[trainer].spawns and (error := unpicklable(reward)):
        said = f"{trainer} sends rewards to processes that it starts, and this one does not pickle: {error}"
        told = finding(f"{trainer}/pickle", Severity.WARNING, said, "Define it at the top of a module.")
        found.setdefault(told.id, told)
    return list(found.values())


def _landed(trainer: str, stage: str, output: RewardOutput, timeout: float) -> list[Finding]:
    if output.reward is not None:
        return [
            Finding(rule, Severity(severity), message, fix, id=key)
            for rule, severity, message, fix, key in output.metadata["findings"]
        ]
    if output.outcome is Outcome.TIMEOUT:
        said = f"{stage}: the call had not returned after {timeout:g} s, and {trainer} would wait for it for ever"
        return [finding(f"{trainer}/hangs", ERROR, said, "Declare Contract(timeout=...).", key=stage)]
    return [finding(f"{trainer}/dies", ERROR, f"{stage}: {output.error[:300]}", key=stage)]
