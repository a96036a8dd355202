"""Plain values as JSON, tagged where JSON has no word for them; both directions build exact builtins only.

    (1, {2})        {"$t": [1, {"$s": [2]}]}
    {1: b"a"}       {"$d": [[1, {"$b": "61"}]]}

A subclass of a builtin is flattened with the builtin's own methods, so that no overridden `__eq__` or `__iter__` of the
candidate's reaches a comparison. What is not plain goes to `other`, which makes a handle of it or refuses.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 120
SMALL = 1 << 62
MAX_RATIO_DIGITS = 5000  # a Fraction is reduced when it is built, and that is slower than linear

Other = Callable[[Any], Any]


class NotPlain(Exception):
    """A value that cannot cross as it is: too deep, malformed, or of a type of its own."""


def encode(value: Any, other: Other | None = None, depth: int = 0) -> Any:
    """The tagged form of a value."""
    kind = type(value)
    if value is None or kind is bool or kind is float or kind is str:
        return value
    if kind is int:
        return value if -SMALL < value < SMALL else {"$i": hex(value)}
    if depth > MAX_DEPTH:
        raise NotPlain("a value nested too deep, or one that holds itself")
    depth += 1
    if kind is list:
        return [encode(x, other, depth) for x in value]
    if kind is tuple:
        return {"$t": [encode(x, other, depth) for x in value]}
    if kind is dict:
        return {"$d": [[encode(k, other, depth), encode(v, other, depth)] for k, v in value.items()]}
    tagger = _TAGGERS.get(kind)
    if tagger is not None:
        return tagger(value, other, depth)
    return _encode_rest(value, kind, other, depth)


def _set(tag: str) -> Callable[[Any, Other | None, int], Any]:
    return lambda value, other, depth: {tag: [encode(x, other, depth) for x in value]}


def _datetime(value: datetime, other: Other | None, depth: int) -> Any:
    if value.tzinfo is not None:
        return _opaque(value, other)
    return {"$y": [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]}


_TAGGERS: dict[type, Callable[[Any, Other | None, int], Any]] = {
    set: _set("$s"),
    frozenset: _set("$f"),
    deque: _set("$q"),
    bytes: lambda v, o, d: {"$b": v.hex()},
    bytearray: lambda v, o, d: {"$b": v.hex()},
    complex: lambda v, o, d: {"$c": [v.real, v.imag]},
    range: lambda v, o, d: {"$r": [v.start, v.stop, v.step]},
    slice: lambda v, o, d: {"$S": [encode(x, o, d) for x in (v.start, v.stop, v.step)]},
    Decimal: lambda v, o, d: {"$D": str(v)},
    Fraction: lambda v, o, d: {"$F": [encode(v.numerator), encode(v.denominator)]},
    date: lambda v, o, d: {"$y": [v.year, v.month, v.day]},
    datetime: _datetime,
    timedelta: lambda v, o, d: {"$l": [v.days, v.seconds, v.microseconds]},
}


def _encode_rest(value: Any, kind: type, other: Other | None, depth: int) -> Any:
    if kind.__module__.partition(".")[0] == "numpy" and "numpy" in sys.modules:
        return _encode_numpy(value, other, depth)
    mro = type.mro(kind) if kind is not type else []
    for base in _BASES:
        if base in mro:
            return encode(_plain(value, base), other, depth)
    return _opaque(value, other)


def _encode_numpy(value: Any, other: Other | None, depth: int) -> Any:
    numpy: Any = sys.modules["numpy"]
    if isinstance(value, numpy.ndarray):
        listed = encode(value.tolist(), other, depth)
        return {"$n": listed} if value.ndim else listed  # without dimensions it is a number
    if isinstance(value, numpy.generic):
        item = value.item()
        return encode(item, other, depth) if not isinstance(item, numpy.generic) else _opaque(value, other)
    return _opaque(value, other)


def _opaque(value: Any, other: Other | None) -> Any:
    if other is None:
        raise NotPlain(type(value).__name__)
    return other(value)


def _plain(value: Any, base: type) -> Any:
    """A value of a subclass as one of the builtin below it, by that one's own methods."""
    if base is dict:
        return {k: dict.__getitem__(value, k) for k in dict.__iter__(value)}
    if base is str:
        return "".join(str.__iter__(value))
    if base in (int, float):
        return base.__pos__(value)  # type: ignore[attr-defined]
    return base(base.__iter__(value))  # type: ignore[attr-defined]


