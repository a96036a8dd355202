"""One self-contained page of a scored Run: columns, findings and as much text as fits, in a single file.

Nothing is loaded from elsewhere, and a content security policy in the page sees to it. A rollout may contain HTML and
scripts: what is embedded is deflated or escaped, and the page only ever writes text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.analyze.features import BITS, NUMBERS
from assay.analyze.hacking import ROW_RULES
from assay.analyze.source import Source
from assay.analyze.study import Study
from assay.analyze.table import OUTCOMES, Array, Table, numpy
from assay.plain_data import to_json
from assay.report.plain import study_as_data
from assay.report.row import row_for_page

LIMIT = 1_400_000
"""Bytes that a page should not exceed; the texts that are embedded are chosen to fit."""

LEAST = 300_000
"""Bytes of text that are embedded even where the columns alone fill the page."""

_SCRIPTS = (
    "core", "fold", "taught", "filter", "charts", "list", "prose", "said", "detail", "main", "side", "findings", "keys",
)  # fmt: skip
_TYPES = {"float64": "f8", "float32": "f4", "int32": "i4", "uint32": "u4", "uint8": "u1"}


def write_report(study: Study, source: Source, output: Path, everything: bool = False) -> int:
    """Write the page; returns its size in bytes. `everything` embeds every text, however large the page gets."""
    page = report_page(study, source, everything).encode("utf-8", "replace")  # a rollout may hold half a character
    temporary = output.with_name(output.name + ".tmp")
    temporary.write_bytes(page)
    temporary.replace(output)
    return len(page)


def report_page(study: Study, source: Source, everything: bool = False) -> str:
    """The page as text."""
    table = study.table
    data: dict[str, Any] = {
        "head": {**head_of(table.header, table.shape, table.rows, source.path), "study": study_as_data(study)},
        "columns": {name: {"type": kind, "data": _packed(raw)} for name, kind, raw in columns_of(table, study)},
        "titles": _packed(json.dumps([t[:120] for t in table.groups], ensure_ascii=False).encode("utf-8", "replace")),
    }
    used = len(json.dumps(data)) + len(_script()) + len(_style()) + 8_000
    room = None if everything else max(LEAST, LIMIT - used)
    blocks = _Blocks(room).fill(source, _wanted(study))
    data["blocks"] = blocks.numbers
    scripts = (f'<script type="text/plain" id="block-{n}">{text}</script>' for n, text in enumerate(blocks.texts))
    return page_of(data, "\n".join(scripts))


def page_of(data: Mapping[str, Any], blocks: str = "", connect: str = "'none'") -> str:
    """The template with its parts: the page of a report, and of `assay view`."""
    script, style = _script(), _style()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}' 'unsafe-hashes'; "
        f"connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "csp": html.escape(policy, quote=True).replace("&#x27;", "'"),
        "title": html.escape(str(data["head"]["title"])),
        "css": style,
        "data": inert(data),
        "blocks": blocks,
        "js": script,
    }
    # one pass over the template: what is put in is never looked through for placeholders again
    pieces = _read("page.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (p.partition("}}") for p in pieces[1:]))


def inert(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = to_json(data)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def head_of(header: Mapping[str, Any], shape: Mapping[str, Any], rows: int, path: Path) -> dict[str, Any]:
    """What the page has to know before any row."""
    name = str(header.get("name") or "")
    identity = hashlib.blake2b(f"{path.resolve()}".encode(), digest_size=8).hexdigest()
    return {
        "title": f"{path.name}{f' · {name}' if name else ''}",
        "name": name,
        "path": str(path),
        "id": identity,
        "rows": rows,
        "shape": shape or {"kind": "leaf"},
        "outcomes": list(OUTCOMES),
        "rules": [{"name": rule.name, "says": rule.says} for rule in ROW_RULES],
        "bits": list(BITS),
    }


def columns_of(table: Table, study: Study | None, start: int = 0) -> Iterator[tuple[str, str, Array]]:
    """Every column from a row on, as (name, type, array). Flags are empty where nothing was studied yet."""
    np = numpy()
    size = table.rows
    flags = study.flags.bits if study else np.zeros(size, dtype=np.uint32)
    suspicion = study.flags.suspicion if study else np.zeros(size, dtype=np.float32)
    columns: dict[str, Array] = {
        "reward": table.reward,
        "outcome": table.outcome,
        "step": table.step,
        "group": table.group,
        "bits": table.bits,
        "flags": flags,
        "suspicion": np.round(suspicion, 3),
        **{name: np.round(table.numbers[name], 3) for name in NUMBERS},
        **{f"part/{name}": part.value for name, part in table.parts.items()},
        **{f"state/{name}": part.state for name, part in table.parts.items()},
        **{f"own/{name}": values for name, values in table.own.items()},
    }
    for name, values in columns.items():
        yield name, _TYPES[str(values.dtype)], values[start:]


@dataclass
class _Blocks:
    """Rows packed into blocks until the room is used up."""

    room: int | None
    texts: list[str] = field(default_factory=list[str])
    numbers: list[list[int]] = field(default_factory=list[list[int]])

    def fill(self, source: Source, groups: Iterable[Sequence[int]]) -> _Blocks:
        waiting: list[int] = []
        for members in groups:
            waiting.extend(members)
            if len(waiting) >= 96:
                if not self._add(source, waiting):
                    return self
                waiting = []
        if waiting:
            self._add(source, waiting)
        return self

    def _add(self, source: Source, numbers: list[int]) -> bool:
        rows = [row_for_page(row) for row in source.rows(numbers)]
        packed = _packed(to_json(rows).encode("utf-8", "replace"))
        if self.room is not None and len(packed) > self.room:
            return False
        self.texts.append(packed)
        self.numbers.append(numbers)
        if self.room is not None:
            self.room -= len(packed)
        return True


def _wanted(study: Study) -> Iterator[list[int]]:
    """The groups in the order in which their texts are worth having: suspicious, cited, then spread over the Run."""
    np = numpy()
    table = study.table
    top = np.zeros(len(table.groups), dtype=np.float64)
    flagged = study.flags.bits > 0
    np.maximum.at(top, table.group[flagged], study.flags.suspicion[flagged])
    suspicious = np.argsort(-top, kind="stable")[: int((top > 0).sum())]
    found = [*study.findings, *study.kinds, *study.clusters, *study.failures]
    cited = [int(table.group[row]) for finding in found for row in finding.rows[:8]]
    spread = (np.arange(len(table.groups)) * 7919) % max(1, len(table.groups))
    members = table.members()
    # a third of the room at most goes to what is suspicious beyond the first hundred: the usual must be seen too
    order = [*suspicious[:100].tolist(), *cited, *spread.tolist()]
    for g in dict.fromkeys([*order, *range(len(members))]):
        yield members[g].tolist()


def _packed(raw: Any) -> str:
    data = raw if isinstance(raw, bytes) else raw.tobytes()
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def _read(name: str) -> str:
    return files("assay.report").joinpath("page", name).read_text(encoding="utf-8")


def _script() -> str:
    return "\n".join(_read(f"{name}.js") for name in _SCRIPTS)


def _style() -> str:
    return _read("page.css")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
