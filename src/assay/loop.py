"""Run a coroutine to its end from plain code: in a script, a thread, inside a notebook's or a trainer's own loop.

What never waits is driven on the spot. What waits runs on one background loop a process, so that connections opened by
one call are there for the next. The loop outlives what runs on it: who stops it, or ends its thread with an exception,
finds it going on; a task that holds it beyond its deadline is left behind with it, and the others get a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from assay.threads import threads

T = TypeVar("T")

LOOK: Final = 0.1
"""Seconds between two looks at who holds the loop."""
GRACE: Final = 0.5
"""Seconds that a task may hold the loop in one piece behind its deadline."""

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process id: a forked child must not use its parent's


@dataclass(frozen=True, slots=True)
class Watched:
    """A task with a deadline, and what it is about."""

    due: float
    about: Any


_watched: weakref.WeakKeyDictionary[asyncio.Task[Any], Watched] = weakref.WeakKeyDictionary()
_given_up: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()


class Stalled(Exception):
    """The loop is held by code that does not await. It was left behind, and the next call gets a new one."""

    def __init__(self, about: Any = None) -> None:
        super().__init__("an async reward held the event loop beyond its deadline without awaiting anything")
        self.about = about
        """Of the task that did it; None where that is not known."""


_here = threading.local()


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for anything; no loop is needed for it."""
    before, _here.driven = is_driven(), True
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    finally:
        _here.driven = before
    coroutine.close()
    raise RuntimeError("a coroutine that was to be driven without a loop waited for something")


def is_driven() -> bool:
    """Whether this code is driven without a loop of ours. A loop may run all the same: a notebook's, a trainer's."""
    return getattr(_here, "driven", False)


async def aside(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Drive a coroutine that never waits in another thread, so that what it computes does not hold the loop."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(threads(), context.run, lambda: drive(make()))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits, from any thread, whether or not a loop is running in it.

    Raises `Stalled` where a task that is watched holds the loop beyond its deadline.
    """
    loop = background_loop()
    if threading.current_thread().name == _thread_name():  # a reward on our own loop calls another one synchronously
        return threads().submit(asyncio.run, coroutine).result()
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    look = _Look(loop)
    try:
        while not wait((future,), LOOK).done:
            look.again()
        return future.result()
    except CancelledError:  # not by us: something on the loop cancels what is not its own
        raise Stalled from None
    except BaseException:  # Ctrl-C too: what is in flight is cancelled, not left behind
        future.cancel()
        raise


def watch(due: float, about: Any) -> None:
    """From now on the current task is left behind where it holds the loop at that time (`time.monotonic()`)."""
    if (task := asyncio.current_task()) is not None:
        _watched[task] = Watched(due, about)


def given_up() -> bool:
    """Whether the loop that this runs on was left behind: nothing new begins on it."""
    return asyncio.get_running_loop() in _given_up


class _Look:
    """Looks at a loop from another thread, again and again: is it one and the same task that holds it?"""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.task: asyncio.Task[Any] | None = None
        self.since = 0.0

    def again(self) -> None:
        """Raise `Stalled` where the loop is held, or was given up by another thread that saw it."""
        if _loops.get(os.getpid()) is not self.loop:
            raise Stalled
        task, now = asyncio.current_task(self.loop), time.monotonic()
        if task is not self.task:
            self.task, self.since = task, now
        watched = _watched.get(task) if task is not None else None
        if watched is not None and now > watched.due and now - self.since > GRACE and task is self.task:
            _leave(self.loop)
            raise Stalled(watched.about)


def _leave(loop: asyncio.AbstractEventLoop) -> None:
    """Give up a loop that is held: nothing on it goes on, should it ever be let go."""
    with _lock:
        if _loops.get(os.getpid()) is not loop:
            return
        del _loops[os.getpid()]
        _given_up.add(loop)
    loop.set_exception_handler(lambda loop, context: None)  # its unfinished tasks are no news
    loop.call_soon_threadsafe(loop.stop)
    thread = getattr(loop, "_thread_id", None)
    if thread is not None:  # ends a loop of Python code; a call into C that does not return stays where it is
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))


def background_loop() -> asyncio.AbstractEventLoop:
    """The process's own loop, started at its first use."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = asyncio.new_event_loop()
            loop.set_default_executor(threads())
            _loops.clear()
            _loops[os.getpid()] = loop
            threading.Thread(target=_serve, args=(loop,), name=_thread_name(), daemon=True).start()
        return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    while _loops.get(os.getpid()) is loop and not loop.is_closed():
        with contextlib.suppress(Exception, SystemExit, KeyboardInterrupt):  # no callback ends the loop for all others
            loop.run_forever()
    with contextlib.suppress(Exception, SystemExit):  # it was left, and let go at last: what is in flight on it ends
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _thread_name() -> str:
    return f"assay-loop-{os.getpid()}"


def _forget() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it when this process was forked
    _loops.clear()


os.register_at_fork(after_in_child=_forget)
