"""The points at which expressions are evaluated, and the fixed pseudo-random numbers that variables stand for there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from assay.math.precise import Value


@dataclass(slots=True)
class Point:
    """Where an expression is evaluated: which point, and what is known of the work so far."""

    number: int = 0
    """Which of the points: 0 and 1 are positive, 2 and 3 of opposite signs, from 10 on they are natural numbers; from
    100 on they are large, and natural for those letters that usually are; from 104 on for all."""
    bound: dict[str, Value] = field(default_factory=dict)
    degrees: bool = True
    """Whether a degree is pi/180; otherwise it is 1, for an angle whose degree sign was left out."""
    decadic: bool = False
    """Whether `\\log` without a base is taken to the base of ten."""
    absorbed: bool = False
    """Whether a summand was too small to be seen at this precision."""
    work: int = 0
    """Steps taken."""
    cost: int = 0
    """Work done, in units of about a microsecond."""

    def variable(self, name: str) -> Value:
        """The value of a variable here."""
        if name in self.bound:
            return self.bound[name]
        n = noise(name, self.number)
        if self.number >= 100:
            value: Value = (
                n % 1000 + 7
                if self.number >= 104 or name[0] in _NATURAL
                else Decimal(7 * 10**29 + n % 10**33).scaleb(-30)
            )
        elif self.number >= 10:
            value = self.number - 5 + n % 5 if name in "nmNM" else 1 + n % 6
        else:
            value = Decimal(2 * 10**29 + n % (3 * 10**30)).scaleb(-30)
            if self.number in (2, 3) and n % 2 == self.number - 2:
                value = -value
        self.bound[name] = value
        return value


_NATURAL = frozenset("nmklNMKLpqabcdij")


@lru_cache(maxsize=2048)
def noise(*parts: object) -> int:
    """A fixed pseudo-random number of 128 bits."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=16).digest(), "big")


class NeedsIntegers(Exception):
    """The expression has a value at natural numbers only."""
