"""The layers that a child puts on itself after the fork, in order. Each holds or raises: none fails open."""

from __future__ import annotations

import resource
import signal
from dataclasses import dataclass, field
from os import _exit, close, getppid, setgroups, setresgid, setresuid
from resource import setrlimit

from . import landlock, libc
from .libc import make
from .seccomp import Filter

OPEN_FILES = 64
END_WITH_PARENT = libc.prepared(libc.PRCTL, libc.SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
NOT_DUMPABLE = libc.prepared(libc.PRCTL, libc.SET_DUMPABLE, 0, 0, 0, 0)
NO_NEW_PRIVILEGES = libc.prepared(libc.PRCTL, libc.SET_NO_NEW_PRIVS, 1, 0, 0, 0)
Limits = list[tuple[int, tuple[int, int]]]
"""What of; the soft and the hard limit."""


@dataclass
class Layers:
    """What confines a child: built once in the fork server, applied in each child."""

    rules: int | None = None
    """The descriptor of the Landlock rules."""
    filter: Filter | None = None
    uid: int = 0
    """A spare user to become, where the fork server is root."""
    threads: int = 0
    """The most tasks that the user may have; 0 leaves it."""
    _calls: tuple[libc.Call, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        restriction = [] if self.rules is None else [landlock.restriction(self.rules)]
        self._calls = (END_WITH_PARENT, NOT_DUMPABLE, NO_NEW_PRIVILEGES, *restriction)

    def apply(self, limits: Limits, uid_offset: int = 0) -> None:
        """Confine this process, for good."""
        parent = getppid()
        for kind, bounds in limits:
            setrlimit(kind, bounds)
        if self.uid:
            uid = self.uid + uid_offset
            setgroups([])
            setresgid(uid, uid, uid)
            setresuid(uid, uid, uid)
        for call in self._calls:
            make(call)
        if getppid() != parent:
            _exit(1)
        if self.rules is not None:
            close(self.rules)
        if self.filter is not None:
            self.filter.apply()


def kernel_limits(limits: dict[str, int], threads: int) -> Limits:
    """The kernel's own limits: memory, CPU seconds, file size, descriptors, tasks. Worked out once, before the fork."""
    values = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_FSIZE: limits["output"],
        limits.get("memory_kind", resource.RLIMIT_AS): limits["memory"],
    }
    if threads:
        values[resource.RLIMIT_NPROC] = threads
    if "stack" in limits:
        values[resource.RLIMIT_STACK] = limits["stack"]
    found: Limits = []
    for kind, value in values.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        found.append((kind, (value, value)))
    # the fork server watches the child's clock; this is for the case that it cannot
    return [*found, (resource.RLIMIT_CPU, (limits["cpu"], limits["cpu"] + 1))]
