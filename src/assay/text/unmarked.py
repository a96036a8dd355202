"""Answers that nothing marks: a bare answer, the last bold, formula, equation or number in the last lines."""

from __future__ import annotations

import re

from assay.text.denied import denied, doubted
from assay.text.stated import FENCE, TAIL

_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.:])\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?(?![\d:])"
    r"|(?<![A-Za-z0-9_.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?(?:e[-+]?\d+)?\s?(?:%|\\%)?(?![A-Za-z_]*\d)",
    re.I,
)
_LETTERS_ELSEWHERE = re.compile(r"[^\x00-\u03ff\u2000-\u2bff\uff00-\uffef]")
"""Letters of scripts in which formulas are not written: a sentence has many of them."""
_ASIDE = re.compile(r"\s*\((?:approximately|approx\.?|about|roughly|or|i\.e\.|≈)\s[^()\n]*\)\.?$", re.I)
_LETTERED = re.compile(r"^\(?([A-J])[.):]\s", re.M)
_COUNTED = re.compile(r"\d?\s[A-Za-z]")
_COMPLEMENT = re.compile(r"\b(?:for|per|every|within|of\s+the)\s+$", re.I)
_COURTESY = re.compile(
    r"\n\s*(?:i\s+)?(?:hope\s+(?:this|that|it)|let\s+me\s+know|feel\s+free|please\s+let|if\s+you\s+have\s+any|is\s+there\s+anything)\b[^\n]*\s*$",
    re.I,
)
"""A closing line to the reader, which holds no answer."""
_CHOSEN = re.compile(
    r"\b(?:is|be|choose|select|pick|chose|[Hh]ence|[Tt]hus|[Tt]herefore|[Ss]o)\s*,?\s+(?:option\s+|choice\s+)?\(?([A-J])\)?\s*\.?$"
    r"|(?<![\w'])\(?([A-J])\)?\s+(?:is|must\s+be)\s+(?:the\s+)?(?:correct|right|best|answer)\b"
    r"|[.!?:]\s+\(?([A-J])\)?\s*\.?$"
)
_END_OF_PROOF = re.compile(r"\s*\\(?:blacksquare|square|qed|Box)\s*")
_SUBORDINATE = re.compile(
    r",\s+(?:attained|achieved|reached|which|where|when|occurring)\b[^\n]*$|\s+(?:at|when)\s+[a-z]\s*=[^\n=]*$"
    r"|(?<=\d\s)([a-z]+\s+){0,3}(?:after|because|since)\s[^\n]*$"
)
"""What a sentence adds behind its value: `-3, attained at x = 2`."""
_SAID_TO_BE = re.compile(
    r"^.*\b(?:is|are|equals|be|was)\s+(?!not\b)((?:[-+−√∛(\[{$\\.]|\d)[^\n]{0,60}?|\*\*[^*\n]{1,60}\*\*|[A-Z][a-z]+"
    r"|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s*[.!]?$"
)
_HEDGE = re.compile(r"[,\s]\s*or\s+(?:maybe\s+|perhaps\s+|possibly\s+|even\s+)?$", re.I)
_JSON = re.compile(
    r"""["'](?:final[_ ]?)?(?:answer|result|solution)["']\s*:\s*("(?:[^"\\]|\\.)*"|-?[\d.][\w.+-]*)""", re.I
)
_CONNECTIVE = re.compile(
    r"^(?:(?:hence|thus|so|therefore|then|finally|(?:we|I)\s+(?:get|got|have|find|obtain)|it\s+is|this\s+is|that\s+is)\b[\s,:]*)+",
    re.I,
)
_INEQUALITY = re.compile(
    r"(?<![\w$\\=])((?:[-\w.^/√π]{1,20}\s{0,2}(?:<=|>=|[<>≤≥≠])\s{0,2}){1,2}[-\w^/√π∞]{1,20}(?:\.\d+)?)\s*\.?$"
)
"""`The solution is x < 4.`"""
_EQUATION = re.compile(r"[=≈]\s*([^=≈\n]{1,80}?)\s*(?:[.。，,;]?\s*)$")


