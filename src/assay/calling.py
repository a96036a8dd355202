"""How a reward is called, decided by its parameter names: the one table of them.

    def short(response): ...                        once a trajectory
    def exact(completions, solution, **kwargs): ... once a batch (a plural name), columns as lists
    def best(group): ...                            once a prompt's group

So TRL's, verl's, OpenRLHF's, Agent-Tunix's, Twinkle's and Flux's functions all come in as they stand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.contract import Contract, Per, is_async, name_of
from assay.errors import ConfigError, MissingColumn, did_you_mean
from assay.types import Trajectory


def _query(t: Trajectory) -> str:
    return t.prompt + t.response


def _trl_completion(t: Trajectory) -> Any:
    return list(t.completion) if t.messages else t.response


def _trl_prompt(t: Trajectory) -> Any:
    return list(t.messages[: len(t.messages) - len(t.completion)]) if t.messages else t.prompt


ARGUMENTS: dict[str, Callable[[Trajectory], Any]] = {
    "trajectory": lambda t: t,
    "response": lambda t: t.response,
    "prompt": lambda t: t.prompt,
    "messages": lambda t: t.conversation,
    "completion": lambda t: t.completion,
    "ground_truth": lambda t: t.ground_truth,
    "metadata": lambda t: t.metadata,
    "tokens": lambda t: t.tokens,
    # the same things as other trainers call them
    "solution_str": lambda t: t.response,  # verl
    "extra_info": lambda t: t.metadata.get("extra_info", t.metadata),  # verl
    "data_source": lambda t: t.metadata.get("data_source", ""),  # verl
    "query": _query,  # OpenRLHF
    "label": lambda t: t.metadata.get("label", t.ground_truth),  # OpenRLHF
    # what people call the trajectory when it is the only thing they take
    "t": lambda t: t,
    "traj": lambda t: t,
    "sample": lambda t: t,
    "rollout": lambda t: t,
    "row": lambda t: t,
}
"""The one table of argument names: what each is filled with. Any other name is a column of the row."""

PLURALS: dict[str, Callable[[Trajectory], Any]] = {
    "trajectories": ARGUMENTS["trajectory"],
    "responses": ARGUMENTS["response"],
    "ground_truths": ARGUMENTS["ground_truth"],
    "prompts": _trl_prompt,  # strings, or messages where the rows had messages: TRL's own rule
    "completions": _trl_completion,
    "completion_ids": lambda t: list(t.tokens.ids) if t.tokens else [],
    "queries": _query,
    "labels": ARGUMENTS["label"],
    "solution_strs": ARGUMENTS["response"],
    "extra_infos": ARGUMENTS["extra_info"],
    "data_sources": ARGUMENTS["data_source"],
    "metadatas": ARGUMENTS["metadata"],
}
"""Plural names: the function is called once a batch and gets a list."""

_ONLY_READ = frozenset({"response", "prompt", "solution_str", "data_source", "query", "responses", "queries", "step"})
"""Names that are filled with strings or numbers."""

_NOT_SAID = frozenset({"prompt", "prompts", "ground_truth", "ground_truths", "metadata", "metadatas", "label", "labels",
                       "extra_info", "extra_infos", "data_source", "data_sources"})  # fmt: skip
"""Names that are filled without a look at what came back."""

CONTEXT = ("step", "trainer_state", "log_extra", "log_metric")
"""Names that come from the call and not from the row: the training step and TRL's helpers."""


@dataclass(frozen=True, slots=True)
class Call:
    """How one reward is called: read once from its signature."""

    fn: Callable[..., Any]
    per: Per
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rest: bool = False
    is_async: bool = False
    plain: bool = False
    """The one argument is the trajectory, or the list of them: nothing to look up."""
    rename: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def lends(self) -> bool:
        """Whether the function is handed something of the row that it could write into."""
        sources = {self.rename.get(p, p) for p in (*self.required, *self.optional)}
        return self.plain or self.rest or not sources <= _ONLY_READ

    @property
    def reads_response(self) -> bool:
        """Whether the function is handed what came back, by itself or in a trajectory."""
        sources = {self.rename.get(p, p) for p in (*self.required, *self.optional)}
        return self.plain or bool(sources & ({*ARGUMENTS, *PLURALS, "group"} - _NOT_SAID))

    def columns(self) -> list[str]:
        """The columns that the function cannot do without, as its required parameters name them."""
        sources = [self.rename.get(p, p) for p in self.required]
        known = (*ARGUMENTS, *PLURALS, *CONTEXT, "group")
        gold = ["ground_truth"] if {"ground_truth", "ground_truths"} & set(sources) else []
        return gold + [s for s in sources if s not in known]


