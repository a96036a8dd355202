"""`assay score`: a reward over rollouts on disk."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from assay import __version__
from assay.analyze.tally import Tally
from assay.cli.choices import chosen_reward, pairs
from assay.cli.progress import Counted
from assay.engine import Engine, check_columns
from assay.engine import score as score_rows
from assay.errors import OUTCOME_ERRORS, ConfigError
from assay.record import RunWriter
from assay.report.terminal import console, summary
from assay.reward import RewardFunction
from assay.rollouts import Rollouts, chunks
from assay.types import FAILURES, RewardOutput, Trajectory

CHUNK = 2048


def score(
    input: Annotated[str, typer.Argument(help="Rollouts: a JSONL or Parquet file, or - for standard input.")],
    reward: Annotated[
        list[str],
        typer.Option(
            "--reward", "-r", help="length:target=200 | file.py:name | pkg.mod:name | reward.yaml (repeatable)"
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a Run: OUT.parquet or OUT.jsonl.")
    ] = None,
    rename: Annotated[list[str] | None, typer.Option(help="Column in the file=name the reward knows.")] = None,
    limit: Annotated[int | None, typer.Option(help="Score the first N rows only.", min=1)] = None,
    on_failure: Annotated[
        str, typer.Option(help="A row that fails: skip (no number), raise (stop), or a number to put there.")
    ] = "skip",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="weight.NAME=0.5, or a YAML file's key=value.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a row for rewards that declare no deadline.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Score rollouts: prints the distribution, the components, the best and the worst with their reasons."""
    chosen = chosen_reward(reward, set_ or [])
    rollouts = Rollouts(input, pairs(rename or [], "--rename"), limit)
    job = _Job(chosen, rollouts, Engine(timeout=timeout), _on_failure(on_failure), Tally())
    stopped = False
    with Counted(rollouts.size(), quiet=quiet) as progress:
        try:
            if output is None:
                for _ in job.run(progress):
                    pass
            else:
                with RunWriter(output, _header(reward, set_ or [], chosen, input)) as run:
                    for rows, outputs in job.run(progress):
                        run.write(rows, outputs)
        except KeyboardInterrupt:
            stopped = True
    _tell(job, output, stopped, quiet)
    if stopped:
        raise typer.Exit(130)
    raise typer.Exit(1 if job.tally.not_scored or rollouts.broken else 0)


@dataclass
class _Job:
    reward: RewardFunction
    rollouts: Rollouts
    engine: Engine
    on_failure: str | float
    tally: Tally

    def run(self, progress: Counted) -> Iterator[tuple[list[dict[str, Any]], list[RewardOutput]]]:
        for n, chunk in enumerate(chunks(self.rollouts, CHUNK)):
            rows, trajectories = [row for row, _ in chunk], [t for _, t in chunk]
            if n == 0:
                check_columns(self.reward, trajectories[0])
            outputs = score_rows(self.reward, trajectories, engine=self.engine)
            self.tally.add(trajectories, outputs)
            yield rows, self._paid(outputs, trajectories)
            progress.advance(len(rows))

    def _paid(self, outputs: list[RewardOutput], trajectories: list[Trajectory]) -> list[RewardOutput]:
        if self.on_failure == "skip":
            return outputs
        for i, output in enumerate(outputs):
            if output.outcome in FAILURES:
                if self.on_failure == "raise":
                    number = self.tally.rows - len(outputs) + i + 1
                    raise OUTCOME_ERRORS[output.outcome](f"row {number}: {output.error}")
                outputs[i] = replace(output, reward=float(self.on_failure))
        return outputs


def _on_failure(word: str) -> str | float:
    if word in ("skip", "raise"):
        return word
    try:
        return float(word)
    except ValueError:
        raise ConfigError(f"--on-failure is skip, raise or a number; found {word!r}.") from None


def _header(specs: list[str], settings: list[str], reward: RewardFunction, source: str) -> dict[str, Any]:
    return {
        "assay": __version__,
        "python": platform.python_version(),
        "reward": specs,
        "set": settings,
        "name": reward.name,
        "input": source,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _tell(job: _Job, output: Path | None, stopped: bool, quiet: bool) -> None:
    for line in job.rollouts.broken[:5]:
        print(f"assay: {line}", file=sys.stderr)
    if len(job.rollouts.broken) > 5:
        print(f"assay: and {len(job.rollouts.broken) - 5:,} more lines that could not be read", file=sys.stderr)
    if not quiet and job.tally.rows:
        console().print(summary(job.tally))
    if job.tally.not_scored and quiet:
        print(f"assay: {job.tally.not_scored:,} of {job.tally.rows:,} rows were not scored", file=sys.stderr)
    if stopped:
        print(f"stopped after {job.tally.rows:,} rows", file=sys.stderr)
    if output is not None and job.tally.rows:
        print(f"\nwrote {output} ({job.tally.rows:,} rows)", file=sys.stderr)
