"""What the rows of a worker share, put back after each of them as it was: no row finds what another has changed.

A reward may write over `json.dumps` or `time.monotonic`, close `sys.stdout`, leave an alarm ticking or go to another
directory. That is its own affair while its row runs, and nobody's afterwards. Only what is taken away or written over
is put back: names that were added stay, and so does what an import changed.
"""

from __future__ import annotations

import _thread
import builtins
import contextlib
import json
import math
import os
import re
import signal
import sys
import time
from typing import Any, Final, TextIO

# bound here, for a reward may write over them where they come from
_count, _getcwd, _chdir, _setitimer, _open = _thread._count, os.getcwd, os.chdir, signal.setitimer, open
_getprofile, _gettrace, _setprofile, _settrace = sys.getprofile, sys.gettrace, sys.setprofile, sys.settrace
_getlimit, _setlimit, _real, _gone = sys.getrecursionlimit, sys.setrecursionlimit, signal.ITIMER_REAL, OSError

_SHARED: Final = (builtins, json, math, re, time)
MOST_THREADS: Final = 64
"""Threads that rows may leave running before their worker is replaced."""


class Surroundings:
    """What is shared, as a worker was born with it."""

    def __init__(self) -> None:
        self.modules: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.learn()
        self.streams = (sys.stdout, sys.stderr)
        self.cwd = _cwd()
        self.watchers = (_getprofile(), _gettrace())
        self.limit = _getlimit()
        self.threads = _count()

    def learn(self) -> None:
        """Take the modules as they are now."""
        self.modules = [(vars(module), dict(vars(module))) for module in _SHARED]

    def stray_threads(self) -> int:
        """Threads that earlier rows have left running."""
        return _count() - self.threads

    def put_back(self) -> None:
        """Undo what a row has changed."""
        # without a builtin, for those may be what is gone
        for live, kept in self.modules:
            if live != kept:
                live.update(kept)
        _setitimer(_real, 0)
        if _cwd() != self.cwd and self.cwd:
            with contextlib.suppress(_gone):
                _chdir(self.cwd)
        if sys.stdout is not self.streams[0] or sys.stderr is not self.streams[1] or self.streams[0].closed:
            self.streams = (_again(self.streams[0], 1), _again(self.streams[1], 2))
            sys.stdout, sys.stderr = self.streams
        if (_getprofile(), _gettrace()) != self.watchers:
            _setprofile(self.watchers[0])
            _settrace(self.watchers[1])
        if _getlimit() != self.limit:
            _setlimit(self.limit)


def _cwd() -> str:
    try:
        return _getcwd()
    except _gone:  # it was deleted
        return ""


def _again(stream: TextIO, fd: int) -> TextIO:
    return new_stream(fd) if stream.closed else stream


def new_stream(fd: int) -> TextIO:
    """A stream of our own: the parent's may hold half a line that is not ours to print, or be a notebook's."""
    return _open(fd, "w", buffering=1, closefd=False, errors="backslashreplace")  # pyright: ignore