def is_more(value: Any) -> bool:
    """Whether a value is a builtin's and has public attributes of its own class besides: a `class Stack(list)`."""
    mro = type.mro(type(value)) if type(value) is not type else []
    own = mro[: next((i for i, kind in enumerate(mro) if kind in _BASES), 0)]
    return any(name[:1] != "_" for kind in own for name in vars(kind))


_BASES = (int, float, str, list, tuple, dict, set, frozenset, deque)


def decode(tagged: Any, other: Callable[[str, Any], Any] | None = None) -> Any:
    """The value of a tagged form; `NotPlain`, or an error of its parts' own types, where it is malformed."""
    kind = type(tagged)
    if kind is list:
        return [decode(x, other) for x in tagged]
    if kind is not dict:
        return tagged
    if len(tagged) != 1:
        raise NotPlain("a malformed tag")
    ((tag, inner),) = tagged.items()
    if tag == "$d":
        return {decode(k, other): decode(v, other) for k, v in inner}
    builder = _BUILDERS.get(tag)
    if builder is not None:
        return builder([decode(x, other) for x in inner])
    scalar = _SCALARS.get(tag)
    if scalar is not None:
        return scalar(inner)
    if tag == "$n":
        return _array(decode(inner, other))
    if other is None:
        raise NotPlain(f"unknown tag {tag!r:.20}")
    return other(tag, inner)


def _array(value: Any) -> Any:
    try:
        import numpy
    except ImportError:
        return value
    return numpy.array(value)


def _integer(text: str) -> int:
    if not text.removeprefix("-").startswith("0x"):
        raise NotPlain("a malformed integer")
    return int(text, 16)


def _ratio(parts: Any) -> Fraction:
    numerator, denominator = (decode(p) for p in parts)
    if max(numerator.bit_length(), denominator.bit_length()) > 4 * MAX_RATIO_DIGITS:
        raise NotPlain("a fraction too large")
    return Fraction(numerator, denominator)


_BUILDERS: dict[str, Callable[[list[Any]], Any]] = {
    "$t": tuple,
    "$s": set,
    "$f": frozenset,
    "$q": deque,
    "$c": lambda x: complex(x[0], x[1]),
    "$r": lambda x: range(x[0], x[1], x[2]),
    "$S": lambda x: slice(x[0], x[1], x[2]),
    "$y": lambda x: datetime(*x) if len(x) > 3 else date(*x),
    "$l": lambda x: timedelta(*x),
}
_SCALARS: dict[str, Callable[[Any], Any]] = {
    "$i": _integer,
    "$b": bytes.fromhex,
    "$D": Decimal,
    "$F": _ratio,
}


def dumps(tagged: Any) -> bytes:
    """The bytes of a tagged form."""
    return _dump(tagged).encode()


def loads(data: bytes) -> Any:
    """The tagged form of bytes; a ValueError or RecursionError where they are none."""
    text = data.decode("utf-8", "surrogatepass")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return json.loads(text)  # which says what is wrong, or that it is only spaces
    return value if end == len(text) else json.loads(text)


def _dumper() -> Callable[[Any], str]:
    """`json.dumps` of no spaces, with its encoder made once."""
    plain = json.JSONEncoder(separators=(",", ":"))
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    ascii_only = json.encoder.encode_basestring_ascii
    encoder = make(None, plain.default, ascii_only, None, ":", ",", False, False, True)
    join = "".join
    return lambda tagged: join(encoder(tagged, 0))


_dump = _dumper()
_scan: Callable[[str, int], tuple[Any, int]] = getattr(json.JSONDecoder(), "scan_once")  # noqa: B009  no stub has it
