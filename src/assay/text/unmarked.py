"""Answers that nothing marks: a bare answer, the last bold, formula, equation or number in the last lines."""

from __future__ import annotations

import re

from assay.text.denied import denied
from assay.text.stated import FENCE, TAIL

_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.:])\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?(?![\d:])"
    r"|(?<![A-Za-z0-9_.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?(?:e[-+]?\d+)?\s?(?:%|\\%)?(?![A-Za-z_]*\d)",
    re.I,
)
_LETTERS_ELSEWHERE = re.compile(r"[^\x00-\u03ff\u2000-\u2bff\uff00-\uffef]")
"""Letters of scripts in which formulas are not written: a sentence has many of them."""
_COURTESY = re.compile(
    r"\n\s*(?:i\s+)?(?:hope\s+(?:this|that|it)|let\s+me\s+know|feel\s+free|please\s+let|if\s+you\s+have\s+any|is\s+there\s+anything)\b[^\n]*\s*$",
    re.I,
)
"""A closing line to the reader, which holds no answer."""
_CHOSEN = re.compile(r"\b(?:is|be|choose|select|pick|chose)\s+(?:option\s+|choice\s+)?\(?([A-J])\)?\s*\.?$")
_JSON = re.compile(
    r"""["'](?:final[_ ]?)?(?:answer|result|solution)["']\s*:\s*("(?:[^"\\]|\\.)*"|-?[\d.][\w.+-]*)""", re.I
)
_CONNECTIVE = re.compile(
    r"^(?:(?:hence|thus|so|therefore|then|finally|we\s+(?:get|have|find|obtain)|it\s+is|this\s+is|that\s+is)\b[\s,:]*)+",
    re.I,
)
_EQUATION = re.compile(r"[=≈]\s*([^=≈\n]{1,80}?)\s*(?:[.。，,;]?\s*)$")


def unmarked(text: str) -> tuple[str, str] | None:
    """The last bold, the last formula, the last equation or the last number, in the last lines."""
    text = text.strip()
    if not text:
        return None
    if text.rfind("\n") >= 0 and (courtesy := _COURTESY.search(text, max(0, len(text) - 400))):
        text = text[: courtesy.start()].rstrip()
    if text[-1:] == "}" and text[:1] == "{" and (entries := _JSON.findall(text[-TAIL:])):
        return (entries[-1].strip('"'), "stated")
    if len(text) <= 400 and _is_bare(text):
        if denied(text, 0, 0) or _DISOWNED.search(text):
            return None
        return (unfence(_CONNECTIVE.sub("", text)), "bare")
    tail = text[-TAIL:]
    fences = list(FENCE.finditer(tail))
    last_line = tail.rstrip().rsplit("\n", 1)[-1]
    line_start = len(tail) - len(last_line)
    if fences:
        last = fences[-1]
        after = tail[last.end() :]
        if last.end() >= line_start or (len(after) < 200 and not _NUMBER.search(after)):
            inner = _inner(last)
            if inner.strip() and not denied(tail, last.start(), last.end()) and not _later_number(after):
                return _fenced(tail, fences, inner)
    return _from_line(last_line, tail)


_DISOWNED = re.compile(r"\b(?:wrong|incorrect|false\s+start|not\s+(?:right|correct|the\s+answer))\b", re.I)
"""What a bare answer never says of itself."""


def _inner(fence: re.Match[str]) -> str:
    return next(g for g in fence.groups() if g is not None)


def _fenced(tail: str, fences: list[re.Match[str]], inner: str) -> tuple[str, str]:
    last = fences[-1]
    if len(fences) > 1 and _says_for_which(fences[-2], last, tail):
        fences = fences[:-1]
        last, inner = fences[-1], _inner(fences[-1])
    bold = last.group().startswith("**")
    unit = re.match(r"\s*(percent|%|\\%|degrees)", tail[last.end() :])
    if unit:
        inner += " " + unit.group(1)
    for earlier, later in zip(fences[-2::-1], fences[:0:-1], strict=False):  # `$x = 7$ or $x = -7$`
        gap = tail[earlier.end() : later.start()]
        if len(gap) > 12 or not _JOINED.fullmatch(gap):
            break
        inner = f"{_inner(earlier)}, {inner}"
    return (unfence(inner), "bold" if bold else "math")


_FOR_WHICH = re.compile(r"\s*,?\s*(?:for|where|with|when|if)\s+(?:all|any|every|each|some)?[a-z\s]{0,30}")


def _says_for_which(said: re.Match[str], last: re.Match[str], tail: str) -> bool:
    """`$f(x) = x + 1$ for all real $x$`: the last formula only says for which values the one before it holds."""
    inner = _inner(last).strip()
    named = len(inner) == 1 and inner.isalpha()
    return named and "=" in _inner(said) and bool(_FOR_WHICH.fullmatch(tail, said.end(), last.start()))


def _later_number(after: str) -> bool:
    return len(after) > 3 and bool(_NUMBER.search(after))


def _from_line(line: str, tail: str) -> tuple[str, str] | None:
    for candidate in (line, tail[-600:]):
        equation = _EQUATION.search(candidate)
        if equation and len(candidate) < 4000 and candidate is line:
            value = equation.group(1).strip()
            if value and len(_WORD.findall(value)) <= 3 and len(_LETTERS_ELSEWHERE.findall(value)) <= 4:
                return (value, "equation")
        if candidate is line and (chosen := _CHOSEN.search(line)) and not denied(line, chosen.start(1), chosen.end(1)):
            return (chosen.group(1), "choice")
        numbers = [
            m
            for m in _NUMBER.finditer(candidate)
            if not denied(candidate, m.start(), m.end()) and candidate[m.end() : m.end() + 1] != "?"
        ]
        if numbers:
            return (numbers[-1].group().strip(), "number")
    return None


_JOINED = re.compile(r"\s*(?:,\s*)?(?:and|or|,)\s*")
_LABELLED_PART = re.compile(r"\s*[A-Za-z][A-Za-z ()']{0,40}[:=]\s*\S[^:=]*")


def _is_labelled_list(text: str) -> bool:
    """`Mean: 845.45, Median: 900`"""
    parts = re.split(r"[;\n]|,(?!\d{3})", text)
    return 1 < len(parts) <= 12 and all(_LABELLED_PART.fullmatch(p) for p in parts)


def _is_bare(text: str) -> bool:
    """Whether the whole response is an answer and no sentence."""
    if "\n\n" in text:
        return False
    plain = FENCE.sub(" x ", text) if "$" in text or "\\(" in text or "\\[" in text else text
    words = _WORD.findall(re.sub(r"</?su[pb]>|\\[a-zA-Z]+|\{[^{}]*\}", " ", plain))
    if plain is not text and plain.strip(" .*") != "x":
        return False
    if _is_labelled_list(plain):
        return True
    if len(words) > 2 and re.search(r"\d", plain) and not re.match(r"[-+(\[{$\\\d.€£]", plain):
        return False
    if not plain.isascii() and len(_LETTERS_ELSEWHERE.findall(plain)) > 4:
        return False
    return len(words) <= 4 and not re.search(r"[.?!]\s+\S", plain)


def unfence(text: str) -> str:
    text = text.strip()
    whole = FENCE.fullmatch(text.rstrip(". "))
    return _inner(whole).strip() if whole else text
