"""In the tester's process: as much of pytest as data sets use, for the tests that import it.

The real pytest would have to be importable there, rewrites modules and takes a quarter of a second.
"""

from __future__ import annotations

import builtins
import io
import os
import re
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

MISSING: Any = object()


class Skipped(Exception):
    """A test that says that it does not apply."""


class Unknown(Exception):
    """The tests ask for what there is not: their fault, or ours, and not the candidate's."""


SKIPS = (Skipped, unittest.SkipTest)


class _Raises:
    """`with pytest.raises(ValueError, match="...") as caught:`"""

    def __init__(self, expected: Any, match: str | None) -> None:
        self.expected, self.wanted = expected, match
        self.value: Any = None
        self.type: Any = None

    def match(self, pattern: str) -> bool:
        """As pytest's: the message holds the pattern, or the test fails."""
        if not re.search(pattern, str(self.value)):
            raise AssertionError("another message")
        return True

    def __enter__(self) -> _Raises:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            raise AssertionError("did not raise")
        if not issubclass(kind, self.expected):
            return False
        self.value, self.type = error, kind
        return self.match(self.wanted) if self.wanted is not None else True


def _raises(expected: Any, function: Any = None, *arguments: Any, match: str | None = None, **named: Any) -> Any:
    context = _Raises(expected, match)
    if function is None:
        return context
    with context:
        function(*arguments, **named)
    return context


