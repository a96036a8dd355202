"""What is sent to worker processes, and whether it can be sent at all: asked before any work starts.

What another process can import by name is pickled. A function or class that lives only in this process (written in a
notebook, in the script that runs, or inside a function) is not: for it the nursery is forked from this process.
What no other process can use (a lock, an open file, a connection) is an error that names the attribute.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import io
import json
import os
import pickle
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assay.errors import ConfigError

_DEPTH = 5
"""How deep the attribute that cannot be sent is looked for."""
_TABLES = (list, tuple, dict, set, frozenset)
_MOST_TOLD = 1000
"""Items of a global list or table that are looked at; a larger one is told apart by what object it is."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rewards, packed for a worker process."""

    key: str
    """The same for the same rewards with the same configuration."""
    payload: bytes | None
    """None: something in it lives only in this process."""
    modules: dict[str, str]
    """Modules that no path leads to, and the files they came from."""
    objects: tuple[Any, ...]
    """The rewards themselves, for a nursery that is forked from here."""
    kept: tuple[Any, ...]
    """Functions and classes that were named: held, so that their identity stays theirs while the key is used."""


def pack(objects: Sequence[Any], names: Sequence[str], inherit: bool = False) -> Parcel:
    """Pack rewards, or say which attribute of which one cannot be sent, and what to do about it.

    `inherit`: what cannot be sent is taken along as it is, by a nursery that is forked from this process.
    """
    file = io.BytesIO()
    packer = _Packer(file)
    try:
        packer.dump(tuple(objects))
    except Exception as error:
        if inherit:
            return Parcel(repr([id(o) for o in objects]), None, {}, tuple(objects), tuple(objects))
        raise _cannot_be_sent(objects, names, error) from error
    data = file.getvalue()
    told = repr(([id(o) for o in packer.named], packer.globals)).encode("utf-8", "backslashreplace")
    key = hashlib.sha256(data + told).hexdigest()
    return Parcel(key, None if packer.local else data, packer.modules, tuple(objects), tuple(packer.named))


def can_be_sent(obj: Any) -> bool:
    """Whether this can be pickled, functions that live only here aside."""
    try:
        _Packer(io.BytesIO()).dump(obj)
    except Exception:  # noqa: BLE001  (as in `pack`)
        return False
    return True


def write(parcel: Parcel, factory: str) -> bytes:
    """The bytes that a nursery reads: a line of JSON, then the pickled rewards."""
    head = json.dumps({"modules": parcel.modules, "factory": factory})
    return head.encode() + b"\n" + (parcel.payload or b"")


def unpack(fd: int) -> Callable[[bytes, int], bytes]:
    """Read in a nursery what `write` wrote: the handler that runs the rewards."""
    with open(fd, "rb") as file:
        file.seek(0)
        head, data = json.loads(file.readline()), file.read()
    for name, path in head["modules"].items():
        _load(name, path)
    return resolve(head["factory"])(pickle.loads(data))  # noqa: S301  (our own parent wrote it)


def resolve(name: str) -> Callable[..., Any]:
    """The function that `module:name` names."""
    module, _, attribute = name.partition(":")
    return cast("Callable[..., Any]", getattr(importlib.import_module(module), attribute))


