"""Processes as /proc tells them: what is below one, and whether one still lives."""

from __future__ import annotations

import os
import time
from pathlib import Path


def below(pid: int | None = None) -> list[int]:
    """Every process that descends from this one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid or os.getpid()}/task").glob("*"):
        try:
            children = [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
        found += children + [p for child in children for p in below(child)]
    return found


def lives(pid: int) -> bool:
    """Whether a process is there, and not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def gone(pids: list[int], within: float = 5.0) -> bool:
    """Whether they all end within so many seconds."""
    end = time.monotonic() + within
    while any(lives(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def resident_mb() -> float:
    """The memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
