"""A key that is sent to its server and shown nowhere else."""

from __future__ import annotations

import hmac
from typing import Any


class Secret:
    """An API key that appears in no repr, log, error, pickle or cache.

    A pickle or a JSON file carries an empty one: the process that reads it takes the key from its own environment.

    >>> Secret("sk-123")
    Secret(***)
    >>> Secret("sk-123").scrub("bad key sk-123")
    'bad key ***'
    """

    __slots__ = ("_value",)

    def __init__(self, value: str | Secret = "") -> None:
        self._value: str = value._value if isinstance(value, Secret) else value

    def reveal(self) -> str:
        """The key itself, for the request header and nothing else."""
        return self._value

    def scrub(self, text: str) -> str:
        """The text without the key: servers like to repeat it in their errors."""
        return text.replace(self._value, "***") if self._value else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(***)" if self._value else "Secret()"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: Any) -> Secret:
        return self

    def __reduce__(self) -> tuple[type[Secret], tuple[()]]:
        return (Secret, ())
