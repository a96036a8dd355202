"""Watching the children: their CPU clock, how long they were kept waiting for a CPU, and when their time is up.

A limit is on what a program does, and not on what the machine does to it: CPU time is read from the child's own clock
in the kernel, and from the time that has passed is taken what the child stood in line for a CPU. So a program that
sleeps is stopped, and one that a loaded machine holds up is not.
"""

from __future__ import annotations

import functools
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WAIT_FOR_LAST_WORDS = 0.25
MAX_MARKS = 4096
AFTER_A_KILL = 5.0
STARVED = 20  # so many times its wall limit a program may stand in line: after that the machine is at fault


def cpu_clock(pid: int) -> float:
    """The CPU seconds of another process, by the kernel's clock of it."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def queued(pid: int) -> float | None:
    """The seconds that a process' threads stood in line for a CPU; None where the kernel does not say."""
    total = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", "rb", 0) as file:
                total += int(file.read(80).split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return total / 1e9


@functools.cache
def can_tell() -> bool:
    """Whether the kernel says how long a process stood in line."""
    return queued(os.getpid()) is not None


@dataclass
class Child:
    """One child that is watched."""

    name: str
    pid: int
    pidfd: int
    confined: Callable[[], bool]
    """Whether it has put on its layers."""
    cpu: float = 0.0
    line: float = 0.0
    ended: bool = False
    report: dict[str, Any] = field(default_factory=dict[str, Any])

    def refresh(self) -> None:
        """Read its clocks again."""
        if not self.ended:
            self.cpu = max(self.cpu, cpu_clock(self.pid))
            self.line = max(self.line, queued(self.pid) or 0.0)

    def end(self) -> None:
        """Kill it where it still runs, and take leave of it."""
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            self.leave()

    def leave(self) -> None:
        """Take note of how it ended."""
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.pidfd)
        self.ended = True
        self.cpu = usage.ru_utime + usage.ru_stime
        self.report = {
            "status": os.waitstatus_to_exitcode(status),
            "cpu": round(self.cpu, 5),
            "rss": usage.ru_maxrss,
            "confined": self.confined(),
        }


class Watch:
    """One job's children, from the fork until the last has ended."""

    def __init__(self, children: list[Child], marks: int, limits: dict[str, Any], host: list[int]) -> None:
        self.children = children
        self.marks = marks
        self.step, self.step_wall = float(limits["step"]), float(limits["step_wall"])
        self.total, self.total_wall = float(limits["total"]), float(limits["total_wall"])
        self.host = host
        self.why = ""
        self.windows: list[list[float]] = []
        self.began = time.monotonic()
        self.window = (0.0, 0.0)
        self.grace = 0.0

    def run(self) -> dict[str, Any]:
        """Watch until all have ended; what became of each, and why any was stopped."""
        poll = select.poll()
        for child in self.children:
            poll.register(child.pidfd, select.POLLIN)
        for fd in (self.marks, *self.host):
            poll.register(fd, select.POLLIN)
        while not all(c.ended for c in self.children):
            events = poll.poll(max(0.0, self._patience()) * 1000 + 1)
            for fd, _ in events:
                if fd == self.marks:
                    self._marked(poll)
                elif fd in self.host:
                    os._exit(0)  # the trainer has gone; the children go with this process
                else:
                    self._ended(fd, poll)
            if not self.why:
                self._check()
        return {
            "why": self.why,
            "wall": round(time.monotonic() - self.began, 5),
            "windows": self.windows,
            "children": {c.name: c.report for c in self.children},
        }

    def _used(self) -> tuple[float, float]:
        """CPU seconds, and seconds not spent in line, since the start."""
        passed = time.monotonic() - self.began
        line = sum(c.line for c in self.children)
        if not can_tell():
            line = passed / 2  # no word from the kernel: be twice as patient
        return sum(c.cpu for c in self.children), max(0.0, passed - line)

    def _left(self) -> tuple[float, str]:
        """The least time that is left by any limit, and which it is."""
        cpu, own = self._used()
        return min(
            (self.step - (cpu - self.window[0]), "timeout_cpu"),
            (self.total - cpu, "timeout_cpu"),
            (self.step_wall - (own - self.window[1]), "timeout_wall"),
            (self.total_wall - own, "timeout_wall"),
        )

    def _patience(self) -> float:
        """Seconds to sleep: less than is left, for threads can use more than one CPU."""
        if self.why:
            return AFTER_A_KILL
        if self.grace:
            return self.grace - time.monotonic()
        left = self._left()[0]
        return left if left < 0.05 else 0.7 * left

    def _check(self) -> None:
        """Stop the children whose time is up."""
        if self.grace:
            if time.monotonic() >= self.grace:
                self._stop(self.why or "silent")
            return
        for child in self.children:
            child.refresh()
        left, which = self._left()
        if left <= 0:
            self._stop(which)
        elif time.monotonic() - self.began > STARVED * self.total_wall:
            self._stop("starved")

    def _stop(self, why: str) -> None:
        self.why = why
        for child in self.children:
            if not child.ended:
                os.kill(child.pid, signal.SIGKILL)

    def _marked(self, poll: Any) -> None:
        """A child has said that a stretch of its work is done: the limit of one test begins anew.

        On a busy machine the word is read late, with others, and when the next test is under way: that one's time is
        in the sum too.
        """
        said = len(os.read(self.marks, 4096))
        if not said:
            poll.unregister(self.marks)
            return
        for child in self.children:
            child.refresh()
        cpu, own = self._used()
        spent, waited = cpu - self.window[0], max(0.0, own - self.window[1])
        late = cpu > self.total or own > self.total_wall
        if late or spent > (said + 1) * self.step or waited > (said + 1) * self.step_wall:
            return
        self.windows += [[round(spent / said, 5), round(waited / said, 5)]] * said
        self.window = (cpu, own)
        if len(self.windows) > MAX_MARKS:
            del self.windows[MAX_MARKS:]  # what is answered is one message
            self._stop("marks")

    def _ended(self, fd: int, poll: Any) -> None:
        child = next(c for c in self.children if c.pidfd == fd)
        poll.unregister(fd)
        child.leave()
        others = [c for c in self.children if not c.ended]
        if not others:
            return
        if child.name == "tester":  # it decides, and it has
            for other in others:
                os.kill(other.pid, signal.SIGKILL)
        else:
            self.grace = time.monotonic() + WAIT_FOR_LAST_WORDS