class _Packer(pickle.Pickler):
    """Pickles, and notes which functions and classes are named and which of them no other process could find."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.local = False
        self.modules: dict[str, str] = {}
        self.named: list[Any] = []
        self.globals: list[tuple[str, str]] = []

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, types.FunctionType | type):
            return NotImplemented
        module = str(getattr(obj, "__module__", ""))
        if _found(module, obj):
            where = _importable(module)
            if where is not None:
                self.named.append(obj)
                if where:
                    self.modules[module] = where
                return NotImplemented
        self.local = True
        self.named.append(obj)
        held: tuple[Any, ...] = ()
        if isinstance(obj, types.FunctionType):  # what it closes over goes the same way, so that it is looked at too
            held = (obj.__defaults__, obj.__kwdefaults__, *_cells(obj))
            self._note_globals(obj)
        return _stand_in, (obj.__qualname__, held)

    def _note_globals(self, fn: types.FunctionType) -> None:
        """What a function that lives here names: a notebook's next cell may change it, and workers have the old one."""
        for name in _names_in(fn.__code__):
            value = fn.__globals__.get(name)
            if value is None or isinstance(value, bool | int | float | str | bytes):
                self.globals.append((name, repr(value)))
            elif (
                isinstance(value, list | tuple | dict | set | frozenset) and len(cast("list[Any]", value)) <= _MOST_TOLD
            ):
                self.globals.append((name, _told(value)))
            elif isinstance(value, types.FunctionType) and value.__globals__ is fn.__globals__:
                if not any(value is known for known in self.named):
                    self.named.append(value)
                    self._note_globals(value)
            elif not isinstance(value, types.ModuleType | type):
                self.named.append(value)  # told apart by its identity


def _told(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001  (something in it cannot say what it is)
        return f"{id(value)}: {type(error).__name__}"


def _names_in(code: types.CodeType) -> list[str]:
    inner = [name for c in code.co_consts if isinstance(c, types.CodeType) for name in _names_in(c)]
    return [*code.co_names, *inner]


def _stand_in(name: str, held: tuple[Any, ...]) -> str:
    """Only ever written, never read: a parcel with a function that lives here is not sent."""
    return name


def _cells(fn: types.FunctionType) -> list[Any]:
    found: list[Any] = []
    for cell in fn.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # an empty cell
            continue
    return found


def _found(module: str, obj: Any) -> bool:
    """Whether the name leads to this very object."""
    found: Any = sys.modules.get(module)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def _importable(name: str) -> str | None:
    """How another process finds a module: "" by its name, a path by its file, None not at all."""
    if name in ("__main__", "__mp_main__"):
        return None
    top = name.partition(".")[0]
    loaded = sys.modules.get(top)
    spec = getattr(loaded, "__spec__", None)
    if top in sys.builtin_module_names or getattr(spec, "origin", None) == "frozen":
        return ""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is not None and (other := find(top, None)) is not None:
            if spec is None or other.origin == spec.origin:
                return ""
            break
    file = getattr(sys.modules[name], "__file__", None)
    return os.path.abspath(file) if file and file.endswith(".py") and os.path.exists(file) else None


def _load(name: str, path: str) -> None:
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))  # its own neighbours, as where it was loaded first
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)


def _cannot_be_sent(objects: Sequence[Any], names: Sequence[str], error: Exception) -> ConfigError:
    for obj, name in zip(objects, names, strict=True):
        if not can_be_sent(obj):
            path, value = _culprit(obj, "", _DEPTH)
            what = f"its attribute {path!r} is a {type(value).__name__}" if path else f"it is a {type(obj).__name__}"
            return ConfigError(
                f"reward {name!r} runs in worker processes, and needs to be sent to them; {what}, which cannot be "
                f"({error}). Make it in the method that uses it, at its first use, or leave it out in __getstate__; "
                f"or run the reward in this process: Engine(workers=0)."
            )
    return ConfigError(f"the rewards {', '.join(names)} cannot be sent to worker processes: {error}")


def _culprit(obj: Any, path: str, depth: int) -> tuple[str, Any]:
    """The innermost attribute that cannot be pickled."""
    for name, value in _parts(obj) if depth else ():
        if not can_be_sent(value):
            return _culprit(value, f"{path}.{name}" if path else name, depth - 1)
    return path, obj


def _parts(obj: Any) -> list[tuple[str, Any]]:
    if isinstance(obj, types.FunctionType):
        names = obj.__code__.co_freevars
        return list(zip(names, _cells(obj), strict=False))
    if isinstance(obj, dict):
        return [(str(k), v) for k, v in cast("dict[Any, Any]", obj).items()]
    if isinstance(obj, list | tuple):
        return [(str(i), v) for i, v in enumerate(cast("list[Any]", obj))]
    return list(vars(obj).items()) if hasattr(obj, "__dict__") else []
