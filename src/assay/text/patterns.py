"""Patterns that a user writes: a literal text, or `re:` and a regular expression that is stopped at a deadline.

The standard library's `re` cannot be stopped, and `(a+)+$` on thirty characters keeps it busy for a minute. So a user's
expression runs in the `regex` package (extra `text`), which can. What is stopped is a stated failure, never "no match".
"""

from __future__ import annotations

import functools
import time
import unicodedata
from collections.abc import Iterable
from typing import Any

from assay.errors import ConfigError, RewardTimeout, require

MARK = "re:"
"""What a pattern begins with when it is a regular expression and no literal text."""

_LONGEST = 10_000
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'})


def fold(text: str, case_sensitive: bool = False) -> str:
    """The text as literals are looked for: composed, with straight quotes and, unless told otherwise, without case."""
    if text.isascii():
        return text if case_sensitive else text.lower()
    text = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    # casefold makes ß and SS one, and leaves a dot over the i that İ was
    return text if case_sensitive else text.casefold().replace("i\u0307", "i")


def check(patterns: Iterable[str], case_sensitive: bool = False) -> None:
    """Refuse, when a reward is made, a pattern that is empty or does not compile."""
    for pattern in patterns:
        if pattern.startswith(MARK):
            _compiled(pattern, case_sensitive)
        if not pattern.removeprefix(MARK).strip():
            raise ConfigError(f"needed a pattern; found {pattern!r}, which is in every text. Leave it out.")


def found_in(text: str, patterns: Iterable[str], deadline: float, case_sensitive: bool = False) -> list[str]:
    """Which of the patterns the text holds. All together have `deadline` seconds, or `RewardTimeout` is raised."""
    literal = fold(text, case_sensitive)
    until = 0.0
    found: list[str] = []
    for pattern in patterns:
        if not pattern.startswith(MARK):
            if fold(pattern, case_sensitive) in literal:
                found.append(pattern)
            continue
        now = time.monotonic()
        until = until or now + deadline
        if _search(pattern, text, max(until - now, 0.001), deadline, case_sensitive):
            found.append(pattern)
    return found


def _search(pattern: str, text: str, seconds: float, deadline: float, case_sensitive: bool) -> bool:
    try:
        return _compiled(pattern, case_sensitive).search(text, timeout=seconds) is not None
    except TimeoutError:
        raise RewardTimeout(
            f"the pattern {pattern!r:.120} was stopped after {deadline:g} s on a response of {len(text)} characters. "
            f"Write it without nested repeats such as (a+)+, or make it possessive: (a++)+."
        ) from None


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str, case_sensitive: bool) -> Any:
    regex = require("regex", "text", f"the pattern {pattern!r:.60}")
    source = pattern.removeprefix(MARK)
    if len(source) > _LONGEST:
        raise ConfigError(f"needed a pattern of at most {_LONGEST} characters; found one of {len(source)}.")
    flags = regex.MULTILINE if case_sensitive else regex.MULTILINE | regex.IGNORECASE
    try:
        return regex.compile(source, flags)
    except regex.error as error:
        raise ConfigError(f"needed a regular expression after 're:'; found {source!r:.120}: {error}.") from None
