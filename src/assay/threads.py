"""Threads for what must not hold an event loop, and that are no reason for the interpreter to stay.

`concurrent.futures` waits at exit for every thread that it ever started, so one call that hangs keeps the whole
process; these threads are daemons.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Final

_MOST_IDLE: Final = 16
"""Threads that are kept for the next call."""

_Job = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class Threads(ThreadPoolExecutor):
    """An executor without a queue: a call goes to a thread that is idle, or else to a new one."""

    def __init__(self) -> None:
        super().__init__(1)
        self.idle: list[SimpleQueue[_Job]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:  # pyright: ignore
        """Run a call in a thread; the one that became idle last comes first, so that one caller keeps to one thread."""
        future: Future[Any] = Future()
        try:
            inbox = self.idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(target=self._work, args=(inbox,), name="assay-thread", daemon=True).start()
        inbox.put((future, fn, args))
        return future

    def _work(self, inbox: SimpleQueue[_Job]) -> None:
        stays = True
        while stays:
            future, fn, args = inbox.get()
            if not future.set_running_or_notify_cancel():
                self.idle.append(inbox)
                continue
            answer, error = _call(fn, args)
            if stays := len(self.idle) < _MOST_IDLE:
                self.idle.append(inbox)  # first: who gets the answer may have the next call for this very thread
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)
            del future, fn, args, answer, error


def _call(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, BaseException | None]:
    try:
        return fn(*args), None
    except BaseException as error:  # noqa: BLE001  (it is not stopped here: whoever waits for the call gets it)
        return None, error


_threads: dict[int, Threads] = {}  # by process id: a forked child has none of its parent's threads


def threads() -> Threads:
    """This process's own."""
    return _threads.get(os.getpid()) or _threads.setdefault(os.getpid(), Threads())
