"""Lints on the reward itself: does it repeat itself, leave its input alone, stay in its range, say when it fails."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from assay.engine import Engine, leaves
from assay.engine import score as score_rows
from assay.engine.boundary import Boundary
from assay.probe.rule import Finding, Severity, finding
from assay.probe.source import source_lints
from assay.probe.trial import Company, Sense, Trial, differ, values_of
from assay.reward import FunctionReward, RewardFunction
from assay.types import Trajectory

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
FEW = 8
"""Fewer rows than this say nothing about sparseness."""


def lint(trial: Trial) -> list[Finding]:
    """Every lint on a reward and the rows that it was opened with."""
    if not trial.examples:
        return [*_source(trial), *_pickles(trial)]
    checks: tuple[Callable[[Trial], Iterator[Finding]], ...] = (
        _source, _pickles, _repeats, _mutates, _neighbours, _range, _absent_gold, _signal,
    )  # fmt: skip
    return [found for check in checks for found in check(trial)]


def _source(trial: Trial) -> Iterator[Finding]:
    for leaf in leaves(trial.reward):
        yield from source_lints(leaf.fn if isinstance(leaf, FunctionReward) else type(leaf))


def _repeats(trial: Trial) -> Iterator[Finding]:
    runs = [values_of(run) for run in trial.runs]
    differing = [i for i, first in enumerate(runs[0]) if any(differ(run[i], first, 1e-9) for run in runs)]
    if not differing:
        return
    i = differing[0]
    seen = sorted({value for run in runs if (value := run[i]) is not None})
    where = "from call to call" if any(differ(run[i], runs[0][i], 1e-9) for run in runs[:-1]) else "in another process"
    said = f"the same response scores differently {where}: {', '.join(f'{v:.4g}' for v in seen) or 'or not'}"
    if trial.declares_noise:
        yield finding("lint/nondeterminism", NOTE, f"{said}; it declares so")
    else:
        fix = "Seed it, or declare Contract(deterministic=False), so that nothing is cached and noise is measured."
        yield finding("lint/nondeterminism", ERROR, said, fix)


def changed(before: Trajectory, after: Trajectory) -> list[str]:
    """Which fields of a trajectory are no longer what they were."""
    names = ("prompt", "response", "messages", "ground_truth", "metadata", "group")
    return [name for name in names if repr(getattr(before, name)) != repr(getattr(after, name))]


def _mutates(trial: Trial) -> Iterator[Finding]:
    rows, told = copy.deepcopy(trial.both_ways()), set[str]()
    before = copy.deepcopy(rows)
    for leaf in leaves(trial.reward):
        score_rows(_watched(leaf, told), rows, engine=Engine(lend=False))
    fields = {name for a, b in zip(before, rows, strict=True) for name in changed(a, b)}
    if fields or told:
        said = f"it changes its input: {', '.join(sorted(fields | told))}" + " of the row" * bool(fields)
        yield finding("lint/mutation", ERROR, said, "Copy what you change: other rewards read the same row.")


def _watched(leaf: RewardFunction, told: set[str]) -> RewardFunction:
    """The same reward; of a function, it is told which of its arguments are not what they were."""
    if not isinstance(leaf, FunctionReward):
        return leaf
    fn: Callable[..., Any] = leaf.fn

    def after(given: Mapping[str, Any], before: Mapping[str, str]) -> None:
        told.update(name for name, value in given.items() if _looks(value) != before[name])

    @functools.wraps(fn)
    def watched(*args: Any, **kwargs: Any) -> Any:
        given = {**kwargs, **({"trajectories": args[0]} if args else {})}
        before = {name: _looks(value) for name, value in given.items()}
        value = fn(*args, **kwargs)
        if inspect.isawaitable(value):
            return _awaited(value, lambda: after(given, before))
        after(given, before)
        return value

    own = copy.copy(leaf)
    own.call = dataclasses.replace(leaf.call, fn=watched)
    return own


def _looks(value: Any) -> str:
    """What an argument looks like; rows are looked at on their own, and only which they are counts here."""
    if isinstance(value, Trajectory):
        return ""
    if isinstance(value, list) and value and all(isinstance(each, Trajectory) for each in cast("list[Any]", value)):
        return repr([id(each) for each in cast("list[Any]", value)])
    return repr(value)


async def _awaited(value: Any, then: Callable[[], None]) -> Any:
    result = await value
    then()
    return result


def _neighbours(trial: Trial) -> Iterator[Finding]:
    if trial.company is Company.ORDER:
        fix = "Return one reward for each row, in the rows' order, and keep no state."
        yield finding("lint/order", ERROR, "the order of the batch changes the rewards", fix)
    elif trial.company is Company.NEIGHBOURS:
        said = "a response scores differently alone than in a batch: its reward depends on its neighbours"
        fix = "Declare it on the group (a parameter `group`, or Contract(per=Per.GROUP)): batches are split anywhere."
        yield finding("lint/neighbours", WARNING, said, fix)


def _range(trial: Trial) -> Iterator[Finding]:
    declared = trial.reward.contract.range
    if declared is None:
        return
    low, high = declared
    known = [o.reward for o in trial.own_outputs if o.reward is not None]
    known += [v for m in trial.measured.values() for v in (m.honest, m.mistaken, m.hollow, m.shuffled) if v is not None]
    outside = [v for v in known if not low - 1e-9 <= v <= high + 1e-9]
    if not outside:
        return
    fix = "Clip it, or declare Contract(range=...) as it is."
    if _is_assumed(trial.reward):
        said = f"it scores {outside[0]:.4g} and declares no range, so [{low:g}, {high:g}] is taken to be it"
        yield finding("lint/range", WARNING, said, fix)
    else:
        said = f"it scores {outside[0]:.4g}, outside of the range [{low:g}, {high:g}] that it declares"
        yield finding("lint/range", ERROR, said, fix)


def _is_assumed(reward: RewardFunction) -> bool:
    """Whether the range is the one that every class starts with, and not the author's word."""
    return any(leaf.contract is RewardFunction.contract for leaf in leaves(reward))


