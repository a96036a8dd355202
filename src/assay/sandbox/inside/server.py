"""The fork server: a clean process that forks a child for each job, watches it, kills it and says how it ended.

It reads no code, no test and no output: those are in descriptors that it hands on, unread. So a child that is forked
later holds nothing of any job but its own. It speaks JSON over one socket, a request and an answer at a time:

    {"op": "calls", "limits": {...}}  + descriptors   ->   {"why": "", "wall": 0.003, "children": {...}, "windows": []}
"""

from __future__ import annotations

import array
import fcntl
import gc
import json
import mmap
import os
import select
import socket
from collections.abc import Callable
from os import _exit, closerange, dup2, fork, pidfd_open
from typing import Any

from . import attacks, forks, jail, landlock, libc, libraries, memory, native, program, rehearsal, seccomp, wire
from .candidate import run_candidate
from .confine import Layers, Limits, kernel_limits
from .tester import run_tester
from .watch import Child, Watch, can_tell

LOWEST = 16
MANY_BOUNDS = 256
RULES_FD = 250
EVERY_FD = 1 << 16
TESTER_UID = 500
SCRATCH_MB = 96
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
MESSAGE = 1 << 20

Body = Callable[[dict[str, int], int], None]


class Server:
    """One fork server: set up once, then one job after the other."""

    def __init__(self, control: socket.socket, host: int, setup: dict[str, Any]) -> None:
        self.control = control
        self.host = [host]
        self.setup = setup
        self.layers = Layers()
        self.by_kind: dict[str, Layers] = {}
        self.confined = mmap.mmap(-1, mmap.PAGESIZE)  # shared with the children: which have put on their layers
        self.reseed: Callable[[], Any] | None = None
        self.known_bounds: dict[tuple[Any, ...], Limits] = {}
        self.places: dict[Body, dict[str, int]] = {}
        self.null = _keep_low_numbers(os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC))

    def prepare(self) -> dict[str, Any]:
        """Import, build the layers, try the attacks; what the trainer is told of it."""
        setup = self.setup
        own = native.IMPORTED if setup["native"] else ()
        libraries.preload([*setup["preload"], *own], setup["packages"], setup["visible"], setup["beside"])
        self.reseed = forks.with_hooks()
        heap = memory.heap()
        if self.setup["jail"]:
            scratch = SCRATCH_MB if self.setup["native"] else 0
            jail.enter(self.setup["readable"], self.setup["hidden"], self.setup["beside"], scratch)
        threads = _tasks_of_the_machine() + 256
        abi = landlock.version() if self.setup["landlock"] else 0
        kinds = ("compile", "compiled", "script") if self.setup["native"] else ("python",)
        for i, kind in enumerate(kinds):
            rules = self._rules(kind, RULES_FD + i) if self.setup["landlock"] else None
            self.by_kind[kind] = Layers(rules, None, self.setup["uid"], threads)
        self.layers = self.by_kind[kinds[-1]]
        libraries.remember()
        if not setup["open_files"]:
            libraries.forget_files()
        elif setup["uid"] and self._unreadable():
            libraries.reach_by_descriptor()
        can_tell()
        program.standard_streams()
        if not setup["native"]:
            rehearsal.rehearse(self.null)
            program.standard_streams()  # anew: those have seen the end of the server's
        libc.prctl(libc.SET_DUMPABLE, 0)
        if self.setup["seccomp"]:
            profile = seccomp.Profile(self.setup["open_files"], bool(self.setup["native"]))
            own, theirs = seccomp.filters(profile)
            for kind, layers in self.by_kind.items():
                layers.filter = theirs[kind]
            libc.prctl(libc.SET_NO_NEW_PRIVS, 1)
            own.apply()
        worked = attacks.that_work(self.layers, self.setup["secret"], self.setup["port"]) if self.setup["try"] else []
        gc.collect()
        gc.freeze()
        huge = memory.settle(heap)
        return {
            "ready": True,
            "attacks": worked,
            "landlock": abi,
            "huge_pages": huge,
            "missing": self._unreadable(),
        }

    def _rules(self, kind: str, place: int) -> int:
        """The Landlock rules of one kind of child, at a descriptor out of the way."""
        if kind == "compile":
            rules = landlock.ruleset(DEVICES, [native.SCRATCH], self.setup["programs"])
        elif kind == "compiled":
            rules = landlock.ruleset(DEVICES)
        elif kind == "script":
            rules = landlock.ruleset(DEVICES, [], self.setup["interpreters"])
        else:
            rules = landlock.ruleset([*self.setup["readable"], *self.setup["beside"], *DEVICES])
        moved = fcntl.fcntl(rules, fcntl.F_DUPFD_CLOEXEC, place)
        os.close(rules)
        return moved

    def _unreadable(self) -> bool:
        """Whether a child could not import a module that was not imported before the fork."""
        child = os.fork()
        if child == 0:
            try:
                self.layers.apply(kernel_limits(attacks.LIMITS, self.layers.threads))
                os._exit(0 if libraries.readable() else 1)
            except BaseException:
                os._exit(1)
        return os.waitpid(child, 0)[1] != 0

    def serve(self) -> None:
        """Answer requests until the trainer has gone."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.host[0], select.POLLIN)  # a fork of the trainer may hold the socket open beyond its end
        while True:
            for fd, _ in poll.poll():
                if fd in self.host:
                    return
            try:
                message, ancillary, _, _ = self.control.recvmsg(MESSAGE, socket.CMSG_SPACE(16 * 4))
            except OSError:
                return
            if not message:
                return
            descriptors = array.array("i")
            for _, _, data in ancillary:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
            try:
                answer = self.job(wire.loads(message), list(descriptors))
            except OSError as error:
                answer = {"fault": str(error)}
            finally:
                for fd in descriptors:
                    os.close(fd)
            self.control.send(wire.dumps(answer))

    def job(self, request: dict[str, Any], given: list[int]) -> dict[str, Any]:
        """Run one job's children to their end."""
        limits = request["limits"]
        if self.setup["native"]:
            limits = native.limits_of(request["op"], limits)
            self.layers = self.by_kind[request["op"]]
        marks, said = os.pipe()
        opened = [marks, said]
        watch = Watch(marks, limits, self.host)
        bounds = self._bounds(limits)
        try:
            for name, body, descriptors in getattr(self, "_" + request["op"])(given, said, opened):
                watch.add(self._fork(name, body, descriptors, bounds))
            os.close(said)
            opened.remove(said)
            answer = watch.run()
            if self.setup["native"]:
                native.sweep()
            return answer
        except BaseException:
            for child in watch.children:
                child.end()
            raise
        finally:
            for fd in opened:
                os.close(fd)

    def _bounds(self, limits: dict[str, Any]) -> Limits:
        """The kernel's limits for these of a job's: most jobs have the same."""
        key = tuple(limits.values())
        if key not in self.known_bounds:
            if len(self.known_bounds) >= MANY_BOUNDS:
                self.known_bounds.clear()
            self.known_bounds[key] = kernel_limits(limits, self.layers.threads)
        return self.known_bounds[key]

    # each says which children a job has: (name, what it runs, its descriptors by their name there)

    def _stdio(self, given: list[int], said: int, opened: list[int]) -> Any:
        job, stdin, stdout, stderr = given
        yield "candidate", program.run_stdio, {"stdin": stdin, "stdout": stdout, "stderr": stderr, "job": job}

    def _calls(self, given: list[int], said: int, opened: list[int]) -> Any:
        job, records = given
        yield "candidate", program.run_calls, self._quiet(job) | {"records": records, "marks": said}

    def _tests(self, given: list[int], said: int, opened: list[int]) -> Any:
        job, tests, records = given
        there, ask = os.pipe()
        back, answer = os.pipe()
        opened += [there, ask, back, answer]
        yield "candidate", run_candidate, self._quiet(job) | {"reads": there, "writes": answer}
        yield "tester", run_tester, self._quiet(tests) | {
            "reads": back, "writes": ask, "records": records, "marks": said,
        }  # fmt: skip
        for fd in (there, ask, back, answer):
            os.close(fd)
            opened.remove(fd)

    def _compile(self, given: list[int], said: int, opened: list[int]) -> Any:
        job, made, stderr = given
        streams = {"stdin": self.null, "stdout": stderr, "stderr": stderr}
        yield "candidate", native.run_compile, streams | {"job": job, "program": made}

    def _compiled(self, given: list[int], said: int, opened: list[int]) -> Any:
        job, made, stdin, stdout, stderr = given
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        yield "candidate", native.run_native, streams | {"job": job, "program": made}

    _script = _compiled

    def _quiet(self, job: int) -> dict[str, int]:
        return {"stdin": self.null, "stdout": self.null, "stderr": self.null, "job": job}

    def _fork(self, name: str, body: Body, descriptors: dict[str, int], limits: Limits) -> Child:
        slot = name == "tester"
        self.confined[slot] = 0
        places = self.places.get(body) or self.places.setdefault(body, {n: i for i, n in enumerate(descriptors)})
        given = tuple(descriptors.values())
        pid = fork()
        if pid == 0:
            self._child(slot, body, given, places, limits)
        return Child(name, pid, pidfd_open(pid), self.confined, slot)

    def _child(self, tester: bool, body: Body, given: tuple[int, ...], places: dict[str, int], limits: Limits) -> None:
        """In the child: only its own descriptors, then the layers, then the work. Never returns."""
        try:
            if self.reseed:
                self.reseed()
            place = 0
            for fd in given:  # each stands above all places, see `keep_low_numbers`
                dup2(fd, place)
                place += 1
            layers = self.layers
            rules = layers.rules or RULES_FD
            closerange(place, libraries.FIRST_FD)
            closerange(libraries.LAST_FD + 1, rules)
            closerange(rules + 1, EVERY_FD)
            layers.apply(limits, TESTER_UID if tester else 0)
            self.confined[tester] = 1
            self.confined.close()  # from here on the child cannot unsay it
            body(places, places["job"])
        except BaseException:
            _exit(attacks.CANNOT)
        _exit(0)


def _keep_low_numbers(null: int) -> int:
    """Use up the numbers that descriptors have in a child: what the server opens from now on is not in their way."""
    while (fd := os.dup(null)) < LOWEST:
        pass
    return fd


def _tasks_of_the_machine() -> int:
    """The tasks of all users together: a limit above it lets this user make a few more, and no bomb."""
    try:
        with open("/proc/loadavg") as file:
            return int(file.read().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 4096


def main() -> None:
    """Serve the trainer that started this process: its socket is descriptor 3, what it wants is the first message."""
    control = socket.socket(fileno=3)
    host = os.pidfd_open(os.getppid())
    os.closerange(4, host)
    os.closerange(host + 1, EVERY_FD)
    os.chdir("/")
    setup = json.loads(control.recv(MESSAGE))
    if os.getppid() != setup["host"]:
        os._exit(0)
    server = Server(control, host, setup)
    try:
        answer = server.prepare()
    except (OSError, ValueError) as error:
        answer = {"fault": f"{type(error).__name__}: {error}"}
    control.send(json.dumps(answer).encode())
    if answer.get("ready"):
        server.serve()
    os._exit(0)
