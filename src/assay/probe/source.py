"""What a reward's source shows without running it: exceptions that become numbers, alarms, code run in this process.

The function or class itself is read, what its decorators put around it, and what it calls in its own module.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.probe.rule import Finding, Severity, finding

MOST = 40
"""How many functions and classes of a module are followed from one reward."""
_BROAD = frozenset({"Exception", "BaseException"})
_SCORES = frozenset({"score", "reward", "rewards", "scores", "value"})
_RUNS_TEXT = {"exec": "exec", "eval": "eval", "sympify": "sympify, which evaluates,", "parse_expr": "parse_expr"}


def source_lints(thing: Any) -> Iterator[Finding]:
    """What the source of a function, a class or a callable object shows."""
    told: set[str] = set()
    for source in _sources(thing):
        for found in source.lints():
            if found.id not in told:
                told.add(found.id)
                yield found


# -- what belongs to it ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """One function or class, parsed."""

    tree: ast.Module
    first: int
    """The line of its file that it starts on."""

    def lints(self) -> Iterator[Finding]:
        for scope in ast.walk(self.tree):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from self._swallowed(scope)
        for node in ast.walk(self.tree):
            line = self.first + getattr(node, "lineno", 1) - 1
            if isinstance(node, ast.Attribute) and node.attr in ("alarm", "setitimer", "SIGALRM"):
                said = f"line {line}: signal.{node.attr} works on the main thread only; trainers call from others"
                yield finding("lint/alarm", Severity.ERROR, said, "Declare Contract(timeout=...) instead.", key="alarm")
            if isinstance(node, ast.Call) and (runs := _RUNS_TEXT.get(_called(node))) and not _is_method(node):
                said = f"line {line}: {runs} in this process: a response can run code in the trainer"
                fix = "Run it in a sandbox: assay.CodeReward does."
                yield finding("lint/exec", Severity.ERROR, said, fix, key=_called(node))

    def _swallowed(self, scope: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
        for node, value in _Swallows(scope).found():
            line = self.first + node.lineno - 1
            said = f"line {line}: any exception becomes {value}, so a broken grader looks like a wrong answer"
            fix = "Let it raise (the row is then not scored, with the reason), or catch the one that you expect."
            yield finding("lint/swallowed-exception", Severity.ERROR, said, fix, key=f"{scope.name}:{value}")


def _sources(thing: Any) -> Iterator[_Source]:
    """The source of a thing, and of what it uses of its own module."""
    todo, seen = _unwrapped(thing), set[int]()
    module = next((m for t in todo if (m := getattr(t, "__module__", ""))), "")
    if module.startswith("assay."):
        return  # our own are held to it by their tests, and read deliberately by their tests
    while todo and len(seen) < MOST:
        each = todo.pop(0)
        if id(each) in seen or getattr(each, "__module__", "") != module:
            continue
        seen.add(id(each))
        if (source := _parsed(each)) is not None:
            yield source
            todo += [other for used in _used(each, source.tree) for other in _unwrapped(used)]


def _unwrapped(thing: Any) -> list[Any]:
    """The functions and classes that a thing is made of: behind partials, bound methods and decorators."""
    found: list[Any] = []
    while isinstance(thing, functools.partial):
        thing = thing.func
    if inspect.ismethod(thing):  # the object may hold more than the method
        found.append(type(thing.__self__) if not inspect.isclass(thing.__self__) else thing.__self__)
        thing = thing.__func__
    if not (inspect.isfunction(thing) or inspect.isclass(thing)):
        return [*found, *([] if isinstance(thing, types.BuiltinFunctionType) else [type(thing)])]
    found.append(thing)
    wrapped = getattr(thing, "__wrapped__", None)
    return found + (_unwrapped(wrapped) if wrapped is not None and wrapped is not thing else [])


def _parsed(thing: Any) -> _Source | None:
    try:
        # a function's code, for inspect would look through a decorator to what it wraps
        lines, first = inspect.getsourcelines(thing.__code__ if inspect.isfunction(thing) else thing)
        return _Source(ast.parse(textwrap.dedent("".join(lines))), first)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None


def _used(thing: Any, tree: ast.Module) -> Iterator[Any]:
    """The functions and classes that it names, and those that it closes over."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    scope = thing.__globals__ if inspect.isfunction(thing) else vars(sys.modules.get(thing.__module__, object))
    if inspect.isclass(thing):
        yield from (base for base in thing.__mro__[1:])
    else:
        yield from (c for c in inspect.getclosurevars(thing).nonlocals.values() if callable(c))
    for name in sorted(names):
        value = scope.get(name)
        if inspect.isfunction(value) or inspect.isclass(value) or isinstance(value, functools.partial):
            yield value


