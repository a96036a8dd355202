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


def defines(code: str, name: str) -> bool:
    """Whether a program seems to define a name at its top: cheap, and a guess that only decides what is put
    before it.
    """
    return re.search(rf"^(async +def|def|class) +{re.escape(name)}\b|^{re.escape(name)}\s*[:=]", code, re.M) is not None


@functools.lru_cache(maxsize=1024)
def _helpers(prompt: str, entry_point: str) -> tuple[tuple[str, str], ...]:
    tree = _parsed(prompt)
    return tuple((_named(n), ast.unparse(n)) for n in tree.body if _is_helper(n, entry_point)) if tree else ()


def helpers_of(prompt: str, entry_point: str, code: str) -> str:
    """What a prompt that is Python gives beside the function asked for: its imports, and helpers that `code` lacks."""
    if "import" not in prompt and "def " not in prompt and "class " not in prompt:
        return ""
    found = _helpers(prompt, entry_point)
    return "\n".join(source for name, source in found if not name or not defines(code, name))


def _named(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    return ""


def _is_helper(node: ast.stmt, entry_point: str) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name != entry_point and not _is_stub(node)
    return isinstance(node, ast.Assign)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """A head with nothing but a docstring: it is asked for, not given."""
    return all(
        isinstance(x, ast.Pass) or (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant)) for x in node.body
    )


def classes_of(prompt: str) -> list[str]:
    """The classes that a prompt names as what is to be written."""
    return re.findall(r"^\s*class (\w+)", prompt, re.M)[:50]
