"""The page of a Run over HTTP, live while the Run grows, for a million rows: `assay view RUN`.

Standard library only: it is one person's page on their own machine, so that nothing has to be installed to look at a
file. The browser gets the columns as they are measured; texts stay on disk until a row is opened.

A rollout is not trusted and neither is any other page in the same browser: requests have to name this host and port,
come from this page, and carry a header that other pages cannot send; anything but loopback needs a token.
"""

from __future__ import annotations

import hmac
import json
import math
import re
import secrets
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from assay.analyze.labels import labels_beside
from assay.errors import ConfigError
from assay.plain_data import to_json
from assay.report.html import columns_of, head_of, inert, page_of
from assay.report.row import WHOLE, row_for_page
from assay.serve.growing import Growing
from assay.serve.saved import Saved

MOST_ROWS = 512
"""How many rows one request may ask for."""

MOST_BODY = 4096
"""Bytes that a label or a case may have: they name a row, and its text is taken from the Run."""

POLICY = "default-src 'none'; frame-ancestors 'none'"


@dataclass
class Viewer:
    """A Run and its page, served: `Viewer(Growing(Source("scored.jsonl"))).serve()`."""

    run: Growing
    host: str = "127.0.0.1"
    port: int = 0
    labels: Path | None = None
    """Where human labels go; beside the Run where not given."""
    cases: Path | None = None
    """Where cases go that are made into tests; beside the Run where not given."""
    token: str = ""

    def __post_init__(self) -> None:
        path = self.run.source.path
        self.saved = Saved(
            self.run.source,
            self.labels or labels_beside(path),
            self.cases or path.with_name(path.name + ".cases.jsonl"),
        )
        if not self.loopback and not self.token:
            self.token = secrets.token_urlsafe(24)
        handler = type("Handler", (_Handler,), {"viewer": self})
        try:
            self.server = ThreadingHTTPServer((self.host, self.port), handler)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {self.host}:{self.port}: {error.strerror or error}. Choose another: --port 0"
            ) from error
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """Where the page is."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def serve(self) -> None:
        """Serve until `stop()` or Ctrl-C."""
        try:
            self.run.start()
            self.server.serve_forever(poll_interval=0.2)
        finally:
            self.run.stop()
            self.server.server_close()

    def stop(self) -> None:
        """Have `serve` end, from another thread."""
        self.run.stop()
        threading.Thread(target=self.server.shutdown, daemon=True).start()

    def page(self) -> str:
        """The page itself: the same one as a report's, without rows."""
        return page_of({"head": self.head(), "served": True}, connect="'self'")

    def head(self) -> dict[str, Any]:
        """What the page knows before any row."""
        run = self.run
        return {**head_of(run.header, run.shape, run.rows, run.source.path), "study": run.found}

    def columns(self, start: int, most: int, groups: int, only: Sequence[str]) -> bytes:
        """Columns from a row on: a JSON head with where each begins, then the arrays themselves."""
        table = self.run.table(start)
        rows = min(table.rows, most)
        # groups are numbered as they appear, so these rows need no title beyond their highest number
        needed = int(table.group[:rows].max(initial=-1)) + 1
        places: list[dict[str, Any]] = []
        arrays: list[bytes] = []
        at = 0
        for name, kind, whole in columns_of(table, None):
            values = whole[:rows]
            flags = self.run.flags.get(name)
            if flags is not None:
                fresh = flags[start : start + len(values)]
                values[: len(fresh)] = fresh
            if only and name not in only:
                continue
            raw = values.tobytes()
            places.append({"name": name, "type": kind, "at": at, "count": len(values)})
            arrays.append(raw + b"\0" * (-len(raw) % 8))
            at += len(arrays[-1])
        head: dict[str, Any] = {"rows": rows, "titles": [t[:120] for t in table.groups[groups:needed]]}
        size = len(_utf8({**head, "columns": places})) + 32 * len(places)  # room for the places, which follow from it
        size += -(size + 4) % 8
        head["columns"] = [{**place, "at": place["at"] + size + 4} for place in places]
        return struct.pack("<I", size) + _utf8(head).ljust(size) + b"".join(arrays)


