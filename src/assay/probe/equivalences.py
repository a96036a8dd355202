"""Equivalences, which must score as the honest response does, and distinctions, which must not."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, cast

from assay.probe.answers import as_json, is_mathematical, near_misses, respellings
from assay.probe.example import Example
from assay.probe.rule import Expect, Responses, Severity, rule

SAME, BELOW = Expect.SAME, Expect.BELOW
WARNING = Severity.WARNING


@rule(
    "equivalence/whitespace", "white space around the response changes the reward", SAME, WARNING, fix="Strip it first."
)
def whitespace(e: Example) -> Responses:
    yield f"{e.honest}\n"
    yield f"\n{e.honest}"
    yield f"  {e.honest}  "


@rule("equivalence/newlines", "Windows line ends change the reward", SAME, WARNING, fix="Read \\r\\n as \\n.")
def newlines(e: Example) -> Responses:
    if "\n" in e.honest:
        yield e.honest.replace("\r\n", "\n").replace("\n", "\r\n")


@rule(
    "equivalence/unicode", "composed and decomposed accents score differently", SAME, WARNING, fix="Normalise to NFC."
)
def unicode_forms(e: Example) -> Responses:
    if not e.honest.isascii():
        yield unicodedata.normalize("NFD", e.honest)
        yield unicodedata.normalize("NFC", e.honest)


@rule(
    "equivalence/padded-answer", "spaces around the answer change the reward", SAME, WARNING, fix="Strip what is read."
)
def padded_answer(e: Example) -> Responses:
    if e.shape.answer and as_json(e.shape.answer) is None:
        yield e.shape.fill(f" {e.shape.answer} ")


@rule(
    "equivalence/spelling",
    "the same answer written otherwise scores differently",
    SAME,
    WARNING,
    fix="Compare values, not strings: assay.MathReward does.",
)
def spelling(e: Example) -> Responses:
    if e.gold and e.shape.answer and is_mathematical(e.gold):
        for again in respellings(e.gold):
            yield e.shape.fill(again)


@rule(
    "equivalence/json", "order of keys or white space in JSON changes the reward", SAME, WARNING, fix="Compare parsed."
)
def json_layout(e: Example) -> Responses:
    value = as_json(e.shape.answer)
    if value is None:
        return
    yield e.shape.fill(json.dumps(value, indent=4, ensure_ascii=False))
    yield e.shape.fill(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    yield e.shape.fill(json.dumps(value, ensure_ascii=True))
    yield e.shape.fill(json.dumps(_turned(value), ensure_ascii=False))


def _turned(value: Any) -> Any:
    """The same value with its keys in the other order, all the way down."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {k: _turned(v) for k, v in reversed(list(items))}
    return [_turned(v) for v in cast("list[Any]", value)] if isinstance(value, list) else value


@rule(
    "distinction/answer",
    "a wrong answer is paid like the right one",
    BELOW,
    fix="Compare the whole answer with the gold: not a part of it, and not within a wide tolerance.",
)
def wrong_answer(e: Example) -> Responses:
    if e.gold and e.shape.answer:
        for near in near_misses(e.gold):
            yield e.shape.fill(near)
    if e.mistaken:
        yield e.mistaken


@rule("distinction/json", "another value in the JSON is paid", BELOW, fix="Compare values and types, and all keys.")
def wrong_json(e: Example) -> Responses:
    if as_json(e.shape.answer) is not None and e.gold and as_json(e.gold) is not None:
        for near in near_misses(e.shape.answer):
            yield e.shape.fill(near)
