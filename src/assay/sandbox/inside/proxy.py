"""In the tester's process: the candidate's objects, as proxies that ask for them over there.

What comes back is rebuilt into exact builtins, or is a `Remote`: equal to no plain value, not to be ordered with one
nor subtracted from one. What a class of the candidate's would answer to an operator is asked only of objects that the
test itself made of a class it names (`Stack()`): an object that a function returns where a value was wanted answers
nothing that would let it say "yes, equal" of itself.
"""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from . import wire
from .channel import Channel, Gone

ENDS = ("SystemExit", "KeyboardInterrupt", "GeneratorExit")
FLOW = ("Exception", "StopIteration", "StopAsyncIteration")

RETURNED, MADE, NAMED = 0, 1, 2
"""How the test came by an object: something returned it, the test made it of a class, it is a class the test names."""
VERDICTS = frozenset({"startswith", "endswith", "issubset", "issuperset", "isdisjoint", "equals", "allclose"}) | {
    "any",
    "all",
    *(name for name in dir(str) if name.startswith("is")),
}
"""Methods of values that answer yes or no: an object that stands where a value was wanted does not answer for
itself.
"""


class Unsendable(Exception):
    """The test wants to hand over what cannot cross: the test's fault, not the candidate's."""


class Link:
    """The tester's end of the channel. Whatever is not a well-formed answer ends the test, and cannot be caught."""

    def __init__(self, channel: Channel, die: Callable[[str], NoReturn]) -> None:
        self.channel = channel
        self.die = die
        self.callbacks: list[Callable[..., Any]] = []
        self.errors: dict[str, type[Exception]] = {}
        self.remotes: dict[tuple[int, str, int], Remote] = {}
        self.streams = (sys.stdin, sys.stdout, builtins.input)

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """One request and its answer; an exception of the candidate's is raised as the builtin of its name."""
        try:
            self.channel.send({"op": op, **fields, **self._replaced()})
            answer = self._answer()
        except Gone as gone:
            self.die(f"the candidate's process: {gone}")
        if type(answer.get("printed")) is str and sys.stdout is not self.streams[1]:
            sys.stdout.write(answer["printed"])
        if "exc" in answer:
            self._raise(answer["exc"])
        return answer

    def _replaced(self) -> dict[str, Any]:
        """The streams that the test has put in the place of the usual ones: they hold for the candidate as well."""
        stdin, stdout, asked = self.streams
        replaced: dict[str, Any] = {}
        if sys.stdout is not stdout:
            replaced["listen"] = True
        if sys.stdin is not stdin:
            replaced["stdin"] = str(sys.stdin.read())
        if builtins.input is not asked:
            replaced["input"] = self.encode(builtins.input)
        return replaced

    def value(self, op: str, *, own: int = RETURNED, **fields: Any) -> Any:
        """One request whose answer is a value."""
        return self._decoded(self.ask(op, **fields).get("v"), own)

    def _answer(self) -> dict[str, Any]:
        while True:
            message = self.channel.receive()
            if type(message) is not dict:
                self.die("the candidate's process sent what is no message")
            if "callback" not in message:
                return message
            self._call_back(message)

    def _call_back(self, message: dict[str, Any]) -> None:
        number, arguments = message["callback"], message.get("a")
        if type(number) is not int or not 0 <= number < len(self.callbacks) or type(arguments) is not list:
            self.die("the candidate's process called what it was not given")
        values = [self._decoded(a) for a in arguments]
        try:
            reply = {"v": self.encode(self.callbacks[number](*values))}
        except Exception as error:
            reply = {"raised": type(error).__name__}
        self.channel.send(reply)

    def _decoded(self, tagged: Any, own: int = RETURNED) -> Any:
        def handle(tag: str, inner: Any) -> Remote:
            if tag != "$h" or type(inner) is not list or [type(x) for x in inner] != [int, str, str]:
                raise wire.NotPlain(tag)
            key = (inner[0], inner[2], own)
            if key not in self.remotes:
                self.remotes[key] = Remote(self, *key)
            return self.remotes[key]

        try:
            return wire.decode(tagged, handle)
        except Exception as error:
            self.die(f"the candidate's process sent a malformed value ({type(error).__name__})")

    def _raise(self, said: Any) -> NoReturn:
        if type(said) is not list or len(said) != 2 or type(said[0]) is not list or type(said[1]) is not list:
            self.die("the candidate's process sent a malformed exception")
        names = [n for n in said[0][:20] if type(n) is str]
        arguments = [a for a in said[1][:4] if type(a) in (str, int, float, bool)]
        if ended := next((n for n in names if n in ENDS), ""):
            self.die(f"the candidate raised {ended}")
        for name in names:
            kind = self.errors.get(name) or getattr(builtins, name, None)
            if isinstance(kind, type) and issubclass(kind, Exception) and name not in FLOW:
                raise _made(kind, arguments)
        if "Exception" in names:
            raise Exception(*arguments)
        self.die("the candidate raised what is no Exception")

    def encode(self, value: Any) -> Any:
        """A value of the test's for the candidate."""
        return wire.encode(value, self._other)

    def _other(self, value: Any) -> Any:
        if type(value) is Remote:
            return {"$h": _handle(value)}
        if callable(value):
            self.callbacks.append(value)
            return {"$cb": len(self.callbacks) - 1}
        if type(value).__module__ in ("builtins", "itertools") and hasattr(value, "__next__"):
            self.callbacks.append(lambda: next(value))
            return {"$it": len(self.callbacks) - 1}
        state = getattr(value, "__dict__", None)
        if type(value).__module__ == "tests" and type(state) is dict:
            return {"$o": [type(value).__name__, [[k, self.encode(v)] for k, v in state.items()]]}
        raise Unsendable(f"the test hands over a {type(value).__name__}, which cannot cross to the candidate")


