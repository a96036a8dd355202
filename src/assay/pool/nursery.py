"""The nursery: the process that bears workers and buries them, and outlives neither its parent nor its work.

It loads the rewards once and forks workers from there, so a new one is there in milliseconds with everything imported.
It runs nobody's code but those imports, has one thread, and so is always there to reap: when a worker ends, its whole
process group goes with it. When the parent is gone, by whatever way, so are the nursery and all the workers.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from typing import Any, Final

from assay.pool import worker

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
MESSAGE: Final = 1 << 16
"""The longest message between a pool and its nursery."""


class Nursery:
    """Forks workers when told to, and says what became of them."""

    def __init__(self, control: socket.socket, parent: int, handler: worker.Handler) -> None:
        self.control, self.parent, self.handler = control, parent, handler
        self.workers: dict[int, tuple[int, int]] = {}  # something readable at its death -> (id, pid)
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)
        if parent >= 0:
            self.poll.register(parent, select.POLLIN)

    def run(self) -> None:
        """Serve until the parent hangs up or is gone."""
        self.say(ready=True, threads=threading.active_count())
        while True:
            for fd, _ in self.poll.poll():
                if fd == self.parent:
                    return
                if fd == self.control.fileno():
                    if not self._obey():
                        return
                elif fd in self.workers:
                    self._bury(fd)

    def say(self, fds: tuple[int, ...] = (), **message: Any) -> None:
        """Tell the parent; where it is gone already, the loop will see it."""
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()[:MESSAGE]], list(fds))
        except OSError:
            return

    def _obey(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self.control, MESSAGE, 8)
        if not message:
            return False
        told = json.loads(message)
        if "bye" in told:
            return False
        if "bear" in told:
            self._bear(told, fds)
        for name in told.get("load", ()):
            _import(name)
        return True

    def _bear(self, told: dict[str, Any], fds: list[int]) -> None:
        gc.freeze()  # what is there stays on shared pages
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._live(me, told, fds)
        for fd in fds:
            os.close(fd)
        with contextlib.suppress(OSError):  # it was quicker, or is gone
            os.setpgid(pid, pid)
        watch = os.pidfd_open(pid)
        self.workers[watch] = (told["bear"], pid)
        self.poll.register(watch, select.POLLIN)
        self.say((watch,), born=told["bear"], pid=pid)

    def _live(self, nursery: int, told: dict[str, Any], fds: list[int]) -> None:
        code = 1
        try:
            os.setpgid(0, 0)
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != nursery:
                os._exit(1)
            self.control.close()
            for fd in self.workers:
                os.close(fd)
            rows, tickets, page, out = fds
            worker.main((rows, tickets, page, out), self.handler, told["memory_mb"], told["hard_limit"])
            code = 0
        finally:  # never back into the nursery's own code
            os._exit(code)

    def _bury(self, watch: int) -> None:
        number, pid = self.workers.pop(watch)
        self.poll.unregister(watch)
        os.close(watch)
        _kill_group(pid)  # before it is reaped: until then the number is nobody else's
        _, status = os.waitpid(pid, 0)
        self._bury_strays()
        self.say(died=number, status=os.waitstatus_to_exitcode(status))

    def _bury_strays(self) -> None:
        """Processes that a reward started in a group of their own have come to us: they end too."""
        own = {pid for _, pid in self.workers.values()}
        for pid in _children():
            if pid not in own:
                _end(pid)

    def close(self) -> None:
        """Leave no process behind."""
        for _, pid in self.workers.values():
            _kill_group(pid)
        self.workers.clear()
        deadline = time.monotonic() + 5.0
        while (left := _children()) and time.monotonic() < deadline:
            for pid in left:
                _end(pid)


def serve(control: socket.socket, parent: int, load: Any) -> None:
    """Be a nursery: load what the workers will run, then bear and bury them. Never returns."""
    code = 1
    try:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)  # the parent's end is what ends it
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        handler = _loaded(control, load)
        if handler is not None:
            nursery = Nursery(control, parent, handler)
            try:
                nursery.run()
            finally:
                nursery.close()
        code = 0
    finally:
        os._exit(code)


def _loaded(control: socket.socket, load: Any) -> worker.Handler | None:
    try:
        return load()
    except BaseException as error:  # noqa: BLE001  (an author's module may raise anything at all when it is imported)
        said = json.dumps({"failed": f"{type(error).__name__}: {error}"[:4000]})
        control.send(said.encode())
        return None


def main() -> None:
    """The entry of a nursery that was started as a new interpreter: its file descriptors are on the command line."""
    control, parent, parcel = (int(fd) for fd in sys.argv[1:4])
    from assay.pool.parcel import unpack

    serve(socket.socket(fileno=control), parent, lambda: unpack(parcel))


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except BaseException:  # noqa: BLE001  (it only saves time: whoever needs the module imports it and sees the error)
        return


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end(pid: int) -> None:
    """Kill a child of ours with its group, and reap it."""
    _kill_group(pid)
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _children() -> list[int]:
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []
