"""Where the inputs go that killed a worker: one JSON file each, to be looked at, and never run again by themselves."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST = 200
"""Files that one process writes at most; behind that they are only counted."""


@dataclass
class Quarantine:
    """A folder of inputs that killed a worker."""

    folder: Path
    written: int = 0

    def put(self, reward: str, reason: str, rows: Any) -> str:
        """Write the input, and say where it lies: '' where it could not be written."""
        if self.written >= MOST:
            return ""
        entry = {"reward": reward, "reason": reason, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "rows": rows}
        text = json.dumps(entry, default=repr, ensure_ascii=False, indent=1)
        name = hashlib.sha256(json.dumps(rows, default=repr).encode("utf-8", "replace")).hexdigest()[:12]
        path = self.folder / f"{''.join(c if c.isalnum() else '_' for c in reward)[:40]}-{name}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace")
        except OSError:
            return ""
        self.written += 1
        return str(path)


def default_folder() -> Path:
    """`.assay/quarantine` where the process started, or as ASSAY_QUARANTINE says."""
    named = os.environ.get("ASSAY_QUARANTINE")
    return Path(named) if named else _START / ".assay" / "quarantine"


def _start() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(tempfile.gettempdir())


_START = _start()  # kept: a reward may change or delete the working directory later
