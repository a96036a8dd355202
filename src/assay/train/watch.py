"""What happens beside a training run: step callbacks, each batch's distribution, and the record of all responses."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from assay.record import RunWriter
from assay.train.config import TrainConfig
from assay.train.statistics import Analysis, Moments, bars, columns, quartiles
from assay.types import RewardOutput, Trajectory

log = logging.getLogger("assay.train")


@dataclass
class StepResult:
    """What a step callback is given."""

    step: int
    metrics: dict[str, Any]
    """`rewards`: a float for each scored response; `rewards/<component>` likewise; `unscored`; `reward_seconds`; and
    TRL's own latest figures."""
    trajectories: list[Trajectory] = field(default_factory=list[Trajectory])
    outputs: list[RewardOutput] = field(default_factory=list[RewardOutput])


StepCallback = TypeVar("StepCallback", bound=Callable[[StepResult], Any])


class Watch:
    """Collects what is scored between two steps, and tells it when the step is done. `with watch:` around the run."""

    def __init__(self, config: TrainConfig, reward_name: str) -> None:
        self.config = config
        self.output_dir = Path(config.output_dir)
        self.callbacks: list[Callable[[StepResult], Any]] = []
        self.analysis = Analysis()
        self.reward_seconds = 0.0
        self._over_training: list[float | None] = []
        self._rows: list[Trajectory] = []
        self._outputs: list[RewardOutput] = []
        header = {"reward": reward_name, "config": config.model_dump(mode="json", fallback=repr)}
        saved = config.training.save_reward_analysis
        self._run = RunWriter(self.output_dir / "rewards.jsonl", header) if saved else None

    def __enter__(self) -> Watch:
        if self._run is not None:
            self._run.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._over_training:
            moments = Moments.of(self._over_training)
            log.info("over training  rewards         |%s| %s", bars(self._over_training), moments.line())
            self._append({"over_training": asdict(moments)})
        if self._run is None:
            return
        self._run.__exit__(*exc)
        found = json.dumps(self.analysis.to_dict(), indent=1, ensure_ascii=False)
        (self.output_dir / "reward_analysis.json").write_text(found, encoding="utf-8")
        text = self.analysis.to_markdown()
        (self.output_dir / "reward_analysis.md").write_text(text, encoding="utf-8")
        log.info("%s", text)
        if self._run.count and all(importlib.util.find_spec(name) for name in ("polars", "numpy")):
            self._write_report(self._run.path)

    def _write_report(self, run: Path) -> None:
        from assay.analyze.source import Source
        from assay.analyze.study import study
        from assay.report.html import write_report

        source = Source(run)
        write_report(study(source.table()), source, self.output_dir / "report.html")

    def observe(self, rows: Sequence[Trajectory], outputs: Sequence[RewardOutput]) -> None:
        """A batch was scored."""
        self._rows += rows
        self._outputs += outputs
        self.reward_seconds += sum(output.seconds for output in outputs)

    def step(self, step: int, figures: Mapping[str, Any]) -> None:
        """A training step is done."""
        rows, outputs, self._rows, self._outputs = self._rows, self._outputs, [], []
        found = columns(outputs)
        metrics: dict[str, Any] = {**figures}
        metrics |= {name: [r for r in rewards if r is not None] for name, rewards in found.items()}
        metrics["unscored"] = sum(output.reward is None for output in outputs)
        metrics["reward_seconds"] = sum(output.seconds for output in outputs)
        if self._run is not None and rows:
            self.analysis.add(rows, outputs)
            size = self.config.training.num_generations
            self._run.write([_row(step, i // size, row) for i, row in enumerate(rows)], outputs)
        if self.config.training.log_rewards and rows:
            self._log(step, found)
        for callback in self.callbacks:
            callback(StepResult(step, metrics, rows, outputs))

    def _log(self, step: int, found: Mapping[str, Sequence[float | None]]) -> None:
        record: dict[str, Any] = {"step": step}
        self._over_training += found["rewards"]
        for name, rewards in found.items():
            moments = Moments.of(rewards)
            log.info("step %4d  %-18s |%s| %s", step, name, bars(rewards), moments.line())
            record[name] = {**asdict(moments), "quartiles": quartiles(rewards)}
        self._append(record)

    def _append(self, record: Mapping[str, Any]) -> None:
        with (self.output_dir / "reward_log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _row(step: int, group: int, row: Trajectory) -> dict[str, Any]:
    # a prompt that comes again in a later step is another group
    own = {"step": step, "prompt": row.prompt, "response": row.response, "group": f"{step}/{group}"}
    return {**row.metadata, **own, "ground_truth": row.ground_truth}
