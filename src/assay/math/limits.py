"""The bounds that are checked before any work is done, so that a call returns within milliseconds on any input."""

from __future__ import annotations

MOST_CHARS = 4_000
"""A longer answer is compared as text only."""
MOST_TOKENS = 1_500
"""An answer of more tokens is compared as text only."""
DEEPEST = 60
"""Brackets, fractions and functions inside one another."""
MOST_RETRIES = 8
"""Places of one answer that are read a second time in another way."""
MOST_ITEMS = 400
"""Items of a list, or cells of a matrix, that are compared one by one."""
MOST_BITS = 40_000
"""An exact integer is never longer."""
MOST_DIGITS = 4_000
"""A written number is never longer."""
MOST_EXPONENT_BITS = 4_000
"""An exponent that is raised to modulo a prime is never longer."""
LARGEST_FACTORIAL = 3_000
"""The factorial of a larger number is not computed."""
MOST_TERMS = 200
"""A sum or a product of more terms is not added up."""
MOST_STEPS = 4_000
"""Steps that one evaluation may take."""
MOST_WORK = 50_000
"""Work that one comparison may take in all, in units of about a microsecond."""


class TooLarge(Exception):
    """What was written is larger than what is worked out; the comparison is undecided."""


class Unreadable(Exception):
    """What was written is no mathematics that is understood here; it may still be text."""
