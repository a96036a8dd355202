"""Reading a prompt or a program as Python text, without running it."""

from __future__ import annotations

import ast
import functools
import re


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined(text: str) -> frozenset[str]:
    """The functions, classes and variables that a text defines at its top; none where it is no Python."""
    tree = _parsed(text)
    names: set[str] = set()
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return frozenset(names)


def helpers_of(prompt: str, entry_point: str, code: str) -> str:
    """What a prompt that is Python gives beside the function asked for: its imports, and helpers that `code` lacks."""
    if "import" not in prompt and "def " not in prompt and "class " not in prompt:
        return ""
    tree = _parsed(prompt)
    if tree is None:
        return ""
    have = {entry_point, *(defined(code) if code else ())}
    kept = [node for node in tree.body if _is_helper(node, have)]
    return "\n".join(ast.unparse(node) for node in kept)


def _is_helper(node: ast.stmt, have: set[str]) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name not in have and not _is_stub(node)
    return isinstance(node, ast.Assign) and not any(isinstance(t, ast.Name) and t.id in have for t in node.targets)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """A head with nothing but a docstring: it is asked for, not given."""
    return all(isinstance(x, ast.Pass) or (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant)) for x in node.body)


def classes_of(prompt: str) -> list[str]:
    """The classes that a prompt names as what is to be written."""
    return re.findall(r"^\s*class (\w+)", prompt, re.M)[:50]
