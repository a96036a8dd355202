"""Outputs that were scored before, by what they are made of: the reward's fingerprint and the inputs that it reads.

One sqlite file, JSON values, nothing is unpickled. Single flight: who finds nothing claims the key, and whoever comes
meanwhile, from another thread or process, waits for that one's answer. A claim ends with the process that made it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import socket
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from assay.errors import ConfigError

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, used REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""
LEASE: Final = 600.0
"""Seconds after which a claim from another machine is void."""
_FRESH: Final = 3600.0
"""How often the time of an entry's last use is written down."""
_CHUNK: Final = 500
_PATIENCE: Final = 60.0
"""Seconds that a writer waits for another."""

log = logging.getLogger("assay")


@dataclass
class Cache:
    """A file of scored outputs: `Engine(cache=Cache("scores.db"))`, or `Engine(cache="scores.db")`."""

    path: str | Path
    max_mb: float = 1024.0
    """The size that the file is held to: what was not used for longest goes first."""
    hits: int = 0
    misses: int = 0
    evicted: int = 0
    trouble: str = ""
    """Why it could not be used, where that is so."""
    _local: threading.local = field(default_factory=threading.local, repr=False)
    _puts: int = 0
    _opened: bool = False

    def get(self, keys: Iterable[str]) -> dict[str, str]:
        """The values that are there."""
        wanted, found = list(dict.fromkeys(keys)), dict[str, str]()
        stale: list[str] = []
        now = time.time()
        with self._tolerant() as db:
            for some in _chunks(wanted):
                marks = ",".join("?" * len(some))
                for key, value, used in db.execute(
                    f"SELECT key, value, used FROM entries WHERE key IN ({marks})", some
                ):
                    found[key] = value
                    if used < now - _FRESH:
                        stale.append(key)
            for some in _chunks(stale):
                db.execute(f"UPDATE entries SET used = ? WHERE key IN ({','.join('?' * len(some))})", [now, *some])
        self.hits += len(found)
        self.misses += len(wanted) - len(found)
        return found

    def claim(self, keys: Iterable[str]) -> list[str]:
        """Of these keys the ones that are now ours to score; the others are being scored by somebody."""
        now, owner, wanted, others = time.time(), _owner(), list(keys), set[str]()
        with self._tolerant() as db, db:
            db.execute("BEGIN IMMEDIATE")
            for key in wanted:
                row = db.execute("SELECT owner, until FROM claims WHERE key = ?", (key,)).fetchone()
                if row is None or row[1] < now or not _alive(row[0]):
                    db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (key, owner, now + LEASE))
                else:
                    others.add(key)
        return [key for key in wanted if key not in others]

    def put(self, values: Mapping[str, str], release: Sequence[str] = ()) -> None:
        """Keep values, and give up the claims on these keys, all at once."""
        now = time.time()
        with self._tolerant() as db, db:
            db.execute("BEGIN IMMEDIATE")
            rows = [(key, _clean(value), now) for key, value in values.items()]
            db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            db.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key in release])
        self._puts += len(values)
        if self._puts > 256:
            self._puts = 0
            with self._tolerant():
                self._evict()

    @contextmanager
    def _tolerant(self) -> Generator[sqlite3.Connection]:
        """A cache that fails (a full disk, a broken page) costs calls, and never the run."""
        db = self._db()
        try:
            yield db
        except sqlite3.Error as error:
            self._say(error)

    def size_mb(self) -> float:
        """What the entries take."""
        pages, free, size = (
            self._db().execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size / 1e6

    def __len__(self) -> int:
        return int(self._db().execute("SELECT count(*) FROM entries").fetchone()[0])

    def _evict(self) -> None:
        while self.size_mb() > self.max_mb and (count := len(self)):
            with self._db() as db:
                gone = db.execute(
                    "DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used LIMIT ?)",
                    (max(1, count // 10),),
                ).rowcount
            self.evicted += gone

    def _db(self) -> sqlite3.Connection:
        """This thread's own connection; a forked child does not use its parent's."""
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.db, self._local.pid = self._open(), os.getpid()
            self._opened = True
        return self._local.db

    def _open(self) -> sqlite3.Connection:
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            return _connected(self.path)
        except (sqlite3.Error, OSError) as error:
            if self._opened:  # it could be before: the run goes on without it
                self._say(error)
                return _connected(":memory:")
            said = f"{self.path} is no cache, or cannot be opened and written to ({error})"
            raise ConfigError(f"{said}. Name another file, or take it away.") from error

    def _say(self, error: Exception) -> None:
        if not self.trouble:
            log.warning("the cache %s cannot be used, and rewards are called instead: %s", self.path, error)
        self.trouble = str(error)

    def close(self) -> None:
        """Close this thread's connection."""
        if getattr(self._local, "pid", None) == os.getpid():
            self._local.db.close()
            self._local.pid = None

    def __getstate__(self) -> dict[str, object]:
        return {"path": str(self.path), "max_mb": self.max_mb}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__init__(str(state["path"]), float(str(state["max_mb"])))


def _connected(path: str | Path) -> sqlite3.Connection:
    until = time.monotonic() + _PATIENCE
    while True:
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.executescript(_TABLES)
            return db
        except sqlite3.Error as error:  # sqlite does not wait by itself while another process changes the mode
            db.close()
            if error.sqlite_errorcode not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.001, 0.02))


def key_of(fingerprint: str, inputs: bytes) -> str:
    """The key of one output."""
    return hashlib.sha256(fingerprint.encode() + b"\0" + inputs).hexdigest()


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # sqlite takes no half characters


def _owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}"


def _alive(owner: str) -> bool:
    """Whether the process that made a claim still runs; on another machine its lease decides."""
    host, pid, born = owner.rsplit(":", 2)
    return host != socket.gethostname() or _born(int(pid)) == born


def _born(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except FileNotFoundError:
        return "" if os.path.exists("/proc/self") else str(int(_runs(pid)))
    except (OSError, IndexError):
        return ""


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _chunks(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    return (keys[i : i + _CHUNK] for i in range(0, len(keys), _CHUNK))
