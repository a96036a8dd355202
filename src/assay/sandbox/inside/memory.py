"""The fork server's memory, laid out so that a fork is cheap.

A fork copies the page table line by line, and a child's end takes it down line by line: for the fifteen megabytes of a
Python that has imported what programs use, that is as dear as all that the child does itself. A huge page is one line.
So the heap is made to lie in one piece, at the borders of huge pages, and then to consist of them. Where the kernel has
none to give, it stays as it is: nothing depends on it but the time.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import os
import sys

HUGE = 2 << 20
ARENA = 1 << 20  # in such pieces the heap grows
COLLAPSE = 25  # MADV_COLLAPSE, Linux 6.1
READ_WRITE, PRIVATE_ANONYMOUS, NOT_OVER_OTHERS = 3, 0x22, 0x100000
EXTENSIONS = (
    "_bisect", "_ctypes", "_datetime", "_decimal", "_heapq", "_json", "_opcode", "_queue", "_random", "_sha512",
    "_socket", "_statistics", "_struct", "_typing", "array", "fcntl", "math", "mmap", "resource", "select",
)  # fmt: skip
"""The compiled modules that are imported before the forks. One that is missing here costs time, and nothing else."""

_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
NOWHERE = ctypes.c_void_p(-1).value


def make_room() -> None:
    """Before the imports: map the libraries, so that none comes to lie between two parts of the heap.

    The heap grows downwards from the lowest of them; what is left above the next border of a huge page is filled.
    """
    for folder in sys.path:
        for name in EXTENSIONS:
            path = os.path.join(folder, name + importlib.machinery.EXTENSION_SUFFIXES[0])
            if os.path.exists(path):
                ctypes.CDLL(path)
    lowest = _map(None, ARENA)
    if lowest is not None:
        _libc.munmap(lowest, ARENA)
        if above := (lowest + ARENA) % HUGE:
            _map(None, above)


def _map(place: int | None, size: int) -> int | None:
    """Some memory; None where that place is taken."""
    flags = PRIVATE_ANONYMOUS | (NOT_OVER_OTHERS if place else 0)
    found: int = _libc.mmap(place, size, READ_WRITE, flags, -1, 0)
    if found != NOWHERE and place and found != place:  # before Linux 4.17 the place was a wish
        _libc.munmap(found, size)
        return None
    return None if found == NOWHERE else found


def heap() -> list[tuple[int, int]]:
    """After the imports, before any fork: where the heap lies, rounded off to huge pages where nothing lies below it.

    Empty where the kernel does not say.
    """
    found: list[tuple[int, int]] = []
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            lines = [line.split() for line in file]
    except OSError:
        return []
    for place, rights, _, _, _, *name in lines:
        first, _, last = place.partition("-")
        start, end = int(first, 16), int(last, 16)
        if rights == "rw-p" and name in ([], ["[heap]"]) and end - start >= ARENA:
            below = start % HUGE
            rounded = below and _map(start - below, below) is not None
            found.append((start - below if rounded else start, end))
    return found


def settle(places: list[tuple[int, int]]) -> int:
    """After all that is done but once: make huge pages of these places, as many as the kernel gives; how many."""
    pages = [page for start, end in places for page in range(start + -start % HUGE, end - HUGE + 1, HUGE)]
    return sum(_libc.madvise(page, HUGE, COLLAPSE) == 0 for page in pages)