def _absent_gold(trial: Trial) -> Iterator[Finding]:
    if trial.sense is not Sense.ANSWER:
        return
    e = trial.examples[0]
    row = e.row_for("")
    if row.ground_truth not in (None, "") or e.gold is None:
        return
    (output,) = score_rows(trial.reward, [row], engine=trial.engine)
    if output.reward is not None and all(part.scored for part in output.components.values()):
        said = f"a row whose gold is empty is scored {output.reward:.3g}: not scored is not zero"
        yield finding("lint/absent-gold", WARNING, said, "Return None where there is nothing to compare with.")


def _signal(trial: Trial) -> Iterator[Finding]:
    if trial.builtin:
        return  # they are no sample of anything
    known = [o.reward for o in trial.own_outputs if o.reward is not None]
    missing = len(trial.own_outputs) - len(known)
    if missing and len(trial.own_rows) >= FEW:
        reason = next(o.error for o in trial.own_outputs if o.reward is None)
        said = f"{missing} of {len(trial.own_outputs)} rows are not scored, the first because: {reason[:200]}"
        yield finding("lint/unscored", WARNING if missing < len(trial.own_outputs) else ERROR, said)
    if len(known) < FEW:
        return
    low, high = min(known), max(known)
    if low == high:
        said = f"all {len(known)} rows score {low:.3g}: a policy learns nothing from it"
        yield finding("lint/flat", ERROR, said, "See why: assay score ROWS --reward SPEC shows what was extracted.")
        return
    at_low, at_high = (sum(v == edge for v in known) / len(known) for edge in (low, high))
    if at_low > 0.95:
        said = f"{at_low:.0%} of the rows score the lowest, {low:.3g}: too sparse to learn from"
        yield finding("lint/sparse", WARNING, said, "Give shares of the way there, or easier prompts first.")
    if at_high > 0.95:
        said = f"{at_high:.0%} of the rows score the highest, {high:.3g}: there is little left to learn"
        yield finding("lint/saturated", WARNING, said, "Take harder prompts, or a reward that tells good from better.")


def _pickles(trial: Trial) -> Iterator[Finding]:
    for leaf in leaves(trial.reward):
        error = unpicklable(leaf)
        if error:
            said = f"it does not pickle ({error}), so it runs in no worker, no Ray actor and no spawned trainer process"
            fix = "Define functions at the top of a module; open connections and files at first use, not in __init__."
            yield finding("lint/pickle", WARNING, said, fix, key=leaf.name)


def unpicklable(thing: Any) -> str:
    """Why something does not pickle; empty where it does."""
    with (boundary := Boundary()):
        pickle.dumps(thing)
        return ""
    return f"{type(boundary.error).__name__}: {boundary.error}"
