"""In the candidate's process: its code, run as a program over stdin and stdout, or called with inputs.

Nothing here is worth attacking: all that this process holds is the code and the inputs, and all that it can write is a
claim about outputs, which the trainer compares.
"""

from __future__ import annotations

import atexit
import builtins
import io
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable
from os import write
from time import perf_counter
from typing import Any

from . import wire
from .channel import read_all
from .entry import find, give_judges_names, spelled_out
from .pytests import stand_in

QUICK = 0.002  # tests that take less together share one mark: a mark wakes the supervisor
MANY = 500  # after so many marks the stretches become twice as long: there is an end to what a supervisor reads
FILE = "solution.py"


def standard_streams() -> None:
    """Streams over the descriptors 0, 1 and 2, whatever these will be: made before the forks, which is cheaper."""

    def text(raw: Any, **how: Any) -> io.TextIOWrapper:
        return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", **how)

    sys.stdin = sys.__stdin__ = text(io.BufferedReader(io.FileIO(0, "r", closefd=False)))  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = text(io.BufferedWriter(io.FileIO(1, "w", closefd=False), 1 << 16))  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = text(io.FileIO(2, "w", closefd=False), write_through=True)  # type: ignore[misc]
    for stream, mode in ((sys.stdin, "r"), (sys.stdout, "w"), (sys.stderr, "w")):
        stream.mode = mode  # type: ignore[misc]  # as the interpreter's own have it: wrappers for fast input ask
    sys.argv = [FILE]
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]


def namespace(name: str) -> dict[str, Any]:
    """A fresh module's namespace. `__main__` runs what stands under `if __name__ == "__main__"`."""
    module = types.ModuleType(name)
    module.__dict__.update(__builtins__=builtins, __file__=FILE)
    sys.modules[name] = module
    return module.__dict__


def execute(sources: list[str], names: dict[str, Any]) -> None:
    """Run the sources one after the other in one namespace."""
    for source in sources:
        if "class Solution" in source:
            give_judges_names(names)
        give_modules(source)
        exec(compile(source, FILE, "exec", dont_inherit=True), names)


def give_modules(source: str) -> None:
    """What a program imports that is not here, or does not work here as it is: pytest, for tests that it brings along,
    and locks of `multiprocessing`, which are files: as there are only threads, those of `threading` do as well.
    """
    if "pytest" in source:
        sys.modules.setdefault("pytest", stand_in())
    if "multiprocessing" in source:
        import multiprocessing.context  # not before the forks: it is large, and few need it

        for name in ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"):
            setattr(multiprocessing.context.BaseContext, name, staticmethod(getattr(threading, name)))
            setattr(multiprocessing, name, getattr(threading, name))


def run_stdio(descriptors: dict[str, int], job_fd: int) -> None:
    """Run a program: what it prints is on descriptor 1. Ends the process."""
    job = wire.loads(read_all(job_fd))
    code = 0
    try:
        execute(job["sources"], namespace("__main__"))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        code = 1
        _say(lambda: traceback.print_exc(limit=-4))
    for last in (_wait_for_threads, atexit._run_exitfuncs, sys.stdout.flush):  # type: ignore[attr-defined]
        try:
            last()
        except BaseException:
            code = code or 1
    os._exit(code & 255)


def _wait_for_threads() -> None:
    """As the interpreter does at its end."""
    if threading.active_count() > 1:
        threading._shutdown()  # type: ignore[attr-defined]


def _say(print_it: Callable[[], None]) -> None:
    try:
        print_it()
    except BaseException:
        pass


def describe(error: BaseException) -> dict[str, str]:
    """An exception's type and message, short, and never another exception."""
    try:
        message = str(error)[:200]
    except BaseException:
        message = ""
    return {"exc": type(error).__name__[:80], "msg": message}


def run_calls(descriptors: dict[str, int], job_fd: int) -> None:
    """Call a function with inputs; the records hold what came back. Ends the process."""
    make_calls(wire.loads(read_all(job_fd)), descriptors["records"], descriptors["marks"])
    os._exit(0)


def make_calls(job: dict[str, Any], records: int, marks: int) -> None:
    """Load the code and call its function with each input; one record for each output, in one write each.

    A mark says that the work so far is done, when it was worth a wake-up.
    """
    window, marked = perf_counter(), 0
    names = namespace("solution")
    try:
        execute(job["sources"], names)
        function = find(job["entry"], names)
    except BaseException as error:
        write(records, wire.dumps({"i": -1, **describe(error), "w": marked}) + b"\n")
        return
    in_place, inputs, i = job["in_place"], job["inputs"], job["start"]
    while True:
        now = perf_counter()
        if now - window > QUICK * 2 ** (marked // MANY):
            window = now
            marked += 1
            write(marks, b".")
        if i >= len(inputs):
            return
        said = _called(function, inputs[i], in_place)
        try:
            write(records, wire.dumps({"i": i, **said, "w": marked}) + b"\n")
        except BaseException as error:
            write(records, wire.dumps({"i": i, "unsaid": type(error).__name__[:80], "w": marked}) + b"\n")
        i += 1


def _called(function: Callable[..., Any], given: Any, in_place: bool) -> dict[str, Any]:
    """What came of one call, for its record."""
    arguments, named = wire.decode(given[0]), wire.decode(given[1])
    try:
        value = spelled_out(function(*arguments, **named))
        if in_place and value is None:
            value = arguments[0]
    except BaseException as error:
        return describe(error)
    try:
        return {"v": wire.encode(value)}
    except wire.NotPlain:
        return {"opaque": type(value).__name__[:80]}
    except BaseException as error:
        return {"unsaid": type(error).__name__[:80]}
