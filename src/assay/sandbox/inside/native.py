"""In a child of a fork server for native programs: compile a source, or execute what came of it.

Only behind namespaces: a compiler forks and executes, so what bounds it is that its network, its processes and its one
writable folder are its own, and that the fork server sweeps them after every job.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from . import wire
from .channel import read_all

SCRATCH = "/tmp"
IMPORTED = ("shutil",)
"""What a server for native programs imports besides: the others would fork it with every program."""
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": SCRATCH, "TMPDIR": SCRATCH}


def run_compile(descriptors: dict[str, int], job_fd: int) -> None:
    """Compile the source; the program goes to its descriptor, what the compiler says to standard error. Ends."""
    job = wire.loads(read_all(job_fd))
    source, made = f"{SCRATCH}/main{job['suffix']}", f"{SCRATCH}/main"
    with open(source, "w", encoding="utf-8", errors="replace") as file:
        file.write(job["source"])
    compiler = os.fork()
    if compiler == 0:
        os.execve(job["command"][0], [*job["command"], "-o", made, source], ENVIRONMENT)
    status = os.waitstatus_to_exitcode(os.waitpid(compiler, 0)[1])
    if status == 0:
        with open(made, "rb") as program:
            while chunk := program.read(1 << 20):
                os.write(descriptors["program"], chunk)
    os._exit(0 if status == 0 else 1)


def run_native(descriptors: dict[str, int], job_fd: int) -> None:
    """Become the program: compiled, or an interpreter with the source. Ends."""
    job = wire.loads(read_all(job_fd))
    for stream in (0, 1, 2):
        os.set_inheritable(stream, True)
    if job["command"]:
        os.execve(job["command"][0], [*job["command"], job["source"]], ENVIRONMENT)
    os.set_inheritable(descriptors["program"], False)
    os.execve(descriptors["program"], ["main"], ENVIRONMENT)


def sweep() -> None:
    """In the fork server, the first process of its namespace: end whatever is left of a job, and empty the folder."""
    if os.getpid() != 1:
        return  # not alone: the processes and the folder are others' too
    import shutil  # before the jail, see IMPORTED

    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    for entry in os.scandir(SCRATCH):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def limits_of(op: str, limits: dict[str, Any]) -> dict[str, Any]:
    """A compiler's limits are its own; a compiled program's stack is larger than Python's."""
    if op == "compile":
        return limits | {"output": 64 << 20, "memory": 2 << 30}
    return limits | {"stack": 256 << 20} if op == "compiled" else limits
