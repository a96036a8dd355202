"""What a reward is, as data: its code and its configuration. Two rewards with one fingerprint score alike.

The code is followed from the reward's own functions through everything that they name of its package and of the files
beside it; what is installed counts by its version. (A module that is first imported inside a function is not followed.)
The configuration is told value by value, so that one can say what changed.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import sys
import threading
import types
from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, cast

from assay.compose.flow import Composition
from assay.returned import is_authors_own
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
    if obj in _reading.now:  # what it names leads back to it
        return str(obj.__qualname__)
    # read from within another's code, a hash may leave that other out: it is not one to remember
    # and in a notebook or script the next line may change what the code names
    fixed = not _reading.now and getattr(obj, "__module__", "") not in ("__main__", "__mp_main__")
    read = _code_of if fixed else _code_of.__wrapped__
    _reading.now.append(obj)
    try:
        return read(obj)
    finally:
        _reading.now.pop()


class _Reading(threading.local):
    def __init__(self) -> None:
        self.now: list[Any] = []


_reading = _Reading()


@functools.lru_cache(maxsize=1024)
def _code_of(obj: Any) -> str:
    walk = _Walk(str(getattr(obj, "__module__", "")).partition(".")[0])
    walk.add(obj)
    lines = walk.lines_of_all()
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


_METHODS: Any = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)
_PLAIN: Any = (str, int, float, bool, tuple, list, dict, set, frozenset, re.Pattern)
_NAMED: Any = (types.FunctionType, type, *_PLAIN)


class _Walk:
    """The functions and classes of a package, and of an author's other files, that something leads to, one after
    another; no call is as deep as it."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.seen: dict[int, Any] = {}  # the objects themselves are kept, so that an identity is not given out twice
        self.todo: deque[Any] = deque()
        self.lines: list[str] = []

    def add(self, obj: Any) -> None:
        """Read this too, if it was not read yet."""
        if id(obj) not in self.seen:
            self.seen[id(obj)] = obj
            self.todo.append(obj)

    def lines_of_all(self) -> list[str]:
        """What the code says, line for line, in the order in which it is met."""
        while self.todo:
            obj = self.todo.popleft()
            if isinstance(obj, functools.partial | staticmethod | classmethod | property | functools.cached_property):
                inner = getattr(obj, "func", None) or getattr(obj, "__func__", None) or getattr(obj, "fget", None)
                self.add(inner)
            elif isinstance(obj, types.FunctionType):
                self._function(obj)
            elif isinstance(obj, type):
                self._class(obj)
        return self.lines

    def _function(self, fn: types.FunctionType) -> None:
        self.lines.append(f"def {fn.__qualname__} {describe_defaults(fn)}")
        self._code(fn.__code__, fn.__globals__)
        for cell in _cells(fn):
            if isinstance(cell, types.FunctionType | type):
                self.add(cell)

    def _class(self, cls: type) -> None:
        if not self._follows(cls.__module__) or cls is RewardFunction:
            self.lines.append(f"class {cls.__module__}.{cls.__qualname__} {_version(cls.__module__)}")
            return
        self.lines.append(f"class {cls.__qualname__}")
        for base in cls.__bases__:
            self.add(base)
        for name, value in sorted(vars(cls).items()):
            if isinstance(value, _METHODS):
                self.lines.append(name)
                self.add(value)
            elif not name.startswith("__") and isinstance(value, _PLAIN):
                self.lines.append(f"{name} = {self._told(value, 6)!r}")

    def _code(self, code: types.CodeType, where: Mapping[str, Any]) -> None:
        self.lines.append(code.co_code.hex())
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, where)
            else:
                self.lines.append(repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant))
        for name in code.co_names:
            self.lines.append(name)
            self._global(where.get(name), code.co_names, ())

    def _global(self, value: Any, names: Iterable[str], within: tuple[types.ModuleType, ...]) -> None:
        """What a name of the code stands for; of a module that is followed, what these names stand for in it."""
        if isinstance(value, types.ModuleType):
            self.lines.append(f"{value.__name__} {_version(value.__name__)}")
            if value not in within and self._follows(value.__name__):
                for name in names:
                    self._global(vars(value).get(name), names, (*within, value))
        elif isinstance(value, functools.partial):
            self._global(value.func, names, within)
            self.lines.append(repr(describe([value.args, value.keywords])))
        elif isinstance(value, _NAMED):
            self.lines.append(repr(self._told(value, 6)))
        elif value is not None and self._follows(type(value).__module__):
            # an object of the author's own: a table of settings
            self.add(type(value))
            self.lines.append(repr(describe(value)))

    def _follows(self, module: Any) -> bool:
        """Whether the code of a module is read, and not only its version."""
        if str(module).partition(".")[0] == self.package:
            return True
        file = getattr(sys.modules.get(str(module)), "__file__", None)
        return bool(file) and is_authors_own(str(file))

    def _told(self, value: Any, depth: int) -> Any:
        """A value that code names. Functions in it by name, and read in their turn: a table may lead back to itself."""
        if isinstance(value, types.FunctionType | type):
            if self._follows(value.__module__):
                self.add(value)
            return value.__qualname__
        if depth and isinstance(value, Mapping):
            return {str(k): self._told(v, depth - 1) for k, v in cast("Mapping[Any, Any]", value).items()}
        if depth and isinstance(value, list | tuple):
            return [self._told(v, depth - 1) for v in cast("list[Any]", value)]
        return describe(value, depth)


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
