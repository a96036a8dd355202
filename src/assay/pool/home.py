"""Starting a nursery: as a new interpreter, or forked from this process where something lives only here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass

from assay.pool import nursery
from assay.pool.parcel import Parcel, resolve, write


@dataclass(slots=True)
class Home:
    """A running nursery, and the line to it."""

    control: socket.socket
    pid: int
    process: subprocess.Popen[bytes] | None
    ready: float = 0.0
    """Since when it has the rewards loaded; 0 before."""

    def tell(self, fds: list[int] | None = None, **message: object) -> bool:
        """Say something to the nursery; False where it is gone."""
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], fds or [])
        except OSError:
            return False
        return True

    def nudge(self) -> None:
        """Let it go on, should somebody have stopped it."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it, and with it all its workers."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if not self._gone():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def close(self) -> None:
        """End it and all its workers, and wait until that is so."""
        self.nudge()
        self.tell(bye=True)
        self.control.close()
        deadline = time.monotonic() + 6.0
        while time.monotonic() < deadline and not self._gone():
            time.sleep(0.002)
        self.kill()

    def _gone(self) -> bool:
        if self.process is not None:
            return self.process.poll() is not None
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except ChildProcessError:
            return True


def open_home(parcel: Parcel, factory: str) -> Home:
    """Start a nursery. Called from the pool's own thread."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    me = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
    try:
        if parcel.payload is None:
            return Home(ours, _fork(ours, theirs, me, parcel, factory), None)
        process = _start(theirs, me, write(parcel, factory))
        return Home(ours, process.pid, process)
    finally:
        theirs.close()
        if me >= 0:
            os.close(me)


def _start(control: socket.socket, me: int, data: bytes) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as parcel:
        parcel.write(data)
        parcel.flush()
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        start = f"import sys; sys.path[:] = {sys.path!r}; from assay.pool.nursery import main; main()"
        fds = [control.fileno(), me, parcel.fileno()]
        return subprocess.Popen(
            [sys.executable, *flags, "-c", start, *map(str, fds)],
            pass_fds=[fd for fd in fds if fd >= 0],
            stdin=subprocess.DEVNULL,
            process_group=0,  # not a new session: on Linux that would be another group for the scheduler too
        )


def _fork(ours: socket.socket, control: socket.socket, me: int, parcel: Parcel, factory: str) -> int:
    with warnings.catch_warnings():
        # Python warns that another thread may hold a lock; the nursery uses none that it did not make itself
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        os.setpgid(0, 0)
        ours.close()
        nursery.serve(control, me, lambda: resolve(factory)(parcel.objects))
    finally:
        os._exit(1)
