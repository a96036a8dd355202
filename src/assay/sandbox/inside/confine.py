"""The layers that a child puts on itself after the fork, in order. Each holds or raises: none fails open."""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import dataclass, field

from . import landlock, libc
from .seccomp import Filter

OPEN_FILES = 64
END_WITH_PARENT = libc.Prepared("prctl", libc.SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
NOT_DUMPABLE = libc.Prepared("prctl", libc.SET_DUMPABLE, 0, 0, 0, 0)
NO_NEW_PRIVILEGES = libc.Prepared("prctl", libc.SET_NO_NEW_PRIVS, 1, 0, 0, 0)
Limits = list[tuple[int, int, int]]
"""What of, the soft and the hard limit."""


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
    _restrict: libc.Prepared | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.rules is not None:
            self._restrict = landlock.restriction(self.rules)

    def apply(self, limits: Limits, uid_offset: int = 0) -> None:
        """Confine this process, for good."""
        parent = os.getppid()
        for kind, soft, hard in limits:
            resource.setrlimit(kind, (soft, hard))
        if self.uid:
            uid = self.uid + uid_offset
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        END_WITH_PARENT()
        if os.getppid() != parent:
            os._exit(1)
        NOT_DUMPABLE()
        NO_NEW_PRIVILEGES()
        if self._restrict is not None and self.rules is not None:
            self._restrict()
            os.close(self.rules)
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
        found.append((kind, value, value))
    # the fork server watches the child's clock; this is for the case that it cannot
    return [*found, (resource.RLIMIT_CPU, limits["cpu"], limits["cpu"] + 1)]
