"""`assay view`: the page of a Run in a browser, live while the Run grows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.choices import estimator_of


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A Run: what `assay score -o` wrote, or is writing.")],
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="Anything but loopback is served with a token only.")] = "127.0.0.1",
    estimator: Annotated[str, typer.Option(help="The advantage in use: grpo, dr_grpo, rloo or gdpo.")] = "grpo",
    correctness: Annotated[
        str | None, typer.Option(help="The component that says what is right; guessed by name where not given.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Where human labels go. Default: RUN.labels.jsonl")] = None,
    cases: Annotated[
        Path | None, typer.Option(help="Where cases go that are made into tests. Default: RUN.cases.jsonl")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Look at a Run in the browser: the same page as `assay report`, for any number of rows, live while it grows."""
    from assay.analyze.source import Source
    from assay.serve.growing import Growing
    from assay.serve.view import Viewer

    growing = Growing(Source(run), estimator_of(estimator), correctness)
    viewer = Viewer(growing, host, port, labels, cases)
    print(f"{viewer.url}  (Ctrl-C stops)", flush=True)
    if not viewer.loopback:
        print("assay: whoever has this address can read the Run", file=sys.stderr)
    if browser and viewer.loopback:
        import webbrowser

        webbrowser.open(viewer.url)
    viewer.serve()
