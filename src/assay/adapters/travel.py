"""What of a function can travel as source: itself, and what it uses from around it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from assay.errors import ConfigError

THERE = ("numpy", "scipy", "sympy", "pandas", "rapidfuzz", "sklearn", "rouge_score", "deepdiff", "pydantic", "yaml")
"""Packages that the image of OpenAI's graders has, besides the standard library."""


def with_needs(fn: Callable[..., Any], known: dict[str, str]) -> dict[str, str]:
    """The lines that define a function and all that it uses from around it, by name, in an order that runs."""
    if fn.__name__ == "<lambda>":
        raise ConfigError("a lambda has no source of its own; give it a name with def.")
    if inspect.iscoroutinefunction(fn):
        raise ConfigError(f"{fn.__name__} is async; OpenAI's grader has no network and no event loop.")
    known[fn.__name__] = ""  # seen: two functions may call each other
    if fn.__code__.co_freevars:
        raise _stays(fn, ", ".join(fn.__code__.co_freevars), "a closure's own")
    for name in _globals_of(fn):
        if name not in known:
            known |= _defined(fn, name, fn.__globals__[name], known)
    known[fn.__name__] = known.pop(fn.__name__) or _source(fn)
    return known


def _defined(fn: Callable[..., Any], name: str, value: Any, known: dict[str, str]) -> dict[str, str]:
    if inspect.ismodule(value):
        if value.__name__.split(".")[0] not in (*sys.stdlib_module_names, *THERE):
            raise _stays(fn, name, f"the module {value.__name__}, which is not installed there")
        return {name: f"import {value.__name__} as {name}"}
    if inspect.isfunction(value) and value.__module__ == fn.__module__ and value.__name__ == name:
        return with_needs(value, known)
    origin = getattr(value, "__module__", "")
    if getattr(value, "__name__", "") == name and str(origin).split(".")[0] in sys.stdlib_module_names:
        return {name: f"from {origin} import {name}"}
    if isinstance(value, re.Pattern):
        return {name: f"import re\n{name} = re.compile({value.pattern!r}, {value.flags})"}
    try:
        if ast.literal_eval(repr(value)) == value:
            return {name: f"{name} = {value!r}"}
    except (ValueError, SyntaxError):
        pass
    raise _stays(fn, name, f"a {type(value).__name__}")


def _stays(fn: Callable[..., Any], name: str, what: str) -> ConfigError:
    return ConfigError(
        f"{fn.__name__} uses {name} from around it ({what}), which does not travel. What does: modules of the standard "
        f"library and {', '.join(THERE)}; functions of its own file; plain constants; compiled patterns."
    )


def _source(fn: Callable[..., Any]) -> str:
    """The function's own source, without what may not be there: decorators and annotations."""
    try:
        source = textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        raise ConfigError(f"the source of {fn.__name__} cannot be read; write it in a file.") from None
    tree = ast.parse(source)
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise ConfigError(f"needed one def; found {type(found).__name__} for {fn.__name__}.")
    found.decorator_list, found.returns = [], None
    for argument in (*found.args.args, *found.args.kwonlyargs):
        argument.annotation = None  # it may name what is not there
    for default in (*found.args.defaults, *found.args.kw_defaults):
        if default is not None and not isinstance(default, ast.Constant):
            raise ConfigError(f"a default of {fn.__name__} is no plain constant: {ast.unparse(default)}.")
    return ast.unparse(tree)


def _globals_of(fn: Callable[..., Any]) -> list[str]:
    """Global names that the function, or a function inside it, reads."""
    found: list[str] = []
    codes = [fn.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if inspect.iscode(c)]
        found += [n for n in code.co_names if n in fn.__globals__ and n not in found]
    return found
