"""What a Run says of itself, and whether a stopped one may be gone on with."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from assay import __version__
from assay.analyze.tree import shape_of
from assay.errors import ConfigError
from assay.fingerprint import fingerprints, what_changed
from assay.reward import RewardFunction

_ASKED = ("numpy", "torch", "transformers", "regex", "rapidfuzz", "polars", "ray")
_ENDS = 1 << 16


def header_of(
    specs: Sequence[str], settings: Sequence[str], reward: RewardFunction, source: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that a Run depends on: the reward's code and configuration, the input, versions, seeds."""
    return {
        "assay": __version__,
        "python": platform.python_version(),
        "versions": _versions(),
        "reward": list(specs),
        "set": list(settings),
        "name": reward.name,
        "fingerprints": fingerprints(reward),
        "shape": shape_of(reward),
        "input": source,
        "input_is": _identity(source),
        "options": dict(options),
        "seeds": {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "")},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def check_same_input(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with a Run of other rows."""
    for key, what in (("input_is", "the input file"), ("options", "an option")):
        if before.get(key) != now.get(key):
            raise ConfigError(
                f"--resume: {what} changed since the run was stopped: {before.get(key)} became {now.get(key)}. "
                f"Score anew without --resume."
            )


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed in the reward, in words."""
    return what_changed(before.get("fingerprints", {}), now["fingerprints"])


def unchanged(before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """The paths of the components that are as they were."""
    old, new = before.get("fingerprints", {}), now["fingerprints"]
    return {path for path in new if path in old and old[path]["key"] == new[path]["key"]}


def _identity(source: str) -> dict[str, Any]:
    """Of a file: its size, and a hash of its ends (whole files may be large)."""
    path = Path(source)
    if source == "-" or not path.is_file():
        return {}
    size = path.stat().st_size
    with path.open("rb") as file:
        ends = file.read(_ENDS)
        file.seek(max(0, size - _ENDS))
        ends += file.read(_ENDS)
    return {"bytes": size, "ends": hashlib.sha256(ends).hexdigest()[:16]}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _ASKED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
