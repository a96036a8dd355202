"""Writes the reference: every public name, every built-in reward, every command, as the code has them today.

    python docs/reference.py FOLDER

Nothing of it is kept in the repository, so it cannot be out of date; `make docs` makes it anew.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import itertools
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import assay
from assay.load import builtins

CHAPTERS = {
    "types": "What is scored, and what comes of it",
    "reward": "Rewards of your own",
    "contract": "What a reward declares",
    "engine": "Scoring",
    "compose": "Rewards made of rewards",
    "load": "By name",
    "record": "Runs",
    "advantage": "Advantages",
    "errors": "Errors",
}
"""The chapters of the page on public names, in the order of the data's way. Built-in rewards have their own page."""


def write(folder: Path) -> None:
    """Write the three pages."""
    folder.mkdir(exist_ok=True)
    for name, lines in {"rewards": rewards(), "names": names(), "commands": commands()}.items():
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def rewards() -> Iterator[str]:
    """One chapter a built-in reward."""
    yield "# Built-in rewards\n"
    yield "Each has a short name, for the command line and YAML (`length:target=200`), and a class for Python. The"
    yield "first line says what scores 1 and what scores 0; the last, how it is known to be hacked."
    yield "`assay explain NAME` prints the same.\n"
    homes: dict[str, list[tuple[str, str]]] = {}
    for short, public in sorted(builtins().items()):
        homes.setdefault(assay._HOME_OF[public], []).append((short, public))
    for home, members in sorted(homes.items()):
        for short, public in members:
            cls = getattr(assay, public)
            yield f"## {short}\n"
            yield from _class(cls, public, f"from assay import {public}  # assay.{home}")
            span = cls.contract.range
            where = "anywhere" if span is None else f"in [{span[0]:g}, {span[1]:g}]"
            yield f"Lies {where} unless its parameters say otherwise.\n"


def names() -> Iterator[str]:
    """Every public name that is no built-in reward, by the module it lives in."""
    yield "# Public names\n"
    yield "All of them are imported from `assay` itself. [Built-in rewards](rewards.md) have their own page.\n"
    known = dict(CHAPTERS)
    for home in assay._HOMES:
        known.setdefault(home, "")
    rewards_of = set(builtins().values())
    functions = [n for n in assay.__all__ if assay._HOME_OF.get(n, "").startswith("rewards.") and n not in rewards_of]
    for home, title in known.items():
        if home.startswith("rewards."):
            continue
        yield f"## {title or home}\n"
        for name in assay._HOMES[home]:
            yield from _name(name)
    yield "## Scorers as plain functions\n"
    for name in functions:
        yield from _name(name)
    yield "## Version\n"
    yield "`assay.__version__` is the installed version.\n"


def commands() -> Iterator[str]:
    """One chapter a command, as its options are declared."""
    from typer.main import get_command

    from assay.cli.main import COMMANDS, app

    for name, where in COMMANDS.items():
        module, _, function = where.partition(":")
        app.command(name)(getattr(import_module(f"assay.cli.{module}"), function))
    yield "# Commands\n"
    yield "Every command ends with 0 when it is done; 1 when some rows were not scored or a check did not pass; 2 when"
    yield "it was used wrongly; 130 when it was stopped by Ctrl-C. `--debug` shows the traceback behind an error.\n"
    for name, command in sorted(get_command(app).commands.items()):  # type: ignore[attr-defined]
        yield f"## assay {name}\n"
        yield f"{_text(command.help or '')}\n"
        yield "| | | default |\n|---|---|---|"
        for p in command.params:
            flags = ", ".join(f"`{o}`" for o in [*p.opts, *p.secondary_opts])
            said = flags if p.param_type_name == "option" else f"`{p.name.upper()}`"
            yield f"| {said} | {_cell(getattr(p, 'help', '') or '')} | {_default_of_option(p)} |"
        yield ""


