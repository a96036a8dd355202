"""Lints on the reward itself: does it repeat itself, leave its input alone, stay in its range, say when it fails."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.contract import Per
from assay.engine import Engine, leaves
from assay.engine import score as score_rows
from assay.probe.rule import Finding, Severity, finding
from assay.probe.trial import Sense, Trial
from assay.reward import FunctionReward, call_of
from assay.types import RewardOutput, Trajectory

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
WHOLE = Engine()
"""For rows that are known to end: under the audit's deadline a batch would run elsewhere, in small pieces."""
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


def _rows(trial: Trial) -> list[Trajectory]:
    """Honest and wrong responses side by side, so that a batch holds more than one value."""
    return [
        dataclasses.replace(e.row(text, text != e.honest), group=e.trajectory.group_id or f"example-{e.number}")
        for e in trial.examples
        for text in (e.honest, e.mistaken or e.hollow)
    ]


def _values(outputs: Sequence[RewardOutput]) -> list[float | None]:
    return [output.reward for output in outputs]


def _differ(a: float | None, b: float | None, slack: float) -> bool:
    return a is not b if a is None or b is None else abs(a - b) > slack


def _repeats(trial: Trial) -> Iterator[Finding]:
    rows = _rows(trial)
    runs = [_values(score_rows(trial.reward, rows, engine=trial.engine)) for _ in range(3)]
    differing = [i for i in range(len(rows)) if any(_differ(run[i], runs[0][i], 1e-9) for run in runs)]
    if not differing:
        return
    seen = sorted({value for run in runs for value in (run[differing[0]],) if value is not None})
    said = f"the same response scores differently from call to call: {', '.join(f'{v:.4g}' for v in seen) or 'or not'}"
    if all(leaf.contract.deterministic for leaf in leaves(trial.reward)):
        fix = "Seed it, or declare Contract(deterministic=False), so that nothing is cached and noise is measured."
        yield finding("lint/nondeterminism", ERROR, said, fix)
    else:
        yield finding("lint/nondeterminism", NOTE, f"{said}; it declares so")


def changed(before: Trajectory, after: Trajectory) -> list[str]:
    """Which fields of a trajectory are no longer what they were."""
    names = ("prompt", "response", "messages", "ground_truth", "metadata", "group")
    return [name for name in names if repr(getattr(before, name)) != repr(getattr(after, name))]


def _mutates(trial: Trial) -> Iterator[Finding]:
    rows = _rows(trial)
    before = copy.deepcopy(rows)
    score_rows(trial.reward, rows, engine=WHOLE)
    fields = sorted({name for a, b in zip(before, rows, strict=True) for name in changed(a, b)})
    if fields:
        said = f"it changes its input: {', '.join(fields)} of the row"
        yield finding("lint/mutation", ERROR, said, "Copy what you change: other rewards read the same row.")


def _neighbours(trial: Trial) -> Iterator[Finding]:
    if not all(leaf.contract.deterministic for leaf in leaves(trial.reward)):
        return
    rows = _rows(trial)
    straight = _values(score_rows(trial.reward, rows, engine=WHOLE))
    turned = _values(score_rows(trial.reward, rows[::-1], engine=WHOLE))[::-1]
    if any(_differ(a, b, trial.slack) for a, b in zip(straight, turned, strict=True)):
        said = "the order of the batch changes the rewards"
        yield finding(
            "lint/order", ERROR, said, "Return one reward for each row, in the rows' order, and keep no state."
        )
        return
    if any(call_of(leaf).per is Per.GROUP for leaf in leaves(trial.reward)):
        return  # it is declared to look at its group
    alone = [_values(score_rows(trial.reward, [row], engine=WHOLE))[0] for row in rows]
    if any(_differ(a, b, trial.slack) for a, b in zip(straight, alone, strict=True)):
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
    if outside:
        said = f"it scores {outside[0]:.4g}, outside of the range [{low:g}, {high:g}] that it declares"
        yield finding("lint/range", ERROR, said, "Clip it, or declare Contract(range=...) as it is.")


def _absent_gold(trial: Trial) -> Iterator[Finding]:
    if trial.sense is not Sense.ANSWER:
        return
    e = trial.examples[0]
    row = e.row(e.honest)
    row.ground_truth = None if row.ground_truth is None else ""
    (output,) = score_rows(trial.reward, [row], engine=trial.engine)
    if row.ground_truth is not None and output.reward is not None:
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
    try:
        pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError, ImportError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


# -- what the source shows -------------------------------------------------------------------------------------------


def _source(trial: Trial) -> Iterator[Finding]:
    for leaf in leaves(trial.reward):
        thing = leaf.fn if isinstance(leaf, FunctionReward) else type(leaf)
        yield from source_lints(thing)


def source_lints(thing: Any) -> Iterator[Finding]:
    """What the source of a function or a class shows: exceptions that become numbers, alarms, exec in this process."""
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if not (inspect.isfunction(thing) or inspect.ismethod(thing) or inspect.isclass(thing)):
        thing = type(thing)
    if thing.__module__.startswith("assay."):
        return  # our own are held to it by their tests, and read deliberately by their tests
    try:
        lines, first = inspect.getsourcelines(thing)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        line = first + getattr(node, "lineno", 1) - 1
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and (value := _swallowed(node)):
            said = f"line {line}: any exception becomes {value}, so a broken grader looks like a wrong answer"
            fix = "Let it raise (the row is then not scored, with the reason), or catch the one that you expect."
            yield finding("lint/swallowed-exception", ERROR, said, fix, key=f"{thing.__qualname__}:{value}")
        if isinstance(node, ast.Attribute) and node.attr in ("alarm", "setitimer", "SIGALRM"):
            said = f"line {line}: signal.{node.attr} works on the main thread only; trainers call from others"
            yield finding("lint/alarm", ERROR, said, "Declare Contract(timeout=...) instead.", key=node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval"):
            said = f"line {line}: {node.func.id} in this process: a response can run code in the trainer"
            yield finding("lint/exec", ERROR, said, "Run it in a sandbox: assay.CodeReward does.", key=node.func.id)


def _is_broad(node: ast.ExceptHandler) -> bool:
    names = [node.type] if not isinstance(node.type, ast.Tuple) else node.type.elts
    return node.type is None or any(isinstance(n, ast.Name) and n.id in ("Exception", "BaseException") for n in names)


def _swallowed(node: ast.ExceptHandler) -> str:
    """What a handler puts in the place of an exception; empty where it raises, or returns None."""
    if any(isinstance(n, ast.Raise) for n in ast.walk(node)):
        return ""
    for n in ast.walk(node):
        value = n.value if isinstance(n, ast.Return | ast.Assign) else None
        if isinstance(value, ast.List) and value.elts:
            value = value.elts[0]
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "append" and n.args:
            value = n.args[0]
        if value is not None and _is_number(value):
            return ast.unparse(value)
    return ""


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)
