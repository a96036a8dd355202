"""What a reward is, as data: its code and its configuration. Two rewards with one fingerprint score alike.

The code is followed from the reward's own functions through everything of its package that they name; what is
installed beside counts by its version. The configuration is told value by value, so that one can say what changed.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import sys
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, cast

from assay.compose.flow import Composition
from assay.reward import FunctionReward, RewardFunction

_HASH = 16
"""Characters of a hash that are kept."""


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """A reward's code and configuration."""

    code: str
    config: dict[str, Any]
    version: str = ""
    """What the reward declares beside: a model, a prompt, a data file."""

    @property
    def key(self) -> str:
        """One hash of all of it."""
        return digest([self.code, self.config, self.version])

    def as_dict(self) -> dict[str, Any]:
        """For a header."""
        return {"key": self.key, "code": self.code, "config": self.config, "version": self.version}


def fingerprint(reward: RewardFunction) -> Fingerprint:
    """The fingerprint of one reward, without what it is composed of."""
    if isinstance(reward, FunctionReward):
        return Fingerprint(code_of(reward.fn), _of_function(reward.fn), reward.contract.version)
    return Fingerprint(code_of(type(reward)), _configuration(reward), reward.contract.version)


def fingerprints(reward: RewardFunction, path: str = "") -> dict[str, dict[str, Any]]:
    """The fingerprint of a reward and, where it is a composition, of all its parts: path -> fingerprint."""
    found = {path or reward.name: fingerprint(reward).as_dict()}
    if isinstance(reward, Composition):
        for name, child in reward.children.items():
            found.update(fingerprints(child, f"{path or reward.name}/{name}"))
    return found


def what_changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two sets of fingerprints, in words."""
    said = [f"{name} was added" for name in now if name not in before]
    said += [f"{name} is gone" for name in before if name not in now]
    for name in now:
        if name in before and before[name]["key"] != now[name]["key"]:
            said += [f"{name}: {difference}" for difference in _differences(before[name], now[name])]
    return said


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    said = ["its code changed"] if before["code"] != now["code"] else []
    if before["version"] != now["version"]:
        said.append(f"version {before['version']!r} became {now['version']!r}")
    old, new = before["config"], now["config"]
    said += [
        f"{key} {json.dumps(old.get(key))[:60]} became {json.dumps(new.get(key))[:60]}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]
    return said or ["it changed"]


def digest(value: Any) -> str:
    """A short hash of plain data."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


# -- configuration ---------------------------------------------------------------------------------------------------


def _configuration(reward: RewardFunction) -> dict[str, Any]:
    hidden = {"children", "contract", "name", "__name__"}
    parts = isinstance(reward, Composition)  # its parts have fingerprints of their own
    if dataclasses.is_dataclass(reward):
        names: Iterable[str] = [f.name for f in dataclasses.fields(reward)]
    else:
        names = [name for name in getattr(reward, "__dict__", {}) if not name.startswith("_")]
    return {n: describe(getattr(reward, n, None), named=parts) for n in names if n not in hidden}


def _of_function(fn: Any) -> dict[str, Any]:
    """What a function carries beside its code: what it closes over, its fixed arguments, the object it is bound to."""
    if isinstance(fn, functools.partial):
        given = {f"argument {i}": describe(value) for i, value in enumerate(fn.args)}
        return _of_function(fn.func) | given | {str(k): describe(v) for k, v in fn.keywords.items()}
    if isinstance(fn, types.MethodType):
        return {"self": describe(fn.__self__)}
    if isinstance(fn, types.FunctionType):
        return dict(zip(fn.__code__.co_freevars, map(describe, _cells(fn)), strict=False))
    return {"object": describe(fn)}