def _default_of_option(p: Any) -> str:
    if p.required:
        return "needed"
    return "" if p.default in (None, False, (), [], "") or callable(p.default) else f"`{p.default}`"


def _name(name: str) -> Iterator[str]:
    thing = getattr(assay, name)
    yield f"### {name}\n"
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        yield from _prose(thing)
        yield "".join(f"- `{member.name}` = `{member.value!r}`\n" for member in thing)
    elif inspect.isclass(thing):
        yield from _class(thing, name, "")
    elif callable(thing) and not typing.get_origin(thing):
        yield f"```python\n{name}{_signature(thing)}\n```\n"
        yield from _prose(thing)
    else:  # an alias of a type: what it means stands under it
        yield f"{_attribute_docs(import_module(f'assay.{assay._HOME_OF[name]}')).get(name, '')}\n"


def _class(cls: type, name: str, call: str) -> Iterator[str]:
    if call:
        yield f"```python\n{call}\n```\n"
    yield from _prose(cls)
    if not issubclass(cls, BaseException):
        yield from _parameters(cls)
        yield from _methods(cls)


def _parameters(cls: type) -> Iterator[str]:
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        docs.update(_attribute_docs(base))
    rows = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if rows:
        yield "| parameter | type | default | |\n|---|---|---|---|"
        for p in rows:
            yield f"| `{p.name}` | {_type(p.annotation)} | {_default(p.default)} | {_cell(docs.get(p.name, ''))} |"
        yield ""


def _methods(cls: type) -> Iterator[str]:
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        doc = inspect.getdoc(function.fget if isinstance(function, property) else function)
        if name.startswith("_") or not doc or not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        signature = "" if isinstance(function, property) else _signature(function)
        yield f"- `{name}{signature}`: {' '.join(doc.split(chr(10) * 2)[0].split())}"
    yield ""


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    shown = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    return str(signature.replace(parameters=shown, return_annotation=signature.empty))


def _prose(thing: Any) -> Iterator[str]:
    """A docstring as Markdown: its examples and indented blocks become blocks of code."""
    doc = inspect.getdoc(thing) or ""
    for paragraph in doc.split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0].strip() in ("Example:", "Examples:"):
            lines = lines[1:]
        text = inspect.cleandoc("\n".join(lines)) if lines and lines[0].startswith("    ") else "\n".join(lines)
        if not text.strip():
            continue
        if text.startswith(">>>") or (lines[0].startswith("    ") and not text.startswith(("-", "*"))):
            yield f"````{'pycon' if text.startswith('>>>') else 'text'}\n{text}\n````\n"
        else:
            yield f"{_text(text)}\n"


def _text(text: str) -> str:
    """As Markdown: what stands outside of backticks is not markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<\[_*#$|])", r"\\\1", part) for part in parts)


def _cell(text: str) -> str:
    return " ".join(_text(text).split()).replace("|", r"\|").replace(r"\\|", r"\|")


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    said = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "`" + said.replace("|", r"\|") + "`"


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "needed"
    if dataclasses.is_dataclass(default) or type(default).__repr__ is object.__repr__:
        return f"`{type(default).__name__}()`" if "factory" not in repr(default) else ""
    said = repr(default).replace("|", r"\|")
    return "" if "factory" in said else f"`{said}`"


def _attribute_docs(owner: Any) -> Mapping[str, str]:
    """The strings that stand under fields and assignments, which Python itself forgets."""
    try:
        tree = ast.parse(
            inspect.cleandoc("\n" + inspect.getsource(owner)) if inspect.isclass(owner) else inspect.getsource(owner)
        )
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if inspect.isclass(owner) else tree.body  # type: ignore[attr-defined]
    docs: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        target = getattr(before, "target", None) or next(iter(getattr(before, "targets", [])), None)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(target, ast.Name):
            docs[target.id] = str(after.value.value)
    return docs


if __name__ == "__main__":
    write(Path(sys.argv[1]))
