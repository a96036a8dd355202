r"""Where a response states its final answer. Pure text to value: nothing here knows mathematics or rewards.

`final_answer` reads a response the way a careful person does: what is inside `<think>` is not said, the last explicit
statement counts, a statement that is denied or only supposed does not, and two statements in one breath are kept side
by side so that the caller can refuse a hedge.

    >>> final_answer(r"<think>is it 8?</think> So we get \boxed{\frac{3}{4}}.").text
    '\\frac{3}{4}'
    >>> final_answer(r"The answer is not \boxed{7}.") is None
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TAIL = 4000
"""How many of the last characters are searched for a statement that is not in a box or tag."""
MOST_BOXES = 32
"""How many boxes from the end are looked at."""
LONGEST = 20_000
"""A statement longer than this is not one."""


@dataclass(slots=True)
class FinalAnswer:
    """What a response states as its answer."""

    text: str
    """The answer as written, without the box, the tag or the dollars."""
    how: str
    """What marks it: `boxed`, `answer tag`, `####`, `stated`, `bold`, `math`, `equation`, `number` or `bare`."""
    rivals: tuple[str, ...] = ()
    """Other answers stated in the same breath; a strict reader refuses when they differ."""

    @property
    def stated(self) -> bool:
        """Whether it is marked as the answer, and not merely the last value in sight."""
        return self.how in ("boxed", "answer tag", "####", "stated")


# -- thinking --------------------------------------------------------------------------------------------------------

_THINK = ("think", "thinking", "thought", "reasoning", "scratchpad")
_STOP = re.compile(r"<\|(?:im_end|im_start|endoftext|eot_id|end_of_text|end|eos)\|>|</s>|<end_of_turn>")


def after_thinking(response: str) -> str:
    """What is said outside the reasoning: after the last `</think>`, and before an unclosed `<think>`."""
    if "<" not in response:
        return response
    text = response
    for tag in _THINK:
        end = text.rfind(f"</{tag}>")
        if end >= 0:
            text = text[end + len(tag) + 3 :]
        start = text.find(f"<{tag}>")
        if start >= 0:
            text = text[:start]
    if "<|" in text or "</s>" in text or "<end_of" in text:
        stop = _STOP.search(text)
        if stop:
            text = text[: stop.start()]
    return text


def thinking(response: str) -> str | None:
    """The text inside the first closed `<think>` block; None where there is none."""
    return tagged(response, "think")


def tagged(text: str, tag: str) -> str | None:
    """The text inside the last closed `<tag>...</tag>`; None where there is none."""
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, end) if end >= 0 else -1
    return text[start + len(tag) + 2 : end] if start >= 0 else None


# -- boxes -----------------------------------------------------------------------------------------------------------

_BRACE = re.compile(r"\\.|[{}]", re.S)


@dataclass(slots=True)
class Span:
    """A statement in its place: `text[start:end]` is the whole mark, `inner` what it says."""

    start: int
    end: int
    inner: str
    how: str = "boxed"


def closing_brace(text: str, start: int) -> int:
    """The index of the brace that closes the one at `start`; -1 where none does."""
    depth = 0
    for m in _BRACE.finditer(text, start):
        mark = m.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return m.start()
    return -1


def last_boxed(text: str, before: int | None = None) -> Span | None:
    r"""The last complete `\boxed{...}` or `\fbox{...}` that begins before an index."""
    limit = len(text) if before is None else before
    for _ in range(MOST_BOXES):
        start = max(text.rfind("\\boxed", 0, limit), text.rfind("\\fbox", 0, limit))
        if start < 0:
            return None
        span = _box_at(text, start)
        if span is not None and span.inner.strip():
            return span
        limit = start
    return None


def boxed(text: str) -> str | None:
    r"""What the last `\boxed{...}` says; None where there is no complete one.

    >>> boxed(r"\boxed{\sqrt{2}} is right")
    '\\sqrt{2}'
    """
    span = last_boxed(text)
    return span.inner if span else None


def _box_at(text: str, start: int) -> Span | None:
    i = start + (6 if text.startswith("\\boxed", start) else 5)
    while i < len(text) and text[i] in " \t\n":
        i += 1
    if i >= len(text):
        return None
    if text[i] != "{":  # `\boxed 7`
        m = re.compile(r"[A-Za-z0-9.]+").match(text, i)
        return Span(start, m.end(), m.group()) if m and i > start + 5 else None
    # A box that holds almost the whole response is no answer; the bound keeps 20,000 open braces cheap.
    end = closing_brace(text, i) if len(text) - i <= LONGEST else closing_brace(text[: i + LONGEST], i)
    return Span(start, end + 1, text[i + 1 : end]) if end > 0 else None


# -- denied, supposed, hedged ----------------------------------------------------------------------------------------

_OPEN = r"[\s$\\(\[*:=\"'`]*"
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot\s+be|rather\s+than|instead\s+of|other\s+than|unlike|except)|n['’]t)"
    r"(?:\s+(?:equal\s+to|equals?|simply|just|be|the|an?|answer|is|exactly|really|final|correct|necessarily|as))*"
    + _OPEN
    + r"$",
    re.I,
)
_SUPPOSED_BEFORE = re.compile(
    r"(?:\b(?:if|suppose|supposing|assume|assuming|imagine|unless|pretend)\b[^.!?\n,;:]{0,60}"
    r"\b(?:answer|result|solution|value|it)\b[^.!?\n,;:]{0,30}"
    r"|\b(?:maybe|perhaps|possibly|might\s+be|could\s+be|may\s+be|could\s+have\s+been|would\s+have\s+been|for\s+example|e\.g\.)"
    r"(?:\s+(?:it|is|the|answer|even|just|say))*)" + _OPEN + r"$",
    re.I,
)
_DENIED_AFTER = re.compile(
    r"[\s$.)\]*\"'`\\]*(?:is|was|would\s+be|were|seems|looks|cannot|can['’]t|isn['’]t|wasn['’]t)\s*"
    r"(?:not\b|n['’]t\b|wrong|incorrect|false|impossible|be\s+(?:right|correct|the\s+answer)|(?:also\s+)?(?:clearly\s+)?"
    r"(?:wrong|incorrect|not\b)|the\s+wrong|an?\s+(?:wrong|incorrect))"
    r"|[\s$.)\]*\"'`\\]*\(?(?:wrong|incorrect)\b",
    re.I,
)


_DENYING = re.compile("not|n['’]t|never|nor|neither|rather|instead|than|unlike|except", re.I)
_SUPPOSING = re.compile(
    r"\b(?:if|suppos|assum|imagin|unless|preten|maybe|perhaps|possibly|might|could|may|would|for ex|e\.g)", re.I
)


def _denied(text: str, start: int, end: int) -> bool:
    # the cheap look first: almost no answer is denied
    near = text[max(0, start - 40) : start]
    if _DENYING.search(near) and _DENIED_BEFORE.search(near):
        return True
    before = text[max(0, start - 110) : start]
    if _SUPPOSING.search(before) and _SUPPOSED_BEFORE.search(before):
        return True
    return bool(_DENIED_AFTER.match(text[end : end + 40]))


# -- what joins two statements ---------------------------------------------------------------------------------------

_HEDGE = re.compile(r"\b(?:or|maybe|perhaps|possibly|alternatively|could|either|alternately)\b", re.I)
_AND = re.compile(r"\b(?:and|or)\b|[,;&]", re.I)
_JOINT = re.compile(
    r"(?:[\s$,;.&:]|\\[()\[\],;!:]|\\q?quad\b|\\text\w*\s*\{|\}|\*"
    r"|\b(?:and|or|also|maybe|perhaps|possibly|even|alternatively|it|could|be|either|for|part|case|the|is|with|when)\b"
    r"|\([a-z0-9]\)|\b[A-Za-z]\w?(?:_\{?\w+\}?)?\s*(?:=|:))*",
    re.I,
)


def _joined(text: str, last: Span) -> tuple[str, tuple[str, ...]]:
    """The boxes that are said in one breath with the last one: the list they make, and its parts."""
    parts, current, hedged = [last.inner], last, False
    for _ in range(MOST_BOXES):
        if "\\boxed" not in text[max(0, current.start - 400) : current.start]:
            break
        earlier = last_boxed(text, current.start)
        if earlier is None or earlier.end > current.start:
            break
        gap = text[earlier.end : current.start]
        if len(gap) > 80 or not _AND.search(gap) or not _JOINT.fullmatch(gap):
            break
        hedged = hedged or bool(_HEDGE.search(gap))
        parts.append(earlier.inner)
        current = earlier
    parts.reverse()
    return ", ".join(parts), tuple(parts[:-1])


# -- statements in words ---------------------------------------------------------------------------------------------

_LEAD = re.compile(
    r"(?:answers?\b|ans\b\.?)[*_\s]*(?:(?:to|of|for)\s+[^.\n:=$]{1,80}?)?\s*"
    r"(?:\b(?:is|are|was|must\s+be|should\s+be|would\s+be|will\s+be|equals|comes\s+to)\b|[:=：]|(?<=answer)[*_]*\s*\n)[*_\s]*:?"
    r"|(?:答案|最终答案)\s*(?:是|为|：|:)|(?:Réponse|Respuesta|Antwort|Resposta|Risposta|Ответ|उत्तर|الجواب)\s*(?:finale?)?\s*[:：]"
    r"|A\s?:(?=\s*\S)|####",
    re.I,
)
_KEYS = ("nswer", "####", "NSWER", "\nA:", "\nAns", "\nans", " ans ")
_FOREIGN = re.compile("答案|Réponse|Respuesta|Antwort|Resposta|Risposta|Ответ|उत्तर|الجواب")


def _leads(tail: str) -> Iterator[re.Match[str]]:
    """Where a statement such as `the answer is` begins, from the last one back."""
    places = [m.start() for m in _FOREIGN.finditer(tail)] if not tail.isascii() else []
    for key in _KEYS:
        limit = len(tail)
        for _ in range(4):
            limit = tail.rfind(key, 0, limit)
            if limit < 0:
                break
            places.append(limit + (-1 if key in ("nswer", "NSWER") else 0 if key == "####" else 1))
    for place in sorted(places, reverse=True)[:8]:
        m = _LEAD.match(tail, max(place, 0))
        if m:
            yield m


_FILLER = re.compile(
    r"(?:therefore|thus|so|hence|that|just|simply|approximately|about|exactly|indeed|the|option|choice)\b[\s,:]*", re.I
)
_SENTENCE_END = re.compile(
    r"\.(?=\s|$|\*|\"|'|”)(?!\s*\d)|[\n。！？!?](?![=\d)\]}])|<\||\s#{2,}|(?=</)|(?<=[^\\])\s*\bI hope\b"
)
_BECAUSE = re.compile(
    r"(?:,|\s)\s*(?:because|since|which|where|so\b|as\b|but\b|due to|when\b|if\b|given|after|assuming|based on).*$",
    re.I | re.S,
)
_FENCE = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)(?<!\\)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]|\*\*([^*\n]+?)\*\*", re.S)


def _statement(text: str, lead: re.Match[str]) -> Span | None:
    """The phrase after `the answer is`."""
    i = lead.end()
    how = "####" if lead.group() == "####" else "stated"
    while i < len(text) and text[i] in " \t\n*_:\"'“`>":
        i += 1
    filler = _FILLER.match(text, i)
    while filler and filler.end() > i:
        i = filler.end()
        filler = _FILLER.match(text, i)
    rest = text[i : i + 1200]
    fence = _FENCE.match(rest)
    if fence:
        inner = next(g for g in fence.groups() if g is not None)
        tail = rest[fence.end() :]
        joint = re.match(r"\s*(?:,|and\b|or\b|%|\\%|[°a-zA-Z²³/]+(?=[\s.,;]|$))", tail)
        if not joint:
            return Span(lead.start(), i + fence.end(), inner, how)
    end = _SENTENCE_END.search(rest)
    phrase = rest[: end.start()] if end else rest
    phrase = _BECAUSE.sub("", phrase) if not phrase.lstrip().startswith(("if", "when")) else phrase
    phrase = phrase.strip().strip("*_`\"'“”\\").strip()
    return Span(lead.start(), i + (end.end() if end else len(rest)), phrase, how) if phrase else None


def _spoken(text: str) -> Span | None:
    """The last statement of the kind `the answer is ...` in the tail of a text."""
    offset = max(0, len(text) - TAIL)
    tail = text[offset:]
    for lead in _leads(tail):
        span = _statement(tail, lead)
        if span is None or _denied(tail, lead.end(), span.end):
            continue
        if re.match(r"(?:not\b|n['’]t\b|incorrect|wrong|unknown\b.*\bbecause)", span.inner, re.I):
            continue
        return Span(span.start + offset, span.end + offset, _prose_value(span.inner), span.how)
    return None


def _prose_value(phrase: str) -> str:
    """Of a whole sentence in words the part that is the value: what follows its last `is`."""
    plain = phrase if "$" in phrase else phrase
    if (len(plain) < 24 or plain.count(" ") < 4) and not re.search("是|为|等于", plain):
        return phrase
    head = re.match(r"[\s$\\({\[]*[-+]?[\d.]", plain)
    if head:
        return phrase
    said = re.search(r".*(?:\b(?:is|are|was|equals|be)\b\s+|是|为|等于)(?=\S)(?!not\b)", plain, re.S)
    return plain[said.end() :] if said else phrase


# -- nothing marks it ------------------------------------------------------------------------------------------------

_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?(?:e[-+]?\d+)?\s?(?:%|\\%)?(?![A-Za-z_]*\d)",
    re.I,
)
_EQUATION = re.compile(r"[=≈]\s*([^=≈\n]{1,80}?)\s*(?:[.。，,;]?\s*)$")


def _unmarked(text: str) -> FinalAnswer | None:
    """The last bold, the last formula, the last equation or the last number, in the last lines."""
    text = text.strip()
    if not text:
        return None
    if len(text) <= 400 and _is_bare(text):
        return FinalAnswer(_unfence(text), "bare")
    tail = text[-TAIL:]
    fences = list(_FENCE.finditer(tail))
    last_line = tail.rstrip().rsplit("\n", 1)[-1]
    line_start = len(tail) - len(last_line)
    if fences:
        last = fences[-1]
        after = tail[last.end() :]
        if last.end() >= line_start or (len(after) < 200 and not _NUMBER.search(after)):
            inner = _inner(last)
            if inner.strip() and not _denied(tail, last.start(), last.end()) and not _later_number(after):
                return _fenced(tail, fences, inner)
    return _from_line(last_line, tail)


def _inner(fence: re.Match[str]) -> str:
    return next(g for g in fence.groups() if g is not None)


def _fenced(tail: str, fences: list[re.Match[str]], inner: str) -> FinalAnswer:
    last = fences[-1]
    bold = last.group().startswith("**")
    unit = re.match(r"\s*(percent|%|\\%|degrees)", tail[last.end() :])
    if unit:
        inner += " " + unit.group(1)
    return FinalAnswer(_unfence(inner), "bold" if bold else "math")


def _later_number(after: str) -> bool:
    return len(after) > 3 and bool(_NUMBER.search(after))


def _from_line(line: str, tail: str) -> FinalAnswer | None:
    for candidate in (line, tail[-600:]):
        equation = _EQUATION.search(candidate)
        if equation and len(candidate) < 4000 and candidate is line:
            value = equation.group(1).strip()
            if value and len(_WORD.findall(value)) <= 3:
                return FinalAnswer(value, "equation")
        numbers = [m for m in _NUMBER.finditer(candidate) if not _denied(candidate, m.start(), m.end())]
        if numbers:
            return FinalAnswer(numbers[-1].group().strip(), "number")
    return None


def _is_bare(text: str) -> bool:
    """Whether the whole response is an answer and no sentence."""
    if "\n\n" in text:
        return False
    plain = _FENCE.sub(" x ", text) if "$" in text or "\\(" in text or "\\[" in text else text
    words = _WORD.findall(re.sub(r"\\[a-zA-Z]+|\{[^{}]*\}", " ", plain))
    if plain is not text and plain.strip(" .*") != "x":
        return False
    if len(words) > 2 and re.search(r"\d", plain) and not re.match(r"[-+(\[{$\\\d.€£]", plain):
        return False
    if not plain.isascii() and len(re.findall(r"[^\x00-\u036f\u2000-\u2bff\uff00-\uffef]", plain)) > 6:
        return False
    return len(words) <= 4 and not re.search(r"[.?!]\s+\S", plain)


def _unfence(text: str) -> str:
    text = text.strip()
    whole = _FENCE.fullmatch(text.rstrip(". "))
    return _inner(whole).strip() if whole else text


# -- the one reader --------------------------------------------------------------------------------------------------


def final_answer(response: str) -> FinalAnswer | None:
    r"""What a response states as its final answer; None where it states none.

    >>> final_answer("2 + 2 = 4. The answer is 4.")
    FinalAnswer(text='4', how='stated', rivals=())
    >>> final_answer(r"\boxed{8} or maybe \boxed{7}").rivals
    ('8',)
    """
    text = after_thinking(response)
    if "</answer>" in text:
        found = _from_tags(text)
        if found:
            return found
    box = _last_good_box(text)
    spoken = _spoken(text) if box is None or len(text) - box.end > 8 else None
    if box is not None and spoken is not None and spoken.start > box.start:
        if "\\boxed" not in text[spoken.start : spoken.end + 8]:
            gap = text[box.end : spoken.start]
            rivals = (box.inner,) if len(gap) < 12 else ()
            return FinalAnswer(spoken.inner, spoken.how, rivals)
    if box is not None:
        joined, rivals = _joined(text, box)
        gap_rivals = rivals
        return FinalAnswer(joined if rivals else _with_unit(text, box), "boxed", gap_rivals)
    if spoken is not None:
        return FinalAnswer(_unfence(spoken.inner), spoken.how)
    return _unmarked(text)


def _with_unit(text: str, box: Span) -> str:
    """The box, with a per cent sign that stands just behind it."""
    after = text[box.end : box.end + 3].lstrip()
    return box.inner + "\\%" if after.startswith(("\\%", "%")) else box.inner


def _last_good_box(text: str) -> Span | None:
    if "\\boxed" not in text and "\\fbox" not in text:
        return None
    limit = len(text)
    for _ in range(8):
        span = last_boxed(text, limit)
        if span is None or not _denied(text, span.start, span.end):
            return span
        limit = span.start
    return None


def _from_tags(text: str) -> FinalAnswer | None:
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end)
    if start < 0:
        return None
    inner = text[start + 8 : end].strip()
    if not inner:
        return None
    earlier_end = text.rfind("</answer>", 0, start)
    earlier = text.rfind("<answer>", 0, earlier_end) if earlier_end >= 0 else -1
    rivals = (text[earlier + 8 : earlier_end].strip(),) if earlier >= 0 else ()
    if "\\boxed" in inner:
        box = _last_good_box(inner)
        if box is not None:
            joined, more = _joined(inner, box)
            return FinalAnswer(joined, "answer tag", rivals + more)
    if len(inner) > 60 and (spoken := _spoken(inner)):
        return FinalAnswer(spoken.inner, "answer tag", rivals)
    return FinalAnswer(_unfence(inner), "answer tag", rivals)
