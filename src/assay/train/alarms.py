"""Alarms in training: the findings of `assay inspect` while it runs; each names its rule and saves its rows.

    alarms = Alarms("runs/7/alarms", sinks=[wandb.log])             a sink is any function of (figures, step)

    trainer.add_step_callback(alarms)                               with Assay's own trainer
    funcs, weights = reward_funcs(reward, observe=alarms.observe)   with TRL's
    GRPOTrainer(reward_funcs=funcs, callbacks=[alarms.callback()], ...)

With anything else: `alarms.observe(trajectories, outputs)` after each batch, `alarms.step(n)` after each step.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.analyze import hacking, stats, trends
from assay.analyze.attribution import attribute
from assay.analyze.groups import groups
from assay.analyze.hacking import Finding
from assay.analyze.table import Chunk, assemble, measure
from assay.engine.boundary import Boundary
from assay.errors import require
from assay.plain_data import to_dict, to_json
from assay.types import RewardOutput, Trajectory

log = logging.getLogger("assay.train")

Sink = Callable[[dict[str, float], int], Any]
"""Takes figures and the step: `wandb.log`, `trackio.log`, or `tensorboard(writer)`."""

FALLEN = 0.5
"""The share of its gain that the reward must lose for `collapse`."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One finding at one step of the training."""

    step: int
    rule: str
    severity: str
    says: str
    share: float
    """The share of the window's rows that it is about."""
    file: Path | None = None
    """Where its rows were saved, the best paid first."""

    def __str__(self) -> str:
        saved = f"; rows in {self.file}" if self.file else ""
        return f"step {self.step}: {self.severity}: {self.rule}: {self.says}{saved}"


