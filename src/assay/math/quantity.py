"""Values with units: left out, spelled otherwise, or converted where that is plain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from assay.math.equal import equal
from assay.math.tree import Node, Num, Op, Quantity
from assay.math.units import known_unit, measure

_Measured: TypeAlias = tuple[str, Fraction] | None
Same = Callable[[Node, Node], bool | None]


def same_quantity(gold: Node, answer: Node, same: Same) -> tuple[bool | None, str]:
    """Whether two values are the same where at least one has a unit."""
    g, g_unit = _compound(*_split(gold))
    a, a_unit = _compound(*_split(answer))
    if _clock(g_unit) or _clock(a_unit):
        return _same_time(g, _clock(g_unit), a, _clock(a_unit)), "times of day"
    if g_unit == ("%",) or a_unit == ("%",):
        return _percent(g, g_unit, a, a_unit, same), "per cent"
    if not g_unit or not a_unit:
        if _is_angle(g) or _is_angle(a):
            return _angles(g, a, a_unit or g_unit, same), "an angle"
        equal = same(g, a)
        return equal, "another value" if equal is False else "a unit left out"
    if g_unit == a_unit:
        return same(g, a), "the same unit"
    x, y = measure(g_unit), measure(a_unit)
    if x is not None and y is not None and "$" not in (*g_unit, *a_unit):
        if x[0] != y[0]:
            return False, "units that measure other things"
        return same(_times(g, Num(x[1])), _times(a, Num(y[1]))), "converted units"
    return _in_other_words(g, g_unit, a, a_unit, same)


def _in_other_words(
    g: Node, g_unit: tuple[str, ...], a: Node, a_unit: tuple[str, ...], same: Same
) -> tuple[bool | None, str]:
    """Units of which at least one is not known, or is the bare sign of a currency."""
    x, y = measure(g_unit), measure(a_unit)
    if x is not None and y is not None and x[0] == y[0]:
        return same(_times(g, Num(x[1])), _times(a, Num(y[1]))), "converted units"
    if {g_unit, a_unit} in _STERLING:
        return same(g, a), "the same unit"
    if g_unit == ("$",) or a_unit == ("$",):
        other = a_unit if g_unit == ("$",) else g_unit
        return (same(g, a), "a unit left out") if _money(other) else (False, "other units")
    x, y = _apart(g_unit, a_unit)
    if x is not None and y is not None and x[0] == y[0]:
        return same(_times(g, Num(x[1])), _times(a, Num(y[1]))), "converted units"
    more, less = _words(g_unit), _words(a_unit)
    if _only_words(more - less) and _only_words(less - more) and (not more - less or not less - more):
        return same(g, a), "a unit in more words" if more != less else "the same unit"
    return False, "other units"


def _only_words(extra: Counter[str]) -> bool:
    """Whether what one unit has more than another are words, as in `m/s east`, and no units, signs or powers."""
    return all(len(word) > 1 and word.isalpha() and known_unit(word) is None for word in extra)


def _is_angle(node: Node) -> bool:
    return isinstance(node, Op) and node.op == "deg"


def _angles(g: Node, a: Node, unit: tuple[str, ...], same: Same) -> bool | None:
    """An angle in degrees beside a value with a unit, which is no angle unless the unit is the radian."""
    if _is_angle(g) and _is_angle(a):
        return same(g, a)
    known = measure(unit)
    return known is not None and not known[0] and equal(g, a) is True


def _apart(g_unit: tuple[str, ...], a_unit: tuple[str, ...]) -> tuple[_Measured, _Measured]:
    """What two units measure without the words that end both: `GeV/c^2` and `MeV/c^2`."""
    k = 1
    while k < min(len(g_unit), len(a_unit)) and g_unit[-k] == a_unit[-k]:
        k += 1
    return (measure(g_unit[: 1 - k]), measure(a_unit[: 1 - k])) if k > 1 else (None, None)


def _money(unit: tuple[str, ...]) -> bool:
    """Whether nothing in a unit speaks against dollars: `per hour` and `each` do not, `euros` and `cm` do."""
    first = unit[0]
    return first in _NO_OTHER_MONEY or "$" in unit or unit in _US_DOLLARS


_NO_OTHER_MONEY = frozenset({"/", "per", "a", "an", "each", "in", "for", "total", "dollar", "dollars", "USD"})
_US_DOLLARS = tuple((*us, dollars) for us in (("US",), ("U", "S")) for dollars in ("dollar", "dollars"))
_STERLING = ({("£",), ("pound",)}, {("£",), ("pounds",)})


def _split(node: Node) -> tuple[Node, tuple[str, ...]]:
    if isinstance(node, Quantity):
        inner, unit = _split(node.value)
        return inner, unit + node.unit
    return node, ()


def _compound(value: Node, unit: tuple[str, ...]) -> tuple[Node, tuple[str, ...]]:
    """`3 hours and 20 minutes` as one value in the unit of its first part."""
    words = [w for w in unit if w != "and"]
    numbers, names = words[1::2], words[::2]
    if len(words) not in (3, 5) or not all(map(str.isdecimal, numbers)) or any(map(str.isdecimal, names)):
        return value, unit
    sizes = [measure((w,)) for w in words[::2]]
    first = sizes[0]
    if first is None:
        return value, unit
    for number, size in zip(words[1::2], sizes[1:], strict=True):
        if size is None or size[0] != first[0]:
            return value, unit
        value = Op("+", (value, Num(int(number) * size[1] / first[1])))
    return value, (words[0],)


def _times(value: Node, factor: Num) -> Node:
    return value if factor.value == 1 else Op("*", (value, factor))


def _words(unit: tuple[str, ...]) -> Counter[str]:
    """The words of a unit, in lower case, without plural, fillers and signs; a known unit by what it measures."""
    parts = [part for w in unit for part in w.replace("^-1", "").replace("^-", "^").split("^")]
    return Counter(_word(w) for w in parts if w not in _UNSAID)


def _word(word: str) -> str:
    known = known_unit(word) if word not in _SPELLED and word[:1] != "°" else None
    if known is not None:
        return repr(known)
    text = word.lower().rstrip("s") or word
    return _SPELLED.get(text, text)


_UNSAID = frozenset({"", ".", "of", "the", "*", "a", "an", "'", "-", "/", "per"})
_SPELLED = {"²": "2", "³": "3", "person": "people", "square": "2", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"}


def _percent(g: Node, g_unit: tuple[str, ...], a: Node, a_unit: tuple[str, ...], same: Same) -> bool | None:
    if g_unit == a_unit:
        return same(g, a)
    if (g_unit and a_unit and g_unit[0] != a_unit[0]) or _is_angle(g) or _is_angle(a):
        return False
    verdict = same(g, a)
    if verdict:
        return True
    if g_unit == ("%",):
        return same(Op("/", (g, Num(100))), a)
    return same(g, Op("/", (a, Num(100))))


def _clock(unit: tuple[str, ...]) -> str:
    text = "".join(unit).lower().replace(".", "")
    return text if text in ("am", "pm") else ""


def _same_time(g: Node, g_half: str, a: Node, a_half: str) -> bool | None:
    x, y = _minutes(g, g_half), _minutes(a, a_half)
    if x is None or y is None:
        return False
    unsaid = y if g_half else x  # of the one that does not say which half of the day it is, or of either
    return x == y if (g_half and a_half) or unsaid >= 13 * 60 else x % 720 == y % 720


def _minutes(node: Node, half: str) -> int | None:
    parts = node.args if isinstance(node, Op) and node.op == "ratio" else (node,)
    values = [n.value for n in parts if isinstance(n, Num) and isinstance(n.value, int)]
    if len(values) != len(parts) or len(values) > 3:
        return None
    hours, minutes = values[0], values[1] if len(values) > 1 else 0
    if half:
        hours = hours % 12 + (12 if half == "pm" else 0)
    return hours * 60 + minutes
