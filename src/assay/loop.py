"""Run a coroutine to its end from plain code: in a script, a thread, inside a notebook's or a trainer's own loop.

What never waits is driven on the spot. What waits runs on one background loop a process, so that connections opened by
one call are there for the next.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process id: a forked child must not use its parent's


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for anything; no loop is needed for it."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("a coroutine that was to be driven without a loop waited for something")


class Stalled(Exception):
    """The loop is held by code that does not await. It was left behind, and the next call gets a new one."""


def run(coroutine: Coroutine[Any, Any, T], patience: float | None = None) -> T:
    """Run a coroutine that waits, from any thread, whether or not a loop is running in it.

    With `patience`, a loop that answers nothing for so many seconds is given up: `Stalled`.
    """
    loop = background_loop()
    if threading.current_thread().name == _thread_name():
        coroutine.close()
        raise RuntimeError("a reward that runs on Assay's own loop called another one synchronously; await it instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        while patience is not None and not future.done():
            wait((future,), patience)
            if not future.done() and not _answers(loop, patience):
                with _lock:
                    _loops.pop(os.getpid(), None)
                raise Stalled
        return future.result()
    except BaseException:  # Ctrl-C too: what is in flight is cancelled, not left behind
        future.cancel()
        raise


def _answers(loop: asyncio.AbstractEventLoop, patience: float) -> bool:
    answered = threading.Event()
    loop.call_soon_threadsafe(answered.set)
    return answered.wait(patience)


def background_loop() -> asyncio.AbstractEventLoop:
    """The process's own loop, started at its first use."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name=_thread_name(), daemon=True).start()
            _loops.clear()
            _loops[os.getpid()] = loop
        return loop


def _thread_name() -> str:
    return f"assay-loop-{os.getpid()}"
