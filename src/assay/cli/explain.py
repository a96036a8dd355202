"""`assay explain`: what a reward asserts, which columns it needs, how it is hacked."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from assay.calling import Call
from assay.cli.choices import chosen_reward
from assay.cli.listing import parameters
from assay.compose.flow import Composition
from assay.engine import required_columns
from assay.errors import ConfigError
from assay.load import builtin_class, builtins
from assay.report.terminal import console
from assay.reward import FunctionReward, RewardFunction, call_of


def explain(
    spec: Annotated[list[str], typer.Argument(metavar="SPEC", help="A reward, as for `assay score --reward`.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="weight.NAME=0.5, or a YAML file's key=value."),
    ] = None,
) -> None:
    """Explain a reward: what it asserts, which columns it needs, how it is called, how it is known to be hacked."""
    try:
        reward = chosen_reward(spec, set_ or [])
    except ConfigError as error:
        if spec[0] not in builtins():
            raise
        _explain_class(spec[0], str(error))  # it cannot be made from its name alone, and still be told of
        return
    _explain(reward, 0)


def _explain_class(name: str, lacks: str) -> None:
    cls = builtin_class(name)
    _say(0, f"{name}  ({cls.__name__})", "bold")
    _paragraphs(cls, 1)
    _say(1, lacks)
    _say(1, f"takes: {parameters(cls)}")


def _explain(reward: RewardFunction, depth: int) -> None:
    _say(depth, f"{reward.name}  ({type(reward).__name__})", "bold")
    below = depth + 1
    if isinstance(reward, Composition):
        _paragraphs(reward, below)
        weights = reward.weights(0) if hasattr(reward, "weights") else {}  # pyright: ignore
        for name, child in reward.children.items():
            _say(below, name + (f"  x {weights[name]:g}" if name in weights else ""))
            _explain(child, depth + 2)
        return
    _paragraphs(reward.fn if isinstance(reward, FunctionReward) else reward, below)
    contract, call = reward.contract, call_of(reward)
    needs = required_columns(reward)
    if not isinstance(reward, FunctionReward) and (takes := parameters(type(reward))):
        _say(below, f"takes: {takes}")
    _say(below, f"needs: {', '.join(needs) if needs else 'no column beyond the response'}")
    _say(below, f"called once a {call.per}, {_where(call, contract.timeout, contract.workers)}")
    span = "anywhere" if contract.range is None else f"in [{contract.range[0]:g}, {contract.range[1]:g}]"
    _say(below, f"lies {span}; {'deterministic' if contract.deterministic else 'may differ from call to call'}")


def _paragraphs(thing: object, depth: int) -> None:
    doc = inspect.getdoc(thing) or "(it has no docstring)"
    for paragraph in doc.split("\n\n"):
        if not paragraph.startswith(("Args:", "Example:")) and ">>>" not in paragraph:
            _say(depth, " ".join(paragraph.split()))


def _say(depth: int, text: str, style: str = "") -> None:
    """Print at a depth, with the lines that a narrow terminal breaks off at the same depth."""
    console().print(Padding(Text(text, style), (0, 0, 0, 2 * depth), expand=False))


def _where(call: Call, timeout: float | None, workers: bool) -> str:
    place = "awaited" if call.is_async else "in a worker process" if workers or timeout else "in this process"
    return place + (f", stopped after {timeout:g} s" if timeout else "")
