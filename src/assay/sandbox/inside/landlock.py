"""Landlock: which files a program may open, by the kernel, without privilege (Linux 5.13)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from .libc import SYSCALL, Call, prepared, syscall

CREATE, ADD_RULE, RESTRICT = 444, 445, 446
EXECUTE, READ_FILE, READ_DIR = 1, 1 << 2, 1 << 3
HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
ALL_FILES = (1 << 16) - 1  # from version 5
TCP = 3  # bind and connect, from version 4
SCOPES = 3  # abstract sockets and signals, from version 6
WRITE = ALL_FILES & ~(1 << 6) & ~(1 << 11) & ~(1 << 9) & ~(1 << 10) & ~(1 << 15)  # no device, fifo or socket made


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    try:
        return syscall(CREATE, None, 0, 1)
    except OSError:
        return 0


def ruleset(readable: Iterable[str], writable: Iterable[str] = (), programs: Iterable[str] = ()) -> int:
    """A descriptor of the rules: these paths may be read (or written, or executed), and nothing else may be touched."""
    abi = version()
    if abi < 1:
        raise OSError("the kernel has no Landlock")
    files = HANDLED.get(abi, ALL_FILES)
    words = [files, *([TCP] if abi >= 4 else []), *([SCOPES] if abi >= 6 else [])]
    attributes = struct.pack(f"<{len(words)}Q", *words)
    rules = syscall(CREATE, ctypes.create_string_buffer(attributes, len(attributes)), len(attributes), 0)
    reading = READ_FILE | READ_DIR
    for paths, access in ((readable, reading), (writable, WRITE), (programs, reading | EXECUTE)):
        for path in paths:
            _allow(rules, path, access & files)
    return rules


def _allow(rules: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        of_files = READ_FILE | 1 | 1 << 1 | 1 << 14 | 1 << 15
        rule = struct.pack("<Qi", access if os.path.isdir(path) else access & of_files, fd)
        syscall(ADD_RULE, rules, 1, ctypes.create_string_buffer(rule, len(rule)), 0)
    finally:
        os.close(fd)


def restriction(rules: int) -> Call:
    """What binds the process that makes it to the rules, for good. Needs no_new_privs."""
    return prepared(SYSCALL, RESTRICT, rules, 0)
