"""`assay score`: a reward over rollouts on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.choices import chosen_reward, refuse_the_input, renames
from assay.cli.header import changes, check_same_input, header_of, unchanged
from assay.cli.job import Job, on_failure_of
from assay.cli.progress import Counted
from assay.engine import Engine, reads_response
from assay.errors import ConfigError
from assay.record import Run, RunWriter, stopped_header
from assay.rollouts import Rollouts, Row
from assay.types import RewardOutput


def score(
    input: Annotated[
        str, typer.Argument(metavar="ROLLOUTS", help="Rollouts: a JSONL or Parquet file, or - for standard input.")
    ],
    reward: Annotated[
        list[str],
        typer.Option(
            "--reward",
            "-r",
            metavar="SPEC",
            help="length:target=200 | file.py:name | pkg.mod:name | reward.yaml (repeatable)",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a Run: OUT.parquet or OUT.jsonl.")
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=NAME", help="Column in the file=name the reward knows.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Score the first N rows only.", min=1)] = None,
    on_failure: Annotated[
        str, typer.Option(help="A row that fails: skip (no number), raise (stop), or a number to put there.")
    ] = "skip",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="weight.NAME=0.5, or a YAML file's key=value."),
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a row for rewards that declare no deadline.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes for everything that is not async; 0 for none at all.", min=0)
    ] = None,
    memory_mb: Annotated[int | None, typer.Option(help="What a worker may hold before it is stopped.", min=64)] = None,
    cache: Annotated[Path | None, typer.Option(help="A file that keeps the outputs of dear rewards.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run of --output that was stopped.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --resume: score anew what changed in the reward since.")
    ] = False,
    engine_: Annotated[str, typer.Option("--engine", help="local, or ray: on a cluster.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="With --engine ray: the cluster's address, or auto; else one is started here.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Score rollouts: prints the distribution, the components, the best and the worst with their reasons."""
    chosen = chosen_reward(reward, set_ or [])
    rollouts = Rollouts(input, renames(rename or []), limit, to_score=reads_response(chosen))
    here = None if engine_ == "ray" else workers  # on a cluster they are actors
    engine = Engine(timeout=timeout, workers=here, memory_mb=memory_mb, cache=cache)
    job = Job(chosen, rollouts, engine, on_failure_of(on_failure))
    header: dict[str, Any] = {}
    good: set[str] | None = None
    if output is not None:
        refuse_the_input(output, input)
        options = {"rename": rename or [], "on_failure": on_failure}
        header = header_of(reward, set_ or [], chosen, input, options)
        good = _resumable(output, header, force) if resume else None
    elif resume:
        raise ConfigError("--resume needs the --output of the run that was stopped.")
    if engine_ not in ("local", "ray"):
        raise ConfigError(f"--engine is local or ray; found {engine_!r}.")
    whole = chosen if set_ or len(reward) > 1 else reward[0]  # what a node loads by its name need not be sent

    def scored(progress: Counted, skip: int = 0) -> Iterator[tuple[list[Row], list[RewardOutput]]]:
        if engine_ == "local":
            return job.run(progress, skip)
        from assay.distributed import Cluster

        return job.run_on(Cluster(address, workers), whole, progress, skip)

    for name, where in engine.plan(chosen).items() if engine_ == "local" and not quiet else ():
        if "worker" in where:
            print(f"{name} runs {where}", file=sys.stderr)
    stopped: KeyboardInterrupt | None = None
    with Counted(rollouts.size(), quiet=quiet, if_stuck=job.if_stuck) as progress:
        try:
            if output is None:
                for _ in scored(progress):
                    pass
            else:
                with RunWriter(output, header, resume, chosen) as run:
                    job.take_over(run, good, progress)
                    run.settle_header()
                    for rows, outputs in scored(progress, run.done):
                        run.write(rows, outputs)
        except KeyboardInterrupt as interrupt:
            stopped = interrupt
        finally:
            engine.close()
    job.tell(output, stopped, quiet)
    raise typer.Exit(130 if stopped else job.exit_code)


def _resumable(output: Path, header: dict[str, Any], force: bool) -> set[str] | None:
    """Check that a stopped run may be gone on with; the components that stay good where some are scored anew."""
    before = stopped_header(output)
    if before is None:
        if Run(output).header.get("complete"):
            print(f"{output} is complete; nothing is left to score. To score it anew: assay rescore", file=sys.stderr)
            raise typer.Exit(0)
        return None  # nothing is there yet: start
    check_same_input(before, header)
    changed = changes(before, header)
    if changed and not force:
        raise ConfigError(
            f"--resume: the reward changed since the run was stopped: {'; '.join(changed[:4])}. Its rows would not be "
            f"of one kind. --force scores what changed anew; without --resume everything is."
        )
    return unchanged(before, header) if changed else None
