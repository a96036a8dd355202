"""The Engine from plain code: in scripts, threads, notebooks, and as a trainer calls a function."""

from __future__ import annotations

import copy
import json
import logging
import math
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal

from assay.calling import missing_column
from assay.compose.flow import Composition
from assay.contract import Per
from assay.engine.again import Keep
from assay.engine.awaiting import Answers
from assay.engine.boundary import NeedsLoop
from assay.engine.engine import Engine, leaves, rows_for
from assay.engine.told import tell
from assay.errors import OUTCOME_ERRORS, ConfigError
from assay.loop import Stalled, drive, run
from assay.reward import RewardFunction, as_reward, call_of
from assay.types import FAILURES, RewardOutput, Tokens, Trajectory

log = logging.getLogger("assay.engine")


def score(
    reward: Any,
    rows: Iterable[Any],
    *,
    step: int | None = None,
    on_failure: Literal["carry", "raise"] = "carry",
    engine: Engine | None = None,
    context: Mapping[str, Any] | None = None,
) -> list[RewardOutput]:
    """Score rows (trajectories, dicts, message lists or responses) with any reward; one output for each, in order.

    A failure is carried as the row's outcome, or raised at the first one with `on_failure="raise"`. Works in scripts,
    threads, and inside a running event loop. `context` is what a trainer hands along: its loggers and its state.

    >>> [o.reward for o in score(lambda response: len(response) > 3, [{"response": "four"}, {"response": "no"}])]
    [1.0, 0.0]
    """
    reward = as_reward(reward)
    outputs = _run(reward, rows_for(reward, rows), step, context, engine)
    if on_failure == "raise":
        for i, output in enumerate(outputs):
            if output.outcome in FAILURES:
                raise OUTCOME_ERRORS[output.outcome](f"row {i}: {output.error}")
    return outputs


def score_one(reward: RewardFunction, trajectory: Any) -> RewardOutput:
    """Score one trajectory by hand: a failure is raised."""
    (row,) = rows_for(reward, [trajectory])
    check_columns(reward, row)
    (output,) = _run(reward, [row], None, None, None)
    if output.outcome in FAILURES:
        raise OUTCOME_ERRORS[output.outcome](output.error)
    return output


def call(
    reward: RewardFunction,
    trajectories: Sequence[Any] | None,
    ground_truths: Sequence[Any] | None,
    columns: Mapping[str, Any],
) -> list[Any]:
    """A reward called as a trainer calls a function; see `RewardFunction.__call__`."""
    if trajectories is not None:
        if columns:
            raise TypeError(
                f"reward {reward.name!r} takes ground_truths= beside a list of trajectories, and no columns; found "
                f"{sorted(columns)}. Put them into the rows, or call it as TRL does: completions=..., NAME=[...]."
            )
        rows = rows_for(reward, trajectories)
        if ground_truths is not None:
            rows = [_with_truth(t, truth) for t, truth in zip(rows, _repeated(ground_truths, rows), strict=True)]
        outputs = _run(reward, rows, None, None, None)
        return [math.nan if output.reward is None else output.reward for output in outputs]
    if "completions" not in columns:
        raise TypeError(
            f"reward {reward.name!r} is called with trajectories (and ground_truths), or with TRL's keywords "
            f"prompts= and completions=; found {sorted(columns) or 'nothing'}."
        )
    rows, context = from_trl(columns)
    if rows:
        check_columns(reward, rows[0])
    if needs_groups(reward):
        _name_groups(reward, rows, columns.get("prompts") or ())
    state = context.get("trainer_state")
    if state is None and needs_steps(reward):
        log.warning(
            "reward %r changes with the training step; the call has no trainer_state, so it stays at step 0",
            reward.name,
        )
    outputs = _run(reward, rows, getattr(state, "global_step", None), context, None)
    tell(reward.__name__, outputs, context, parts=True)
    return [output.reward for output in outputs]


def _name_groups(reward: RewardFunction, rows: Sequence[Trajectory], prompts: Sequence[Any]) -> None:
    """A group is a whole prompt, with all its turns; and never the part of one that a rank has."""
    if _ranks() > 1:
        raise ConfigError(
            f"reward {reward.name!r} looks at all responses to a prompt together, and a trainer on {_ranks()} ranks "
            f"may hand each a part of them. Use assay.adapters.trl.reward_funcs(reward), which gathers the groups."
        )
    for row, prompt in zip(rows, prompts, strict=False):
        row.group = row.group or (prompt if isinstance(prompt, str) else json.dumps(prompt, default=str))


def _with_truth(trajectory: Trajectory, truth: Any) -> Trajectory:
    own = copy.copy(trajectory)  # the caller's row is not ours to change
    own.ground_truth = truth
    return own


def _repeated(truths: Sequence[Any], rows: Sequence[Trajectory]) -> list[Any]:
    """One truth for each row; one for each prompt will do where the rows are several samples of each, in order."""
    each = len(rows) // len(truths) if truths else 0
    blocks = [rows[i * each : (i + 1) * each] for i in range(len(truths))]
    if each * len(truths) == len(rows) and all(len({t.group_id for t in block}) == 1 for block in blocks):
        return [truth for truth in truths for _ in range(each)]
    if len(truths) != len(rows):
        raise TypeError(f"needed a ground truth for each of {len(rows)} trajectories; found {len(truths)}.")
    return list(truths)


