"""The seccomp filters: BPF programs that the kernel asks at every system call.

Two, because attaching one costs in proportion to its length. The long one is an allow-list, which the fork server puts
on once and every child inherits; it lets through what the server itself needs. The short one takes that away again, and
is put on in each child. Where two filters answer, the stricter answer counts. Both are search trees, for the kernel
walks a program once for every call number to learn which are always allowed. Numbers and machines are in `syscalls`.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from os import getpid
from typing import NamedTuple

from . import syscalls
from .libc import SYSCALL, make, prepared

ALLOW, KILL = 0x7FFF0000, 0x80000000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN, JUMP = 0x20, 0x15, 0x35, 0x45, 0x06, 0x05
SECCOMP = {"x86_64": 317, "aarch64": 277}

OPEN_TO_WRITE = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000  # WRONLY RDWR CREAT TRUNC APPEND TMPFILE
CLONE_THREAD = 0x10000
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS WINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX
FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)  # DUPFD GETFD SETFD GETFL SETFL GETLK SETLK SETLKW DUPFD_CLOEXEC
PAIRS = (1, 0x801, 0x80001, 0x80801)  # SOCK_STREAM, with NONBLOCK and CLOEXEC: a datagram can be sent to any address
PRCTLS = (3, 15, 16, 39, 0x53564D41)  # GET_DUMPABLE SET_NAME GET_NAME GET_NO_NEW_PRIVS SET_VMA

Instruction = tuple[int, int, int, int]


class Profile(NamedTuple):
    """What the children of a fork server may do beyond computing."""

    open_files: bool = True
    """Open files for reading; False where Landlock does not bound which."""
    native: bool = False
    """Its children compile and execute: only inside namespaces of their own."""


def refuse(number: int) -> int:
    """The action that answers a call with an error number."""
    return 0x00050000 | number


OWN_PID = -1
"""Stands in a program for the process' own id, which is filled in after the fork."""


def _argument(n: int) -> Instruction:
    return (LOAD, 0, 0, 16 + 8 * n)


