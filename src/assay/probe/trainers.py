"""Each trainer's own way to call a reward, as its source does it: the stages of `assay check --for TRAINER`.

The versions are those whose call was read or run; a stage is named in what it finds. Nothing of a trainer is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from assay.contract import is_async, name_of
from assay.engine import leaves
from assay.probe.desk import (
    ERROR,
    FAILED,
    NOTE,
    WARNING,
    Desk,
    completions_of,
    ids_of,
    needs_groups,
    prompts_of,
)
from assay.reward import FunctionReward
from assay.types import Trajectory

Stage = Callable[[Desk], None]


@dataclass(frozen=True, slots=True)
class Trainer:
    """A trainer: whose contract this is, and the stages of its flight."""

    name: str
    version: str
    stages: Mapping[str, Stage]
    spawns: bool = False
    """Whether it pickles rewards into processes that it spawns."""


# -- TRL -------------------------------------------------------------------------------------------------------------

_TRL_TAKEN = {
    "prompts": "is TRL's own keyword: the call fails with 'multiple values'",
    "completions": "is TRL's own keyword: the call fails with 'multiple values'",
    "completion_ids": "is overwritten by TRL's token ids",
    "trainer_state": "is overwritten by TRL's own",
    "log_extra": "is overwritten by TRL's own",
    "log_metric": "is overwritten by TRL's own",
    "completion": "is dropped by TRL",
}


def _trl_function(desk: Desk) -> Any:
    if not isinstance(desk.reward, FunctionReward) or desk.speaks("completions", "completion_ids"):
        return desk.raw
    desk.say(
        "form", NOTE, f"{desk.shown()} is not in TRL's own form; hand it over as assay.as_reward({name_of(desk.raw)})"
    )
    return desk.reward


def _trl_keywords(desk: Desk, rows: Sequence[Trajectory], messages: bool, context: bool = True) -> dict[str, Any]:
    columns = {name: values for name, values in desk.columns(rows).items() if name not in _TRL_TAKEN}
    keywords = {
        "prompts": prompts_of(rows, messages),
        "completions": completions_of(rows, messages),
        "completion_ids": ids_of(rows),
        **columns,
    }
    if context:
        state = SimpleNamespace(global_step=1, max_steps=100, epoch=0.0, log_history=[])
        keywords |= {"trainer_state": state, "log_extra": _log_extra, "log_metric": _log_metric}
    return keywords


def _log_extra(column: str, values: Any) -> None:
    if not isinstance(values, list):
        raise TypeError(f"log_extra({column!r}) needs a list, found {type(values).__name__}")


def _log_metric(name: str, value: float) -> None:
    float(value)


def _trl_strings(desk: Desk) -> None:
    desk.collisions(_TRL_TAKEN)
    _trl_batch(desk, "a plain-text data set", desk.rows, bool(desk.rows[0].messages))


def _trl_other_form(desk: Desk) -> None:
    own = bool(desk.rows[0].messages)
    what = "a plain-text data set" if own else "a conversational data set (completions are lists of messages)"
    here, there = (Desk(desk.trainer, desk.reward, desk.rows) for _ in range(2))
    _trl_batch(here, what, desk.rows, own)
    _trl_batch(there, what, desk.rows, not own)
    for found in there.findings:
        if found.severity is ERROR and found.id not in {known.id for known in here.findings}:
            fix = "Read both: text = c if isinstance(c, str) else c[-1]['content']."
            desk.say("messages", WARNING, f"the examples are not such, but with {found.message}", fix)


def _trl_batch(desk: Desk, label: str, rows: Sequence[Trajectory], messages: bool) -> None:
    value = desk.call(label, _trl_function(desk), _trl_keywords(desk, rows, messages))
    desk.listed(label, value, len(rows))


def _trl_slice(desk: Desk) -> None:
    half = desk.rows[: max(1, len(desk.rows) // 2)]
    _trl_batch(desk, "one rank's slice of the batch", half, bool(half[0].messages))
    if needs_groups(desk.reward):
        said = "it needs whole groups, and TRL may split a group over ranks"
        desk.say(
            "groups",
            WARNING,
            said,
            "Use assay.adapters.trl.reward_funcs(reward, num_generations=G), which gathers them.",
        )


def _trl_names(desk: Desk) -> None:
    names = [_callable_name(part.fn if isinstance(part, FunctionReward) else part) for part in leaves(desk.reward)]
    for name in sorted({n for n in names if names.count(n) > 1}):
        said = f"{names.count(name)} of its parts are called {name!r}: handed to TRL one by one, they share one curve"
        desk.say(
            "names", WARNING, said, "Use assay.adapters.trl.reward_funcs(reward), or give each a __name__ of its own."
        )


def _callable_name(fn: Any) -> str:
    fn = getattr(fn, "func", fn)
    return str(getattr(fn, "__name__", None) or type(fn).__name__)


def _trl_async(desk: Desk) -> None:
    rows, label = desk.rows, "AsyncGRPO's rollout worker (a thread, and no trainer_state)"
    messages = bool(rows[0].messages)
    fn = _trl_function(desk)
    here, there = (Desk(desk.trainer, desk.reward, desk.rows) for _ in range(2))
    _trl_batch(here, label, rows, messages)
    value = there.call(label, fn, _trl_keywords(desk, rows, messages, context=False), off_main=True)
    values = there.listed(label, value, len(rows))
    for found in there.findings:  # what breaks in GRPOTrainer as well is told by its own stage
        if found.id not in {known.id for known in here.findings}:
            said = found.message if label in found.message else f"{label}: {found.message}"
            desk.say("async-grpo", WARNING, f"only with {said}", found.fix)
    if values and any(value is None for value in values):
        said = f"None came back, and {label} adds it as 0 where no other reward scores the row"
        desk.say("none", WARNING, said, "Keep a reward beside it that always scores.")


# -- verl ------------------------------------------------------------------------------------------------------------


def _verl_function(desk: Desk) -> Any:
    if desk.speaks("solution_str", "solution_strs"):
        return desk.raw
    return desk.adapted("verl.compute_score", unscored=0.0)


def _verl_row(row: Trajectory) -> dict[str, Any]:
    # verl's data sets number their prompts
    extra = {"index": row.group_id, **row.metadata, "num_turns": 2, "rollout_reward_scores": dict[str, Any]()}
    source = str(row.metadata.get("data_source", "examples"))
    return {"data_source": source, "solution_str": row.response, "ground_truth": row.ground_truth, "extra_info": extra}


def _verl_loop(desk: Desk) -> None:
    if needs_groups(desk.reward):
        said = "it needs whole groups, and verl's reward loop calls with one sample"
        fix = "Use assay.adapters.verl.reward_manager(reward, unscored=...), or its compute_score_batch."
        desk.say("groups", WARNING, said, fix)
        return
    fn = _verl_function(desk)
    if fn is None or desk.speaks("solution_strs"):
        return
    label, keys = "the reward loop (one sample a call)", list[set[str]]()
    waits = inspect.iscoroutinefunction(fn)
    if is_async(fn) and not waits:
        said = "its __call__ is async, which verl does not see (inspect.iscoroutinefunction): it gets a coroutine"
        desk.say("async", ERROR, said, "Hand over an `async def` function.")
    for row in desk.rows:
        value = desk.call(label, fn, _verl_row(row), off_main=not waits)
        if value is FAILED:
            return
        if isinstance(value, Mapping):
            told = cast("Mapping[str, Any]", value)
            keys.append(set(told))
            if "score" not in told:
                desk.say("score", ERROR, f"{label}: a dict came back without 'score'; its keys are {sorted(told)}")
                return
            value = told["score"]
        desk.number(label, value, none="verl fails on it (TypeError)", nan="it passes into the advantages")
    if keys and any(k != keys[0] for k in keys):
        odd = sorted(set.union(*keys) - set.intersection(*keys))
        said = (
            f"{label}: the keys {odd} are there for some rows only; verl takes them from the first (KeyError, or lost)"
        )
        desk.say("keys", ERROR, said, "Return the same keys for every row.")


def _verl_batch(desk: Desk) -> None:
    if desk.speaks("solution_str"):
        return
    if desk.speaks("solution_strs"):
        fn = desk.raw
    elif needs_groups(desk.reward):
        fn = desk.adapted("verl.compute_score_batch", unscored=0.0)
    else:
        return
    rows = [_verl_row(row) for row in desk.rows]
    plural = {"data_source": "data_sources", "solution_str": "solution_strs", "ground_truth": "ground_truths",
              "extra_info": "extra_infos"}  # fmt: skip
    value = desk.call("the batch manager", fn, {new: [row[old] for row in rows] for old, new in plural.items()})
    if value is not FAILED and isinstance(value, Sequence) and all(isinstance(v, Mapping) for v in value):
        value = [v.get("score") for v in cast("Sequence[Mapping[str, Any]]", value)]
    desk.listed("the batch manager", value, len(rows), none="verl fails on it", nan="it passes into the advantages")


# -- OpenRLHF --------------------------------------------------------------------------------------------------------


def _openrlhf(desk: Desk) -> None:
    fn = desk.raw if desk.speaks("queries") else desk.adapted("openrlhf.reward_func", unscored=0.0)
    if fn is None:
        return
    label = "a reward file (lists of one, off the main thread)"
    if is_async(fn):
        desk.say("async", ERROR, "OpenRLHF calls a reward file's function in a thread and does not await it")
        return
    for row in desk.rows:
        query = f"{row.prompt}{row.response}<|im_end|>"  # special tokens are kept
        truth = row.metadata.get("label", row.ground_truth)
        value = desk.call(label, fn, {}, args=([query], [row.prompt], [truth]), off_main=True)
        if value is FAILED:
            return
        if not isinstance(value, Mapping) or "rewards" not in value:
            said = f"{label}: needed a dict with 'rewards', 'scores' and 'extra_logs', found {type(value).__name__}"
            desk.say("returns", ERROR, said, "Return {'rewards': [...], 'scores': [...], 'extra_logs': {}}.")
            return
        told = cast("Mapping[str, Any]", value)
        desk.listed(
            label, told["rewards"], 1, none="the sample goes without a reward", nan="it goes into the advantages"
        )
        for score in desk.listed(label, told.get("scores", told["rewards"]), 1) or ():
            if score is not None and not 0.0 <= float(score) <= 1.0:
                said = f"'scores' holds {float(score):.3g}; dynamic filtering reads them as shares from 0 to 1"
                desk.say("scores", WARNING, said)


# -- ms-swift --------------------------------------------------------------------------------------------------------


def _swift(desk: Desk) -> None:
    made = desk.raw if desk.speaks("completions") else desk.adapted("swift.orm")
    fn = made() if inspect.isclass(made) else made
    if fn is None:
        return
    rows, label = desk.rows, "a batch (completions are plain strings, by position)"
    columns = {
        **desk.columns(rows),
        "messages": [list(row.conversation) for row in rows],
        "request_id": [f"chatcmpl-{i}" for i in range(len(rows))],
        "finish_reason": ["stop"] * len(rows),
        "is_truncated": [False] * len(rows),
        "response_token_ids": [[ids] for ids in ids_of(rows)],
        "rollout_infos": [dict[str, Any]() for _ in rows],
        "trainer_state": SimpleNamespace(global_step=1, max_steps=100),
    }
    values = desk.listed(label, desk.call(label, fn, columns, args=(completions_of(rows, False),)), len(rows))
    if values and any(v is None for v in values):
        said = "None came back: where every reward of a row is None, ms-swift ranks that row as a 0"
        desk.say("none", WARNING, said, "Keep a reward beside it that always scores.")


# -- verifiers -------------------------------------------------------------------------------------------------------


def _verifiers(desk: Desk) -> None:
    known = {"prompt", "completion", "answer", "state", "info", "task", "parser"}
    plural = {"prompts", "completions", "answers", "states", "infos", "tasks"}
    if not desk.speaks(*known, *plural, "trace", "runtime"):
        through = "assay.adapters.verifiers: rubric(reward, unscored=0.0), or task_reward(reward) for v1"
        desk.say(
            "form", NOTE, f"{desk.shown()} is not in verifiers' own form; it goes in through {through}. Not called"
        )
        return
    names = set(inspect.signature(desk.raw).parameters)
    if names & {"task", "trace", "runtime"}:
        desk.say("form", NOTE, "it is in the form of verifiers v1 (task, trace), which needs its objects: not called")
        return
    label = "Rubric.score_rollout (arguments by name)"
    rest = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(desk.raw).parameters.values())
    lacking = [n for n, p in inspect.signature(desk.raw).parameters.items()
               if n not in known | plural and p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]  # fmt: skip
    if lacking:
        said = f"{desk.shown()} asks for {lacking}, which a Rubric does not hand over"
        desk.say("signature", ERROR, said, f"It knows {', '.join(sorted(known))}; other columns are in info and state.")
        return
    grouped = bool(names & plural)
    single = [_verifiers_row(row) for row in desk.rows]
    if grouped:
        given = {
            f"{key}s": [row[key] for row in single]
            for key in ("prompt", "completion", "answer", "state", "info", "task")
        }
        value = desk.call(label, desk.raw, {k: v for k, v in given.items() if rest or k in names})
        desk.listed(label, value, len(single), none="the group's score fails", nan="it goes into the advantages")
        return
    for row in single:
        value = desk.call(label, desk.raw, {k: v for k, v in row.items() if rest or k in names})
        if value is FAILED:
            desk.say("swallowed", NOTE, "verifiers (v0) turns an exception into 0.0 and a line in the log")
            return
        desk.number(label, value, none="it cannot be weighed (TypeError)", nan="it goes into the advantages")


def _verifiers_row(row: Trajectory) -> dict[str, Any]:
    answer = row.metadata.get("answer", row.ground_truth)
    prompt, completion = prompts_of([row], True)[0], completions_of([row], True)[0]
    info, task = dict(row.metadata), str(row.metadata.get("task", "default"))
    state = {"prompt": prompt, "completion": completion, "answer": answer, "info": info, "task": task, "turn": 1}
    return {**{k: state[k] for k in ("prompt", "completion", "answer", "info", "task")}, "state": state, "parser": None}


# -- Twinkle and tunix -----------------------------------------------------------------------------------------------


def _twinkle(desk: Desk) -> None:
    own = not isinstance(desk.reward, FunctionReward) or desk.speaks("trajectories")
    fn = desk.raw if own else desk.adapted("twinkle.twinkle_reward", unscored=0.0)
    if fn is None:
        return
    rows, label = desk.rows, "a batch of trajectories (dicts with messages and user_data)"
    given = [
        {"messages": [dict(m) for m in row.conversation], "user_data": [("ground_truth", row.ground_truth)]}
        for row in rows
    ]
    nan = "one NaN makes every advantage of its group NaN"
    value = desk.call(label, fn, {}, args=(given, [row.ground_truth for row in rows]))
    desk.listed(label, value, len(rows), none="a tensor of floats is made of it (TypeError)", nan=nan)


def _tunix(desk: Desk) -> None:
    fn = desk.raw if desk.speaks("completions") else desk.adapted("tunix.reward_fn", unscored=0.0)
    if fn is None:
        return
    if is_async(fn):
        desk.say("async", ERROR, "tunix does not await rewards: a coroutine comes back (TypeError)")
        return
    if not getattr(fn, "__name__", ""):
        desk.say("names", ERROR, "tunix reads __name__, and this object has none (AttributeError)", "Set fn.__name__.")
    rows, label = desk.rows, "a batch (prompts and completions are strings, columns are arrays)"
    columns = {name: _array(values) for name, values in desk.columns(rows).items()}
    given = {
        "prompts": prompts_of(rows, False),
        "completions": completions_of(rows, False),
        **columns,
        "trajectory_ids": [str(i) for i in range(len(rows))],
        "mode": "train",
    }
    value = desk.call(label, fn, given)
    desk.listed(label, value, len(rows), none="it counts as 0 in the sum", nan="it counts as 0 in the sum")


def _array(values: list[Any]) -> Any:
    try:
        import numpy
    except ImportError:
        return values
    made = numpy.empty(len(values), dtype=object)
    made[:] = values
    return made


_ALL = (
    Trainer(
        "trl",
        "1.16",
        {
            "a batch": _trl_strings,
            "the other form of data set": _trl_other_form,
            "one rank's slice": _trl_slice,
            "names": _trl_names,
            "AsyncGRPO": _trl_async,
        },
        spawns=True,
    ),
    Trainer("verl", "0.9", {"reward loop": _verl_loop, "batch manager": _verl_batch}, spawns=True),
    Trainer("openrlhf", "0.11", {"reward file": _openrlhf}),
    Trainer("swift", "4.6", {"a batch": _swift}),
    Trainer("verifiers", "0.3", {"rubric": _verifiers}),
    Trainer("twinkle", "0.5", {"a batch": _twinkle}),
    Trainer("tunix", "0.1", {"a batch": _tunix}),
)
TRAINERS = {trainer.name: trainer for trainer in _ALL}
"""Every trainer that `--for` knows."""
