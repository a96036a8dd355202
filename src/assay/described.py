"""Outputs whose metadata is put together when somebody looks at it: a trainer that takes the number pays for no words.

>>> output = described(RewardOutput(1.0), lambda: {"rule": "exact numbers"})
>>> output.metadata, type(output).__name__
({'rule': 'exact numbers'}, 'RewardOutput')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from assay.types import RewardOutput


def described(output: RewardOutput, describe: Callable[[], dict[str, Any]]) -> RewardOutput:
    """The same output, with metadata that `describe` makes at the first look; it is called once, or never."""
    output.metadata = cast("dict[str, Any]", describe)
    output.__class__ = Described
    return output


class Described(RewardOutput):
    """A `RewardOutput` still to be described. The first look at its metadata makes it a plain one with a plain dict.

    To look is to read the metadata, to compare, to show, to copy or to pickle.
    """

    __slots__ = ()  # as many as its base: so it can become one

    @property
    def metadata(self) -> dict[str, Any]:  # pyright: ignore
        kept = cast("Callable[[], dict[str, Any]] | dict[str, Any]", _KEPT.__get__(self))
        made = kept() if callable(kept) else kept  # no longer, where another thread looks at the same time
        self.metadata = made  # pyright: ignore
        return made

    @metadata.setter
    def metadata(self, value: dict[str, Any]) -> None:
        _KEPT.__set__(self, value)  # first: whoever finds a plain output finds plain metadata in it
        self.__class__ = RewardOutput  # pyright: ignore

    def __eq__(self, other: object) -> bool:
        return self._plain() == other

    def __repr__(self) -> str:
        return repr(self._plain())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._plain().__reduce_ex__(protocol)

    def _plain(self) -> RewardOutput:
        _ = self.metadata
        return self

    __hash__ = None  # pyright: ignore


_KEPT: Final[Any] = RewardOutput.__dict__["metadata"]
"""The place in which an output keeps its metadata; until the first look, what makes it."""