def _made(kind: type[Exception], arguments: list[Any]) -> Exception:
    try:
        return kind(*arguments)
    except Exception:
        return kind.__new__(kind)


def _handle(remote: Any) -> int:
    return object.__getattribute__(remote, "_handle")


class Remote:
    """An object that stays in the candidate's process."""

    __slots__ = ("_handle", "_kind", "_link", "_own")

    def __init__(self, link: Link, handle: int, kind: str, own: int) -> None:
        for name, value in (("_link", link), ("_handle", handle), ("_kind", kind), ("_own", own)):
            object.__setattr__(self, name, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._kind == "async":
            return self._awaited(arguments, named)
        return self._call(arguments, named, False)

    async def _awaited(self, arguments: Any, named: Any) -> Any:
        return self._call(arguments, named, True)

    def _call(self, arguments: Any, named: Any, wait: bool) -> Any:
        link = self._link
        sent = [link.encode(a) for a in arguments]
        names = {k: link.encode(v) for k, v in named.items()}
        made = self._own == NAMED
        asked = ({"await": True} if wait else {}) | ({"made": True} if made else {})
        answer = link.ask("call", h=self._handle, a=sent, k=names, **asked)
        value = link._decoded(answer.get("v"), MADE if made else RETURNED)
        if value is None and type(answer.get("changed")) is dict:
            self._write_back(arguments, answer["changed"])
        return value

    def _write_back(self, arguments: Any, changed: dict[str, Any]) -> None:
        for i, argument in enumerate(arguments):
            if str(i) not in changed:
                continue
            after = self._link._decoded(changed[str(i)])
            if type(argument) is list and type(after) is list:
                argument[:] = after
            elif isinstance(argument, dict | set) and type(after) is type(argument):
                argument.clear()
                argument.update(after)
            elif type(argument) is bytearray and type(after) is bytes:
                argument[:] = after

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__name__", "__doc__", "__qualname__"):
            raise AttributeError(name)
        if self._own == RETURNED and name in VERDICTS:
            raise TypeError(f"an object was returned where a value was wanted: it has no {name}()")
        return self._link.value("get", h=self._handle, n=name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.ask("set", h=self._handle, n=name, v=self._link.encode(value))

    def __iter__(self) -> Iterator[Any]:
        iterator = self._link.value("iter", h=self._handle)
        if type(iterator) is not Remote:
            self._link.die("the candidate's process sent what is no iterator")
        while "stop" not in (answer := self._link.ask("next", h=_handle(iterator))):
            yield self._link._decoded(answer.get("v"))

    def __next__(self) -> Any:
        answer = self._link.ask("next", h=self._handle)
        if "stop" in answer:
            raise StopIteration
        return self._link._decoded(answer.get("v"))

    def __enter__(self) -> Any:
        return self._link.value("enter", own=self._own, h=self._handle)

    def __exit__(self, *error: object) -> None:
        self._link.ask("exit", h=self._handle)

    def _builtin(self, name: str, kind: type, default: Any = None) -> Any:
        value = self._link.value("builtin", h=self._handle, n=name)
        if type(value) is kind:
            return value
        if default is None:
            raise TypeError(f"{name}() of an object gave no {kind.__name__}")
        return default

    def __len__(self) -> int:
        return self._builtin("len", int)

    def __bool__(self) -> bool:
        return self._builtin("bool", bool)

    def __str__(self) -> str:
        return self._builtin("str", str, "")

    def __repr__(self) -> str:
        return self._builtin("repr", str, "")

    def __int__(self) -> int:
        return self._number("int", int)

    def __float__(self) -> float:
        return self._number("float", float)

    def _number(self, name: str, kind: type) -> Any:
        if self._own == RETURNED:
            raise TypeError(NO_VALUE)
        return self._builtin(name, kind)

    def __hash__(self) -> int:
        return self._builtin("hash", int) if self._own else hash(("remote", self._handle))

    def __getitem__(self, key: Any) -> Any:
        return self._operator("getitem", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._operator("setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        self._operator("delitem", self, key)

    def __contains__(self, value: Any) -> bool:
        if self._own:
            return self._operator("contains", self, value) is True
        return any(value is x or value == x for x in self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Remote:
            return self._own == MADE and type(plain := self._plain()) is not Remote and bool(plain == other)
        if self._own or other._own:
            return self._operator("eq", self, other) is True
        return self._handle == other._handle

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __instancecheck__(self, value: Any) -> bool:
        return type(value) is Remote and self._link.value("isinstance", h=_handle(value), c=self._handle) is True

    def __subclasscheck__(self, value: Any) -> bool:
        return type(value) is Remote and self._link.value("issubclass", h=_handle(value), c=self._handle) is True

    def _plain(self) -> Any:
        """The builtin that an object of a class such as `class Stack(list)` is besides; itself where it is none."""
        return self._link.value("plain", h=self._handle)

    def _operator(self, name: str, *values: Any) -> Any:
        own = any(type(v) is Remote and v._own for v in values)
        asked = {"n": name, "a": [self._link.encode(v) for v in values], **({"made": True} if own else {})}
        return self._link.value("operator", own=MADE if own else RETURNED, **asked)


NO_VALUE = "an object was returned where a value was wanted: it cannot be compared or computed with"


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if type(other) is not Remote and self._own == MADE and type(plain := self._plain()) is not Remote:
            return getattr(operator, name)(plain, other)
        if type(other) is not Remote or not (self._own or other._own):
            raise TypeError(NO_VALUE)
        return self._operator(name, self, other)

    return compare


def _arithmetic(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def compute(self: Any, other: Any) -> Any:
        if type(other) is not Remote and not self._own:
            raise TypeError(NO_VALUE)
        if type(other) is not Remote and self._own == MADE and type(plain := self._plain()) in (int, float, complex):
            mine: Any = plain  # a `class Money(float)` does not say itself how far off it is
            return getattr(operator, name)(*((other, mine) if reflected else (mine, other)))
        return self._operator(name, other, self) if reflected else self._operator(name, self, other)

    return compute


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda self: self._operator(name, self)


for _name in ("lt", "le", "gt", "ge"):
    setattr(Remote, f"__{_name}__", _comparison(_name))
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    _named = _name + "_" if _name in ("and", "or") else _name
    setattr(Remote, f"__{_name}__", _arithmetic(_named))
    setattr(Remote, f"__r{_name}__", _arithmetic(_named, reflected=True))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Remote, f"__{_name}__", _unary(_name))
