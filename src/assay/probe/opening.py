"""How a trial begins: examples are chosen, one honest response each, and measured with their worthless twins."""

from __future__ import annotations

import copy
import dataclasses
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from assay.calling import ALIASES
from assay.contract import Per
from assay.engine import Engine, leaves, required_columns
from assay.engine import score as score_rows
from assay.errors import InputError
from assay.probe.example import Example, candidates, marked, rows_of
from assay.probe.rule import SLACK, Finding, Severity
from assay.probe.trial import Company, Measured, Sense, Trial, differ, values_of
from assay.reward import RewardFunction, as_reward, call_of
from assay.types import Outcome, RewardOutput, Trajectory

LIMIT = 4
"""How many examples are tried, where nobody says."""
PLAIN_TIMEOUT, ASYNC_TIMEOUT = 3.0, 120.0
"""Seconds that one response may take, where the reward declares no deadline: a function's, and a judge's."""
FEW = 4
"""How many rows are scored first: where all of them time out, the rest would too."""
FEW_BESIDE = 8
"""How many responses are scored in one batch, and it turned round: twice as many still go into one call."""
MADE_UP_WINS = 0.25
"""Share of the scale by which a response made from the gold must beat the rows' own to be taken in their place."""
WHOLE = Engine()
"""For rows that are known to end: under the audit's deadline a batch would run elsewhere, in small pieces."""


def open_trial(
    reward: Any, examples: Iterable[Any] | None = None, *, limit: int = LIMIT, timeout: float | None = None
) -> Trial:
    """Measure a reward on examples (rows as for `assay.score`; without any, on a few that come along)."""
    reward = as_reward(reward)
    own = rows_of(examples) if examples is not None else builtin_rows(reward)
    if not own:
        raise InputError("needed at least one example row; found none.")
    waits = any(call_of(leaf).is_async for leaf in leaves(reward))
    seconds = timeout if timeout is not None else ASYNC_TIMEOUT if waits else PLAIN_TIMEOUT
    engine = Engine(timeout=seconds, quarantine=Path(tempfile.gettempdir()) / "assay-probe", inherit=True)
    grouped = any(call_of(leaf).per is Per.GROUP for leaf in leaves(reward))
    trial = Trial(reward, [], {}, own, [], engine, seconds, 1.0, SLACK, builtin=examples is None, _grouped=grouped)
    few = score_rows(reward, own[:FEW], engine=engine)
    if all(output.outcome is Outcome.TIMEOUT for output in few):
        _give_up(trial, few[0].error)
        return trial
    trial.own_outputs = [*few, *score_rows(reward, own[FEW:], engine=engine)]
    if examples is None and not any(output.scored for output in trial.own_outputs):
        # it may look for the gold in the row by another name, where nothing says so
        trial.own_rows = own = [_with_aliases(row) for row in own]
        trial.own_outputs = score_rows(reward, own, engine=engine)
    _choose_examples(trial, limit if examples is not None else len(own))
    if (company := _company(trial)) is not Company.NONE:
        trial.company, trial.examples, trial.troubles = company, [], []
        trial.own_outputs = [score_rows(reward, [row], engine=engine)[0] for row in own]
        _choose_examples(trial, limit if examples is not None else len(own))
    _measure(trial)
    if examples is None:
        trial.examples, trial.troubles = _telling(trial)[:limit], []
        trial.measured = {e.number: trial.measured[e.number] for e in trial.examples}
    return trial


def _give_up(trial: Trial, reason: str) -> None:
    fix = "Give it more time with --timeout, or find what it waits for."
    trial.troubles.append(Finding("example/timeout", Severity.ERROR, reason, fix, id="example/timeout"))


def builtin_rows(reward: RewardFunction) -> list[Trajectory]:
    """The examples that come along, as far as they have the columns that this reward needs."""
    from assay.probe.examples import EXAMPLES

    needed = {column for leaf in leaves(reward) for column in required_columns(leaf)}
    called = needed & set(ALIASES["ground_truth"])  # the gold, as this reward calls it
    rows = [Trajectory.of({**row, **{name: row.get("ground_truth") for name in called}}) for row in EXAMPLES]
    fitting = [row for row in rows if all(row.get(column) is not None for column in needed)]
    if not fitting:
        raise InputError(
            f"reward {reward.name!r} needs {sorted(needed)}, which the built-in examples do not have. "
            f"Pass some rows of your data: assay check SPEC --examples rollouts.jsonl"
        )
    return fitting


def _with_aliases(row: Trajectory) -> Trajectory:
    names = ("ground_truth", *ALIASES["ground_truth"])
    return dataclasses.replace(row, metadata={**dict.fromkeys(names, row.ground_truth), **row.metadata})