class _Refused(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    viewer: ClassVar[Viewer]
    server_version = "assay"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to who started the command."""

    def do_GET(self) -> None:
        """The page, and what it asks for."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """A label or a case to be saved."""
        self._answer(self._post)

    def _answer(self, work: Any) -> None:
        try:
            self._check()
            work()
        except _Refused as refusal:
            self._send(refusal.status, str(refusal).encode(), "text/plain; charset=utf-8")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the page was closed meanwhile

    def _check(self) -> None:
        """Is it this page that asks? See the module's docstring."""
        viewer, headers = self.viewer, self.headers
        host = headers.get("Host", "")
        if viewer.loopback:
            if host.lower() not in {
                f"{name}:{viewer.port}" for name in ("127.0.0.1", "localhost", "[::1]", viewer.host)
            }:
                raise _Refused(403, f"this page is not served as {host!r}")
        elif not hmac.compare_digest(self._token().encode(), viewer.token.encode()):
            raise _Refused(403, "the address needs the token that `assay view` printed")
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise _Refused(403, "another page may not ask this one")
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise _Refused(403, "another page may not ask this one")
        if self.path.startswith("/api/") and headers.get("X-Assay") != "1":
            raise _Refused(403, "needed the header X-Assay: 1, which only this page sends")

    def _token(self) -> str:
        given = parse_qs(urlsplit(self.path).query).get("token", [""])[0]
        if given:
            return given
        kept = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie)
        return kept.value if kept else ""

    @property
    def _cookie(self) -> str:
        # a browser sends cookies to every port of a host: two pages on one machine need two names
        return f"assay-{self.viewer.port}"

    def _get(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        viewer = self.viewer
        match parts.path:
            case "/":
                kept = (
                    {"Set-Cookie": f"{self._cookie}={viewer.token}; HttpOnly; SameSite=Strict"} if viewer.token else {}
                )
                self._send(200, viewer.page().encode("utf-8", "replace"), "text/html; charset=utf-8", kept)
            case "/api/state":
                state = viewer.run.state()
                fresh = _number(asked.get("studied", "0")) != state["studied"]
                self._json({**state, "shape": viewer.run.shape, **({"head": viewer.head()} if fresh else {})})
            case "/api/columns":
                only = [n for n in asked.get("only", "").split(",") if n]
                start = min(_number(asked.get("from", "0")), viewer.run.rows)
                most = _number(asked.get("most", str(viewer.run.rows)))
                body = viewer.columns(start, most, _number(asked.get("groups", "0")), only)
                self._send(200, body, "application/octet-stream")
            case "/api/rows":
                self._json([row_for_page(row, WHOLE) for row in viewer.run.source.rows(self._ids(asked))])
            case "/api/labels":
                self._json(viewer.saved.given(viewer.run.table()))
            case "/api/search":
                self._json(viewer.run.search(asked.get("q", "")))
            case _:
                raise _Refused(404, "there is nothing here")

    def _ids(self, asked: Mapping[str, str]) -> list[int]:
        ids = [_number(n) for n in asked.get("ids", "").split(",") if n]
        if len(ids) > MOST_ROWS:
            raise _Refused(400, f"needed at most {MOST_ROWS} rows; found {len(ids)}")
        if any(n >= self.viewer.run.rows for n in ids):
            raise _Refused(404, f"there are {self.viewer.run.rows} rows")
        return ids

    def _post(self) -> None:
        size = _number(self.headers.get("Content-Length", "0"))
        if size > MOST_BODY:
            self.close_connection = True
            raise _Refused(413, f"needed at most {MOST_BODY} bytes; found {size}")
        body = self.rfile.read(size)
        saved = self.viewer.saved
        match urlsplit(self.path).path:
            case "/api/labels":
                record = self._record(body, "label")
                said = saved.label(record["row"], record["label"])
            case "/api/cases":
                record = self._record(body, "expected")
                if record["expected"] is None:
                    raise _Refused(400, "needed a number in 'expected'")
                said = saved.case(record["row"], record["expected"])
            case _:
                raise _Refused(404, "there is nothing here")
        self._json({"said": said})

    def _record(self, body: bytes, name: str) -> dict[str, Any]:
        """A row's number and a number for it (or null), and nothing else."""
        try:
            record = json.loads(body)
        except ValueError:
            record = None
        row, value = (record.get("row"), record.get(name)) if isinstance(record, dict) else (None, None)
        if type(row) is not int or row < 0:
            raise _Refused(400, "needed a JSON object with a row's number in 'row'")
        if row >= self.viewer.run.rows:
            raise _Refused(404, f"there are {self.viewer.run.rows} rows")
        if value is not None and not (type(value) in (int, float) and math.isfinite(value)):
            raise _Refused(400, f"needed a number in {name!r}")
        return {"row": row, name: value}

    def _json(self, data: Any) -> None:
        self._send(200, inert(data).encode("utf-8", "replace"), "application/json; charset=utf-8")

    def _send(self, status: int, body: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
            **({} if kind.startswith("text/html") else {"Content-Security-Policy": POLICY}),
            **(more or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _utf8(data: Any) -> bytes:
    return to_json(data).encode("utf-8", "replace")


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,12}", text):
        raise _Refused(400, f"needed a number; found {text[:40]!r}")
    return int(text)
