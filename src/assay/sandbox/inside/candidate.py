"""In the candidate's process: answers the tester's requests about the candidate's names and objects.

Plain values go over as they are; any other object stays here, in a table, and its number goes over.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import operator
import os
import sys
from collections.abc import Callable, Generator
from typing import Any

from . import wire
from .channel import Channel, Gone, read_all
from .entry import find
from .program import describe, execute, namespace

IN_PLACE = (list, dict, set, bytearray)
OPERATORS = frozenset(
    {
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "and_",
        "or_",
        "xor",
        "neg",
        "pos",
        "abs",
        "invert",
        "getitem",
        "setitem",
        "delitem",
        "contains",
        "lshift",
        "rshift",
    }
)


class Answers:
    """The table of objects, and one method for each request."""

    def __init__(self, channel: Channel, names: dict[str, Any]) -> None:
        self.channel = channel
        self.names = names
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}

    # -- values --

    def encode(self, value: Any) -> Any:
        """A value for the other side: plain, or a handle."""
        return wire.encode(value, self._handle)

    def encode_made(self, value: Any) -> Any:
        """What a class under test made: an object, even where it is a list or a number besides."""
        return self._handle(value) if wire.is_more(value) else self.encode(value)

    def _handle(self, value: Any) -> Any:
        number = self.numbers.setdefault(id(value), len(self.objects))  # of an object that stays: so is its id
        if number == len(self.objects):
            self.objects.append(value)
        kind = "type" if isinstance(value, type) else "async" if inspect.iscoroutinefunction(value) else ""
        return {"$h": [number, type(value).__name__[:80], kind or ("call" if callable(value) else "")]}

    def decode(self, tagged: Any) -> Any:
        """A value from the other side."""
        return wire.decode(tagged, self._other)

    def _other(self, tag: str, inner: Any) -> Any:
        if tag == "$h":
            return self.objects[inner]
        if tag == "$cb":
            return self._callback(inner)
        if tag == "$it":
            return self._iterator(inner)
        if tag == "$o":
            return self._instance(*inner)
        raise wire.NotPlain(tag)

    def _callback(self, number: int) -> Callable[..., Any]:
        """A function of the test's, which runs over there."""

        def call(*arguments: Any) -> Any:
            self.channel.send({"callback": number, "a": [self.encode(a) for a in arguments]})
            while True:
                message = self.channel.receive()
                if "op" in message:
                    self.serve(message)
                elif "raised" in message:
                    raise getattr(builtins, message["raised"], RuntimeError)
                else:
                    return self.decode(message["v"])

        return call

    def _iterator(self, number: int) -> Generator[Any]:
        """An iterator of the test's: each value is asked for over there."""
        following = self._callback(number)
        while True:
            try:
                value = following()
            except StopIteration:
                return
            yield value

    def _instance(self, name: str, state: list[list[Any]]) -> Any:
        """An object of a class of the test's, by value; of the candidate's own class where it has one of that name."""
        kind = self.names.get(name)
        kind = kind if isinstance(kind, type) else type(name, (), {})
        made = object.__new__(kind)
        for key, value in state:
            setattr(made, key, self.decode(value))
        return made

    # -- requests --

    def serve(self, message: dict[str, Any]) -> None:
        """Answer one request."""
        answer: dict[str, Any]
        printed = io.StringIO()
        try:
            with self._streams(message, printed):
                answer = getattr(self, "do_" + message["op"])(message)
        except Gone:
            os._exit(3)
        except BaseException as error:
            arguments = [a if type(a) in (str, int, float, bool) else describe(error)["msg"] for a in error.args[:4]]
            answer = {"exc": [[c.__name__ for c in type(error).__mro__], [wire.encode(a) for a in arguments]]}
        if "listen" in message:
            answer["printed"] = printed.getvalue()
        self.channel.send(answer)

    @contextlib.contextmanager
    def _streams(self, message: dict[str, Any], printed: io.StringIO) -> Generator[None]:
        """For one request, what the test has put in the place of standard output, standard input or `input`."""
        usual = sys.stdin, sys.stdout, builtins.input
        if "listen" in message:
            sys.stdout = printed
        if "stdin" in message:
            sys.stdin = io.StringIO(message["stdin"])
        if "input" in message:
            builtins.input = self.decode(message["input"])
        try:
            yield
        finally:
            if message.keys() & {"listen", "stdin", "input"}:
                sys.stdin, sys.stdout, builtins.input = usual

    def do_names(self, message: dict[str, Any]) -> Any:
        """Which of these names there are."""
        found: dict[str, Any] = {}
        for name in message["n"]:
            try:
                value = find(name, self.names)
            except NameError:
                continue
            if isinstance(value, type) and issubclass(value, BaseException):
                found[name] = {"error": [c.__name__ for c in value.__mro__], "value": self.encode(value)}
            else:
                found[name] = {"value": self.encode(value)}
        return {"names": found}

    def do_call(self, message: dict[str, Any]) -> Any:
        """Call an object; what was changed in place goes back only where None was returned."""
        arguments = [self.decode(a) for a in message["a"]]
        value = self.objects[message["h"]](*arguments, **{k: self.decode(v) for k, v in message["k"].items()})
        if message.get("await"):
            import asyncio  # not before the forks: it is large, and few need it

            value = asyncio.run(value)
        answer: dict[str, Any] = {"v": self.encode_made(value) if message.get("made") else self.encode(value)}
        if value is None:
            after = {i: self.encode(a) for i, a in enumerate(arguments) if type(a) in IN_PLACE}
            if changed := {i: a for i, a in after.items() if a != message["a"][i]}:
                answer["changed"] = changed
        return answer

    def do_get(self, message: dict[str, Any]) -> Any:
        """An attribute."""
        return {"v": self.encode(getattr(self.objects[message["h"]], message["n"]))}

    def do_set(self, message: dict[str, Any]) -> Any:
        """Set an attribute."""
        setattr(self.objects[message["h"]], message["n"], self.decode(message["v"]))
        return {"v": None}

    def do_iter(self, message: dict[str, Any]) -> Any:
        """An iterator."""
        return {"v": self._handle(iter(self.objects[message["h"]]))}

    def do_next(self, message: dict[str, Any]) -> Any:
        """The next value, or that there is none."""
        try:
            return {"v": self.encode(next(self.objects[message["h"]]))}
        except StopIteration:
            return {"stop": True}

    def do_operator(self, message: dict[str, Any]) -> Any:
        """An operator between values, at least one of which is an object here."""
        if message["n"] not in OPERATORS:
            raise TypeError(message["n"])
        value = getattr(operator, message["n"])(*[self.decode(a) for a in message["a"]])
        return {"v": self.encode_made(value) if message.get("made") else self.encode(value)}

    def do_plain(self, message: dict[str, Any]) -> Any:
        """The builtin that an object is besides."""
        return {"v": self.encode(self.objects[message["h"]])}

    def do_isinstance(self, message: dict[str, Any]) -> Any:
        """Whether an object is of a class."""
        return {"v": isinstance(self.objects[message["h"]], self.objects[message["c"]])}

    def do_issubclass(self, message: dict[str, Any]) -> Any:
        """Whether a class is below another."""
        return {"v": issubclass(self.objects[message["h"]], self.objects[message["c"]])}

    def do_builtin(self, message: dict[str, Any]) -> Any:
        """str, repr, bool, len, hash, int or float of an object."""
        return {"v": self.encode(getattr(builtins, message["n"])(self.objects[message["h"]]))}

    def do_enter(self, message: dict[str, Any]) -> Any:
        """Enter a `with`."""
        value = self.objects[message["h"]]
        return {"v": self.encode(type(value).__enter__(value))}

    def do_exit(self, message: dict[str, Any]) -> Any:
        """Leave a `with`, by no exception."""
        value = self.objects[message["h"]]
        return {"v": self.encode(type(value).__exit__(value, None, None, None))}


def run_candidate(descriptors: dict[str, int], job_fd: int) -> None:
    """Load the code, then answer until the tester has gone. Ends the process."""
    job = wire.loads(read_all(job_fd))
    channel = Channel(descriptors["reads"], descriptors["writes"])
    names = namespace("solution")
    try:
        execute(job["sources"], names)
    except BaseException as error:
        channel.send({"load": describe(error)})
        os._exit(1)
    answers = Answers(channel, names)
    try:
        channel.send({"ready": True})
        while True:
            answers.serve(channel.receive())
    except Gone:
        os._exit(0)
