"""Attacks that a confined child tries on its own machine, before any program is run: what works, is not confined.

Asking the kernel what it offers is not enough (a sandbox that silently does nothing answers every question well), so
each is done for real, by a child of the fork server, against a victim and a secret made for the purpose.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from .confine import Layers, kernel_limits

EXECUTED, CANNOT = 77, 99
LIMITS = {"memory": 1 << 30, "cpu": 2, "output": 1 << 16}


@dataclass
class Target:
    """What the attacks are aimed at."""

    victim: int
    """A process of the same user."""
    secret: str
    """A file that the trainer can read; beside it, with `.socket` to its name, a socket for datagrams."""
    listening: int
    """A port of the trainer's machine."""


def _socket(target: Target) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(0.5)
        s.connect(("127.0.0.1", target.listening))
    return True


def _datagram(target: Target) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", ("127.0.0.1", target.listening))
    return True


def _local_datagram(target: Target) -> bool:
    ours, _ = socket.socketpair(
        socket.AF_UNIX, socket.SOCK_DGRAM
    )  # needs no socket(2), and reaches what is not its pair
    ours.sendto(b"x", target.secret + ".socket")
    return True


def _secret(target: Target) -> bool:
    with open(target.secret, "rb") as file:
        return bool(file.read(1))


def _environment(target: Target) -> bool:
    with open(f"/proc/{target.victim}/environ", "rb") as file:
        return bool(file.read(1) or True)


def _write(target: Target) -> bool:
    for path in (target.secret, "/tmp/assay-trial", "/dev/shm/assay-trial", "/var/tmp/assay-trial"):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError:
            continue
        os.close(fd)
        if path != target.secret:
            os.unlink(path)
        return True
    return False


def _fork(target: Target) -> bool:
    if os.fork() == 0:
        os._exit(0)
    return True


def _execute(target: Target) -> bool:
    os.execv("/bin/sh", ["/bin/sh", "-c", f"exit {EXECUTED}"])


def _memory_file(target: Target) -> bool:
    os.close(os.memfd_create("x"))
    return True


def _kill(target: Target) -> bool:
    os.kill(target.victim, signal.SIGUSR1)
    return True


def _trace(target: Target) -> bool:
    libc = ctypes.CDLL(None)
    return libc.ptrace(16, target.victim, None, None) == 0  # PTRACE_ATTACH


def _read_memory(target: Target) -> bool:
    with open(f"/proc/{target.victim}/mem", "rb") as file:
        return bool(file.fileno())


ATTACKS: dict[str, Callable[[Target], bool]] = {
    "connect to a port": _socket,
    "send a datagram": _datagram,
    "send a datagram to a socket of the machine": _local_datagram,
    "read a file of the trainer": _secret,
    "read another process' environment": _environment,
    "write a file": _write,
    "fork": _fork,
    "make a memory file": _memory_file,
    "read another process' memory": _read_memory,
    "kill another process": _kill,
    "trace another process": _trace,
    "execute a program": _execute,
}
"""Every attack. The last three may end the process that tries: each is tried in a process of its own."""
ALONE = ("kill another process", "trace another process", "execute a program")


def that_work(layers: Layers, secret: str, listening: int) -> list[str]:
    """The names of the attacks that a child confined by these layers can still do."""
    victim = os.fork()
    if victim == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        while True:
            signal.pause()
    target = Target(victim, secret, listening)
    try:
        together = [name for name in ATTACKS if name not in ALONE]
        return [name for group in (together, *([n] for n in ALONE)) for name in _tried(group, layers, target)]
    finally:
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)


def _tried(names: list[str], layers: Layers, target: Target) -> list[str]:
    """Those that worked, tried one after the other in one child."""
    with mmap.mmap(-1, mmap.PAGESIZE) as said:  # shared with the child, and no file
        child = os.fork()
        if child == 0:
            _try(names, layers, target, said)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        tried, worked = said[0], [name for i, name in enumerate(names) if said[1 + i]]
    if status == CANNOT:
        raise OSError("a child could not put on its layers")
    if status == EXECUTED:
        return [*worked, "execute a program"]
    if status < 0 and tried < len(names):  # the one that ended it did not work; what came after it was not tried
        return [*worked, *names[tried:]]
    return worked


def _try(names: list[str], layers: Layers, target: Target, said: mmap.mmap) -> None:
    """In the child: never returns."""
    try:
        layers.apply(kernel_limits(LIMITS, layers.threads))
        for i, name in enumerate(names):
            said[0] = i + 1
            said[1 + i] = _works(ATTACKS[name], target)
    except BaseException:
        os._exit(CANNOT)
    os._exit(0)


def _works(attack: Callable[[Target], bool], target: Target) -> bool:
    try:
        return attack(target)
    except (OSError, ValueError, AttributeError):
        return False