def read_signature(fn: Callable[..., Any], contract: Contract) -> Call:
    """Read from a function's parameter names how it is to be called."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        raise ConfigError(f"{fn!r} has no readable signature. Wrap it: def my_reward(response): ...") from None
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
    rename = dict(contract.rename)
    for p in named:
        if p.annotation in (Trajectory, "Trajectory"):
            rename.setdefault(p.name, "trajectory")
    if not named:
        raise ConfigError(
            f"{name_of(fn)} names no parameter, so nothing says what it takes. Name what it needs: "
            f"def my_reward(response, ground_truth): ..."
        )
    sources = {rename.get(p.name, p.name) for p in named}
    per = contract.per or (
        Per.GROUP if "group" in sources else Per.BATCH if sources & PLURALS.keys() else Per.TRAJECTORY
    )
    return Call(
        fn,
        per,
        required=tuple(p.name for p in named if p.default is p.empty),
        optional=tuple(p.name for p in named if p.default is not p.empty),
        rest=rest,
        is_async=is_async(fn),
        plain=per is Per.TRAJECTORY and [rename.get(p.name, p.name) for p in named] == ["trajectory"] and not rest,
        rename=rename,
    )


def arguments(call: Call, name: str, batch: Sequence[Trajectory], context: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of one call for these trajectories."""
    take = _taker(call, name, batch, context)
    found: dict[str, Any] = {}
    for parameter in call.required:
        found[parameter] = take(call.rename.get(parameter, parameter))
    for parameter in call.optional:
        source = call.rename.get(parameter, parameter)
        if source in ARGUMENTS or source in PLURALS or context.get(source) is not None or source in batch[0].metadata:
            found[parameter] = take(source)
    if call.rest:
        used = {call.rename.get(p, p) for p in found}
        for column in batch[0].metadata:
            if column not in used and column not in found and all(column in t.metadata for t in batch):
                found[column] = take(column)
    return found


def _taker(call: Call, name: str, batch: Sequence[Trajectory], context: Mapping[str, Any]) -> Callable[[str], Any]:
    single = call.per is Per.TRAJECTORY

    def take(source: str) -> Any:
        if source == "group":
            return list(batch) if call.per is Per.GROUP else batch[0].group_id
        if source in CONTEXT:
            return context.get(source)
        if call.per is not Per.TRAJECTORY and (plural := PLURALS.get(source)):
            return [plural(t) for t in batch]
        if get := ARGUMENTS.get(source):
            # in a group call a singular name is the group's own: its prompt, its ground truth
            return get(batch[0]) if single or call.per is Per.GROUP else [get(t) for t in batch]
        values = [_column(t, source, name) for t in batch]
        return values[0] if single else values

    return take


def _column(t: Trajectory, column: str, name: str) -> Any:
    try:
        return t.metadata[column]
    except KeyError:
        raise missing_column(name, column, t, parameter=True) from None


ALIASES = {
    "ground_truth": ("solution", "answer", "label", "target", "reference", "gold", "expected", "final_answer"),
    "response": ("completion", "output", "generation", "generated_text", "text", "prediction", "answer"),
    "prompt": ("question", "query", "problem", "instruction", "input"),
}
"""What other data sets call these columns: for the hint in an error, never for a guess."""


def missing_column(name: str, column: str, row: Mapping[str, Any], parameter: bool = False) -> MissingColumn:
    """The error for a column that a reward needs, perhaps as a function's parameter, and the row does not have."""
    derived = isinstance(row, Trajectory) and not row.messages  # its messages are made from prompt and response
    unseen = ("metadata", "messages") if derived else ("metadata",)
    has = [key for key in row if key not in unseen and row[key] not in (None, "", ())]
    near = [a for a in ALIASES.get(column, ()) if a in has]
    hint = f" Rename it: --rename {near[0]}={column}" if near else did_you_mean(column, has)
    advice = (
        f" No row fills a parameter of that name: call it response, prompt, ground_truth, metadata or trajectory, or "
        f"add the column {column!r}."
        if parameter
        else f" Add the column {column!r}, or rename one."
    )
    return MissingColumn(f"reward {name!r} needs {column!r}; the row has {has}.{hint or advice}")