class _Approx:
    """Equal within a tolerance; of plain numbers, and of sequences and mappings of them."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None, nan_ok: bool = False) -> None:
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, got: object) -> bool:
        return self._near(_listed(self.expected), _listed(got))

    def _near(self, expected: Any, got: Any) -> bool:
        if isinstance(expected, dict):
            return (
                type(got) is dict
                and got.keys() == expected.keys()
                and all(self._near(v, got[k]) for k, v in expected.items())
            )
        if isinstance(expected, list | tuple):
            return type(got) in (list, tuple) and len(got) == len(expected) and all(map(self._near, expected, got))
        if not isinstance(expected, int | float | complex) or isinstance(expected, bool):
            return bool(expected == got)
        if type(got) not in (int, float, complex):
            return False
        if expected != expected:
            return self.nan_ok and got != got
        if expected == got or _size(expected) == float("inf"):
            return bool(expected == got)
        tolerance = max(1e-12 if self.abs is None else self.abs, _relative(self.rel, self.abs) * _size(expected))
        return _size(expected - got) <= tolerance


_size = abs


def _listed(value: Any) -> Any:
    """An array as lists."""
    return value.tolist() if type(value).__module__.partition(".")[0] == "numpy" else value


def _relative(rel: float | None, absolute: float | None) -> float:
    return rel if rel is not None else 1e-6 if absolute is None else 0.0


class Row(NamedTuple):
    """`pytest.param(1, 2, id="...")`"""

    values: tuple[Any, ...]


class _Mark:
    """`pytest.mark.<anything>`; parametrize, skip and xfail mean something, the rest does not matter here."""

    @staticmethod
    def parametrize(names: Any, values: Any, **rest: Any) -> Callable[[Any], Any]:
        keys = [n.strip() for n in names.split(",") if n.strip()] if isinstance(names, str) else list(names)

        def row(given: Any) -> dict[str, Any]:
            each = given.values if isinstance(given, Row) else given if len(keys) > 1 else (given,)
            return dict(zip(keys, each, strict=True))

        def mark(function: Any) -> Any:
            function.__rows__ = [[row(given) for given in values], *getattr(function, "__rows__", [])]
            return function

        return mark

    @staticmethod
    def skip(*args: Any, **rest: Any) -> Any:
        return _skipping(True)(args[0]) if len(args) == 1 and callable(args[0]) else _skipping(True)

    @staticmethod
    def skipif(condition: Any, **rest: Any) -> Any:
        return _skipping(bool(condition))

    xfail = skip

    @staticmethod
    def usefixtures(*names: str) -> Callable[[Any], Any]:
        def mark(function: Any) -> Any:
            function.__uses__ = (*names, *getattr(function, "__uses__", ()))
            return function

        return mark

    def __getattr__(self, name: str) -> Any:
        def mark(*args: Any, **rest: Any) -> Any:
            return args[0] if len(args) == 1 and callable(args[0]) else _skipping(False)

        return mark


def _skipping(yes: bool) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        if yes:
            function.__skipped__ = True
        return function

    return mark


def _fixture(function: Any = None, *, params: Any = None, autouse: bool = False, name: str = "", **rest: Any) -> Any:
    def mark(function: Any) -> Any:
        function.__fixture__ = True
        function.__autouse__ = autouse
        function.__params__ = [p.values[0] if isinstance(p, Row) else p for p in params] if params else None
        function.__called__ = name
        return function

    return mark(function) if function is not None else mark


def _skip(reason: str = "", **rest: Any) -> None:
    raise Skipped(reason)


def _fail(reason: str = "", **rest: Any) -> None:
    raise AssertionError(reason)


def _main(*args: Any, **rest: Any) -> int:
    return 0


def _param(*values: Any, **rest: Any) -> Row:
    return Row(values)


def _importorskip(name: str, *args: Any, **rest: Any) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise Skipped(name) from None


def stand_in() -> types.ModuleType:
    """The module that the tests get when they import pytest."""
    module = types.ModuleType("pytest")
    module.__dict__.update(
        raises=_raises, approx=_Approx, mark=_Mark(), fixture=_fixture, skip=_skip, fail=_fail, xfail=_skip,
        main=_main, param=_param, importorskip=_importorskip, MonkeyPatch=MonkeyPatch,
    )  # fmt: skip
    return module


# -- the fixtures that pytest brings --


class Captured(NamedTuple):
    """What was printed since the last time it was asked."""

    out: str
    err: str


class _Capture:
    """`capsys`: what is printed, also by the candidate."""

    def __init__(self) -> None:
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()

    def readouterr(self) -> Captured:
        """What was printed since the last time."""
        said = Captured(sys.stdout.getvalue(), sys.stderr.getvalue())  # type: ignore[attr-defined]
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        return said


class MonkeyPatch:
    """`monkeypatch`: what is set is set back when the test is over."""

    def __init__(self) -> None:
        self.undone: list[Callable[[], Any]] = []

    def setattr(self, target: Any, name: Any, value: Any = MISSING, raising: bool = True) -> None:
        """As pytest's: of an object, or by a dotted name."""
        if value is MISSING:
            path, value = str(target), name
            owner, _, name = path.rpartition(".")
            target = builtins if owner == "builtins" else sys if owner == "sys" else __import__(owner, fromlist=["_"])
        former = getattr(target, name, MISSING)
        self.undone.append(lambda: delattr(target, name) if former is MISSING else setattr(target, name, former))
        setattr(target, name, value)

    def setitem(self, mapping: Any, key: Any, value: Any) -> None:
        """As pytest's."""
        former = mapping.get(key, MISSING)
        self.undone.append(lambda: mapping.pop(key) if former is MISSING else mapping.update({key: former}))
        mapping[key] = value

    def setenv(self, name: str, value: str) -> None:
        """As pytest's; the candidate's environment is another."""
        self.setitem(os.environ, name, str(value))

    def undo(self) -> None:
        """Set everything back."""
        while self.undone:
            self.undone.pop()()


def _capsys() -> Iterator[Any]:
    former = sys.stdout, sys.stderr
    try:
        yield _Capture()
    finally:
        sys.stdout, sys.stderr = former


def _monkeypatch() -> Iterator[Any]:
    patch = MonkeyPatch()
    yield patch
    patch.undo()


BROUGHT: dict[str, Callable[[], Iterator[Any]]] = {"capsys": _capsys, "capfd": _capsys, "monkeypatch": _monkeypatch}
