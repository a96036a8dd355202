"""The one place where a stranger's exception stops."""

from __future__ import annotations

import asyncio
from types import TracebackType

from assay.errors import RewardError


class NeedsLoop(Exception):
    """A plain function returned something to await; the whole call is run again on a loop."""


_PASSES = (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, NeedsLoop)


class Boundary:
    """A stranger's exception stops here: it is kept, and becomes an outcome.

    SystemExit counts, for a reward that calls `sys.exit()` must not end the run. Ctrl-C and cancellation pass through.
    """

    __slots__ = ("error",)

    def __enter__(self) -> Boundary:
        self.error: BaseException = RewardError("no error")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        if error is None or isinstance(error, _PASSES):
            return False
        self.error = error
        return True