def describe(value: Any, depth: int = 6, named: bool = False) -> Any:
    """A value as plain data that is the same in every process. Rewards in it whole, or by their names."""
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, Enum)):
        return value
    if depth == 0:
        return type(value).__qualname__
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, PurePath | bytes | complex):
        return str(value)
    if isinstance(value, re.Pattern):
        return f"re:{cast('re.Pattern[Any]', value).pattern}"
    if isinstance(value, Mapping):
        return {str(k): describe(v, depth - 1, named) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [describe(v, depth - 1, named) for v in cast("list[Any]", value)]
    if isinstance(value, set | frozenset):
        return sorted((describe(v, depth - 1, named) for v in cast("set[Any]", value)), key=str)
    return _describe_object(value, depth, named)


def _describe_object(value: Any, depth: int, named: bool) -> Any:
    if isinstance(value, functools.partial):
        return [
            describe(value.func, depth - 1, named),
            describe(value.args, depth - 1, named),
            describe(value.keywords, depth - 1, named),
        ]
    if isinstance(value, types.MethodType):
        return [describe(value.__func__, depth - 1, named), describe(value.__self__, depth - 1, named)]
    if isinstance(value, types.FunctionType):
        cells = [describe(cell, depth - 1, named) for cell in _cells(value)]
        return [value.__qualname__, code_of(value), *([cells] if cells else [])]
    if isinstance(value, type):
        return [value.__qualname__, code_of(value)]
    if isinstance(value, RewardFunction):
        return value.name if named else fingerprint(value).as_dict()
    if dataclasses.is_dataclass(value):
        names: Iterable[str] = [f.name for f in dataclasses.fields(value)]
    elif isinstance(value, Iterable) and not hasattr(value, "__dict__"):
        return type(value).__qualname__
    else:
        names = [n for n in getattr(value, "__dict__", {}) if not n.startswith("_")]
    return {"type": type(value).__qualname__, **{n: describe(getattr(value, n, None), depth - 1, named) for n in names}}


# -- code ------------------------------------------------------------------------------------------------------------


def code_of(obj: Any) -> str:
    """A hash of the code of a function or class, and of what it names in its own package."""
    while isinstance(obj, functools.partial):
        obj = obj.func
    if isinstance(obj, types.MethodType):
        obj = obj.__func__
    if not isinstance(obj, types.FunctionType | type):
        obj = type(obj)
    return _code_of(obj)


@functools.lru_cache(maxsize=1024)
def _code_of(obj: Any) -> str:
    seen: dict[int, Any] = {}
    lines: list[str] = []
    _walk(obj, str(getattr(obj, "__module__", "")).partition(".")[0], seen, lines)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def _walk(obj: Any, package: str, seen: dict[int, Any], lines: list[str]) -> None:
    if id(obj) in seen:
        return
    seen[id(obj)] = obj  # kept, so that an identity is not given out twice
    if isinstance(obj, functools.partial | staticmethod | classmethod | property | functools.cached_property):
        inner = getattr(obj, "func", None) or getattr(obj, "__func__", None) or getattr(obj, "fget", None)
        _walk(inner, package, seen, lines)
    elif isinstance(obj, types.FunctionType):
        lines.append(f"def {obj.__qualname__} {describe_defaults(obj)}")
        _walk_code(obj.__code__, obj.__globals__, package, seen, lines)
        for cell in _cells(obj):
            if isinstance(cell, types.FunctionType | type):
                _walk(cell, package, seen, lines)
    elif isinstance(obj, type):
        _walk_class(obj, package, seen, lines)


_METHODS: Any = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)


def _walk_class(cls: type, package: str, seen: dict[int, Any], lines: list[str]) -> None:
    if cls.__module__.partition(".")[0] != package or cls is RewardFunction:
        lines.append(f"class {cls.__module__}.{cls.__qualname__} {_version(cls.__module__)}")
        return
    lines.append(f"class {cls.__qualname__}")
    for base in cls.__bases__:
        _walk(base, package, seen, lines)
    for name, value in sorted(vars(cls).items()):
        if isinstance(value, _METHODS):
            lines.append(name)
            _walk(value, package, seen, lines)
        elif not name.startswith("__") and isinstance(
            value, str | int | float | bool | tuple | list | dict | re.Pattern
        ):
            lines.append(f"{name} = {describe(value)!r}")


def _walk_code(
    code: types.CodeType, where: Mapping[str, Any], package: str, seen: dict[int, Any], lines: list[str]
) -> None:
    lines.append(code.co_code.hex())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _walk_code(constant, where, package, seen, lines)
        else:
            lines.append(repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant))
    for name in code.co_names:
        lines.append(name)
        value = where.get(name)
        if isinstance(value, types.ModuleType):
            lines.append(f"{value.__name__} {_version(value.__name__)}")
        elif isinstance(value, types.FunctionType | type):
            same = str(value.__module__).partition(".")[0] == package
            lines.append(value.__qualname__) if not same else _walk(value, package, seen, lines)
        elif isinstance(value, str | int | float | bool | tuple | list | dict | set | frozenset | re.Pattern):
            lines.append(repr(describe(value)))


def describe_defaults(fn: types.FunctionType) -> str:
    """A function's default values."""
    return repr([describe(fn.__defaults__), describe(fn.__kwdefaults__)])


def _cells(fn: types.FunctionType) -> list[Any]:
    found: list[Any] = []
    for cell in fn.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return found


def _version(module: str) -> str:
    top = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", "")) if top is not None else ""
