"""The tests of one task, read from a data set's row.

The shape of our own, and beside it those of HumanEval, MBPP, APPS and what goes by `test` elsewhere:

    {"kind": "function", "entry_point": "add", "cases": [{"args": [1, 2], "expected": 3}], "time_limit_s": 2.0}
    {"kind": "stdio", "cases": [{"input": "1 2\\n", "output": "3\\n"}]}
    {"entry_point": "add", "asserts": ["assert add(1, 2) == 3"]}
    {"entry_point": "add", "check_test": "def check(candidate): ...", "prompt": "def add(a, b): ..."}
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from assay.errors import ConfigError


class Form(StrEnum):
    """How tests are written."""

    CASES = "cases"
    STDIO = "stdio"
    CHECK = "check"
    ASSERTS = "asserts"
    UNITTEST = "unittest"
    PYTEST = "pytest"


@dataclass(frozen=True, slots=True)
class Case:
    """One input, and what must come of it."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    expected: Any = None
    stdin: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of one task."""

    __test__ = False

    form: Form
    entry_point: str = ""
    cases: tuple[Case, ...] = ()
    sources: tuple[str, ...] = ()
    """The test code: one source an assert, or one for all."""
    setup: tuple[str, ...] = ()
    """Code that the tests need before them."""
    prompt: str = ""
    atol: float = 0.0
    rtol: float = 0.0
    time_limit_s: float | None = None
    memory_mb: int | None = None
    in_place: bool = False
    """The function changes its first argument instead of returning."""
    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, given: Any, form: str = "auto") -> Tests:
        """Read tests of any known shape; `form` names one where a task has several. ConfigError where there is none."""
        task = _as_mapping(given)
        chosen = _form(task, form)
        read = _READERS[chosen]
        common: dict[str, Any] = {
            "entry_point": str(task.get("entry_point") or task.get("fn_name") or ""),
            "prompt": prompt if isinstance(prompt := task.get("prompt"), str) else "",
            "atol": float(task.get("atol") or 0.0),
            "rtol": float(task.get("rtol") or 0.0),
            "time_limit_s": float(limit) if (limit := task.get("time_limit_s") or task.get("time_limit")) else None,
            "memory_mb": int(memory) if (memory := task.get("memory_mb")) else None,
            "in_place": bool(task.get("in_place")),
            "weights": tuple(float(w) for w in task.get("weights") or ()),
            "setup": _setup(task),
        }
        return cls(form=chosen, **(common | read(task)))

    @property
    def count(self) -> int:
        """How many tests there are; 0 where only running them tells."""
        if self.form in (Form.CASES, Form.STDIO):
            return len(self.cases)
        return {Form.CHECK: 1, Form.ASSERTS: len(self.sources)}.get(self.form, 0)

    def weight(self, index: int) -> float:
        """What the test counts for."""
        if index < len(self.weights):
            return self.weights[index]
        return self.cases[index].weight if index < len(self.cases) else 1.0


def _as_mapping(given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        given = _from_text(given)
    if isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given)
    if isinstance(given, Sequence) and given and all(isinstance(x, str) for x in given):
        return {"asserts": list(given)}
    if isinstance(given, Sequence) and given and all(isinstance(x, Mapping) for x in given):
        return {"cases": list(given)}
    raise ConfigError(
        f"needed tests: a mapping with 'cases', 'asserts', 'check_test', 'unittest' or 'pytest', or a list of asserts; "
        f"found {type(given).__name__}{' with nothing in it' if given == [] else ''}. See docs/code.md for the shapes."
    )


def _from_text(text: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return {"test": text}


def _form(task: Mapping[str, Any], asked: str) -> Form:
    has = [form for form in Form if _has(task, form)]
    if asked != "auto":
        if asked in has:
            return Form(asked)
        raise ConfigError(f"needed tests of the form {asked!r}; the task has {[str(f) for f in has] or sorted(task)}.")
    if not has:
        raise ConfigError(
            f"needed 'cases', 'asserts', 'check_test', 'unittest' or 'pytest' in the tests; found {sorted(task)}."
        )
    return has[0]


def _has(task: Mapping[str, Any], form: Form) -> bool:
    cases = _cases(task)
    stdio = task.get("kind") == "stdio" or (bool(cases) and "input" in cases[0])
    if form is Form.CASES:
        return bool(cases) and not stdio
    if form is Form.STDIO:
        return bool(cases) and stdio
    return bool(_sources(task, form))


def _cases(task: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The cases, also of APPS' and verl's {"inputs": [...], "outputs": [...], "fn_name": ...}, and of LiveCodeBench's
    {"input": ..., "output": ..., "testtype": "functional"}.
    """
    if task.get("cases"):
        cases: Sequence[Mapping[str, Any]] = task["cases"]
        if any(case.get("testtype") == "functional" for case in cases):
            return [_call(case["input"], case["output"]) if "input" in case else case for case in cases]
        return cases
    pairs = _pairs(task, "inputs", "outputs") or _pairs(task, "input", "output")
    if task.get("fn_name") or task.get("entry_point"):
        return [_call(i, o) for i, o in pairs]
    return [{"input": _lines(i), "output": _lines(o)} for i, o in pairs]


