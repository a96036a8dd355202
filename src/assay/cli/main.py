"""`assay`: the command and its sub-commands.

Exit codes: 0 done; 1 some rows were not scored, or a check did not pass; 2 wrong use; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
import traceback

import typer

from assay.cli.explain import explain
from assay.cli.inspect import inspect
from assay.cli.listing import list_rewards
from assay.cli.report import report
from assay.cli.score import score
from assay.cli.view import view
from assay.errors import AssayError, UsageError

app = typer.Typer(
    name="assay",
    help="The reward layer of RL post-training: score rollouts, see what was paid for what, attack it, train on it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(score)
app.command("list")(list_rewards)
app.command()(explain)
app.command()(inspect)
app.command()(report)
app.command()(view)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if show:
        from assay import __version__

        print(__version__)
        raise typer.Exit


def main(argv: list[str] | None = None) -> None:
    """Run the command: an error of use is one line, and a traceback only with --debug."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    try:
        app(args=[word for word in words if word != "--debug"], prog_name="assay")
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away (| head); there is nobody to tell
        sys.exit(0)
    except AssayError as error:
        if debug:
            traceback.print_exc()
        print(f"assay: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)


if __name__ == "__main__":
    main()
