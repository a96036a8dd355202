"""OpenAI reinforcement fine-tuning: a reward as a Python grader, which runs on their side.

    grader = python_grader(my_function)      # {"type": "python", "source": "...", "image_tag": "..."}

There is no Assay there, so what can be expressed is a plain function; what it uses from around it goes along: modules,
functions of its own file, plain constants, compiled patterns. A class, a closure, a model, anything of Assay's is
refused with the reason. What is not scored is an error there (the sample is dropped and counted), and no 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from assay.adapters.travel import with_needs
from assay.calling import ARGUMENTS, CONTEXT, PLURALS
from assay.errors import ConfigError
from assay.reward import FunctionReward, as_reward

IMAGE = "2025-05-08"
LARGEST = 256 * 1024
"""Bytes of source that the service takes."""

_SAMPLE = {"response": 'sample["output_text"]', "solution_str": 'sample["output_text"]', "metadata": "item"}
_ITEM = {"prompt": "prompt", "ground_truth": "ground_truth"}


def python_grader(reward: Any) -> dict[str, str]:
    """The grader's JSON, or a `ConfigError` that says why there can be none."""
    made = as_reward(reward)
    fn = made.fn if isinstance(made, FunctionReward) else None
    if fn is None or not inspect.isfunction(fn):
        raise ConfigError(
            f"reward {made.name!r} cannot run at OpenAI: needed a plain function whose source stands by itself; found "
            f"{type(made).__name__}. Write its rule as a function, or serve it and use an endpoint grader."
        )
    source = "\n\n".join(with_needs(fn, {}).values())
    grade = f"def grade(sample, item):\n    value = {fn.__name__}({_arguments(fn)})\n{_TAIL}"
    whole = f"{source}\n\n{grade}"
    if len(whole.encode()) > LARGEST:
        raise ConfigError(f"the grader's source has {len(whole.encode())} bytes; OpenAI takes {LARGEST}.")
    return {"type": "python", "name": made.name, "source": whole, "image_tag": IMAGE}


_TAIL = """\
    if isinstance(value, dict):
        value = value["score"]
    if value is None:
        raise ValueError("not scored")
    return float(value)
"""


def _arguments(fn: Callable[..., Any]) -> str:
    given: list[str] = []
    for name, parameter in inspect.signature(fn).parameters.items():
        if name in _SAMPLE:
            given.append(f"{name}={_SAMPLE[name]}")
        elif name in _ITEM or name not in (*ARGUMENTS, *PLURALS, *CONTEXT, "group"):
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            key = repr(_ITEM.get(name, name))
            needed = parameter.default is parameter.empty
            given.append(f"{name}=item[{key}]" if needed else f"{name}=item.get({key}, {parameter.default!r})")
        elif parameter.default is parameter.empty:
            raise ConfigError(
                f"{fn.__name__} asks for {name!r}, which OpenAI's grader does not have: it has the response, the "
                f"prompt, the ground truth and the item's columns."
            )
    return ", ".join(given)
