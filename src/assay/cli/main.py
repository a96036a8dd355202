"""`assay`: the command and its sub-commands.

Exit codes: 0 done; 1 some rows were not scored, or a check did not pass; 2 wrong use; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import errno
import sys
import traceback
from importlib import import_module

import typer

from assay.cli.encoding import plain_where_needed
from assay.errors import AssayError, UsageError

COMMANDS = {
    "score": "score:score",
    "list": "listing:list_rewards",
    "explain": "explain:explain",
    "reweigh": "reweigh:reweigh",
    "rescore": "rescore:rescore",
    "inspect": "inspect:inspect",
    "report": "report:report",
    "view": "view:view",
    "compare": "compare:compare",
    "differ": "differ:differ",
    "check": "check:check",
    "plan": "plan:plan",
    "train": "train:train",
    "serve": "serve:serve",
    "train-rm": "train_rm:train_rm",
    "eval-rm": "eval_rm:eval_rm",
    "calibrate": "calibrate:calibrate",
}
"""Sub-command -> the function in this folder that it is. A call imports its own command only."""

PANELS = {
    "Score": ("score", "list", "explain", "reweigh", "rescore"),
    "See": ("inspect", "report", "view", "compare", "differ"),
    "Attack and plan": ("check", "plan"),
    "Train and serve": ("train", "serve"),
    "Judges and reward models": ("train-rm", "eval-rm", "calibrate"),
}
"""How the help groups them."""

app = typer.Typer(
    name="assay",
    help="The reward layer of RL post-training: score rollouts, see what was paid for what, attack it, train on it.",
    epilog="Begin with: assay list, then assay score rollouts.jsonl --reward math",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show the whole traceback of an error; goes anywhere."),
) -> None:
    if show:
        from assay import __version__

        print(__version__)
        raise typer.Exit


def main(argv: list[str] | None = None) -> None:
    """Run the command: an error of use is one line, and a traceback only with --debug."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    called = next((word for word in words if word in COMMANDS), None)
    needed = [called] if called else [] if words[:1] == ["--version"] else list(COMMANDS)
    for name in needed:
        module, _, function = COMMANDS[name].partition(":")
        panel = next((panel for panel, names in PANELS.items() if name in names), None)
        app.command(name, rich_help_panel=panel)(getattr(import_module(f"assay.cli.{module}"), function))
    plain_where_needed(sys.stdout, sys.stderr)
    try:
        app(args=[word for word in words if word != "--debug"], prog_name="assay")
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away (| head); there is nobody to tell
        sys.exit(0)
    except OSError as error:  # a folder that is not ours, a full disk: the system's own words say it
        if debug:
            traceback.print_exc()
        print(f"assay: {_said(error)} (--debug shows where)", file=sys.stderr)
        sys.exit(2)
    except AssayError as error:
        if debug:
            traceback.print_exc()
        print(f"assay: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)


def _said(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    full = " Make room; a run of assay score goes on with --resume." if error.errno == errno.ENOSPC else ""
    return f"{where}{error.strerror or error}.{full}"


if __name__ == "__main__":
    main()
