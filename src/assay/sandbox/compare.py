"""Is what the candidate returned what was expected? Plain data against plain data, in the trainer.

Both sides are in the tagged form of `inside.wire`, and stay in it: nothing of the candidate's is rebuilt before its
size has been seen to be the expected one, so that no returned value can keep the trainer busy.
"""

from __future__ import annotations

import math
from typing import Any

from assay.sandbox.inside import wire

Tagged = Any
SEQUENCES = ("$t", "$n")


def same_value(expected: Tagged, got: Tagged, atol: float = 0.0, rtol: float = 0.0) -> bool:
    """Whether a returned value is the expected one.

    True and 1 are two things, 1 and 1.0 are one; a tuple is as good as a list (JSON knows no tuples); NaN equals NaN
    alone. A tolerance applies to numbers wherever they stand, except in sets and as keys.
    """
    expected, got = _bare(expected), _bare(got)
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return expected is got
    if isinstance(expected, str) or isinstance(got, str):
        return type(expected) is type(got) and expected == got
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(same_value(e, g, atol, rtol) for e, g in zip(expected, got, strict=True))
        )
    if isinstance(expected, dict) and "$i" not in expected:
        return _same_tagged(expected, got, atol, rtol)
    return _same_number(expected, got, atol, rtol)


def _bare(tagged: Tagged) -> Tagged:
    """A tuple or an array as a list; a big integer as a number."""
    if type(tagged) is dict and len(tagged) == 1:
        ((tag, inner),) = tagged.items()
        if tag == "$t":
            return inner
        if tag == "$n":
            return _bare(inner)
        if tag == "$i" and type(inner) is str:
            return wire.decode(tagged)
    return tagged


def _same_number(expected: Any, got: Any, atol: float, rtol: float) -> bool:
    if type(got) not in (int, float):
        return False
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(got, float) and math.isnan(got)
    if expected == got:
        return True
    if not (atol or rtol):
        return False
    try:
        return abs(expected - got) <= max(atol, rtol * abs(expected))
    except OverflowError:
        return False


def _same_tagged(expected: dict[str, Any], got: Any, atol: float, rtol: float) -> bool:
    if type(got) is not dict or expected.keys() != got.keys() or len(got) != 1:
        return False
    ((tag, want),) = expected.items()
    (have,) = got.values()
    if tag in ("$s", "$f"):
        return _same_size(want, have) and wire.decode(expected) == wire.decode(got)
    if tag == "$d":
        return _same_size(want, have) and _same_mapping(want, have, atol, rtol)
    if tag in ("$q", "$r"):
        return same_value(want, have, atol, rtol)
    if tag == "$c":
        return _same_size(want, have) and all(_same_number(w, h, atol, rtol) for w, h in zip(want, have, strict=True))
    return _same_size(want, have, 64) and wire.decode(expected) == wire.decode(got)


def _same_size(want: Any, have: Any, slack: int = 0) -> bool:
    return type(want) is type(have) and abs(len(want) - len(have)) <= slack


def _same_mapping(want: list[Any], have: list[Any], atol: float, rtol: float) -> bool:
    pairs = {wire.decode(k): v for k, v in have}
    for key, value in want:
        key = wire.decode(key)
        if key not in pairs or not same_value(value, pairs[key], atol, rtol):
            return False
    return len(pairs) == len(want) and _same_kinds(want, list(pairs))


def _same_kinds(want: list[Any], keys: list[Any]) -> bool:
    """Keys True and 1 are one to a dict, and two here."""
    return sum(isinstance(wire.decode(k), bool) for k, _ in want) == sum(isinstance(k, bool) for k in keys)


def same_text(expected: str, got: str, atol: float = 0.0, rtol: float = 0.0) -> bool:
    """Whether a printed text is the expected one: line by line, spaces at the ends of lines and of the text apart.

    Only where the task has a tolerance, words that are numbers may differ by that much.
    """
    want, have = _lines(expected), _lines(got)
    if want == have:
        return True
    if len(want) != len(have) or not (atol or rtol):
        return False
    return all(_same_line(w, h, atol, rtol) for w, h in zip(want, have, strict=True))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _same_line(want: str, have: str, atol: float, rtol: float) -> bool:
    words, said = want.split(), have.split()
    return len(words) == len(said) and all(w == s or _near(w, s, atol, rtol) for w, s in zip(words, said, strict=True))


def _near(word: str, said: str, atol: float, rtol: float) -> bool:
    if len(said) > 64:
        return False
    try:
        want, have = float(word), float(said)
    except ValueError:
        return False
    if math.isnan(want) or math.isnan(have):
        return math.isnan(want) and math.isnan(have)
    return want == have or abs(want - have) <= max(atol, rtol * abs(want))