@dataclass
class Alarms:
    """Looks at the latest rows after every step; says what it finds, logs figures, and saves the rows it rests on."""

    folder: str | Path
    """Where rows are saved: a JSONL file for each alarm, and `alarms.jsonl` with all of them."""
    sinks: Sequence[Sink] = ()
    """Where figures go, each step."""
    window: int = 2048
    """How many of the latest rows are looked at."""
    quiet_steps: int = 50
    """How many steps an alarm of one rule is kept to itself after it was given."""
    save: int = 50
    """How many rows an alarm saves, at most."""
    on_alarm: Callable[[Alarm], Any] | None = None
    """Called with each alarm: to page somebody, or to stop the run."""
    raised: list[Alarm] = field(default_factory=list[Alarm], init=False)
    """All alarms so far."""
    _steps: deque[_Step] = field(default_factory=lambda: deque[_Step](), init=False)
    _rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], init=False)
    _means: list[float] = field(default_factory=list[float], init=False)
    _failed: list[Sink] = field(default_factory=list[Sink], init=False)
    _last: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def __post_init__(self) -> None:
        require("numpy", "report", "alarms in training")
        self.folder = Path(self.folder)

    def observe(self, trajectories: Sequence[Trajectory], outputs: Sequence[RewardOutput]) -> None:
        """A batch was scored."""
        self._rows += [_row(t, output) for t, output in zip(trajectories, outputs, strict=True)]

    def step(self, step: int) -> list[Alarm]:
        """A training step is done: what is found in the latest rows, and was not told lately."""
        rows, self._rows = self._rows, []
        if not rows:
            return []
        for row in rows:
            row["step"], row["group"] = step, f"{step}/{row['group']}"
        self._steps.append(_Step(step, rows, measure(rows)))
        while len(self._steps) > 1 and sum(len(s.rows) for s in self._steps) - len(self._steps[0].rows) >= self.window:
            self._steps.popleft()
        table = assemble(replace(s.chunk, columns=dict(s.chunk.columns)) for s in self._steps)
        steps = stats.over_steps(table)
        newest = stats._point(table, step, (table.step == step).nonzero()[0])
        self._means.append(newest.mean)
        signs = hacking.row_findings(table, hacking.flags(table))
        signs += trends.run_findings(table, groups(table), attribute(table), steps)
        found = [f for f in (*self._collapse(), *signs) if f.severity != "note"]
        self._log(step, newest, found)
        return [self._raise(step, f) for f in found if self._is_news(step, f)]

    def __call__(self, result: Any) -> None:
        """As a step callback of `assay.train.Trainer`."""
        self.observe(result.trajectories, result.outputs)
        self.step(result.step)

    def callback(self) -> Any:
        """A `transformers.TrainerCallback` that ends a step of TRL's trainers here."""
        return _callback(require("transformers", "train", "a callback for TRL").TrainerCallback, self)

    def _collapse(self) -> Iterable[Finding]:
        """The mean reward fell back from the best stretch that there was."""
        few = 5
        known = [mean for mean in self._means if math.isfinite(mean)]  # a step that was not scored is no step at 0
        if len(known) < 3 * few:
            return
        stretches = [sum(known[i : i + few]) / few for i in range(len(known) - few + 1)]
        first, best, now = stretches[0], max(stretches), stretches[-1]
        lost, gained = best - now, best - first
        if lost > FALLEN * max(gained, 0.0) and lost > FALLEN * abs(best) and lost > 1e-6:
            says = f"the mean reward of the last {few} steps is {now:.3g}; it was {best:.3g} at its best"
            yield Finding("collapse", "alarm", says, few, 1.0, 0.0, ())

    def _is_news(self, step: int, found: Finding) -> bool:
        last = self._last.get(found.rule)
        return last is None or step - last >= self.quiet_steps

    def _raise(self, step: int, found: Finding) -> Alarm:
        self._last[found.rule] = step
        rows = self._save(step, found)
        alarm = Alarm(step, found.rule, found.severity, found.says, found.share, rows)
        self.raised.append(alarm)
        log.warning("%s", alarm)
        _append(Path(self.folder) / "alarms.jsonl", [{**_plain(alarm), "rows": len(found.rows)}])
        if self.on_alarm is not None:
            self.on_alarm(alarm)
        return alarm

    def _save(self, step: int, found: Finding) -> Path | None:
        if not found.rows:
            return None
        window = [row for s in self._steps for row in s.rows]
        path = Path(self.folder) / f"step{step:06d}-{found.rule}.jsonl"
        path.unlink(missing_ok=True)
        _append(path, [window[i] for i in found.rows[: self.save]])
        return path

    def _log(self, step: int, newest: stats.StepPoint, found: Sequence[Finding]) -> None:
        figures = {
            "assay/reward/mean": newest.mean,
            "assay/reward/std": newest.std,
            "assay/groups/flat": newest.flat,
            "assay/not_scored": newest.not_scored,
            "assay/length/median": newest.length,
            **{f"assay/part/{name}": mean for name, mean in newest.parts.items()},
            **{f"assay/sign/{f.rule}": f.share for f in found},
        }
        known = {name: float(value) for name, value in figures.items() if math.isfinite(value)}
        for sink in self.sinks:
            with (boundary := Boundary()):
                sink(known, step)
                continue
            if sink not in self._failed:  # a dashboard that is down ends no run
                self._failed.append(sink)
                log.warning("step %d: a sink failed, and the run goes on: %r", step, boundary.error)


@dataclass(frozen=True, slots=True)
class _Step:
    number: int
    rows: list[dict[str, Any]]
    chunk: Chunk


def tensorboard(writer: Any) -> Sink:
    """A sink for a `SummaryWriter`."""

    def write(figures: Mapping[str, float], step: int) -> None:
        for name, value in figures.items():
            writer.add_scalar(name, value, step)

    return write


def _row(t: Trajectory, output: RewardOutput) -> dict[str, Any]:
    own = {"prompt": t.prompt, "response": t.response, "ground_truth": t.ground_truth, "group": t.group_id}
    scored = {"reward": output.reward, "outcome": str(output.outcome), "error": output.error}
    return {**t.metadata, **own, **scored, "seconds": output.seconds, "detail": to_dict(output)}


def _plain(alarm: Alarm) -> dict[str, Any]:
    told = {name: getattr(alarm, name) for name in ("step", "rule", "severity", "says", "share")}
    return {**told, "file": alarm.file.name if alarm.file else None}


def _append(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.writelines(to_json(record) + "\n" for record in records)


def _callback(base: type[Any], alarms: Alarms) -> Any:
    class AlarmCallback(base):
        """Ends a step of the alarms where the trainer ends one."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            alarms.step(state.global_step)

    return AlarmCallback()
