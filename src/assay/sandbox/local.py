"""The sandbox of this machine: which tier holds, found by trying; then warm fork servers of that tier."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import pwd
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError
from assay.sandbox.base import Isolation, Limits, Report, Submission
from assay.sandbox.forkserver import ForkServer, ServerGone
from assay.sandbox.grading import grade
from assay.sandbox.native import NATIVE, grade_native, system_libraries, toolchain
from assay.sandbox.pool import Grading, Pool


def words(text: str) -> list[str]:
    """A list written as a line."""
    return text.split()


TIERS = {
    1: ("namespaces, Landlock and seccomp", {"jail": True, "landlock": True, "seccomp": True, "open_files": True}),
    2: ("Landlock and seccomp", {"jail": False, "landlock": True, "seccomp": True, "open_files": True}),
    3: ("seccomp, no files", {"jail": False, "landlock": False, "seccomp": True, "open_files": False}),
}
UNCONFINED = ("nothing", {"jail": False, "landlock": False, "seccomp": False, "open_files": True})

COMMON = words(
    "collections heapq bisect itertools functools operator math random string re json copy typing dataclasses enum "
    "datetime decimal fractions statistics abc contextlib io time types ast inspect threading queue array struct "
    "traceback unittest"
)
"""Imported before the forks: each costs every fork a little, and saves a program that imports it more."""
MORE = words(
    "cmath numbers hashlib calendar textwrap secrets pprint logging argparse tempfile signal locale zlib base64 pickle "
    "ctypes uuid graphlib difflib zoneinfo _strptime encodings.latin_1 encodings.ascii encodings.idna subprocess csv "
    "concurrent.futures concurrent.futures.thread asyncio multiprocessing.pool platform html urllib.parse colorsys "
    "weakref sched timeit doctest cProfile tracemalloc fileinput unittest.mock unittest.async_case pathlib "
    "getpass shutil glob multiprocessing.dummy multiprocessing.queues multiprocessing.synchronize"
)
"""Imported as well where a program can open no file."""
NUMPY_PARTS = words(
    "numpy.random numpy.linalg numpy.fft numpy.polynomial numpy.ma numpy.testing numpy.char numpy.rec numpy.typing "
    "numpy.core numpy.strings numpy.dtypes numpy.exceptions numpy.ctypeslib numpy.f2py"
)


@dataclass
class LocalSandbox:
    """Runs programs on this machine, each in a fresh process, confined by the strongest tier that holds.

    ConfigError at the first run where none does, naming what is missing, unless `allow_unconfined`.
    """

    limits: Limits = field(default_factory=Limits)
    workers: int = 0
    """Fork servers, and programs at once; 0 is one for each CPU."""
    packages: tuple[str, ...] = ("numpy",)
    """Beside the standard library, what programs may import, where it is installed here."""
    tier: int = 0
    """0: the strongest that holds. Another number: that one or none."""
    allow_unconfined: bool = False
    isolation: Isolation | None = field(default=None, init=False)
    """The tier that holds; None before the first run."""
    _pool: Pool | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _wide: bool = field(default=False, init=False, repr=False)

    def run(self, submissions: Sequence[Submission]) -> list[Report]:
        """Run the programs; a report for each, in order."""
        pool = self._ready()
        gradings = [self._grading(s) for s in submissions]
        reports = pool.run(gradings, lambda reason: Report(fault=reason))
        for report in reports:
            report.isolation = self.isolation
        return reports

    def close(self) -> None:
        """End the fork servers. The next run starts them anew."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and pool.owner == os.getpid():
            pool.close()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("limits", "workers", "packages", "tier", "allow_unconfined")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def _ready(self) -> Pool:
        """The pool of this process: a forked child of the trainer makes its own."""
        with self._lock:
            if self._pool is None or self._pool.owner != os.getpid():
                self._pool = None
                first = self._first_server()
                self._pool = Pool(self._start, self.workers or len(os.sched_getaffinity(0)))
                place = self._pool.places.pop()
                self._pool.release(("", place, first))
            return self._pool

    def _grading(self, submission: Submission) -> Grading[Report]:
        if submission.language == "python":
            return grade(submission, self.limits, self._server_for(submission))
        isolation = self.isolation
        return grade_native(submission, self.limits, namespaces=isolation is not None and isolation.namespaces)

    def _server_for(self, submission: Submission) -> str:
        """Which packages the program's server has loaded: those that it, or its tests, name."""
        names = [p for p in self.packages if p in _installed()]
        texts = (submission.code, *submission.tests.sources, *submission.tests.setup)
        return ",".join(n for n in names if any(re.search(rf"\b{re.escape(n)}\b", t) for t in texts))

    # -- tiers --

    def _first_server(self) -> ForkServer:
        """Start a server of the strongest tier that withstands the attacks; ConfigError where none does."""
        refused: list[str] = []
        for tier in [self.tier] if self.tier else TIERS:
            name, layers = TIERS.get(tier, UNCONFINED)
            try:
                server = self._tried(layers)
            except ServerGone as gone:
                refused.append(f"tier {tier} ({name}): {gone}")
                continue
            if worked := server.ready["attacks"]:
                server.close()
                refused.append(f"tier {tier} ({name}): a confined process could still {', '.join(worked)}")
                continue
            self.isolation = Isolation(tier, name, server.ready["landlock"], layers["jail"], True, _spare_uid(0))
            return server
        if self.allow_unconfined:
            self.isolation = Isolation(0, "unconfined", uid=_spare_uid(0))
            return ForkServer(self._setup(UNCONFINED[1], "", 0))
        raise ConfigError(
            "no sandbox holds on this machine, so no program is run. "
            + "; ".join(refused)
            + f". The machine is {platform.system()} {platform.release()} on {platform.machine()}. Needed: Linux 5.13 "
            "with seccomp and Landlock let through; or pass a remote or WebAssembly sandbox (see docs/code.md); or "
            "allow_unconfined=True, on a machine that you would give to a stranger."
        )

    def _tried(self, layers: dict[str, bool]) -> ForkServer:
        """A server that has tried the attacks; with more imported beforehand where its children cannot read modules."""
        self._wide = not layers["open_files"]
        with _target() as (secret, port):
            server = ForkServer(self._setup(layers, "", 0) | {"try": True, "secret": secret, "port": port})
            if server.ready["missing"] and not self._wide:
                server.close()
                self._wide = True
                server = ForkServer(self._setup(layers, "", 0) | {"try": True, "secret": secret, "port": port})
        return server

    def _start(self, packages: str, place: int) -> ForkServer:
        """One more server of the tier that holds; it has passed its attacks already on this machine."""
        assert self.isolation is not None
        layers = TIERS.get(self.isolation.tier, UNCONFINED)[1]
        setup = self._setup(layers, packages, place)
        if packages != NATIVE:
            return ForkServer(setup)
        with _target() as (secret, port):  # its children are held by other layers than those that were tried first
            server = ForkServer(setup | toolchain() | {"try": True, "secret": secret, "port": port})
        if worked := server.ready["attacks"]:
            server.kill()
            raise ServerGone(f"a confined native program could still {', '.join(worked)}")
        return server

    def _imported(self, packages: str) -> list[str]:
        """The packages that a server imports; with their lazy parts where its children can open no file."""
        names = [name for name in packages.split(",") if name and name != NATIVE]
        return names + (NUMPY_PARTS if self._wide and "numpy" in names else [])

    def _setup(self, layers: dict[str, bool], packages: str, place: int) -> dict[str, Any]:
        """What a fork server is told."""
        beside = {name: folder for name, folder in _installed().items() if name in self.packages}
        places = (os.path.join(folder, name + end) for name, folder in beside.items() for end in ("", ".libs"))
        return layers | {
            "preload": COMMON + (MORE if self._wide else []),
            "packages": self._imported(packages),
            "visible": sorted(set(beside.values())),
            "readable": _libraries(whole=layers["jail"]),
            "hidden": [os.path.join(STANDARD, name) for name in BESIDE],
            "beside": [place for place in places if os.path.isdir(place)],
            "uid": _spare_uid(place),
            "native": False,
            "programs": [],
            "try": False,
        }