def _one_of(n: int, values: tuple[int, ...], otherwise: int) -> list[Instruction]:
    """Allowed when argument n is one of the values."""
    tests = [(EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [_argument(n), *tests, (RETURN, 0, 0, otherwise), (RETURN, 0, 0, ALLOW)]


def _without_bits(n: int, bits: int, otherwise: int) -> list[Instruction]:
    """Allowed when argument n has none of the bits."""
    return [_argument(n), (ANY_BIT, 0, 1, bits), (RETURN, 0, 0, otherwise), (RETURN, 0, 0, ALLOW)]


def _looked_at(profile: Profile) -> dict[str, list[Instruction]]:
    """The calls of the allow-list whose arguments decide."""

    def reading(n: int) -> list[Instruction]:
        no_file = [(RETURN, 0, 0, refuse(errno.ENOENT))]  # as if there were none: what programs are ready for
        return _without_bits(n, OPEN_TO_WRITE, refuse(errno.EACCES)) if profile.open_files else no_file

    missing = [(RETURN, 0, 0, refuse(errno.ENOSYS))]  # glibc falls back to the older call, which can be looked at
    rules = {
        "openat2": missing,
        "clone3": missing,
        "ioctl": _one_of(1, IOCTLS, refuse(errno.ENOTTY)),
        "fcntl": _one_of(1, FCNTLS, refuse(errno.EPERM)),
        "socketpair": [
            _argument(0),
            (EQUAL, 1, 0, 1),  # AF_UNIX
            (RETURN, 0, 0, refuse(errno.EPERM)),
            *_one_of(1, PAIRS, refuse(errno.EPERM)),
        ],
    }
    return rules if profile.native else rules | {"open": reading(1), "openat": reading(2)}


def allow_list(profile: Profile, machine: str) -> list[Instruction]:
    """The long filter: what programs and the fork server may do."""
    numbers = syscalls.TABLES[machine][1]
    actions: dict[int, list[Instruction]] = {}
    allowed = syscalls.ALLOWED + syscalls.SERVER + (syscalls.NATIVE if profile.native else [])
    for names, action in ((allowed, ALLOW), (syscalls.LETHAL, KILL)):
        actions |= {numbers[n]: [(RETURN, 0, 0, action)] for n in names if n in numbers}
    actions |= {numbers[n]: body for n, body in _looked_at(profile).items() if n in numbers}
    # x32 calls have this bit: another table of numbers, which no honest program uses
    beyond = (0x40000000, [(RETURN, 0, 0, KILL)])
    return _program(machine, [*_ranges(actions, refuse(errno.EPERM)), beyond])


def deny_list(profile: Profile, machine: str, kind: str = "python") -> list[Instruction]:
    """The short filter: what the fork server may do and a child may not. Kinds: python, compile, compiled, script."""
    numbers = syscalls.TABLES[machine][1]
    refused: list[Instruction] = [(RETURN, 0, 0, refuse(errno.EPERM))]
    own = _one_of(0, (OWN_PID,), KILL)
    threads_only = [_argument(0), (ANY_BIT, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, refuse(11))]
    rules = {
        "prctl": _one_of(0, PRCTLS, refuse(errno.EPERM)),
        # one's own limits, which are hard already, or asking: then the third argument is null, in both halves
        "prlimit64": [
            _argument(0),
            (EQUAL, 4, 0, 0),
            _argument(2),
            (EQUAL, 0, 3, 0),
            (LOAD, 0, 0, 16 + 8 * 2 + 4),
            (EQUAL, 0, 1, 0),
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, refuse(errno.EPERM)),
        ],
    }
    kept = set(syscalls.NATIVE) if kind == "compile" else {"execve", "execveat"} if profile.native else set[str]()
    if kind != "compile":
        rules |= {"clone": threads_only, "kill": own, "tgkill": own}
    if kind in ("compiled", "script"):
        for name, place in (("open", 1), ("openat", 2)):
            rules[name] = _without_bits(place, OPEN_TO_WRITE, refuse(errno.EACCES))
    taken = syscalls.SERVER + (syscalls.NATIVE if profile.native else [])
    rules |= {n: refused for n in taken if n not in rules and n not in kept}
    actions = {numbers[n]: body for n, body in rules.items() if n in numbers}
    return _program(machine, _ranges(actions, ALLOW))


def _program(machine: str, ranges: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    word = syscalls.TABLES[machine][0]
    return [(LOAD, 0, 0, 4), (EQUAL, 1, 0, word), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0), *_tree(ranges)]


def _ranges(actions: dict[int, list[Instruction]], otherwise: int) -> list[tuple[int, list[Instruction]]]:
    """(first number, what to do from there on), neighbours that do the same joined."""
    rest: list[Instruction] = [(RETURN, 0, 0, otherwise)]
    found: list[tuple[int, list[Instruction]]] = []
    for number in range(max(actions) + 2):
        body = actions.get(number, rest)
        if not found or found[-1][1] != body:
            found.append((number, body))
    return found


def _tree(ranges: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    left, right = _tree(ranges[:middle]), _tree(ranges[middle:])
    first = ranges[middle][0]
    if len(left) < 256:
        return [(AT_LEAST, len(left), 0, first), *left, *right]
    return [(AT_LEAST, 0, 1, first), (JUMP, 0, 0, len(left)), *left, *right]


class Filter:
    """A filter, assembled once in the fork server."""

    def __init__(self, instructions: list[Instruction], machine: str) -> None:
        code = b"".join(struct.pack("<HBBI", *x[:3], x[3] & 0xFFFFFFFF) for x in instructions)
        self._own = [2 * i + 1 for i, x in enumerate(instructions) if x[3] == OWN_PID]
        self._words = (ctypes.c_uint32 * (len(code) // 4)).from_buffer_copy(code)
        header = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(self._words))
        self._attach = prepared(SYSCALL, SECCOMP[machine], 1, 0, ctypes.create_string_buffer(header, len(header)))

    def apply(self) -> None:
        """Confine this process and all that it will fork, for good. Needs no_new_privs."""
        own = getpid()
        for place in self._own:
            self._words[place] = own
        make(self._attach)


def filters(profile: Profile) -> tuple[Filter, dict[str, Filter]]:
    """The server's filter, and its children's by their kind; OSError on a machine whose calls are not known."""
    machine = platform.machine()
    if machine not in syscalls.TABLES:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    kinds = ("compile", "compiled", "script") if profile.native else ("python",)
    made = {kind: Filter(deny_list(profile, machine, kind), machine) for kind in kinds}
    return Filter(allow_list(profile, machine), machine), made
