"""Watching the children: their CPU clock, how long they were kept waiting for a CPU, and when their time is up.

A limit is on what a program does, and not on what the machine does to it: CPU time is read from the child's own clock
in the kernel, and from the time that has passed is taken what the child stood in line for a CPU. So a program that
sleeps is stopped, and one that a loaded machine holds up is not.
"""

from __future__ import annotations

import functools
import mmap
import os
import time
from dataclasses import dataclass
from os import close, kill, wait4, waitstatus_to_exitcode
from select import POLLIN, poll
from signal import SIGKILL
from time import monotonic
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


@dataclass(slots=True)
class Child:
    """One child that is watched."""

    name: str
    pid: int
    pidfd: int
    confined: mmap.mmap
    """What the children say of their layers."""
    slot: int
    """Where this one says it."""
    cpu: float = 0.0
    line: float = 0.0
    ended: bool = False
    report: dict[str, Any] | None = None

    def refresh(self) -> None:
        """Read its clocks again."""
        if not self.ended:
            self.cpu = max(self.cpu, cpu_clock(self.pid))
            self.line = max(self.line, queued(self.pid) or 0.0)

    def end(self) -> None:
        """Kill it where it still runs, and take leave of it."""
        if not self.ended:
            kill(self.pid, SIGKILL)
            self.leave()

    def leave(self) -> None:
        """Take note of how it ended."""
        _, status, usage = wait4(self.pid, 0)
        close(self.pidfd)
        self.ended = True
        self.cpu = usage.ru_utime + usage.ru_stime
        self.report = {
            "status": waitstatus_to_exitcode(status),
            "cpu": round(self.cpu, 5),
            "rss": usage.ru_maxrss,
            "confined": self.confined[self.slot] == 1,
        }


class Watch:
    """One job's children, from before the fork until the last has ended.

    Between a fork and the child's end the two share their memory, and what is written is copied. So what can be made
    ready before is, and where nothing happens but that the child ends, little is done until then.
    """

    def __init__(self, marks: int, limits: dict[str, Any], host: list[int]) -> None:
        self.children: list[Child] = []
        self.running: dict[int, Child] = {}
        self.marks = marks
        self.step, self.step_wall = float(limits["step"]), float(limits["step_wall"])
        self.total, self.total_wall = float(limits["total"]), float(limits["total_wall"])
        self.least = min(self.step, self.total)
        self.least_wall = min(self.step_wall, self.total_wall)
        self.host = host
        self.why = ""
        self.decided = False
        self.windows: list[list[float]] = []
        self.began = 0.0
        self.window = (0.0, 0.0)
        self.grace = 0.0
        self.poll = poll()
        for fd in (marks, *host):
            self.poll.register(fd, POLLIN)

    def add(self, child: Child) -> None:
        """One more, that has just been forked."""
        self.children.append(child)
        self.running[child.pidfd] = child
        self.poll.register(child.pidfd, POLLIN)

    def run(self) -> dict[str, Any]:
        """Watch until all have ended; what became of each, and why any was stopped."""
        self.began = monotonic()
        patience = 0.7 * min(self.least, self.least_wall)
        while self.running:
            for fd, _ in self.poll.poll(max(0.0, patience) * 1000 + 1):
                if fd in self.running:
                    self._ended(fd)
                elif fd == self.marks:
                    self._marked()
                else:
                    os._exit(0)  # the trainer has gone; the children go with this process
            if not self.why and (self._beyond() if self.decided or not self.running else True):
                self._check()
            patience = self._patience() if self.running else 0.0
        return {
            "why": self.why,
            "wall": round(monotonic() - self.began, 5),
            "windows": self.windows,
            "children": {c.name: c.report for c in self.children},
        }

    def _beyond(self) -> bool:
        """Whether a limit may have been passed: by all that was used, in whatever stretches."""
        return sum(c.cpu for c in self.children) >= self.least or monotonic() - self.began >= self.least_wall

    def _used(self) -> tuple[float, float]:
        """CPU seconds, and seconds not spent in line, since the start."""
        passed = monotonic() - self.began
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
        if self.why or self.decided:
            return AFTER_A_KILL
        if self.grace:
            return self.grace - monotonic()
        left = self._left()[0]
        return left if left < 0.05 else 0.7 * left

    def _check(self) -> None:
        """Stop the children whose time is up."""
        if self.grace:
            if monotonic() >= self.grace:
                self._stop(self.why or "silent")
            return
        for child in self.children:
            child.refresh()
        left, which = self._left()
        if left <= 0:
            self._stop(which)
        elif monotonic() - self.began > STARVED * self.total_wall:
            self._stop("starved")

    def _stop(self, why: str) -> None:
        self.why = why
        for child in self.children:
            if not child.ended:
                kill(child.pid, SIGKILL)

    def _marked(self) -> None:
        """A child has said that a stretch of its work is done: the limit of one test begins anew.

        On a busy machine the word is read late, with others, and when the next test is under way: that one's time is
        in the sum too.
        """
        said = len(os.read(self.marks, 4096))
        if not said:
            self.poll.unregister(self.marks)
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

    def _ended(self, fd: int) -> None:
        child = self.running.pop(fd)
        self.poll.unregister(fd)
        child.leave()
        if not self.running:
            return
        if child.name == "tester":  # it decides, and it has
            self.decided = True
            for other in self.running.values():
                kill(other.pid, SIGKILL)
        else:
            self.grace = monotonic() + WAIT_FOR_LAST_WORDS
