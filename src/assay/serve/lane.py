"""A thread that does one thing after another, and that can be left behind where it does not come to an end."""

from __future__ import annotations

import ctypes
import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

_numbers = itertools.count(1)


class _Into:
    """What is raised inside goes into the future; what would end the thread does that too."""

    def __init__(self, done: Future[Any]) -> None:
        self.done = done

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> bool:
        if error is not None and not self.done.done():
            self.done.set_exception(error)
        return isinstance(error, Exception)


class Lane:
    """One daemon thread: a process that ends does not wait for it, whatever it is at."""

    def __init__(self) -> None:
        self._todo: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"assay-serve-{next(_numbers)}", daemon=True)
        self._thread.start()

    def submit(self, do: Callable[[], Any]) -> Future[Any]:
        """Have it done in the thread."""
        done: Future[Any] = Future()
        self._todo.put((do, done))
        return done

    def close(self) -> None:
        """End the thread when it has done what it was given."""
        self._todo.put(None)

    def leave(self) -> None:
        """Give the thread up. Where it computes in Python it is ended; where it waits in a call below, it stays."""
        self.close()
        thread = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(SystemExit))

    def _work(self) -> None:
        with suppress(SystemExit):  # what `leave` raises, wherever the thread is: it ends, and nobody is told
            while (given := self._todo.get()) is not None:
                do, done = given
                with _Into(done):
                    if done.set_running_or_notify_cancel():
                        done.set_result(do())