_REFUSED = re.compile(
    r"\b(?:can\s?not|can['’]t|do\s+not|don['’]t|(?:un|not\s+)able\s+to)\s+(?:be\s+)?"
    r"(?:answer|know\s+(?:the|how|what)|determined?\s+the\s+answer|solved?\s+th(?:e|is)\s+problem)\b",
    re.I,
)
"""What says that there is no answer."""
_FALSE_AFTER_ALL = re.compile(
    r",\s+(?:which|but\s+(?:that|this|it))\s+(?:is|was)\s+(?:wrong|incorrect|false|untrue|not\s+(?:true|right|correct))\W*$",
    re.I,
)
_WRAPPED = re.compile(r"<(\w{2,20})>([^<>]*)</\1>")
_WORD_SAID = re.compile(
    r"^(?:yes|no|true|false)\s*[,.;:—–-].*|^[^\d$\\=]*\b(?:ha(?:s|ve)|(?:is|are))\s+(no\s+(?:real\s+)?(?:solutions?|roots?))\.?"
    r"|^[^\d$\\=.!?]*\b(?:is|are)\s+((?:an?\s+)?(?!not\b|the\b|an?\b|no\b)[a-z-]+(?:\s[a-z]+)?)\.?$",
    re.I | re.S,
)
"""A short sentence whose answer is a word: `Yes, it is.`, `It has no solution.`, `The curve is an ellipse.`"""


def _word_said(text: str) -> str:
    said = _WORD_SAID.match(text)
    if not said or len(_WORD.findall(text)) > 12 or denied(text, said.start(said.lastindex or 0), len(text)):
        return ""
    return said[said.lastindex or 0]


_CHECKED = re.compile(
    r"\n\s*\W{0,4}(?:check|verification|verify|to\s+verify|let(?:['’]s|\s+us|\s+me)\s+(?:check|verify))\b", re.I
)


def _trimmed(text: str) -> str:
    """The text without a closing line to the reader, and without an aside at its very end."""
    if text.rfind("\n") >= 0 and (courtesy := _COURTESY.search(text, max(0, len(text) - 400))):
        text = text[: courtesy.start()].rstrip()
    if text.rfind("\n") >= 0 and (checked := _CHECKED.search(text, max(0, len(text) - 400))) and checked.start():
        text = text[: checked.start()].rstrip()
    return _ASIDE.sub("", text) if text.endswith((")", ").")) else text


def unmarked(text: str) -> tuple[str, str] | None:
    """The last bold, the last formula, the last equation or the last number, in the last lines."""
    text = text.strip()
    end = max(0, len(text) - 400)
    if not text or _REFUSED.search(text, end) or _FALSE_AFTER_ALL.search(text, end):
        return None
    wrapped = _WRAPPED.fullmatch(text) if text[0] == "<" else None
    text = _trimmed(wrapped[2].strip() if wrapped else text)
    if text[-1:] == "}" and text[:1] == "{" and (entries := _JSON.findall(text[-TAIL:])):
        return (entries[-1].strip('"'), "stated")
    if len(text) <= 200 and "\n" not in text and (chosen := _choice(text)):
        return (chosen, "choice")
    if len(text) <= 200 and (word := _word_said(text)):
        return (word, "sentence")
    if len(text) <= 200 and (said := _value_said(text)) and len(_WORD.findall(text)) <= 12:
        return (said, "sentence")
    if len(text) <= 400 and _is_bare(text):
        if denied(text, 0, 0) or _DISOWNED.search(text) or text.endswith("?"):
            return None
        return (unfence(_CONNECTIVE.sub("", text)), "bare")
    tail = text[-TAIL:]
    fences = [m for m in FENCE.finditer(tail) if not _END_OF_PROOF.fullmatch(_inner(m))]
    last_line = tail.rstrip().rsplit("\n", 1)[-1]
    line_start = len(tail) - len(last_line)
    if fences:
        last = fences[-1]
        after = tail[last.end() :]
        if last.end() >= line_start or (len(after) < 200 and not _NUMBER.search(after)):
            inner = _inner(last)
            if inner.strip() and not denied(tail, last.start(), last.end()) and not _later_number(after):
                return _fenced(tail, fences, inner)
    lettered = _LETTERED.match(text)
    if lettered and len(_LETTERED.findall(text)) == 1:
        return (lettered.group(1), "choice")
    return _from_line(last_line, tail)


