"""How much work one comparison may take in all, counted and not timed: the verdict depends on no clock and no load."""

from __future__ import annotations

import threading

from assay.math.limits import MOST_WORK, TooLarge


class _Meter(threading.local):
    left = MOST_WORK


_METER = _Meter()


def start() -> None:
    """A new comparison begins."""
    _METER.left = MOST_WORK


def charge(work: int) -> None:
    """Count work; raises `TooLarge` where a comparison has taken all that it may."""
    _METER.left -= work
    if _METER.left < 0:
        raise TooLarge("more work than one comparison may take")
