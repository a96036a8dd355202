"""Terminals and pipes that cannot say every character: what is drawn is then drawn with plain ones."""

from __future__ import annotations

import codecs
import io
from typing import Any

PLAIN = {
    **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)),
    **{"…": "...", "→": "->", "µ": "u", "×": "x", "−": "-", "–": "-", "≥": ">=", "≤": "<=", "±": "+-"},
}
"""What stands for the characters that the command itself prints; a rollout's own become question marks."""


def plain_where_needed(*streams: Any) -> None:
    """Let streams of a narrow encoding (a locale of C, Latin-1) print what they can instead of failing."""
    codecs.register_error("assay-plain", _replaced)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="assay-plain")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end
