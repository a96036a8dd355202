"""The one place where a stranger's exception stops."""

from __future__ import annotations

import asyncio
import signal
import threading
from types import TracebackType
from typing import Any

from assay.errors import RewardError


class NeedsLoop(Exception):
    """A plain function returned something to await; the whole call is run again on a loop."""


class Boundary:
    """A stranger's exception stops here: it is kept, and becomes an outcome.

    SystemExit counts, for a reward that calls `sys.exit()` must not end the run. Ctrl-C and cancellation pass through
    where they are real; a reward that raises them itself is a reward that raises.
    """

    __slots__ = ("error",)

    def __enter__(self) -> Boundary:
        self.error: BaseException = RewardError("no error")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        if error is None or (not isinstance(error, Exception) and _is_real(error)) or isinstance(error, NeedsLoop):
            return False
        self.error = error
        return True


def _is_real(error: BaseException) -> bool:
    """Whether it comes from outside: a key that was pressed, a task that somebody cancelled, a generator's end."""
    if isinstance(error, KeyboardInterrupt):
        here = threading.current_thread() is threading.main_thread()
        return here and signal.getsignal(signal.SIGINT) is not signal.SIG_DFL  # nobody else gets one
    task = _task()
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit) and task is not None


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None
