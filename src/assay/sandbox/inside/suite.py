"""In the tester's process: the tests of a pytest or unittest file, and as much of pytest as data sets use.

The real pytest would have to be importable there, rewrites modules and takes a quarter of a second.
"""

from __future__ import annotations

import inspect
import itertools
import re
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

Test = tuple[str, Callable[[], None]]


class Skipped(Exception):
    """A test that says that it does not apply."""


SKIPS = (Skipped, unittest.SkipTest)


class _Raises:
    """`with pytest.raises(ValueError, match="...") as caught:`"""

    def __init__(self, expected: Any, match: str | None) -> None:
        self.expected, self.match = expected, match
        self.value: Any = None
        self.type: Any = None

    def __enter__(self) -> _Raises:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            raise AssertionError("did not raise")
        if not issubclass(kind, self.expected):
            return False
        if self.match is not None and not re.search(self.match, str(error)):
            raise AssertionError("another message")
        self.value, self.type = error, kind
        return True


def _raises(expected: Any, function: Any = None, *arguments: Any, match: str | None = None) -> Any:
    context = _Raises(expected, match)
    if function is None:
        return context
    with context:
        function(*arguments)
    return context


class _Approx:
    """Equal within a tolerance; of plain numbers, and of sequences and mappings of them."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None) -> None:
        self.expected, self.rel, self.abs = expected, rel, abs

    def __eq__(self, got: object) -> bool:
        return self._near(self.expected, got)

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
        tolerance = max(1e-12 if self.abs is None else self.abs, _relative(self.rel, self.abs) * _size(expected))
        return expected == got or _size(expected - got) <= tolerance


_size = abs


def _relative(rel: float | None, absolute: float | None) -> float:
    return rel if rel is not None else 1e-6 if absolute is None else 0.0


class _Mark:
    """`pytest.mark.<anything>`; parametrize and skip mean something, the rest does not matter here."""

    @staticmethod
    def parametrize(names: Any, values: Any, **rest: Any) -> Callable[[Any], Any]:
        keys = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)

        def mark(function: Any) -> Any:
            rows = [dict(zip(keys, row if len(keys) > 1 else (row,), strict=True)) for row in values]
            function.__rows__ = [rows, *getattr(function, "__rows__", [])]
            return function

        return mark

    @staticmethod
    def skip(*args: Any, **rest: Any) -> Any:
        return _skipping(True)

    @staticmethod
    def skipif(condition: Any, **rest: Any) -> Any:
        return _skipping(bool(condition))

    def __getattr__(self, name: str) -> Any:
        def mark(*args: Any, **rest: Any) -> Any:
            return args[0] if len(args) == 1 and callable(args[0]) else _skipping(False)

        return mark


def _skipping(yes: bool) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        function.__skipped__ = yes
        return function

    return mark


def _fixture(function: Any = None, **rest: Any) -> Any:
    def mark(function: Any) -> Any:
        function.__fixture__ = True
        return function

    return mark(function) if function is not None else mark


def _skip(reason: str = "", **rest: Any) -> None:
    raise Skipped(reason)


def _fail(reason: str = "", **rest: Any) -> None:
    raise AssertionError(reason)


def _main(*args: Any, **rest: Any) -> int:
    return 0


def _param(*values: Any, **rest: Any) -> Any:
    return values if len(values) != 1 else values[0]


def stand_in() -> types.ModuleType:
    """The module that the tests get when they import pytest."""
    module = types.ModuleType("pytest")
    module.__dict__.update(
        raises=_raises, approx=_Approx, mark=_Mark(), fixture=_fixture, skip=_skip, fail=_fail,
        main=_main, param=_param,
    )  # fmt: skip
    return module


def collect(names: dict[str, Any], taken: set[str]) -> list[Test]:
    """The tests of a module: its `test*` functions, `Test*` classes and unittest cases, in their order there."""
    found: list[Test] = []
    for name, value in list(names.items()):
        if name in taken:
            continue
        if isinstance(value, types.FunctionType) and name.startswith("test"):
            found += _of_function(name, value, names, None)
        elif isinstance(value, type) and value.__module__ == "tests" and issubclass(value, unittest.TestCase):
            found += _of_case(name, value)
        elif isinstance(value, type) and value.__module__ == "tests" and name.startswith("Test"):
            for method in (m for m in vars(value) if m.startswith("test")):
                found += _of_function(f"{name}.{method}", getattr(value, method), names, value)
    return found


def _of_case(name: str, case: type[unittest.TestCase]) -> Iterator[Test]:
    for method in unittest.defaultTestLoader.getTestCaseNames(case):

        def run(method: str = method) -> None:
            case.setUpClass()
            try:
                case(method).debug()
            finally:
                case.tearDownClass()

        yield f"{name}.{method}", run


def _of_function(name: str, function: Any, names: dict[str, Any], owner: type | None) -> Iterator[Test]:
    for i, rows in enumerate(itertools.product(*getattr(function, "__rows__", [[{}]]))):
        values = {k: v for row in rows for k, v in row.items()}

        def run(values: dict[str, Any] = values) -> None:
            if getattr(function, "__skipped__", False):
                raise Skipped
            with _Fixtures(names) as fixtures:
                bound = [owner()] if owner else []
                if bound and hasattr(bound[0], "setup_method"):
                    bound[0].setup_method()
                parameters = list(inspect.signature(function).parameters)[len(bound) :]
                function(*bound, **{p: values[p] if p in values else fixtures.get(p, bound) for p in parameters})

        yield (f"{name}[{i}]" if values else name), run


class _Fixtures:
    """The fixtures of one test: made when named, ended after it."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.made: dict[str, Any] = {}
        self.open: list[Iterator[Any]] = []

    def __enter__(self) -> _Fixtures:
        return self

    def get(self, name: str, bound: list[Any]) -> Any:
        """The value of a fixture, which may name others."""
        if name in self.made:
            return self.made[name]
        function: Any = self.names.get(name) or (getattr(type(bound[0]), name, None) if bound else None)
        if not getattr(function, "__fixture__", False):
            raise LookupError(f"no fixture {name!r}")
        own = [bound[0]] if bound and name not in self.names else []
        parameters = list(inspect.signature(function).parameters)[len(own) :]
        value = function(*own, **{p: self.get(p, bound) for p in parameters})
        if inspect.isgenerator(value):
            self.open.append(value)
            value = next(value)
        self.made[name] = value
        return value

    def __exit__(self, *error: object) -> None:
        for generator in reversed(self.open):
            next(generator, None)
