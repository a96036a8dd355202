"""Answers as text: what kind one is, another that is wrong, other spellings that are right, near misses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from assay.types import Trajectory

INTEGER = re.compile(r"[+-]?\d+")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
DECIMAL = re.compile(r"[+-]?\d*\.\d+")
FRACTION = re.compile(r"([+-]?)(?:\\[dt]?frac\{(\d+)\}\{(\d+)\}|(\d+)/(\d+))")
LETTER = re.compile(r"\(?([A-J])\)?")
WORDS = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


def gold_text(truth: Any) -> str | None:
    """A ground truth as the text of one answer; None where it is no such thing (tests, a rubric, nothing)."""
    if hasattr(truth, "item") and not isinstance(truth, str):
        truth = truth.item()
    if isinstance(truth, bool):
        return str(truth)
    if isinstance(truth, int | float):
        return str(truth)
    if isinstance(truth, list | tuple):
        several = cast("Sequence[Any]", truth)
        return gold_text(several[0]) if several and isinstance(several[0], str | int | float) else None
    if isinstance(truth, Mapping) and ("messages" in truth or "response" in truth):
        truth = Trajectory.of(truth).response  # another's whole answer, as Twinkle has it
    if not isinstance(truth, str) or not truth.strip():
        return None
    truth = truth.rpartition("####")[2].strip()  # GSM8K's solutions end so
    if span := boxed(truth):
        truth = truth[span[0] : span[1]].strip()
    return truth or None


def boxed(text: str) -> tuple[int, int] | None:
    r"""Where the content of the last closed \boxed{...} stands."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    start += len("\\boxed{")
    depth = 1
    for i in range(start, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return start, i
    return None


def is_numeric(answer: str) -> bool:
    """Whether it is one plain number: integer, decimal, fraction, thousands."""
    kinds = (INTEGER, THOUSANDS, DECIMAL, FRACTION)
    return any(kind.fullmatch(answer.strip()) for kind in kinds)


def is_mathematical(answer: str) -> bool:
    """Whether it is written as mathematics: a number, LaTeX, or an expression in digits and signs."""
    return (
        is_numeric(answer)
        or "\\" in answer
        or bool(re.fullmatch(r"[\d\s+\-*/^().,=a-z√π]*\d[\d\s+\-*/^().,=a-z√π]*", answer))
    )


def other_answer(answer: str) -> str:
    """An answer of the same kind that is wrong."""
    return next(near_misses(answer))


def near_misses(answer: str) -> Iterator[str]:
    """Answers that look much like this one, and are others. The first is the plainest."""
    text = answer.strip()
    if INTEGER.fullmatch(text):
        yield from _near_integer(int(text))
    elif THOUSANDS.fullmatch(text):
        yield from (f"{n:,}" for n in (int(text.replace(",", "")) + 1, 10 * int(text.replace(",", ""))))
    elif DECIMAL.fullmatch(text):
        yield from _near_decimal(text)
    elif m := FRACTION.fullmatch(text):
        yield from _near_fraction(m)
    elif (parsed := as_json(text)) is not None:
        yield from (json.dumps(other, ensure_ascii=False) for other in other_json(parsed))
    elif m := LETTER.fullmatch(text):
        letter = m.group(1)
        yield text.replace(letter, "B" if letter == "A" else chr(ord(letter) - 1))
    elif (word := WORDS.get(text.lower())) is not None:
        yield word.capitalize() if text[0].isupper() else word
    elif is_mathematical(text):
        yield from (f"{text}+1", f"2\\left({text}\\right)" if "=" not in text else f"{text}+2", f"-({text})")
    else:
        yield from _near_text(text)


def _near_integer(n: int) -> Iterator[str]:
    yield str(n + 1)
    yield str(n - 1)
    if n:
        yield str(-n)
        yield str(n * 10)
    yield f"{'-' if n < 0 else ''}1{abs(n)}"  # 142 holds 42
    yield f"{n}.5"
    digits = str(abs(n))
    if digits != digits[::-1] and digits[-1] != "0":
        yield f"{'-' if n < 0 else ''}{digits[::-1]}"


def _near_decimal(text: str) -> Iterator[str]:
    value = Decimal(text)
    step = Decimal(1).scaleb(min(-1, int(value.as_tuple().exponent)))
    yield str(value + 10 * step)
    if value:
        yield str(-value)
        yield str(value * 10)


def _near_fraction(m: re.Match[str]) -> Iterator[str]:
    sign = m.group(1)
    top, bottom = int(m.group(2) or m.group(4)), int(m.group(3) or m.group(5))
    shape = re.sub(r"\d+", "{}", m.group(0), count=2).replace("{{}}", "{{{}}}") if m.group(4) is None else None

    def made(a: int, b: int, minus: str = sign) -> str:
        return f"{minus}\\frac{{{a}}}{{{b}}}" if shape else f"{minus}{a}/{b}"

    yield made(top + bottom, bottom)
    if abs(top) != abs(bottom) and top:
        yield made(bottom, top)
    if top:
        yield made(top, bottom, "" if sign == "-" else "-")


def _near_text(text: str) -> Iterator[str]:
    yield "none of these" if text.lower() != "none of these" else "all of these"
    yield f"not {text}"


def other_json(value: Any) -> Iterator[Any]:
    """The same structure with something else in it."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        for key in mapping:
            yield {**mapping, key: _other_value(mapping[key])}
        if mapping:
            yield {k: v for i, (k, v) in enumerate(mapping.items()) if i}
    elif isinstance(value, list):
        yield [*cast("list[Any]", value), None]
        if value:
            yield value[1:]


def _other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return "something else" if value != "something else" else "another thing"
    return next(other_json(value), "something else")


def as_json(text: str) -> Any:
    """The object or array that the text is; None where it is neither."""
    if text.strip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def respellings(answer: str) -> Iterator[str]:
    """Other ways to write the same mathematical answer."""
    text = answer.strip()
    spelled = [_respelled_number(text), _respelled_latex(text)]
    for again in dict.fromkeys(s for source in spelled for s in source):
        if again != text:
            yield again


def _respelled_number(text: str) -> Iterator[str]:
    if INTEGER.fullmatch(text):
        if abs(int(text)) >= 1000:
            yield f"{int(text):,}"
            yield f"{int(text):,}".replace(",", "{,}")
        yield f"{text}.0"
    elif THOUSANDS.fullmatch(text):
        yield text.replace(",", "")
    elif DECIMAL.fullmatch(text):
        yield f"{text}0"
        if text.lstrip("+-").startswith("0."):
            yield text.replace("0.", ".", 1)
    elif m := FRACTION.fullmatch(text):
        sign, top, bottom = m.group(1), m.group(2) or m.group(4), m.group(3) or m.group(5)
        yield f"{sign}{top}/{bottom}"
        yield from (f"{sign}\\{frac}{{{top}}}{{{bottom}}}" for frac in ("frac", "dfrac", "tfrac"))
        if int(bottom) and _terminates(int(bottom)):
            yield str(Decimal(f"{sign}{top}") / Decimal(bottom))
    if is_numeric(text):
        yield f"${text}$"
        if text.startswith("-"):
            yield f"\u2212{text[1:]}"


def _terminates(bottom: int) -> bool:
    for prime in (2, 5):
        while bottom % prime == 0:
            bottom //= prime
    return bottom == 1


_LATEX = (
    (re.compile(r"\\frac\b"), r"\\dfrac"),
    (re.compile(r"\\[dt]frac\b"), r"\\frac"),
    (re.compile(r"\\sqrt\{(\d)\}"), r"\\sqrt\1"),
    (re.compile(r"\^(\d)(?!\d)"), r"^{\1}"),
    (re.compile(r"\^\{(\d)\}"), r"^\1"),
    (re.compile(r"\\left\s*([(\[|])"), r"\1"),
    (re.compile(r"\\cdot\b"), r"\\times"),
    (re.compile(r"\\pi\b"), "π"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\^\\circ|\^\{\\circ\}"), "°"),
    (re.compile(r",\s*"), ", "),
    (re.compile(r",\s+"), ","),
)


def _respelled_latex(text: str) -> Iterator[str]:
    if not ("\\" in text or "," in text or "^" in text) or as_json(text) is not None or THOUSANDS.fullmatch(text):
        return
    if not is_mathematical(text):
        return
    for pattern, written in _LATEX:
        again = pattern.sub(written, text)
        if "left" in pattern.pattern:
            again = re.sub(r"\\right\s*([)\]|])", r"\1", again)
        yield again
