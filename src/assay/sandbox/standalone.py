"""A function's cases as one Python program that needs nothing of ours: for services and for WebAssembly.

It holds the runner's own `wire` and the candidate's code as text, calls the function with each input, and prints one
record a line behind a mark that is made for this run. The records are claims like any other: they are compared here.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from assay.sandbox.inside import entry, wire

_RUNNER = """
import sys, types
def module(name, text):
    made = types.ModuleType(name)
    exec(text, made.__dict__)
    return made
wire, entry = module("wire", _WIRE), module("entry", _ENTRY)
solution = sys.modules["solution"] = types.ModuleType("solution")
names = solution.__dict__
names.update(__builtins__=__builtins__, __file__="solution.py")
out, write, flush = sys.stdout, sys.stdout.write, sys.stdout.flush
def record(**fields):
    write("\\n" + _MARK + wire.dumps(dict(fields, w=0)).decode() + "\\n")
    flush()
def describe(error):
    try:
        return {"exc": type(error).__name__[:80], "msg": str(error)[:200]}
    except BaseException:
        return {"exc": type(error).__name__[:80], "msg": ""}
def main():
    try:
        for source in _JOB["sources"]:
            if "class Solution" in source:
                entry.give_judges_names(names)
            exec(compile(source, "solution.py", "exec", dont_inherit=True), names)
        function = entry.find(_JOB["entry"], names)
    except BaseException as error:
        return record(i=-1, **describe(error))
    for i in range(_JOB["start"], len(_JOB["inputs"])):
        arguments, named = wire.decode(_JOB["inputs"][i])
        try:
            value = entry.spelled_out(function(*arguments, **named))
            if _JOB["in_place"] and value is None:
                value = arguments[0]
        except BaseException as error:
            record(i=i, **describe(error))
            continue
        try:
            record(i=i, v=wire.encode(value))
        except wire.NotPlain:
            record(i=i, opaque=type(value).__name__[:80])
        except BaseException as error:
            record(i=i, unsaid=type(error).__name__[:80])
main()
"""


@functools.cache
def _ours() -> str:
    return f"_WIRE = {inspect.getsource(wire)!r}\n_ENTRY = {inspect.getsource(entry)!r}\n"


def program_of(job: dict[str, Any], mark: str) -> str:
    """The program for one job of the form `calls`."""
    return f"{_ours()}_MARK = {mark!r}\n_JOB = {job!r}\n{_RUNNER}"


def records_of(stdout: bytes, mark: str) -> bytes:
    """The records that such a program printed, without what else was printed."""
    lines = (line.partition(mark.encode()) for line in stdout.split(b"\n"))
    return b"".join(rest + b"\n" for before, found, rest in lines if found and not before)