# -- exceptions that become numbers ----------------------------------------------------------------------------------


class _Swallows:
    """Where one function puts a number in the place of any exception at all."""

    def __init__(self, scope: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.scope = scope
        self.nodes = [*_own_nodes(scope)]
        self.defaults = self._defaults()
        self.given = {n.id for node in self.nodes if _gives(node) for n in ast.walk(node) if isinstance(n, ast.Name)}

    def found(self) -> Iterator[tuple[ast.ExceptHandler | ast.With, str]]:
        """The handlers, each with the number."""
        for node in self.nodes:
            if isinstance(node, ast.Try):
                for handler in node.handlers:
                    if _is_broad(handler.type) and (value := self._instead(handler.body, node)):
                        yield handler, value
            elif isinstance(node, ast.With) and any(map(_suppresses, node.items)) and (value := self._after(node)):
                yield node, value

    def _defaults(self) -> dict[str, str]:
        """Names that are a number until something else is put there."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and (number := self._number(node.value, found)):
                for name in (t.id for t in _targets(node) if isinstance(t, ast.Name)):
                    found.setdefault(name, number)
        return found

    def _instead(self, body: list[ast.stmt], node: ast.Try) -> str:
        """What a handler gives in the place of what was asked for; empty where it raises, or gives None."""
        inside = [n for statement in body for n in (statement, *_own_nodes(statement))]
        if any(isinstance(n, ast.Raise) for n in inside):
            return ""
        for n in inside:
            if _gives(n):
                return self._number(_given(n), self.defaults)
            if isinstance(n, ast.Assign | ast.AnnAssign):
                matters = any(not isinstance(t, ast.Name) or t.id in self.given for t in _targets(n))
                if matters and (number := self._number(n.value, {})):
                    return number
        return "" if any(isinstance(n, ast.Continue | ast.Break) for n in inside) else self._after(node)

    def _after(self, node: ast.Try | ast.With) -> str:
        """What the function goes on to give where the block came to nothing."""
        meant = {
            t.id for s in node.body for t in ast.walk(s) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
        }
        following = [n for n in self.nodes if getattr(n, "lineno", 0) > (node.end_lineno or 0) and _gives(n)]
        if not following:
            return ""
        value = _given(min(following, key=lambda n: getattr(n, "lineno", 0)))
        names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} if value is not None else set[str]()
        return self._number(value, self.defaults if not names or names & meant else {})

    def _number(self, value: ast.expr | None, names: dict[str, str]) -> str:
        """The number that an expression puts as a reward, as it is written; empty where it is none."""
        match value:
            case ast.Constant(value=bool() | int() | float()):
                return ast.unparse(value)
            case ast.UnaryOp(operand=ast.Constant(value=int() | float())):
                return ast.unparse(value)
            case ast.Name(id=name):
                return names.get(name, "")
            case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]) | ast.ListComp(elt=first):
                return self._number(first, names)
            case ast.BinOp(left=ast.List() as many, op=ast.Mult()):
                return self._number(many, names)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                scores = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value in _SCORES]
                return next((n for v in scores if (n := self._number(v, names))), "")
            case ast.Call(args=arguments, keywords=keywords):
                scores = [*arguments[:1], *(k.value for k in keywords if k.arg in _SCORES)]
                return next((n for v in scores if (n := self._number(v, names))), "")
            case _:
                return ""


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function and not in a function within it, in the order of the source."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield node
            yield from _own_nodes(node)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _gives(node: ast.AST) -> bool:
    """Whether a value leaves the function here: it is returned, yielded, or put on a list."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "append" and bool(node.args)
    return isinstance(node, ast.Return | ast.Yield)


def _given(node: ast.AST) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) else getattr(node, "value", None)


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return caught is None or any(getattr(n, "id", getattr(n, "attr", "")) in _BROAD for n in names)


def _suppresses(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and _called(call) == "suppress" and any(map(_is_broad, call.args))


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "id", getattr(node.func, "attr", "")))


def _is_method(node: ast.Call) -> bool:
    """`model.eval()` is none of the built-in; `sympy.sympify(text)` is."""
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("exec", "eval")