def _pairs(task: Mapping[str, Any], inputs: str, outputs: str) -> list[tuple[Any, Any]]:
    given, wanted = task.get(inputs), task.get(outputs)
    if not isinstance(given, list) or not isinstance(wanted, list):
        return []
    given, wanted = cast("list[Any]", given), cast("list[Any]", wanted)
    return list(zip(given, wanted, strict=True)) if len(given) == len(wanted) else []


def _call(given: Any, expected: Any) -> Mapping[str, Any]:
    """A call: a list of arguments, or a text with one argument a line, in JSON, as LiveCodeBench writes them."""
    if isinstance(given, str) and isinstance(expected, str):
        try:
            return {"args": [json.loads(line) for line in given.split("\n")], "expected": json.loads(expected)}
        except ValueError:
            pass
    return {"args": given if isinstance(given, list) else [given], "expected": expected}


def _lines(text: Any) -> str:
    return "\n".join(map(str, cast("list[Any]", text))) if isinstance(text, list) else str(text)


def _sources(task: Mapping[str, Any], form: Form) -> tuple[str, ...]:
    keys = {
        Form.CHECK: ("check_test",),
        Form.ASSERTS: ("asserts", "test_list"),
        Form.UNITTEST: ("unittest",),
        Form.PYTEST: ("pytest",),
    }[form]
    for key in keys:
        if found := task.get(key):
            return (found,) if isinstance(found, str) else tuple(str(x) for x in found)
    text = task.get("test")
    if isinstance(text, str) and text.strip() and _form_of_text(text) is form:
        return (text,)
    return ()


def _form_of_text(text: str) -> Form:
    """Which form of test code a text is."""
    if re.search(r"^def check\(", text, re.M):
        return Form.CHECK
    if re.search(r"^class \w+\(.*TestCase\)", text, re.M):
        return Form.UNITTEST
    if re.search(r"^(async )?def test|^class Test", text, re.M):
        return Form.PYTEST
    return Form.ASSERTS


def _setup(task: Mapping[str, Any]) -> tuple[str, ...]:
    found = (task.get("setup"), task.get("test_setup_code"), *(task.get("test_imports") or ()))
    return tuple(x for x in found if isinstance(x, str) and x.strip())


def _read_cases(task: Mapping[str, Any]) -> dict[str, Any]:
    cases = tuple(_case(c) for c in _cases(task))
    if not (task.get("entry_point") or task.get("fn_name")):
        raise ConfigError("tests with 'cases' of 'args' need 'entry_point', the name of the function to call.")
    return {"cases": cases}


def _case(given: Mapping[str, Any]) -> Case:
    if "expected" not in given:
        raise ConfigError(f"a case needs 'args' and 'expected'; found {sorted(given)}.")
    return Case(
        args=tuple(given.get("args") or ()),
        kwargs=given.get("kwargs"),
        expected=given["expected"],
        weight=float(given.get("weight", 1.0)),
    )


def _read_stdio(task: Mapping[str, Any]) -> dict[str, Any]:
    cases: list[Case] = []
    for given in _cases(task):
        if "input" not in given or "output" not in given:
            raise ConfigError(f"a case of stdin and stdout needs 'input' and 'output'; found {sorted(given)}.")
        weight = float(given.get("weight", 1.0))
        cases.append(Case(stdin=str(given["input"]), expected=str(given["output"]), weight=weight))
    return {"cases": tuple(cases)}


def _read_sources(form: Form) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def read(task: Mapping[str, Any]) -> dict[str, Any]:
        return {"sources": _sources(task, form)}

    return read


def _read_asserts(task: Mapping[str, Any]) -> dict[str, Any]:
    sources = _sources(task, Form.ASSERTS)
    if len(sources) == 1:
        sources = _one_by_one(sources[0])
    return {"sources": sources, "entry_point": str(task.get("entry_point") or _entry_of(sources))}


def _one_by_one(text: str) -> tuple[str, ...]:
    """A text of asserts as one test for each: what stands before the first assert is part of every one."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return (text,)
    asserts = [i for i, node in enumerate(body) if isinstance(node, ast.Assert)]
    plain = asserts and all(isinstance(n, ast.Assert) for n in body[asserts[0] :])
    if len(asserts) < 2 or not plain:
        return (text,)
    before = "\n".join(ast.unparse(n) for n in body[: asserts[0]])
    return tuple(f"{before}\n{ast.unparse(body[i])}".lstrip() for i in asserts)


def _entry_of(sources: Sequence[str]) -> str:
    """The function that the asserts call: the first name called that is not a builtin; empty where none is seen."""
    import builtins

    for source in sources:
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        calls = [n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        own |= {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        own |= {n.asname or n.name for n in nodes if isinstance(n, ast.alias)}
        names = [n for n in calls if n not in own and not hasattr(builtins, n)]
        names = [n for n in names if n not in ("isclose", "deepcopy", "Counter", "approx")]
        if names:
            return names[0]
    return ""


_READERS: dict[Form, Any] = {
    Form.CASES: _read_cases,
    Form.STDIO: _read_stdio,
    Form.CHECK: _read_sources(Form.CHECK),
    Form.ASSERTS: _read_asserts,
    Form.UNITTEST: _read_sources(Form.UNITTEST),
    Form.PYTEST: _read_sources(Form.PYTEST),
}
