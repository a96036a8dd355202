"""A row as the page shows it: what was said of it whole, its failed tests as a person reads them, long texts cut."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from assay.analyze.table import detail_of, key_of, trajectory_of
from assay.errors import ConfigError
from assay.rollouts import Row
from assay.sandbox.tasks import Form, Tests
from assay.types import Trajectory

Clip = tuple[int, int]
"""How many characters of a longer text's beginning and of its end are kept."""

SHORT: Clip = (2_400, 800)
"""In a report, where thousands of rows share a file."""

WHOLE: Clip = (200_000, 50_000)
"""On a page that is served: as good as all of it, and no browser is brought down by one row."""

FAILED = 5
"""How many failed tests of a row are shown whole."""


def row_for_page(row: Row, clip: Clip = SHORT) -> dict[str, Any]:
    """A row as the page shows it; `key` is what its label is found by, `clipped` says that a text is cut."""
    detail, t = detail_of(row), trajectory_of(row)
    for said in _with_tests(detail):
        said["failed"] = failed_tests(said, t)
    own = {k: v for k, v in row.items() if k not in ("detail", "seconds", "lineage") and not k.startswith("reward/")}
    cut = _Clipper(clip)
    shown = cast("dict[str, Any]", cut(own))
    shown |= {"detail": cut(detail), "key": f"{key_of(t.prompt, t.response):016x}"}
    return {**shown, "clipped": True} if cut.count else shown


def _with_tests(output: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The metadata of every part that ran tests, as a code reward records them."""
    said = output.get("metadata")
    tests = said.get("tests") if isinstance(said, dict) else None
    if isinstance(tests, list) and all(isinstance(t, dict) and "outcome" in t for t in cast("list[Any]", tests)):
        yield cast("dict[str, Any]", said)
    for part in output.get("components", {}).values():
        yield from _with_tests(part)


def failed_tests(said: Mapping[str, Any], t: Trajectory) -> list[dict[str, Any]]:
    """The first tests that failed, each with its input, what was expected and what came."""
    results = cast("list[dict[str, Any]]", said["tests"])
    failed = [n for n, result in enumerate(results) if result["outcome"] not in ("pass", "not_run")][:FAILED]
    given = t.metadata.get("tests")
    try:
        tests = Tests.of(t.ground_truth if given is None else given, str(said.get("form", "auto"))) if failed else None
    except (ConfigError, ValueError, TypeError, AttributeError):
        tests = None  # a row whose tests are kept elsewhere: what came of them is shown alone
    return [{"n": n + 1, **_failed(results[n], n, tests)} for n in failed]


def _failed(result: Mapping[str, Any], n: int, tests: Tests | None) -> dict[str, Any]:
    detail = str(result.get("detail", ""))
    found: dict[str, Any] = {"outcome": result["outcome"], "detail": detail}
    if (got := _got(detail)) is not None:
        found["got"] = got
    if tests is None:
        return found
    if tests.form is Form.CASES and n < len(tests.cases):
        case = tests.cases[n]
        named = [f"{name}={_said(value)}" for name, value in (case.kwargs or {}).items()]
        found["input"] = f"{tests.entry_point}({', '.join([*map(_said, case.args), *named])})"
        found["expected"] = _said(case.expected)
    elif tests.form is Form.STDIO and n < len(tests.cases):
        found |= {"input": tests.cases[n].stdin, "expected": str(tests.cases[n].expected)}
    elif tests.sources:
        found["source"] = _line(tests.sources[n] if n < len(tests.sources) else tests.sources[0], detail)
    return found


_RETURNED = re.compile(r"returned (?!an object|what cannot)(.*)", re.DOTALL)
_PRINTED = re.compile(r"printed (['\"].*)", re.DOTALL)
_AT_LINE = re.compile(r"at line (\d+) of the test")


def _got(detail: str) -> str | None:
    """What a program returned or printed, out of what is said of its failure; it may be cut."""
    if returned := _RETURNED.fullmatch(detail):
        return returned[1]
    if printed := _PRINTED.fullmatch(detail):
        try:
            return str(ast.literal_eval(printed[1]))
        except (ValueError, SyntaxError):
            return printed[1]
    return None


def _line(source: str, detail: str) -> str:
    """The line of a test at which it failed, where that is known; else all of it."""
    lines = source.splitlines()
    at = _AT_LINE.search(detail)
    return lines[int(at[1]) - 1].strip() if at and 0 < int(at[1]) <= len(lines) else source


def _said(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)


class _Clipper:
    """Cuts long texts in the middle, wherever they stand, and counts them."""

    def __init__(self, clip: Clip) -> None:
        self.head, self.tail = clip
        self.count = 0

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            left_out = len(value) - self.head - self.tail
            if left_out <= 200:
                return value
            self.count += 1
            return f"{value[: self.head]}\n… {left_out:,} characters left out …\n{value[-self.tail :]}"
        if isinstance(value, Mapping):
            return {k: self(v) for k, v in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, list):
            return [self(v) for v in cast("list[Any]", value)]
        return value
