"""Is what the candidate returned what was expected? Plain data against plain data, in the trainer.

Both sides are in the tagged form of `inside.wire`, and stay in it: nothing of the candidate's is rebuilt before its
size has been seen to be the expected one, so that no returned value can keep the trainer busy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from assay.sandbox.inside import wire

Tagged = Any
SEQUENCES = ("$t", "$n", "$q", "$r")
SETS = ("$s", "$f")
NUMBERS = ("$i", "$c", "$D", "$F")
LONGEST_RANGE = 1 << 20
MORE_DIGITS = 1024  # than the expected number has: no such number is near it


def same_value(expected: Tagged, got: Tagged, atol: float = 0.0, rtol: float = 0.0) -> bool:
    """Whether a returned value is the expected one.

    True and 1 are two things; 1, 1.0, Decimal(1) and Fraction(1) are one; a sequence is as good as another (JSON knows
    lists alone), and so is a set; NaN equals NaN alone. A tolerance applies to numbers wherever they stand, except in
    sets and as keys.
    """
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return expected is got
    if isinstance(expected, str) or isinstance(got, str):
        return type(expected) is type(got) and expected == got
    if (items := _items(expected)) is not None:
        values = _items(got)
        return (
            values is not None
            and len(values) == len(items)
            and all(same_value(e, g, atol, rtol) for e, g in zip(items, values, strict=True))
        )
    if _is_number(expected):
        return _is_number(got) and _same_number(expected, got, atol, rtol)
    return _same_tagged(expected, got, atol, rtol)


def _items(tagged: Tagged) -> Sequence[Tagged] | None:
    """The elements of a sequence; None where it is none."""
    if type(tagged) is list:
        return tagged
    if type(tagged) is not dict or len(tagged) != 1:
        return None
    ((tag, inner),) = tagged.items()
    if tag not in SEQUENCES:
        return None
    if tag == "$n":
        return _items(inner)
    if tag == "$r":
        whole = wire.decode(tagged)
        return None if whole[LONGEST_RANGE:] else whole
    return inner if type(inner) is list else None


def _is_number(tagged: Tagged) -> bool:
    if type(tagged) is dict:
        return len(tagged) == 1 and next(iter(tagged)) in NUMBERS
    return type(tagged) in (int, float)


def _same_number(expected: Tagged, got: Tagged, atol: float, rtol: float) -> bool:
    if _size(got) > _size(expected) + MORE_DIGITS:
        return False
    want, have = wire.decode(expected), wire.decode(got)
    if want != want or have != have:  # NaN
        return want != want and have != have
    if want == have or not (atol or rtol):
        return bool(want == have)
    try:
        far = abs(complex(want) - complex(have)) if complex in (type(want), type(have)) else _distance(want, have)
        return math.isfinite(far) and far <= max(atol, rtol * float(abs(want)))
    except OverflowError:
        return False


def _size(tagged: Tagged) -> int:
    """About how many characters a number was sent in."""
    inner = next(iter(tagged.values())) if type(tagged) is dict else tagged
    return len(inner) if type(inner) is str else 32


def _distance(want: Any, have: Any) -> float:
    """How far apart two numbers are: exactly where both are integers, which may not fit a float."""
    if type(want) is int and type(have) is int:
        return abs(want - have)
    return abs(float(want) - float(have))


def _same_tagged(expected: dict[str, Any], got: Any, atol: float, rtol: float) -> bool:
    if type(got) is not dict or len(got) != 1 or len(expected) != 1:
        return False
    (tag, want), (other, have) = *expected.items(), *got.items()
    if tag in SETS and other in SETS:
        return _same_size(want, have) and _same_set(wire.decode(expected), wire.decode(got))
    if tag != other:
        return False
    if tag == "$d":
        return _same_size(want, have) and _same_mapping(want, have, atol, rtol)
    return _same_size(want, have, 64) and wire.decode(expected) == wire.decode(got)


def _same_size(want: Any, have: Any, slack: int = 0) -> bool:
    return type(want) is type(have) and abs(len(want) - len(have)) <= slack


def _same_set(want: Any, have: Any) -> bool:
    return want == have and _booleans(want) == _booleans(have)


def _booleans(values: Iterable[Any]) -> int:
    """How many: True and 1 are one to a set and to a mapping, and two here."""
    return sum(isinstance(value, bool) for value in values)


def _same_mapping(want: list[Any], have: list[Any], atol: float, rtol: float) -> bool:
    pairs = {wire.decode(k): v for k, v in have}
    wanted = {wire.decode(k): v for k, v in want}
    return (
        pairs.keys() == wanted.keys()
        and all(same_value(value, pairs[key], atol, rtol) for key, value in wanted.items())
        and _booleans(pairs) == _booleans(wanted)
    )


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
    return want == have or (math.isfinite(want - have) and abs(want - have) <= max(atol, rtol * abs(want)))