def _choose_examples(trial: Trial, limit: int) -> None:
    """The honest response of each prompt: the best of its own rows, or one made from its gold where none is good."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(trial.own_rows):
        groups.setdefault(row.group_id, []).append(i)
    chosen = list(groups.values())[:limit]
    made = [
        [Example(trial.own_rows[rows[0]]).row(text) for text in candidates(trial.own_rows[rows[0]])] for rows in chosen
    ]
    flat = score_rows(trial.reward, [row for rows in made for row in rows], engine=trial.engine) if any(made) else []
    outputs = iter(flat)
    known = [o.reward for o in (*trial.own_outputs, *flat) if o.reward is not None]
    trial.scale = _scale(trial.reward, known)
    for rows, mades in zip(chosen, made, strict=True):
        synthetic = [(row, next(outputs)) for row in mades]
        best = _honest([(trial.own_rows[i], trial.own_outputs[i]) for i in rows], synthetic, trial.scale)
        if best is None:
            first = rows[0]
            reason = trial.own_outputs[first].error or "no response to it is scored"
            trial.troubles.append(
                Finding(
                    "example/unscored",
                    Severity.WARNING,
                    f"this prompt is left out: {reason}",
                    example=first + 1,
                    id=f"example/unscored:{first}",
                )
            )
        else:
            trial.examples.append(Example(best, rows[0] + 1))


def _honest(
    own: list[tuple[Trajectory, RewardOutput]], made: list[tuple[Trajectory, RewardOutput]], scale: float
) -> Trajectory | None:
    said = [(t, o) for t, o in own if marked(t)]
    if said:
        own, made = said, []
    own = [(t, o) for t, o in own if o.reward is not None and t.response.strip() and marked(t) is not False]
    made = [(t, o) for t, o in made if o.reward is not None]
    best, best_made = max(own, key=_paid, default=None), max(made, key=_paid, default=None)
    if best is None or (best_made and _paid(best_made) - _paid(best) > MADE_UP_WINS * scale):
        best = best_made
    return best[0] if best else None


def _paid(scored: tuple[Trajectory, RewardOutput]) -> float:
    return scored[1].reward or 0.0


def _scale(reward: RewardFunction, known: Sequence[float]) -> float:
    declared = reward.contract.range
    if declared is not None and declared[1] > declared[0]:
        return declared[1] - declared[0]
    return (max(known) - min(known) if known else 0.0) or max(map(abs, known), default=0.0) or 1.0


def _company(trial: Trial) -> Company:
    """Score the same responses in order, in the other order, each alone, and each beside its double."""
    batched = [leaf for leaf in leaves(trial.reward) if call_of(leaf).per is not Per.TRAJECTORY]
    rows = trial.both_ways()[:FEW_BESIDE]
    if not batched or trial.declares_noise or not rows:
        return Company.NONE  # what is called row by row knows of no other row

    def scored(batch: Sequence[Trajectory]) -> list[float | None]:
        return values_of(score_rows(trial.reward, copy.deepcopy(list(batch)), engine=trial.engine))

    straight, again = scored(rows), scored(rows)
    noise = max(
        (abs(a - b) for a, b in zip(straight, again, strict=True) if a is not None and b is not None), default=0
    )
    slack = SLACK * trial.scale + 2 * noise

    def other(values: Sequence[float | None]) -> bool:
        return any(differ(a, b, slack) for a, b in zip(straight, values, strict=True))

    if other(scored(rows[::-1])[::-1]):
        return Company.ORDER
    if any(call_of(leaf).per is Per.GROUP for leaf in batched):
        return Company.NONE  # it is declared to look at its group
    doubled = scored([*rows, *rows])
    if other([scored([row])[0] for row in rows]) or other(doubled[: len(rows)]) or other(doubled[len(rows) :]):
        return Company.NEIGHBOURS
    return Company.NONE


def _measure(trial: Trial) -> None:
    """What each example's honest response and its worthless twins earn, several times over."""
    asked: list[tuple[Example, Trajectory]] = []
    for e in trial.examples:
        asked.append((e, e.row(e.honest)))
        asked += [(e, e.row(text, worthless=True)) for text in (e.mistaken or "", e.hollow, e.shuffled)]
    if not asked:
        return
    repeats = 2 if any(call_of(leaf).is_async for leaf in leaves(trial.reward)) else 4
    runs = [trial.score(copy.deepcopy(asked)) for _ in range(repeats)]
    trial.runs = [*runs, trial.score(copy.deepcopy(asked), WHOLE)]  # this process hashes texts otherwise
    for i, e in enumerate(list(trial.examples)):
        columns = [[run[4 * i + j].reward for run in runs] for j in range(4)]
        honest, *twins = [_mean(values) for values in columns]
        if honest is None:
            trial.examples.remove(e)
            continue
        mistaken = twins[0] if e.mistaken is not None else None
        turned = twins[2] if e.shuffled != e.honest.strip() else None
        trial.measured[e.number] = Measured(honest, mistaken, twins[1], turned)
    trial.spread = max((_spread(outputs) for outputs in zip(*trial.runs, strict=True)), default=0.0)
    trial.slack = SLACK * trial.scale + 2 * trial.spread


def _spread(outputs: Sequence[RewardOutput]) -> float:
    known = [output.reward for output in outputs if output.reward is not None]
    return max(known) - min(known) if known else 0.0


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _telling(trial: Trial) -> list[Example]:
    """The examples that the reward was made for: where any tells more than another, those; the best paid come first."""
    known = [(trial._sense(trial.measured[e.number]), trial.measured[e.number].honest, e) for e in trial.examples]
    best = max((sense for sense, _, _ in known), default=Sense.FORM)
    paid = [honest for _, honest, _ in known]
    half = (min(paid, default=0.0) + max(paid, default=0.0)) / 2
    known = [each for each in known if each[0] > Sense.FORM or (best is Sense.FORM and each[1] >= half)]
    return [e for _, _, e in sorted(known, key=lambda each: (-each[0], -each[1], each[2].number))]
