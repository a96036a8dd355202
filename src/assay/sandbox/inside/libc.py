"""The few calls of the C library that Python has no name for."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]

_held = ctypes.PyDLL(None)  # its calls keep the interpreter's lock: there is nobody to hand it to
SYSCALL, PRCTL = _held["syscall"], _held["prctl"]
SYSCALL.restype = ctypes.c_long
_held_errno = _held["__errno_location"]
_held_errno.restype = ctypes.POINTER(ctypes.c_int)

Call = tuple[Callable[..., int], tuple[Any, ...]]

SET_PDEATHSIG, SET_DUMPABLE, CAPBSET_DROP, SET_NO_NEW_PRIVS, CAP_AMBIENT = 1, 4, 24, 38, 47


def syscall(number: int, *arguments: Any) -> int:
    """A system call by its number; OSError where it fails."""
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *values), f"system call {number}")


def prepared(function: Any, *arguments: Any) -> Call:
    """A call whose arguments are known before the fork, so that a child makes it with the least of work."""
    return function, tuple(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)


def make(call: Call) -> None:
    """Make a prepared call; OSError where it fails.

    Every page of memory that a child touches is copied, and that is dearer than the call.
    """
    if call[0](*call[1]) < 0:
        number = _held_errno()[0]
        raise OSError(number, os.strerror(number))


def prctl(option: int, *arguments: int) -> int:
    """prctl(2); OSError where it fails."""
    return _checked(_libc.prctl(option, *(*arguments, 0, 0, 0, 0)[:4]), f"prctl {option}")


def unshare(flags: int) -> None:
    """unshare(2): leave the namespaces that the flags name."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    texts = [t.encode() or None for t in (source, target, kind, data)]
    result = _libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    _checked(result, f"mount {target}")


def detach(target: str) -> None:
    """Unmount a tree, now for us and later for whoever still uses it."""
    _checked(_libc.umount2(target.encode(), 2), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """pivot_root(2): make `new` the root, with the former one at `old`."""
    _checked(_libc.pivot_root(new.encode(), old.encode()), "pivot_root")


def drop_capabilities() -> None:
    """Give up every capability, in all five sets."""
    for capability in range(64):
        if _libc.prctl(CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) != 0:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _libc.prctl(CAP_AMBIENT, ctypes.c_ulong(4), 0, 0, 0)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
