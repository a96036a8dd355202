"""One reward of several, chosen by the row's task or by the training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

from assay.compose.flow import NO_STEP, Ask, Batch, Composition, Flow, distinct, union, unscored
from assay.errors import ConfigError
from assay.reward import Contract, as_reward
from assay.types import RewardOutput, Trajectory


class ByTask(Composition):
    """The reward of the row's task, named by a column. An unknown task abstains, with the reason; it is never a 0.

    Example: `ByTask({"math": MathReward(), "code": CodeReward()}, key="task")`.

    Hacked by: nothing of its own; each task by what its reward does not see.
    """

    asks_all = False

    def __init__(self, rewards: Mapping[str, Any], key: str = "task", default: Any = None) -> None:
        self.key = key
        self.children = {str(task): as_reward(r) for task, r in rewards.items()}
        self.default = None if default is None else as_reward(default)
        if self.default is not None:
            if "default" in self.children:
                raise ConfigError("ByTask has a task named 'default' and a default beside it; needed one of the two.")
            self.children["default"] = self.default
        if not self.children:
            raise ConfigError("ByTask needs at least one task; found none.")
        self.name = "by_task"
        self.contract = Contract(range=union([r.contract.range for r in self.children.values()]))

    def flow(self, batch: Batch) -> Flow:
        """Ask each task's reward for its own rows."""
        rows: dict[str, list[int]] = {}
        for i, t in enumerate(batch.trajectories):
            task = str(t.metadata.get(self.key, ""))
            chosen = task if task in self.children else "default" if self.default else ""
            rows.setdefault(chosen, []).append(i)
        return (yield from _chosen(self, batch, rows, self._unknown))

    def _unknown(self, t: Trajectory) -> str:
        found = t.metadata.get(self.key)
        return f"no reward for {self.key} {found!r}; there is one for {', '.join(self.children)}"


class Curriculum(Composition):
    """One reward after another as training goes on: `Curriculum([(0, easy), (1000, medium), (5000, hard)])`.

    The stage is the last one whose step has come. Its raw output is kept in `components` under the stage's name.

    Hacked by: whatever the present stage does not see; a habit learnt in an early stage may outlast it.
    """

    asks_all = False
    follows_steps = True

    def __init__(self, stages: Sequence[tuple[int, Any]]) -> None:
        given = sorted(((_start(start), as_reward(r)) for start, r in stages), key=lambda stage: stage[0])
        if not given or given[0][0] > 0:
            raise ConfigError(f"a curriculum needs a stage that starts at step 0; found {[s for s, _ in given]}.")
        self.starts = [start for start, _ in given]
        if len(set(self.starts)) < len(given):
            raise ConfigError(f"a curriculum needs one stage for each start; found {self.starts}.")
        self.children = distinct(r for _, r in given)
        self.name = "curriculum"
        self.contract = Contract(range=union([r.contract.range for r in self.children.values()]))

    def stage(self, step: int) -> str:
        """The name of the stage at a training step."""
        reached = [name for start, name in zip(self.starts, self.children, strict=True) if start <= step]
        return reached[-1] if reached else next(iter(self.children))

    def flow(self, batch: Batch) -> Flow:
        """Ask the stage of each row's step."""
        rows: dict[str, list[int]] = {}
        for i in range(len(batch.trajectories)):
            step = batch.step_of(i)
            rows.setdefault("" if step is None else self.stage(step), []).append(i)
        return (yield from _chosen(self, batch, rows, lambda _: NO_STEP))


def _start(step: Any) -> int:
    if isinstance(step, Real) and step == step // 1:
        return int(float(step))
    raise ConfigError(f"a curriculum's stages start at whole steps; found {step!r}.")


def _chosen(
    composition: Composition, batch: Batch, rows: Mapping[str, list[int]], why_none: Callable[[Trajectory], str]
) -> Flow:
    known = {name: chosen for name, chosen in rows.items() if name in composition.children}
    columns = yield [Ask(name, composition.children[name], chosen) for name, chosen in known.items()]
    folded: dict[int, RewardOutput] = {}
    for (name, chosen), outputs in zip(known.items(), columns, strict=True):
        for i, part in zip(chosen, outputs, strict=True):
            parts = {name: part}
            whole = RewardOutput(part.reward, metadata={"chosen": name}, components=parts)
            folded[i] = whole if part.reward is not None else unscored(parts, {"chosen": name})
    everyone = enumerate(batch.trajectories)
    return [folded[i] if i in folded else RewardOutput(None, error=why_none(t)) for i, t in everyone]
