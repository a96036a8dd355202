"""In the tester's process: the tests of a pytest or unittest file, found and made ready to run."""

from __future__ import annotations

import inspect
import itertools
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from .pytests import BROUGHT, Skipped, Unknown

Test = tuple[str, Callable[[], None]]


def collect(names: dict[str, Any], taken: set[str]) -> list[Test]:
    """The tests of a module: its `test*` functions, `Test*` classes and unittest cases, in their order there."""
    found: list[Test] = []
    for name, value in list(names.items()):
        if name in taken or getattr(value, "__fixture__", False):
            continue
        if isinstance(value, types.FunctionType) and name.startswith("test"):
            found += _of_function(name, value, names, None)
        elif isinstance(value, type) and value.__module__ == "tests" and issubclass(value, unittest.TestCase):
            found += _of_case(name, value)
        elif isinstance(value, type) and value.__module__ == "tests" and name.startswith("Test"):
            methods = dict.fromkeys(m for kind in reversed(value.__mro__) for m in vars(kind) if m.startswith("test"))
            for method in methods:
                found += _of_function(method, getattr(value, method), names, value)
    return found


def _of_case(name: str, case: type[unittest.TestCase]) -> Iterator[Test]:
    for method in unittest.defaultTestLoader.getTestCaseNames(case):

        def run(method: str = method) -> None:
            case.setUpClass()
            try:
                case(method).debug()
            finally:
                case.tearDownClass()
                case.doClassCleanups()

        yield f"{name}.{method}", run


def _of_function(name: str, function: Any, names: dict[str, Any], owner: type | None) -> Iterator[Test]:
    marked = [function, *([owner] if owner else [])]
    skipped = any(getattr(m, "__skipped__", False) for m in marked)
    tables = [rows for m in marked for rows in getattr(m, "__rows__", [])]
    fixed = _Fixed(names, owner, [n for m in marked for n in getattr(m, "__uses__", ())])
    for rows in itertools.product(*tables):
        values = {k: v for row in rows for k, v in row.items()}
        for chosen in fixed.choices(function, values):

            def run(values: dict[str, Any] = values, chosen: dict[str, Any] = chosen) -> None:
                if skipped:
                    raise Skipped
                _run(name, function, _Fixtures(fixed, chosen, values), owner)

            yield name, run


def _run(name: str, function: Any, fixtures: _Fixtures, owner: type | None) -> None:
    """One test function, between what is to be done before and after it."""
    before = owner() if owner else None
    bound: Any = getattr(before, name) if before is not None else function
    around = [(owner, "class", owner), (before, "method", bound)] if owner else [(None, "function", function)]
    try:
        for target, kind, argument in around:
            _hook(fixtures.fixed.names, target, f"setup_{kind}", argument)
        fixtures.begin(before)
        value = bound(**{p: fixtures.get(p) for p in _parameters(bound)})
        if inspect.iscoroutine(value):
            _awaited(value)
    finally:
        fixtures.end()
        for target, kind, argument in reversed(around):
            _hook(fixtures.fixed.names, target, f"teardown_{kind}", argument)


def _awaited(value: Any) -> Any:
    import asyncio  # not before the forks: it is large, and few need it

    return asyncio.run(value)


def _hook(names: dict[str, Any], target: Any, name: str, argument: Any) -> None:
    """`setup_method(self)` or `setup_method(self, method)` and its like, where there is one."""
    found = getattr(target, name, None) if target is not None else names.get(name)
    if callable(found):
        found(*([argument] if _parameters(found) else []))


def _parameters(function: Any) -> list[str]:
    """The names that a function wants filled; those with a default are left to it."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty]


class _Fixed:
    """The fixtures that there are for the tests of one owner."""

    def __init__(self, names: dict[str, Any], owner: type | None, used: list[str]) -> None:
        self.names = names
        self.found: dict[str, Any] = {}
        own = {k: v for kind in reversed(owner.__mro__) for k, v in vars(kind).items()} if owner else {}
        for name, value in (*names.items(), *own.items()):
            if getattr(value, "__fixture__", False):
                self.found[value.__called__ or name] = value
        self.own = {n for n, f in self.found.items() if f in own.values()}
        self.always = [n for n, f in self.found.items() if f.__autouse__] + used

    def choices(self, function: Any, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """One choice of values for the fixtures that have several."""
        reached: dict[str, Any] = {}
        todo = [*self.always, *inspect.signature(function).parameters]
        while todo:
            name = todo.pop()
            if name in self.found and name not in reached and name not in values:
                reached[name] = self.found[name].__params__
                todo += inspect.signature(self.found[name]).parameters
        several = {name: params for name, params in reached.items() if params}
        for chosen in itertools.product(*several.values()):
            yield dict(zip(several, chosen, strict=True))


class _Fixtures:
    """The fixtures of one test: made when named, ended after it."""

    def __init__(self, fixed: _Fixed, chosen: dict[str, Any], values: dict[str, Any]) -> None:
        self.fixed = fixed
        self.chosen = chosen
        self.made: dict[str, Any] = dict(values)
        self.open: list[Iterator[Any]] = []
        self.bound: Any = None

    def begin(self, bound: Any) -> None:
        """Make those that every test has."""
        self.bound = bound
        for name in self.fixed.always:
            self.get(name)

    def get(self, name: str) -> Any:
        """The value of a fixture, which may name others."""
        if name not in self.made:
            self.made[name] = self._value(name)
        return self.made[name]

    def _value(self, name: str) -> Any:
        function = self.fixed.found.get(name)
        if function is None and name not in BROUGHT:
            raise Unknown(f"the tests ask for a fixture {name!r}, which there is not")
        if function is None:
            return self._opened(BROUGHT[name]())
        own = [self.bound] if name in self.fixed.own else []
        wanted = _parameters(function)[len(own) :]
        request = types.SimpleNamespace(param=self.chosen.get(name), addfinalizer=self._at_the_end)
        return self._opened(function(*own, **{p: request if p == "request" else self.get(p) for p in wanted}))

    def _opened(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            return _awaited(value)
        if not inspect.isgenerator(value):
            return value
        self.open.append(value)
        return next(value)

    def _at_the_end(self, function: Callable[[], Any]) -> None:
        def last() -> Iterator[None]:
            yield
            function()

        self._opened(last())

    def end(self) -> None:
        """End those that were made."""
        while self.open:
            next(self.open.pop(), None)
