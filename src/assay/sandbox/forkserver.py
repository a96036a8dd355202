"""The trainer's end of one fork server: start it, hand it a job, take the answer.

The handle belongs to the process that made it. Its socket is all that holds the server: when the trainer ends in
whatever way, the server sees it (by the socket, and by a pidfd of the trainer) and ends with all its children.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside", "boot.py")
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "LD_BIND_NOW": "1",  # or each child looks up the same functions of the libraries anew
}
START_SECONDS = 60.0
SPARE_SECONDS = 30.0
ANSWER = 1 << 20


class ServerGone(Exception):
    """The fork server has ended, or does not answer, or could not fork: the infrastructure's fault."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do inside: which, within what limits, with what to read; and how much may be written where."""

    op: str
    limits: Mapping[str, float]
    inputs: tuple[bytes, ...]
    outputs: int
    cap: int
    server: str = ""
    """Which kind of fork server: with nothing more than the standard library, or with `numpy` and its like loaded."""


@dataclass(slots=True)
class Reply:
    """How the job's children ended, and what they wrote."""

    why: str
    """Why they were stopped, empty where they were not."""
    wall_s: float
    children: dict[str, dict[str, Any]]
    windows: list[list[float]]
    outputs: list[bytes] = field(default_factory=list[bytes])


class ForkServer:
    """One fork server and the socket to it."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self.owner = os.getpid()
        self.written: list[int] = []
        self.job: Job | None = None
        self.deadline = 0.0
        self._complaints = os.memfd_create("assay-complaints", os.MFD_CLOEXEC)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket = ours
        try:
            self.pid = _spawn(theirs, self._complaints)
        except OSError as error:
            ours.close()
            os.close(self._complaints)
            raise ServerGone(f"the fork server did not start: {error}") from None
        finally:
            theirs.close()
        self.ready = self._ask_to_prepare(setup)

    def _ask_to_prepare(self, setup: Mapping[str, Any]) -> dict[str, Any]:
        self.socket.settimeout(START_SECONDS)
        try:
            self.socket.send(json.dumps({**setup, "host": self.owner}).encode())
            answer = self.socket.recv(ANSWER)
        except OSError as error:
            answer = b""
            self.complaint = str(error)
        if not answer:
            said = os.pread(self._complaints, 2000, 0).decode("utf-8", "replace").strip()
            self.kill()
            raise ServerGone(f"the fork server did not start: {said.splitlines()[-1] if said else 'it ended'}")
        ready: dict[str, Any] = json.loads(answer)
        if "fault" in ready:
            self.kill()
            raise ServerGone(str(ready["fault"]))
        return ready

    def fileno(self) -> int:
        """The socket, for a poll."""
        return self.socket.fileno()

    def submit(self, job: Job) -> None:
        """Hand over a job; the answer comes later. ServerGone where nobody is there."""
        given = [_memory_file(data) for data in job.inputs]
        self.written = [_memory_file(b"") for _ in range(job.outputs)]
        request = json.dumps({"op": job.op, "limits": dict(job.limits)}).encode()
        rights = array.array("i", [*given, *self.written])
        try:
            self.socket.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError as error:
            self._forget()
            raise ServerGone(f"the fork server has gone ({error.strerror})") from None
        finally:
            for fd in given:
                os.close(fd)
        self.job = job
        self.deadline = time.monotonic() + 20 * job.limits["total_wall"] + SPARE_SECONDS

    def collect(self) -> Reply:
        """The answer to the job. ServerGone where there is none."""
        job, self.job = self.job, None
        try:
            data = self.socket.recv(ANSWER)
            if not data or job is None:
                raise ServerGone("the fork server ended in the middle of a job")
            said = json.loads(data)
            if "fault" in said:
                raise ServerGone(f"the fork server could not do the job: {said['fault']}")
            if not all(child["confined"] for child in said["children"].values()):
                raise ServerGone("a child could not put on its layers")
            if said["why"] == "starved":
                raise ServerGone("the machine gave the program no CPU for twenty times its limit")
            outputs = [os.pread(fd, job.cap + 1, 0) for fd in self.written]
        except OSError as error:
            raise ServerGone(f"the fork server does not answer ({error})") from None
        finally:
            self._forget()
        return Reply(said["why"], said["wall"], said["children"], said["windows"], outputs)

    def _forget(self) -> None:
        for fd in self.written:
            os.close(fd)
        self.written = []

    def close(self) -> None:
        """Let the server end by itself, and see that it has."""
        self.socket.close()
        if os.getpid() == self.owner and not _reaped(self.pid, 2.0):
            os.kill(self.pid, signal.SIGKILL)
            _reaped(self.pid, 2.0)
        self._drop()

    def kill(self) -> None:
        """End it now."""
        self.socket.close()
        if os.getpid() == self.owner:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            _reaped(self.pid, 2.0)
        self._drop()

    def _drop(self) -> None:
        self._forget()
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1


def _spawn(theirs: socket.socket, complaints: int) -> int:
    """Start the clean Python: nothing of this process' memory, environment or descriptors but the one socket."""
    high = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 10)
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-X", "utf8", BOOT],
            ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, complaints, 2),
                (os.POSIX_SPAWN_DUP2, high, 3),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1],
        )
    finally:
        os.close(high)


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("assay", os.MFD_CLOEXEC)
    view = memoryview(data)
    at = 0
    while at < len(view):
        at += os.pwrite(fd, view[at:], at)
    return fd


def _reaped(pid: int, seconds: float) -> bool:
    """Wait for a child of ours, but not for ever."""
    until = time.monotonic() + seconds
    while True:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return True
        except OSError as error:
            return error.errno == errno.ECHILD
        if time.monotonic() > until:
            return False
        time.sleep(0.002)


def closed(servers: Sequence[ForkServer]) -> None:
    """Close several: first all sockets, then wait, so that they end at the same time."""
    for server in servers:
        server.socket.close()
    for server in servers:
        server.close()
