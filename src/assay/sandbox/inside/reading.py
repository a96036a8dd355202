"""In the tester's process: what the text of the tests says of the names that they use."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

OURS = ("math", "cmath", "collections", "itertools", "functools", "copy", "typing", "decimal", "fractions", "datetime")
"""Modules whose public names the tests get from here when they do not import them: a comparison such as `isclose` must
not be the candidate's. What the task itself names is the candidate's all the same."""
SHORT = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "sp": "scipy"}
ELSEWHERE = frozenset({"numpy", "pandas", "scipy", "sympy", "sklearn", "matplotlib", "networkx", "requests", "torch"})
"""Packages that everybody knows: where one is not here, that is no reason to ask the candidate for it."""
PLAIN = frozenset({int, str, type(None), float, bool, bytes, ast.Load, ast.Store})
"""What is found at every turn of a tree and is no node that anybody asks for."""
OF_VALUES = frozenset(
    name for kind in (str, bytes, list, tuple, dict, set, int, float, complex) for name in dir(kind) if name[0] != "_"
) | {"all", "any", "dtype", "item", "mean", "shape", "size", "sum", "tolist"}
"""Attributes of plain values and of arrays: to read one says nothing of what a name stands for."""


class Reading:
    """The names that the tests use, read from their text."""

    def __init__(self, trees: list[ast.Module]) -> None:
        self.nodes = _every_node(trees)
        self.top = [node for tree in trees for node in _at_the_top(tree.body)]

    def free(self) -> set[str]:
        """The names that are read somewhere and bound nowhere at the top."""
        read: set[str] = set()
        bound: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        for node in self.top:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bound.add(node.name)
            elif isinstance(node, ast.Import):
                bound |= {(a.asname or a.name).partition(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                bound |= {a.asname or a.name for a in node.names}
                if node.names[0].name == "*" and node.module and is_known(node.module):
                    bound |= _public(node.module)
        return read - bound

    def foreign_modules(self) -> dict[str, set[str]]:
        """The modules that the tests import and nobody has, which stand for the solution; what is taken of them."""
        found: dict[str, set[str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module and not is_known(node.module):
                found.setdefault(node.module, set()).update(a.name for a in node.names if a.name != "*")
            elif isinstance(node, ast.Import):
                for alias in (a for a in node.names if not is_known(a.name)):
                    name = alias.asname or alias.name
                    uses = (n for n in self.nodes if isinstance(n, ast.Attribute))
                    attributes = {n.attr for n in uses if isinstance(n.value, ast.Name) and n.value.id == name}
                    found.setdefault(alias.name, set()).update(attributes)
        return found

    def classes(self, entry: str) -> set[str]:
        """The names that the tests use as only a class is used: `Stack().push`, `Point.origin`, a base, an operand
        beside another of its kind.

        A name in capitals proves nothing: `Find_Max(xs)` is a function, and what it returns must answer for nothing.
        """
        found: set[str] = set()
        literal: set[str] = set()
        holds = self._variables(entry)
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
                found.add(node.value.id if isinstance(node.value, ast.Name) else "")
                if node.attr not in OF_VALUES:
                    found.add(_called(node.value) or holds.get(ast.unparse(node.value), ""))
            elif isinstance(node, ast.ClassDef):
                found |= {base.id for base in node.bases if isinstance(base, ast.Name)}
            elif isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass"):
                found |= {n.id for a in node.args[1:] for n in ast.walk(a) if isinstance(n, ast.Name)}
            elif isinstance(node, ast.withitem):
                found.add(_called(node.context_expr))
            elif isinstance(node, ast.Compare):
                sides = [_operands(side) for side in (node.left, *node.comparators)]
                found |= set.intersection(*sides)
                within = any(isinstance(o, ast.In | ast.NotIn) for o in node.ops)  # `P(1) in [P(1), P(2)]`
                plain = any(not isinstance(side, ast.Call | ast.BinOp | ast.Name) for side in node.comparators)
                plain = plain and not within
                literal |= set.union(*sides) if plain else set()
        direct = {_called(n.left) for n in self.nodes if isinstance(n, ast.Compare)} & literal
        return (found | ({entry} if "candidate" in found else set())) - {""} - (direct - _attributes(self.nodes))

    def _variables(self, entry: str) -> dict[str, str]:
        """Which variable, or fixture, holds a call of which name: {'s': 'Stack', 'self.s': 'Stack'}"""
        held: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign) and len(names := _operands(node.value)) == 1:
                held |= {ast.unparse(target): name for target in node.targets for name in names}
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                held[ast.unparse(node.optional_vars)] = _called(node.context_expr)
            elif isinstance(node, ast.FunctionDef):
                given = [
                    n.value for n in ast.walk(node) if isinstance(n, ast.Return | ast.Yield) and n.value is not None
                ]
                held[node.name] = next((name for value in given if (name := _called(value))), "")
        return {variable: entry if name == "candidate" else name for variable, name in held.items()}


def _every_node(trees: list[ast.Module]) -> list[ast.AST]:
    """As `ast.walk` gives them, in a third of its time; but for the contexts, which say nothing here."""
    found: list[ast.AST] = list(trees)
    for node in found:  # it grows while it is read
        for value in vars(node).values():
            kind = type(value)
            if kind is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif kind not in PLAIN and isinstance(value, ast.AST):
                found.append(value)
    return found


def _attributes(nodes: list[ast.AST]) -> set[str]:
    """The names of which an attribute is read: no function is used so."""
    read = (n.value for n in nodes if isinstance(n, ast.Attribute) and not n.attr.startswith("__"))
    return {value.id for value in read if isinstance(value, ast.Name)}


def _at_the_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those under `if`, `try` and `with`."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _at_the_top(node.body)
            yield from _at_the_top(getattr(node, "orelse", []))
            yield from _at_the_top(getattr(node, "finalbody", []))
            for handler in getattr(node, "handlers", []):
                yield from _at_the_top(handler.body)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _called(node: ast.expr) -> str:
    """The name that an expression calls; empty where it is no such call."""
    return _name(node.func) if isinstance(node, ast.Call) else ""


def _operands(node: ast.expr) -> set[str]:
    """The names that an operation calls for its operands."""
    if isinstance(node, ast.BinOp):
        return _operands(node.left) | _operands(node.right)
    if isinstance(node, ast.UnaryOp):
        return _operands(node.operand)
    return {_called(node)} - {""}


@functools.cache
def _public(module: str) -> set[str]:
    try:
        made = importlib.import_module(module)
    except ImportError:
        return set()
    return set(getattr(made, "__all__", [name for name in vars(made) if not name.startswith("_")]))


def is_known(name: str) -> bool:
    """Whether a module is somebody else's than the solution's."""
    top = name.partition(".")[0]
    if top in sys.modules or top in sys.stdlib_module_names or top in ELSEWHERE:
        return top not in ("solution", "tests")
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def our_own(name: str) -> Any:
    """What a name means that the tests use without importing it: a module, or a well-known function of one."""
    module = SHORT.get(name, name)
    if module in sys.stdlib_module_names or module in SHORT.values() or module == "pytest":
        try:
            return importlib.import_module(module)
        except ImportError:
            return None
    for owner in OURS:
        if name in _public(owner):
            return getattr(importlib.import_module(owner), name)
    return None
