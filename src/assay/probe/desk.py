"""Where a reward is called as a trainer calls it: the call, what may come back, and what to say where it does not."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from assay.contract import Per, name_of
from assay.engine import leaves
from assay.engine.boundary import Boundary
from assay.probe.rule import Finding, Severity, finding
from assay.reward import FunctionReward, RewardFunction, call_of
from assay.types import Trajectory, text_of

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
FAILED = object()
"""What a call gives that raised: it has been told."""


@dataclass
class Desk:
    """One reward at one trainer's counter: `call` it, look at what came back, `say` what is wrong."""

    trainer: str
    reward: RewardFunction
    rows: list[Trajectory]
    findings: list[Finding] = field(default_factory=list[Finding])

    def say(self, what: str, severity: Severity, message: str, fix: str = "") -> None:
        """Tell something: each kind of trouble once."""
        told = finding(f"{self.trainer}/{what}", severity, message, fix)
        if all(told.id != other.id for other in self.findings):
            self.findings.append(told)

    @property
    def raw(self) -> Any:
        """What the author wrote: the function itself, or the reward."""
        return self.reward.fn if isinstance(self.reward, FunctionReward) else self.reward

    def speaks(self, *names: str) -> bool:
        """Whether the author's own function names one of these parameters."""
        return isinstance(self.reward, FunctionReward) and bool(set(names) & set(_parameters(self.raw)))

    def adapted(self, adapter: str, **options: Any) -> Any:
        """The reward behind `assay.adapters.<adapter>`; None, and told, where it refuses."""
        module, _, name = adapter.rpartition(".")
        try:
            make = getattr(import_module(f"assay.adapters.{module}"), name)
            adapted = make(self.reward, **options)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            self.say("adapter", ERROR, f"{self.trainer} cannot call it as it is, and assay.adapters.{adapter}: {error}")
            return None
        given = ", ".join(["reward", *(f"{key}={value!r}" for key, value in options.items())])
        self.say(
            "form",
            NOTE,
            f"{self.shown()} is not in {self.trainer}'s own form; what follows is of assay.adapters.{adapter}({given})",
        )
        return adapted

    def shown(self) -> str:
        """The author's function with its parameters, for a message."""
        return f"{name_of(self.raw)}({', '.join(_parameters(self.raw))})"

    def call(
        self, label: str, fn: Any, kwargs: Mapping[str, Any], *, args: Sequence[Any] = (), off_main: bool = False
    ) -> Any:
        """Call it just so; FAILED, and told, where the arguments do not fit or it raises."""
        if problem := _unbound(fn, args, kwargs):
            given = ", ".join([*(f"<{i + 1}>" for i in range(len(args))), *kwargs])
            self.say("signature", ERROR, f"{self.trainer} calls it with ({given}): {problem}", _signature_fix(problem))
            return FAILED
        value, before = FAILED, _looks(kwargs, args)
        with (boundary := Boundary()):
            value = _in_thread(fn, args, kwargs, boundary) if off_main else fn(*args, **kwargs)
            value = asyncio.run(_settled(value)) if inspect.isawaitable(value) else value
        if value is FAILED:
            where = " (off the main thread, as it is called there)" if off_main else ""
            said = f"{label}{where}: {type(boundary.error).__name__}: {str(boundary.error)[:300]}"
            self.say("raises", ERROR, said)
        if changed := [name for name, look in _looks(kwargs, args).items() if look != before[name]]:
            said = (
                f"it changes the {', '.join(changed)} that {self.trainer} hands over, which the next reward reads too"
            )
            self.say("mutation", ERROR, said, "Copy what you change.")
        return value

    def listed(self, label: str, value: Any, size: int, *, none: str = "", nan: str = "") -> list[Any] | None:
        """Read what a batch call gave, a number for each row; `none` and `nan` say what the trainer makes of those."""
        if value is FAILED:
            return None
        values = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            self.say("returns", ERROR, f"{label}: needed a list of {size} numbers, found {type(value).__name__}")
            return None
        listed = list(cast("Sequence[Any]", values))
        if len(listed) != size:
            fix = "Return one reward for each completion that was given, in their order."
            self.say("length", ERROR, f"{label}: {size} completions gave {len(listed)} rewards", fix)
            return None
        for each in listed:
            self.number(label, each, none=none, nan=nan)
        return listed

    def number(self, label: str, value: Any, *, none: str = "", nan: str = "") -> None:
        """Read one reward."""
        if value is None:
            if none:
                self.say("none", ERROR, f"{label}: None came back, and {none}")
        elif isinstance(value, bool | int | float) or (hasattr(value, "__float__") and not isinstance(value, str)):
            number = float(value)
            if math.isinf(number):
                self.say("inf", ERROR, f"{label}: {number} came back: its whole group loses its advantage", "Clip it.")
            elif math.isnan(number) and nan:
                self.say("nan", ERROR, f"{label}: NaN came back, and {nan}")
        else:
            fix = "Return floats; details belong into log_extra, or a RewardOutput behind an adapter."
            self.say("returns", ERROR, f"{label}: needed a number, found {type(value).__name__} {value!r:.60}", fix)

    # -- what a data set's columns are --

    def columns(self, rows: Sequence[Trajectory]) -> dict[str, list[Any]]:
        """The data set's columns, a list each."""
        names = dict.fromkeys(name for row in rows for name in row.metadata)
        columns = {name: [row.metadata.get(name) for row in rows] for name in names}
        if any(row.ground_truth is not None for row in rows):
            columns["ground_truth"] = [row.ground_truth for row in rows]
        return columns

    def collisions(self, taken: Mapping[str, str]) -> None:
        """Columns whose names the trainer uses itself."""
        for name in self.columns(self.rows):
            if name in taken:
                self.say(
                    "column", ERROR, f"the data set's column {name!r} {taken[name]}", f"Rename it: --rename {name}=..."
                )


