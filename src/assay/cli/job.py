"""Scoring a file of rollouts, chunk by chunk: what `assay score` and `assay rescore` have in common."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from assay.analyze.tally import Tally
from assay.calling import ALIASES
from assay.cli.progress import Counted, tell_broken
from assay.contract import Per
from assay.engine import Engine, check_columns, leaves, needs_groups, rescore
from assay.engine import score as score_rows
from assay.errors import OUTCOME_ERRORS, ConfigError
from assay.record import RunWriter, states_of
from assay.report.terminal import console, summary
from assay.returned import place_of
from assay.reward import RewardFunction, call_of
from assay.rollouts import Rollouts, Row, chunks
from assay.types import FAILURES, RewardOutput, Trajectory

CHUNK = 2048
CHUNK_OF_DEAR_ROWS = 256
"""What a kill at the wrong moment costs, where a row is dear."""
SECONDS = 1.0
"""About how long a chunk may take where its size changes no number: progress is seen, and Ctrl-C costs no more."""


@dataclass
class Pace:
    """How many rows the next chunk has: so many as take about a second, told by the chunk before."""

    rows: int = 64

    def __call__(self) -> int:
        return self.rows

    def took(self, rows: int, seconds: float) -> None:
        """So many rows took so long."""
        fitting = int(rows * SECONDS / max(seconds, 1e-9))
        self.rows = max(8, min(CHUNK, 4 * self.rows, fitting))


@dataclass
class Job:
    """A reward over rollouts, and what came of it."""

    reward: RewardFunction
    rollouts: Rollouts
    engine: Engine
    on_failure: str | float
    tally: Tally = field(default_factory=Tally)

    def run(self, progress: Counted, skip: int = 0) -> Iterator[tuple[list[Row], list[RewardOutput]]]:
        """Score chunk by chunk; the first `skip` rows were scored before."""
        size = self._size()
        for n, chunk in enumerate(chunks(islice(self.rollouts, skip, None), size)):
            started = time.perf_counter()
            rows, trajectories = [row for row, _ in chunk], [t for _, t in chunk]
            if n == 0:
                check_columns(self.reward, trajectories[0])
                self._check_groups(chunk, progress)
            outputs = score_rows(self.reward, trajectories, engine=self.engine)
            self.tally.add(trajectories, outputs)
            if isinstance(size, Pace):
                size.took(len(rows), time.perf_counter() - started)
            yield rows, self._paid(outputs)
            progress.advance(len(rows))

    def _check_groups(self, chunk: list[tuple[Row, Trajectory]], progress: Counted) -> None:
        """Say so where no row says what was asked: they would all count as one group."""
        if len(chunk) < 2 or progress.quiet or any(t.group_id or t.messages for _, t in chunk):
            return
        near = [a for a in ALIASES["prompt"] if a in chunk[0][0]]
        hint = f"Rename it: --rename {near[0]}=prompt" if near else "Add one, or --rename the column that it is."
        print(f"assay: no row has a 'prompt' or a 'group', so all count as one group. {hint}", file=sys.stderr)

    def _size(self) -> int | Pace:
        parts = leaves(self.reward)
        if self.engine.needs_loop(self.reward) or any(leaf.contract.cost > 0 for leaf in parts):
            return CHUNK_OF_DEAR_ROWS
        alone = all(call_of(leaf).per is Per.TRAJECTORY for leaf in parts) and not needs_groups(self.reward)
        return Pace() if alone and not states_of(self.reward) else CHUNK

    def run_on(
        self, cluster: Any, specs: Any, progress: Counted, skip: int = 0
    ) -> Iterator[tuple[list[Row], list[RewardOutput]]]:
        """The same on a Ray cluster."""
        from assay.distributed import CHEAP, score_file

        first = replace(self.rollouts, limit=1, broken=[])
        for row in first:
            check_columns(self.reward, Trajectory.of(row))
        if first.packed:
            raise ConfigError(f"{first.path} is gzipped, and cannot be read in pieces by many. Unpack it: gunzip -k")
        seconds = 0.0
        for rows, outputs in score_file(specs, self.rollouts, cluster, self.engine, skip):
            seconds += sum(output.seconds for output in outputs)
            self.tally.add([Trajectory.of(row) for row in rows], outputs)
            yield rows, self._paid(outputs)
            progress.advance(len(rows))
        if self.tally.rows and seconds / self.tally.rows < CHEAP and not progress.quiet:
            said = f"{1e6 * seconds / self.tally.rows:.0f} microseconds a row"
            print(
                f"the reward took {said}: at that the local engine is faster than Ray (--engine local)", file=sys.stderr
            )

    def take_over(self, run: RunWriter, good: set[str] | None, progress: Counted) -> None:
        """Count what an earlier run has scored; with `good`, score the components anew that are not among them."""
        for part, scored in run.written():
            trajectories, outputs = [t for _, t, _ in scored], [output for _, _, output in scored]
            if good is not None:
                outputs = rescore(self.reward, trajectories, outputs, lambda path, _: path in good, self.engine)
                run.rewrite(part, [row for row, _, _ in scored], self._paid(outputs))
            self.tally.add(trajectories, outputs)
            progress.advance(len(scored))

    def _paid(self, outputs: list[RewardOutput]) -> list[RewardOutput]:
        if self.on_failure == "skip":
            return outputs
        for i, output in enumerate(outputs):
            if output.outcome in FAILURES:
                if self.on_failure == "raise":
                    number = self.tally.rows - len(outputs) + i + 1
                    raise OUTCOME_ERRORS[output.outcome](f"row {number}: {output.error}")
                if output.reward is None:  # a reward may have a policy of its own
                    outputs[i] = replace(output, reward=float(self.on_failure))
        return outputs

    @property
    def exit_code(self) -> int:
        """0 done, 1 some rows were not scored."""
        return 1 if self.tally.not_scored or self.rollouts.broken else 0

    @property
    def if_stuck(self) -> str:
        """What to say when no row comes back; nothing where every part has a deadline."""
        bounded = all(leaf.contract.timeout or call_of(leaf).is_async for leaf in leaves(self.reward))
        if self.engine.timeout or bounded:
            return ""
        return "nothing has come back for a while. If a row hangs, --timeout SECONDS stops it, and the rest goes on."

    def tell(self, output: Path | None, stopped: BaseException | None, quiet: bool) -> None:
        """Say what came of it."""
        tell_broken(self.rollouts.broken)
        if not quiet and self.tally.rows:
            console().print(summary(self.tally))
            for line in self.engine.counts.lines():
                print(line, file=sys.stderr)
        if self.tally.not_scored and quiet:
            print(f"assay: {self.tally.not_scored:,} of {self.tally.rows:,} rows were not scored", file=sys.stderr)
        if stopped is not None:
            print(f"stopped after {self.tally.rows:,} rows{place_of(stopped)}", file=sys.stderr)
            if not self.tally.rows and self.if_stuck:
                print(f"assay: {self.if_stuck}", file=sys.stderr)
        if output is not None and self.tally.rows:
            print(f"\nwrote {output} ({self.tally.rows:,} rows)", file=sys.stderr)
        if stopped is not None and output is not None and self.tally.rows:
            print("go on with it: the same command with --resume", file=sys.stderr)
        elif output is not None and self.tally.rows and not quiet:
            print(
                f"look closer: assay inspect {quote(str(output))}, or assay report {quote(str(output))}",
                file=sys.stderr,
            )


def on_failure_of(word: str) -> str | float:
    """`--on-failure skip | raise | VALUE`."""
    if word in ("skip", "raise"):
        return word
    try:
        if math.isfinite(value := float(word)):
            return value
    except ValueError:
        pass
    raise ConfigError(f"--on-failure is skip, raise or a finite number; found {word!r}.")
