"""`assay list`: the built-in rewards."""

from __future__ import annotations

import inspect

import assay
from assay.load import builtins
from assay.report.terminal import console


def list_rewards() -> None:
    """List the built-in rewards: what each asserts, and its parameters."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("reward", no_wrap=True)
    table.add_column("what it asserts, and its parameters", overflow="fold")
    for name, public in sorted(builtins().items()):
        cls = getattr(assay, public)
        table.add_row(Text(name, style="bold"), Text(first_line(cls)))
        table.add_row("", Text(parameters(cls), style="dim"))
    console().print(table)


def first_line(cls: type) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def parameters(cls: type) -> str:
    """`target=200, tolerance=50`: a reward's parameters with their defaults."""
    shown: list[str] = []
    for p in inspect.signature(cls).parameters.values():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        plain = p.default is not p.empty and isinstance(p.default, str | int | float | bool | tuple | None.__class__)
        shown.append(f"{p.name}={p.default!r}" if plain else p.name)
    return ", ".join(shown)
