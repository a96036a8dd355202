"""Namespaces around the fork server: no network, no other processes, and a root folder of little but the libraries."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from . import libc

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
KEPT = (
    (os.ST_NOSUID, NOSUID),
    (os.ST_NODEV, NODEV),
    (os.ST_NOEXEC, NOEXEC),
    (1024, 1024),
    (2048, 2048),
    (4096, 1 << 21),
)
OLD = "/.old"
DEVICES = ("null", "zero", "urandom", "random")


def enter(readable: Iterable[str], hidden: Iterable[str], packages: Iterable[str], scratch_mb: int = 0) -> None:
    """Return in a new process, the first of its namespaces; the caller's waits for it and ends as it ended.

    `readable` paths are there, read-only; of the `hidden` folders below them only the `packages`, which stand in such
    folders. OSError where a namespace is refused.
    """
    uid, gid = os.getuid(), os.getgid()
    libc.unshare(NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS | (NEWUSER if uid else 0))
    if uid:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    child = os.fork()
    if child:
        _follow(child)
    libc.prctl(libc.SET_PDEATHSIG, signal.SIGKILL)
    _new_root(readable, hidden, packages)
    _close_root(hidden, scratch_mb)
    if uid:
        libc.drop_capabilities()
    libc.prctl(libc.SET_PDEATHSIG, signal.SIGKILL)


def _follow(child: int) -> None:
    """Wait for the process inside and end as it did."""
    os.closerange(0, 1024)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 255)


def _new_root(readable: Iterable[str], hidden: Iterable[str], packages: Iterable[str]) -> None:
    libc.mount("", "/", "", REC | PRIVATE)
    libc.mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "size=8m,mode=755")
    os.mkdir("/tmp" + OLD)
    libc.pivot_root("/tmp", "/tmp" + OLD)
    os.chdir("/")
    for path in readable:
        _show(path)
    for path in hidden:
        if os.path.isdir(path):
            libc.mount("tmpfs", path, "tmpfs", NOSUID | NODEV | NOEXEC, "size=64k,mode=755")
    for path in packages:
        _show(path)
    for device in DEVICES:
        _show(f"/dev/{device}")


def _close_root(hidden: Iterable[str], scratch_mb: int) -> None:
    """Take the former root away, and make what is left read-only but for a scratch folder."""
    os.makedirs("/proc", exist_ok=True)
    try:
        libc.mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    except OSError:
        pass  # a container that masks parts of /proc refuses a fresh one; nothing needs it but the clocks of waiting
    for i, stream in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{i}", f"/dev/{stream}")
    os.makedirs("/tmp", exist_ok=True)
    libc.detach(OLD)
    os.rmdir(OLD)
    if scratch_mb:
        libc.mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, f"size={scratch_mb}m,mode=1777")
    for path in hidden:
        if os.path.isdir(path):
            libc.mount("", path, "", BIND | REMOUNT | RDONLY | NOSUID | NODEV | NOEXEC)
    libc.mount("", "/", "", BIND | REMOUNT | RDONLY | NOSUID | NODEV)


def _show(path: str) -> None:
    """Bind a path of the former root into the new one, read-only."""
    former = OLD + path
    if os.path.lexists(path) or not os.path.lexists(former):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.islink(former):
        os.symlink(os.readlink(former), path)
        return
    if os.path.isdir(former):
        os.makedirs(path, exist_ok=True)
    else:
        _write(path, "")
    libc.mount(former, path, "", BIND | REC)
    if path.startswith("/dev/"):
        return
    flags = os.statvfs(path).f_flag
    libc.mount("", path, "", BIND | REMOUNT | RDONLY | NOSUID | sum(bit for have, bit in KEPT if flags & have))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