_BETWEEN = re.compile(r"\bbetween\s+\S+\s+and\s*$", re.I)
_BOUND = re.compile(
    r"(?:[<>≤≥≠]=?|\b(?:at\s+(?:least|most)|(?:more|less|fewer|greater|larger|smaller)\s+than(?:\s+or\s+equal\s+to)?|up\s+to"
    r"|divisible\s+by|multiples?\s+of|mod(?:ulo)?))\s*$",
    re.I,
)
"""What makes a number a bound, and no value."""
_NEEDED = re.compile(
    r"\b(?:needs?|needed|must|requires?|required|minimum|maximum|least\s+number|most\s+number)\b", re.I
)
_APPLIED = re.compile(r"(?:\b(?:log\S*|ln|sin|cos|tan|sqrt)\s+)$")
_NUMBERED = re.compile(
    r"\b(?:exercise|problem|page|question|step|case|line|equation|figure|table|part|theorem|lemma|section|chapter)\s+\(?$",
    re.I,
)
"""What a number in `see exercise 17` is the number of."""


def _last_number(line: str) -> str:
    """The last number that is neither denied, doubted nor asked for; with the one before it where both are offered."""
    numbers = list(_NUMBER.finditer(line))
    asides = 0
    for k in range(len(numbers) - 1, -1, -1):
        m = numbers[k]
        if line[m.end() : m.end() + 1] == "?" or denied(line, m.start(), m.end()) or doubted(line, m.start(), ""):
            continue
        before = line[max(0, m.start() - 40) : m.start()]
        if _BETWEEN.search(before) or (_BOUND.search(before) and not _NEEDED.search(line)):
            return ""
        if before[-1:] == "^":
            return line[line.rfind(" ", 0, m.start()) + 1 : m.end()].strip()
        if _APPLIED.search(before) or line[m.end() : m.end() + 2].strip("abcdefghijklmnopqrstuvwxyz") == "-":
            continue
        if _NUMBERED.search(line, max(0, m.start() - 14), m.start()):
            continue
        said = m.group().strip()
        if k and _COMPLEMENT.search(line, max(0, m.start() - 10), m.start()) and _COUNTED.match(line, m.end() - 1):
            continue  # `$10 for 50 minutes`
        if (whole := _whole(line, m)) != said:
            asides += 1
            if whole or asides > _MOST_ASIDES:
                return whole
            continue
        if k and _HEDGE.fullmatch(line, numbers[k - 1].end(), m.start()):
            said = f"{numbers[k - 1].group().strip()}, {said}"  # `99, or maybe 100`
        return said
    return ""


_MOST_ASIDES = 8


def _whole(line: str, m: re.Match[str]) -> str:
    """The formula that a number is part of, `2\\sqrt{3}` or `(2, 3)`; empty where it is an aside: `(see step 3)`."""
    start, end = m.span()
    start += len(m.group()) - len(m.group().lstrip())
    opened = _unclosed(line, start)
    if opened is None:
        return m.group().strip()
    depth = 0
    for k in range(opened, len(line)):
        depth += (line[k] in "([{") - (line[k] in ")]}")
        if not depth:
            end = k + 1
            break
    else:
        return m.group().strip()
    if line[opened] in "([" and _WORD.search(line, opened, end):
        return ""
    start = opened
    while start and not line[start - 1].isspace() and line[start - 1] not in "$*":
        start -= 1
    while end < len(line) and not line[end].isspace() and line[end] not in "$*":
        end += 1
    return line[start:end].rstrip(".,;:!")


def _unclosed(line: str, end: int) -> int | None:
    """Where the outermost bracket that is open at `end` begins."""
    opened: list[int] = []
    for k in range(end):
        if line[k] in "([{":
            opened.append(k)
        elif line[k] in ")]}" and opened:
            opened.pop()
    return opened[0] if opened else None


def _choice(line: str) -> str:
    """The letter that a sentence settles on."""
    chosen = _CHOSEN.search(line)
    if not chosen:
        return ""
    k = chosen.lastindex or 0
    return "" if denied(line, chosen.start(k), chosen.end(k)) else chosen.group(k)


_JOINING_WORDS = {"and", "or", "am", "pm"}