_NOT_COLUMNS = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric", "environments")


def from_trl(columns: Mapping[str, Any]) -> tuple[list[Trajectory], dict[str, Any]]:
    """The trajectories in a call with TRL's keywords, and what comes from the call itself: the step, the loggers."""
    completions = columns["completions"]
    data = {name: values for name, values in columns.items() if name not in _NOT_COLUMNS}
    prompts = columns.get("prompts") or [""] * len(completions)
    for name, values in {"prompts": prompts, **data}.items():
        if not hasattr(values, "__getitem__") or isinstance(values, str | Mapping) or len(values) != len(completions):
            found = f"{len(values)} values" if isinstance(values, list) else f"{type(values).__name__} {values!r:.60}"
            raise TypeError(
                f"needed {name!r} as a list with one value for each of {len(completions)} completions; found {found}."
            )
    rows = [_trl_row(prompts[i], completions[i], {k: v[i] for k, v in data.items()}) for i in range(len(completions))]
    for row, ids in zip(rows, columns.get("completion_ids") or (), strict=False):
        row.tokens = Tokens(ids=ids)
    return rows, {name: columns[name] for name in ("trainer_state", "log_extra", "log_metric") if name in columns}


def _trl_row(prompt: Any, completion: Any, columns: dict[str, Any]) -> Trajectory:
    """One row of TRL's. The usual one, messages that end in text, is read here and not searched for its parts."""
    asked, said = _content(prompt, "user"), _content(completion, "assistant")
    if asked is None or said is None or "metadata" in columns or "messages" in columns:
        return Trajectory.of({**columns, "prompt": prompt, "response": completion})
    truth, group = columns.pop("ground_truth", None), columns.pop("group", None)
    return Trajectory(asked, said, [*prompt, *completion], truth, columns, "" if group is None else str(group))


def _content(messages: Any, role: str) -> str | None:
    last = messages[-1] if isinstance(messages, list) and messages else None
    content = last.get("content") if last and last.get("role") == role else None
    return content if isinstance(content, str) else None


def _ranks() -> int:
    """How many processes train together, where torch says so; torch is not imported for it."""
    distributed = sys.modules.get("torch.distributed")
    together = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return int(distributed.get_world_size()) if distributed is not None and together else 1


def needs_groups(reward: RewardFunction) -> bool:
    """Whether some part of the reward must see all responses to a prompt together."""
    children = reward.children.values() if isinstance(reward, Composition) else ()
    own = reward.contract.per is Per.GROUP or (not children and call_of(reward).per is Per.GROUP)
    return own or any(needs_groups(child) for child in children)


def needs_steps(reward: RewardFunction) -> bool:
    """Whether some part of the reward changes with the training step: a curriculum, a scheduled weight."""
    if not isinstance(reward, Composition):
        return False
    return reward.follows_steps or any(needs_steps(child) for child in reward.children.values())


def check_columns(reward: RewardFunction, row: Trajectory) -> None:
    """Raise `MissingColumn` where the first row lacks a column that some part of the reward cannot do without."""
    for leaf in leaves(reward, of_every_row=True):
        for column in required_columns(leaf):
            if column == "ground_truth" and row.ground_truth is None:
                raise missing_column(leaf.name, column, row)
            if column not in row:
                raise missing_column(leaf.name, column, row, parameter=column not in leaf.contract.columns)


def required_columns(leaf: RewardFunction) -> list[str]:
    """The columns that a reward cannot do without."""
    return list(dict.fromkeys([*leaf.contract.columns, *call_of(leaf).columns()]))


def rescore(
    reward: Any, rows: Sequence[Trajectory], stored: Sequence[RewardOutput], keep: Keep, engine: Engine | None = None
) -> list[RewardOutput]:
    """`Engine.rescore` from plain code: only what is not stored, or no longer good, is called; all is folded anew."""
    return _persist(lambda known: (engine or _default).rescore(reward, rows, stored, keep, known))


def _run(
    reward: RewardFunction, rows: list[Trajectory], step: int | None, context: Any, engine: Engine | None
) -> list[RewardOutput]:
    engine = engine or _default
    if not engine.needs_loop(reward):
        try:
            return drive(engine.score(reward, rows, step, context))
        except NeedsLoop:
            pass
    return _persist(lambda known: engine.answer(reward, rows, step, context, known))


_MOST_STALLS = 3
"""How often a loop is given up for the calls of one batch; behind that, what is not answered is not asked."""


def _persist(make: Callable[[Answers], Coroutine[Any, Any, list[RewardOutput]]]) -> list[RewardOutput]:
    """Run to the end. A call that holds the loop costs itself; what was answered before is kept."""
    known = Answers()
    for _ in range(_MOST_STALLS):
        try:
            return run(make(known))
        except Stalled as stalled:
            known.again(stalled.about)
    known.closed = True
    return run(make(known))


_default = Engine()
"""What `score()` uses: its workers stay warm from one call to the next."""


def needs_loop(reward: RewardFunction) -> bool:
    """Whether scoring this reward with the defaults waits for something."""
    return _default.needs_loop(reward)