def prompts_of(rows: Sequence[Trajectory], messages: bool) -> list[Any]:
    """Prompts as strings, or as the messages before the completion."""
    if not messages:
        return [row.prompt for row in rows]
    return [list(row.conversation[: len(row.conversation) - len(row.completion)]) for row in rows]


def completions_of(rows: Sequence[Trajectory], messages: bool) -> list[Any]:
    """Completions as strings, or as the messages that the policy wrote."""
    if not messages:
        return [row.response for row in rows]
    return [[{"role": str(m.get("role")), "content": text_of(m)} for m in row.completion] for row in rows]


def ids_of(rows: Sequence[Trajectory]) -> list[list[int]]:
    """Token ids for each completion: the rows' own, or as many as there are bytes."""
    return [list(row.tokens.ids) if row.tokens else list(row.response.encode("utf-8", "replace")) for row in rows]


async def _settled(value: Any) -> Any:
    return await value


def _in_thread(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], boundary: Boundary) -> Any:
    box: list[Any] = []

    def work() -> None:
        with boundary:
            box.append(fn(*args, **kwargs))

    thread = threading.Thread(target=work, name="trainer", daemon=True)
    thread.start()
    thread.join()
    return box[0] if box else FAILED


def _parameters(fn: Any) -> list[str]:
    try:
        named = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    marks = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    return [marks.get(p.kind, "") + p.name for p in named]


def _looks(kwargs: Mapping[str, Any], args: Sequence[Any]) -> dict[str, str]:
    """What each argument looks like; the trainer's own state is its own affair."""
    named = {**{f"argument {i + 1}": value for i, value in enumerate(args)}, **kwargs}
    return {name: repr(value) for name, value in named.items() if name != "trainer_state"}


def _unbound(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Why these arguments do not fit; empty where they do, or nobody can know."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _signature_fix(problem: str) -> str:
    if "unexpected keyword" in problem:
        return "Take **kwargs: a trainer hands over every column of the data set, and names of its own."
    if "missing a required" in problem:
        return "It needs a column that the data set does not have: add it, or rename one."
    return ""


def needs_groups(reward: RewardFunction) -> bool:
    """Whether some part of the reward must see all responses to a prompt together."""
    return any(call_of(leaf).per is Per.GROUP for leaf in leaves(reward))