def _value_said(line: str) -> str:
    """What a short last sentence says its subject is: `The ratio is 3:2.`; empty where that is no plain value."""
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)[-1]
    said = _SAID_TO_BE.search(sentence)
    if (
        not said
        or "=" in said[1]
        or "$" in said[1]
        or (said[1][0].isdecimal() and not _JOINING_WORDS.issuperset(_WORD.findall(said[1])))
        or denied(sentence, said.start(1), said.end(1))
        or doubted(sentence, said.start(1), "")
    ):
        return ""
    return unfence(said[1])


_DISOWNED = re.compile(r"\b(?:wrong|incorrect|false\s+start|not\s+(?:right|correct|the\s+answer))\b", re.I)
"""What a bare answer never says of itself."""


def _inner(fence: re.Match[str]) -> str:
    return next(g for g in fence.groups() if g is not None)


def _fenced(tail: str, fences: list[re.Match[str]], inner: str) -> tuple[str, str]:
    while len(fences) > 1 and (_POWER.fullmatch(_inner(fences[-1])) or _stands_aside(fences[-1], tail)):
        fences = fences[:-1]
        inner = _inner(fences[-1])
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
        if "=" in _inner(earlier) and "=" in _inner(later) and not _NAMED.match(_inner(earlier)):
            break  # `$3n = 36$ and $n = 12$`
        if len(gap) > 12 or not _JOINED.fullmatch(gap):
            break
        inner = f"{_inner(earlier)}, {inner}"
    return (unfence(inner), "bold" if bold else "math")


_POWER = re.compile(r"\^\{?\d\}?")
"""The exponent of a unit that stands in words: `units$^2$`."""
_NAMED = re.compile(r"\s*(?:\\?[A-Za-z]{1,6}(?:_\{?\w+\}?)?|\([^()=]*\)|[a-zA-Z]\([^()=]*\))\s*=")


def _stands_aside(fence: re.Match[str], tail: str) -> bool:
    """Whether a formula stands within brackets with words in them: `$x = 2$ (as $x = -3$ is too small)`."""
    start = tail.rfind("\n", 0, fence.start()) + 1
    line = tail[start : fence.start()]
    opened = line.rfind("(")
    return opened >= 0 and ")" not in line[opened:] and ")" in tail[fence.end() :] and bool(_WORD.search(line, opened))


_FOR_WHICH = re.compile(
    r"\s*,?\s*(?:(?:for|where|with|when|if|at)\s+(?:all|any|every|each|some)?[a-z\s]{0,30}"
    r"|(?:which|attained|achieved|reached|occurring)\s[a-z\s]{0,60})"
)


def _says_for_which(said: re.Match[str], last: re.Match[str], tail: str) -> bool:
    """`$f(x) = x + 1$ for all real $x$`: the last formula only says for which values the one before it holds."""
    gap = tail[said.end() : last.start()]
    if len(gap) > 90 or not _FOR_WHICH.fullmatch(gap):
        return False
    return bool(re.search(r"[\d=]", _inner(said)))


def _later_number(after: str) -> bool:
    return len(after) > 3 and bool(_NUMBER.search(after))


def _from_line(line: str, tail: str) -> tuple[str, str] | None:
    if (cut := _SUBORDINATE.search(line)) and _DISOWNED.search(cut.group()):
        return None
    line = _SUBORDINATE.sub("", line)
    if any(sign in line for sign in "<>≤≥≠") and (bounds := _INEQUALITY.search(line)):
        return (bounds.group(1), "equation")
    for candidate in (line, tail[-600:]):
        equation = _EQUATION.search(candidate)
        if equation and len(candidate) < 4000 and candidate is line:
            value = equation.group(1).strip()
            if value and len(_WORD.findall(value)) <= 3 and len(_LETTERS_ELSEWHERE.findall(value)) <= 4:
                return (value, "equation")
        if candidate is line and (chosen := _choice(line)):
            return (chosen, "choice")
        if candidate is line and (said := _value_said(line)):
            return (said, "sentence")
        number = _last_number(candidate)
        if number:
            return (number, "number")
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
    if not text.startswith(("$", "\\", "*")):
        return text
    whole = FENCE.fullmatch(text.rstrip(". "))
    return _inner(whole).strip() if whole else text
