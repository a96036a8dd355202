"""What programs import: loaded before the forks, or found after them in the folders that a child may still read."""

from __future__ import annotations

import fcntl
import importlib.machinery
import os
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

FIRST_FD, LAST_FD = 240, 249
"""Where the descriptors of folders stand, out of the way."""


class Beside:
    """Finds the packages that programs may have, and no other of the folders that these are installed in."""

    def __init__(self, folders: list[str], names: frozenset[str]) -> None:
        self.folders = folders
        self.names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As every finder's."""
        if path is not None or name not in self.names:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self.folders, target)


def preload(modules: Iterable[str], packages: Iterable[str], visible: list[str], beside: Iterable[str]) -> None:
    """Import what programs are likely to import, once; then leave of the `visible` folders what is in `beside`."""
    own = list(sys.path)
    sys.path += visible
    for name in (*modules, *packages):
        try:
            __import__(name)
        except ImportError:
            continue
    sys.path[:] = own
    sys.meta_path.append(Beside(list(visible), frozenset(os.path.basename(place) for place in beside)))  # type: ignore[arg-type]


def reach_by_descriptor() -> None:
    """Name the folders of libraries by descriptors: the user that a child becomes may not pass their parents.

    A Python under `/root` is such a one. What a child may open there is Landlock's to say, as before.
    """
    finder: Any = sys.meta_path[-1]
    named: dict[str, str] = {}
    for folder in dict.fromkeys((*sys.path, *finder.folders)):
        if not os.path.isdir(folder) or FIRST_FD + len(named) > LAST_FD:
            continue
        opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        named[folder] = f"/proc/self/fd/{fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, FIRST_FD + len(named))}"
        os.close(opened)
    longest = sorted(named, key=len, reverse=True)

    def renamed(path: str) -> str:
        folder = next((f for f in longest if path == f or path.startswith(f + "/")), None)
        return path if folder is None else named[folder] + path[len(folder) :]

    for module in list(sys.modules.values()):
        places = getattr(module, "__path__", None)
        if isinstance(places, list):
            places[:] = [renamed(p) for p in places if isinstance(p, str)]
    for paths in (sys.path, finder.folders):
        paths[:] = map(renamed, paths)
    sys.path_importer_cache.clear()
    remember()


def remember() -> None:
    """Let the finders read the folders now: a child may not list them, and need not where they have not changed."""
    finder: Any = sys.meta_path[-1]
    for paths in (sys.path, finder.folders):
        importlib.machinery.PathFinder.find_spec("a_module_that_is_nowhere", paths)


def forget_files() -> None:
    """Where no file can be opened, what was not imported is not there: an `except ImportError` is to be reached."""
    sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter]  # type: ignore[list-item]


def readable() -> bool:
    """Whether this process can read the standard library."""
    try:
        for folder in sys.path:
            if folder.rpartition("/")[2] != "lib-dynload" and not folder.endswith(".zip"):
                os.stat(folder)
                with open(os.path.join(folder, "this.py"), "rb") as file:
                    return bool(file.read(1))
    except OSError:
        return False
    return False
