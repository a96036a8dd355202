"""`assay calibrate`: what a judge's scores mean in the words of people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.choices import stored_run
from assay.errors import InputError
from assay.rollouts import whole_rows
from assay.types import RewardOutput, Trajectory


def calibrate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A scored file: what `assay score --output` wrote.")],
    labels: Annotated[
        Path, typer.Option("--labels", "-l", help="JSONL with `label` and `id`, or prompt and response.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the map is written.")] = Path(
        "calibration.json"
    ),
    component: Annotated[str, typer.Option(help="The part of a composite that is meant; none: the reward.")] = "",
) -> None:
    """Fit a monotone map from scores to people's labels, write it, and print the agreement before and after."""
    from assay.llm.calibration import after, agreement, fit

    given, rows = _labels(labels), list(_matched(run, _labels(labels), component))
    if len(rows) < 2:
        raise InputError(
            f"{len(rows)} of {len(given)} labels fit a scored row of {run}. A label's row is found by its 'id', or by "
            f"its 'prompt' and 'response', which must be the same text."
        )
    scores, wanted = [score for score, _ in rows], [label for _, label in rows]
    before, then = agreement(scores, wanted), after(scores, wanted)
    fit(scores, wanted).save(output, run=run.name, component=component, rows=len(rows))
    print(f"{len(rows):,} labelled rows\n{'':22} {'before':>8} {'after':>8}   (after: on rows the map did not see)")
    for name, field in (("mean error", "error"), ("rank correlation", "rank"), ("pairs in order", "order")):
        print(f"{name:22} {getattr(before, field):8.3f} {getattr(then, field):8.3f}")
    print(f'written to {output}. Use it: Calibrated(reward, "{output}")')


def _labels(path: Path) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for number, row in enumerate(whole_rows(path), 1):
        try:
            if row["label"] is None:  # the page's way to take a label back
                found.pop(_key(row), None)
            else:
                found[_key(row)] = float(row["label"])
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}, row {number}: needed a number in 'label', and 'id' or 'prompt' and 'response' ({error})."
            ) from None
    return found


def _key(row: Any) -> Any:
    if row.get("id") is not None:
        return str(row["id"])
    return int(row["key"], 16) if "key" in row else (row.get("prompt", ""), row["response"])


def _matched(run: Path, labels: dict[Any, float], component: str) -> Iterator[tuple[float, float]]:
    for trajectory, output in stored_run(run):
        part = output.components.get(component) if component else output
        label = _label(trajectory, labels)
        if label is not None and isinstance(part, RewardOutput) and part.reward is not None:
            yield part.reward, label


def _label(trajectory: Trajectory, labels: dict[Any, float]) -> float | None:
    from assay.analyze.table import key_of

    by_id = trajectory.metadata.get("id")
    if by_id is not None and str(by_id) in labels:
        return labels[str(by_id)]
    said = (trajectory.prompt, trajectory.response)
    return labels[said] if said in labels else labels.get(key_of(*said))
