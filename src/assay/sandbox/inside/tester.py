"""In the tester's process: runs the data set's tests, which hold the expected values, against proxies of the candidate.

It alone holds the descriptor that the verdicts are written to. A pass needs its last record, with the right count; when
the candidate's process ends, or says what is no answer, this one ends too, with a failed test, so that no `except` of
the tests can make a pass of it.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import types
from collections.abc import Callable
from time import perf_counter
from typing import Any, NoReturn

from . import wire
from .channel import Channel, Gone, read_all
from .program import MANY, QUICK
from .proxy import NAMED, RETURNED, Link, Unsendable
from .pytests import SKIPS, Unknown, stand_in
from .reading import Reading, our_own
from .suite import Test, collect


class Tester:
    """One run of one task's tests."""

    def __init__(self, job: dict[str, Any], link: Link, verdicts: int, marks: int) -> None:
        self.job = job
        self.link = link
        self.verdicts = verdicts
        self.marks = marks
        self.window = perf_counter()
        self.marked = 0
        self.at = int(job["start"])
        self.skipped = 0
        self.reading: Reading | None = None
        self.unreadable = ""
        self.names: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.foreign: dict[str, set[str]] = {}
        self.classes: set[str] = set()

    # -- what is written --

    def record(self, **fields: Any) -> None:
        """Append one record."""
        os.write(self.verdicts, json.dumps(fields | {"w": self.marked}).encode() + b"\n")

    def die(self, reason: str) -> NoReturn:
        """The test that runs has failed, and no other can be run."""
        self.record(i=self.at, result="ended", detail=reason[:200])
        os._exit(0)

    def fault(self, reason: str) -> NoReturn:
        """The tests themselves cannot be run: nobody's failure but theirs."""
        self.record(fault=reason[:200])
        os._exit(0)

    def blame_the_tests(self, error: BaseException) -> None:
        """End where the tests import what is not here. A module that the candidate lacks has no name on this side."""
        if isinstance(error, ImportError) and error.name:
            self.fault(f"the tests need the module {error.name!r}, which is not here")

    def mark(self) -> None:
        """Say that the work so far is done, when it was worth a wake-up."""
        now = perf_counter()
        if now - self.window > QUICK * 2 ** (self.marked // MANY):
            self.window = now
            self.marked += 1
            os.write(self.marks, b".")

    # -- the names that the tests use --

    def read(self) -> None:
        """Read the tests, while the candidate's process loads its code."""
        try:
            self.reading = Reading([ast.parse(source) for source in (*self.job["setup"], *self.job["sources"])])
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unreadable = f"the tests do not compile: {type(error).__name__}: {error}"

    def prepare(self) -> None:
        """Make the tests' namespace: the prompt's helpers, the candidate's names, our own modules."""
        module = types.ModuleType("tests")
        sys.modules["tests"] = module
        sys.modules["pytest"] = stand_in()
        self.names = module.__dict__
        self.names["__builtins__"] = builtins
        for source in self.job["prelude"]:
            try:
                exec(compile(source, "prelude", "exec"), self.names)
            except Exception as error:
                self.fault(f"the prompt's helpers do not run: {type(error).__name__}: {error}")
        defined = set(self.names)
        if (reading := self.reading) is None:
            self.fault(self.unreadable)
        self.classes = {n for n in reading.classes(self.job["entry"]) if n[:1].isupper()} | set(self.job["classes"])
        self.foreign = reading.foreign_modules()
        wanted = reading.free() - defined - set(vars(builtins))
        imported = {name for names in self.foreign.values() for name in names}
        wanted |= imported | {self.job["entry"]} - {""}
        ours = {n: v for n in wanted - imported - set(self.job["theirs"]) if (v := our_own(n)) is not None}
        self.names.update(ours)
        self._ask(sorted(n for n in wanted - set(ours) if not n.startswith("__")))
        for name in self.foreign:
            sys.modules[name] = self._solution(name)

    def _ask(self, wanted: list[str]) -> None:
        if "names" not in (answer := self.link.ask("names", n=wanted)) or type(answer["names"]) is not dict:
            self.die("the candidate's process sent what is no message")
        found: dict[str, Any] = answer["names"]
        if not set(found) <= set(wanted):
            self.die("the candidate's process named what was not asked for")
        for name, said in found.items():
            if type(said) is not dict:
                self.die("the candidate's process sent what is no message")
            if type(said.get("error")) is list:
                self.names[name] = self._error(name, said["error"])
            else:
                self.names[name] = self.link._decoded(said.get("value"), self._how(name))
        self.taken = set(found)
        if self.job["entry"] and self.job["entry"] not in found:
            self.die(f"name {self.job['entry']!r} is not defined")

    def _how(self, name: str) -> int:
        """Whether a name stands for a class under test: the prompt declares one, or the tests use one."""
        return NAMED if name in self.classes else RETURNED

    def _error(self, name: str, mro: list[Any]) -> type[Exception]:
        """An exception class of the candidate's: a class here, below the same builtin."""
        bases = (getattr(builtins, n, None) for n in mro if type(n) is str)
        base = next((b for b in bases if isinstance(b, type) and issubclass(b, Exception)), Exception)
        self.link.errors[name] = made = type(name, (base,), {})
        return made

    def _solution(self, name: str) -> types.ModuleType:
        """The module that the tests import the solution from."""
        module = types.ModuleType(name)
        module.__dict__.update({n: self.names[n] for n in self.taken}, __all__=sorted(self.taken))
        return module

    # -- the runs --

    def run(self) -> None:
        """Run the tests from `start` on; then the last record, without which nothing passed."""
        self.prepare()
        for source in self.job["setup"]:
            exec(compile(source, "setup", "exec"), self.names)
        tests = getattr(self, "tests_of_" + self.job["form"])()
        if not tests:
            self.fault("the tests hold no test")
        self.record(of=len(tests))
        for i in range(self.at, len(tests)):
            self.at = i
            passed = self._run_one(i, tests[i][1])
            self.mark()
            if not passed and self.job["stop_early"]:
                break
        if self.skipped == len(tests):
            self.fault("every test skips itself")
        self.record(done=len(tests))

    def _run_one(self, i: int, test: Callable[[], None]) -> bool:
        try:
            test()
        except SKIPS:
            self.skipped += 1
            self.record(i=i, result="skipped")
            return True
        except (Unsendable, Unknown) as error:
            self.fault(str(error))
        except BaseException as error:
            self.blame_the_tests(error)
            self.record(i=i, result="failed", detail=_where(error))
            return False
        self.record(i=i, result="passed")
        return True

    def tests_of_asserts(self) -> list[Test]:
        """Each source is a test, in its own copy of the names."""
        codes = [compile(source, "test", "exec") for source in self.job["sources"]]
        return [("", lambda code=code: exec(code, dict(self.names))) for code in codes]

    def tests_of_check(self) -> list[Test]:
        """One test: `check(candidate)`."""
        entry = self.names[self.job["entry"]]  # before the tests, which may hold an answer of the same name
        for source in self.job["sources"]:
            exec(compile(source, "test", "exec"), self.names)
        check = self.names.get("check")
        if not isinstance(check, types.FunctionType):
            self.fault("the tests define no check(candidate)")
        return [("check", lambda: check(entry))]

    def tests_of_suite(self) -> list[Test]:
        """The tests of a unittest or pytest file."""
        # the tests may hold an answer of the same name; unless they import the candidate's, it is not what they mean
        kept = {} if self.foreign else {n: self.names[n] for n in self.taken & {self.job["entry"]}}
        for source in self.job["sources"]:
            exec(compile(source, "test", "exec"), self.names)
        self.names.update(kept)
        return collect(self.names, self.taken)


def _where(error: BaseException) -> str:
    """An exception's type and its line in the tests: not its message, which may hold the expected value."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "test":
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{type(error).__name__[:80]} at line {line} of the test"


def run_tester(descriptors: dict[str, int], job_fd: int) -> None:
    """Run the tests. Ends the process."""
    job = wire.loads(read_all(job_fd))
    channel = Channel(descriptors["reads"], descriptors["writes"])
    tester = Tester(
        job, link := Link(channel, lambda reason: tester.die(reason)), descriptors["records"], descriptors["marks"]
    )
    tester.read()
    try:
        first = channel.receive()
    except Gone:
        tester.die("the candidate ended while it was loaded")
    if type(first) is not dict or "ready" not in first:
        said = first.get("load") if type(first) is dict else None
        tester.record(load=said if type(said) is dict else {})
        os._exit(0)
    link.channel = channel
    tester.mark()
    try:
        tester.run()
    except Exception as error:
        tester.blame_the_tests(error)
        tester.record(i=tester.at, result="failed", detail="while the tests were loaded: " + _where(error))
    os._exit(0)