def _spare_uid(place: int) -> int:
    """A user of nobody's, where this process may become one."""
    if os.getuid() != 0:
        return 0
    uid = 60001 + place
    while _is_taken(uid):
        uid += 1000
    return uid


def _is_taken(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _installed() -> dict[str, str]:
    """The top-level packages that programs may be given, and the folders they are in."""
    found: dict[str, str] = {}
    for name in ("numpy", "scipy", "pandas", "sympy", "networkx", "sortedcontainers"):
        if name not in _KNOWN:
            spec = importlib.util.find_spec(name)
            _KNOWN[name] = os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else ""
        if _KNOWN[name]:
            found[name] = _KNOWN[name]
    return found


_KNOWN: dict[str, str] = {}


STANDARD = os.path.dirname(os.path.abspath(os.__file__))
BESIDE = ("site-packages", "dist-packages")
"""What is installed beside the standard library, in its folder: other people's data sets too, with their tests."""


def _libraries(whole: bool) -> list[str]:
    """The standard library, with or without what is installed in its folder, and the libraries it loads."""
    inner = [STANDARD]
    if not whole and any(os.path.isdir(os.path.join(STANDARD, name)) for name in BESIDE):
        inner = [os.path.join(STANDARD, name) for name in sorted(os.listdir(STANDARD)) if name not in BESIDE]
    python = os.path.join(sys.base_prefix, "lib", f"libpython3.{sys.version_info.minor}.so.1.0")
    data = [python, "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale"]
    return [p for p in (*inner, *system_libraries(), *data) if os.path.lexists(p)]


@contextlib.contextmanager
def _datagrams(path: str) -> Generator[None]:
    """A socket that takes datagrams, as a machine's log is one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        with contextlib.suppress(OSError):  # a path of more than a hundred characters is none for a socket
            made.bind(path)
            os.chmod(path, 0o666)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)


@contextlib.contextmanager
def _target() -> Generator[tuple[str, int]]:
    """What the attacks are aimed at: a file that only this user may read, a socket for anybody, a port that listens."""
    with tempfile.NamedTemporaryFile("w", prefix="assay-", suffix=".secret") as file, _datagrams(file.name + ".socket"):
        file.write("a secret of the trainer's")
        file.flush()
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
            try:
                listening.bind(("127.0.0.1", 0))
                listening.listen(8)
                port = listening.getsockname()[1]
            except OSError:
                port = 9
            yield file.name, port
