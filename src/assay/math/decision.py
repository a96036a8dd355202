"""What a comparison gives, and how near is near enough."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


class Decision(NamedTuple):
    """A verdict and the rule that gave it."""

    same: bool | None
    rule: str


@dataclass(frozen=True, slots=True)
class Closeness:
    """How near a number must be where the values are not equal."""

    relative: Fraction = Fraction(0)
    rounding: bool = True
    """An exact answer that rounds to a decimal gold counts, and so do many digits of an exact gold."""
