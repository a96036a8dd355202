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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from assay.text.boxes import MOST_BOXES, Span, boxed, last_boxed
from assay.text.denied import denied
from assay.text.stated import TAIL, spoken_answer
from assay.text.unmarked import unfence, unmarked


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


_STOP = re.compile(r"<\|(?:im_end|im_start|endoftext|eot_id|end_of_text|end|eos)\|>|</s>|<end_of_turn>")


def after_thinking(response: str) -> str:
    """What is said outside the reasoning: after the last `</think>`, and before an unclosed `<think>`."""
    # one character is found fast, also in a long response: so each search for a mark stands behind one
    plain = "K" not in response and response.isascii()
    if plain and (">" not in response or (len(response) <= _SHORT and not _MARK.search(response))):
        return response
    text = without_reasoning(response)
    if ">" not in text or "<" not in text:
        return text
    if len(text) > _SHORT and not _may_stop(text):
        return text
    stop = _STOP.search(text)
    return text[: stop.start()] if stop else text


def _may_stop(text: str) -> bool:
    return ("|" in text and text.rfind("|>") >= 0) or text.rfind("</s>") >= 0 or text.rfind("<end_of_turn>") >= 0


def without_reasoning(response: str) -> str:
    """The same with all that follows, whatever stop tokens are in it: a program may well hold `</s>`."""
    if "K" in response and response.rfind("THINK") >= 0:
        for opening, closing in _SHOUTED:
            response = _after_marks(response, opening, closing)
    if not response.isascii() and response.rfind("think▷") >= 0:
        response = _after_marks(response, "◁think▷", "◁/think▷")
    if ">" not in response or "<" not in response:
        return response
    if "|" in response:
        if response.rfind("channel|>") >= 0:
            response = _after_marks(response, "<|channel|>analysis", "<|channel|>final<|message|>")
        if response.rfind("_of_th") >= 0:
            for opening, what in dict.fromkeys(_TOKENS.findall(response)):
                response = _after_marks(response, f"<|{opening}_of_{what}|>", f"<|end_of_{what}|>")
    for tag in dict.fromkeys(_thinking_in(response)):
        response = _after_marks(response, f"<{tag}>", f"</{tag}>")
    return response


THINKING = ("think", "thinking", "reasoning", "thought", "scratchpad", "reflection")
"""The tags that hold what is thought and not said."""
_TAG = rf"(?:\w{{1,12}}:)?(?:{'|'.join(THINKING)})"
"""One of them as it may be written: `think`, `Think`, `seed:think`."""
_THINKING = re.compile(f"</?({_TAG})>", re.I)
_MARK = re.compile(rf"<(?:/?{_TAG}>|\||/s>|end_of_turn>)", re.I)
"""Whatever begins or ends what is not said."""
_SHOUTED = (("[THINK]", "[/THINK]"), ("<|START_THINKING|>", "<|END_THINKING|>"))
_TOKENS = re.compile(r"<\|(begin|start)_of_(thought|thinking|think)\|>")
_SHORT = 4_000
"""A text up to this length is searched by regular expression: the fastest way, unless every character is a `<`."""
_FEW = 32


def _thinking_in(text: str) -> Sequence[str]:
    """The tags of thinking that stand in a text, as they are written."""
    if len(text) <= _SHORT:
        return _THINKING.findall(text)
    found, at = list[str](), len(text)
    for _ in range(_FEW):
        at = text.rfind("<", 0, at)
        if at < 0:
            return found
        if mark := _THINKING.match(text, at):
            found.append(mark[1])
    # many a `<`: all of them are looked at only where the end of such a tag stands, in capitals or not
    return _THINKING.findall(text) if any(text.rfind(f"{tag[1:]}>") >= 0 for tag in THINKING) else ()


def _after_marks(text: str, opening: str, ending: str) -> str:
    # rfind of a long needle costs a tenth of find on a response of 200 kB
    end = text.rfind(ending)
    if end >= 0:
        text = text[end + len(ending) :]
    if text.rfind(opening) >= 0:
        text = text[: text.find(opening)]
    return text


def thinking(response: str) -> str | None:
    """The text inside the first closed `<think>` block; None where there is none."""
    return tagged(response, "think")


def tagged(text: str, tag: str) -> str | None:
    """The text inside the last closed `<tag>...</tag>`; None where there is none."""
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, end) if end >= 0 else -1
    return text[start + len(tag) + 2 : end] if start >= 0 else None


_AND = re.compile(r"\b(?:and|or)\b|[,;&]", re.I)
_JOINT = re.compile(
    r"(?:[\s$,;.&:]|\\[()\[\],;!:]|\\q?quad\b|\\text\w*\s*\{|\}|\*"
    r"|\b(?:and|or|also|maybe|perhaps|possibly|even|alternatively|it|could|be|either|for|part|case|the|is|with|when)\b"
    r"|\([a-z0-9]\)|\b[A-Za-z]\w?(?:_\{?\w+\}?)?\s*(?:=|:))*",
    re.I,
)
_NEXT_PART = re.compile(r"\W*(?:part\s*)?\(?[b-h]\)\W*(?:(?:the\s+)?[a-z]+\s+is\W*)?", re.I)
"""What stands between the answers of two parts: `(b)`, `**Part (b):** The value is`."""


def _joined(text: str, last: Span) -> tuple[str, tuple[str, ...]]:
    """The boxes that are said in one breath with the last one: the list they make, and its parts."""
    parts, current = [last.inner], last
    for _ in range(MOST_BOXES):
        if "\\boxed" not in text[max(0, current.start - 400) : current.start]:
            break
        earlier = last_boxed(text, current.start)
        if earlier is None or earlier.end > current.start:
            break
        gap = text[earlier.end : current.start]
        if len(gap) > 80 or not (_NEXT_PART.fullmatch(gap) or (_AND.search(gap) and _JOINT.fullmatch(gap))):
            break
        if denied(text, earlier.start, earlier.end):
            break
        parts.append(earlier.inner)
        current = earlier
    parts.reverse()
    if len({part.strip() for part in parts}) == 1:
        return last.inner, ()
    return ", ".join(parts), tuple(parts[:-1])


def final_answer(response: str) -> FinalAnswer | None:
    r"""What a response states as its final answer; None where it states none.

    >>> final_answer("2 + 2 = 4. The answer is 4.")
    FinalAnswer(text='4', how='stated', rivals=())
    >>> final_answer(r"\boxed{8} or maybe \boxed{7}").rivals
    ('8',)
    """
    text = after_thinking(response)
    if "Q" in text and text.rfind("\nQ", max(0, len(text) - TAIL)) >= 0:
        text = _before_next_question(text)
    if ">" in text and "<" in text:
        for tag in _ANSWER_TAGS if text.rfind("nswer>") >= 0 else _ANSWER_TAGS[2:]:
            if text.rfind(tag) >= 0 and (found := _from_tags(text, tag[:-1])):
                return found if not (after := _behind_denied(text, tag[:-1])) else _said(spoken_answer(text[after:]))
    box = _last_good_box(text)
    if box is not None:
        rest = text[box.end :]
        spoken = (
            spoken_answer(rest) if len(rest) > 8 and ("nswer" in rest or "####" in rest or "NSWER" in rest) else None
        )
        if spoken is not None:
            return _said_after(text, box, spoken)
        return _boxed(text, box) if len(rest) < 20 or not _TAKEN_BACK.match(rest) else _last_value(rest)
    if "<" in text:
        text = _MARKUP.sub("", text)
    spoken = spoken_answer(text)
    if spoken is not None:
        rest = text[spoken.end :]
        return _said(spoken) if len(rest) < 20 or not _TAKEN_BACK.match(rest) else _last_value(rest)
    if text.rfind("\\boxed{") >= 0:
        return None  # every box is denied, and nothing else is stated
    return _last_value(text)


def _last_value(text: str) -> FinalAnswer | None:
    found = unmarked(text)
    return FinalAnswer(*found) if found else None


_TAKEN_BACK = re.compile(
    r"\W*(?:(?:hmm+|wait|no|oh|oops|sorry|hold\s+on|actually)\W+)*(?:just\s+kidding|scratch\s+that|on\s+second\s+thought"
    r"|(?:this|that)(?:\s+is|\s+was|['’]s)\s+(?:wrong|incorrect|not\s+(?:right|correct)|an?\s+(?:mistake|error))"
    r"|I\s+made\s+an?\s+(?:\w+\s+)?(?:mistake|error))\b",
    re.I,
)
"""What takes back the statement before it."""


_MARKUP = re.compile(r"</?(?:b|i|u|p|em|strong|span|div)>")
_NEXT_QUESTION = re.compile(r"\n\s{0,8}\n(?:Q|Question)\s?:")
_STATES = re.compile(r"nswer\W{0,4}(?:is|:)|####|\\boxed", re.I)


def _before_next_question(text: str) -> str:
    """The text up to a question that is asked once the answer is stated: a base model goes on with the next example."""
    for m in islice(_NEXT_QUESTION.finditer(text), MOST_BOXES):
        if _STATES.search(text, max(0, m.start() - 300), m.start()):
            return text[: m.start()]
    return text


def _said(spoken: Span | None) -> FinalAnswer | None:
    return None if spoken is None else FinalAnswer(unfence(spoken.inner), spoken.how)


def _boxed(text: str, box: Span) -> FinalAnswer:
    start = box.start
    if text.rfind("\\boxed", start - 400 if start > 400 else 0, start) >= 0:
        joined, rivals = _joined(text, box)
        if rivals:
            return FinalAnswer(joined, "boxed", rivals)
    said = box.inner if "%" not in text[box.end : box.end + 3] else _with_unit(text, box)
    if not _DIGIT.search(text, start - 16 if start > 16 else 0, start):
        return FinalAnswer(said, "boxed")
    return FinalAnswer(said, "boxed", _said_before(text, start))


def _said_before(text: str, start: int) -> tuple[str, ...]:
    """An answer that is stated in words right before a box: `The answer is 8. \\boxed{7}`."""
    before = text[start - 120 if start > 120 else 0 : start]
    if before.rstrip(" \n$\\([").endswith(("=", "≈", "approx")):
        return ()  # `the answer is 1/2 = \\boxed{0.5}` is one statement
    spoken = spoken_answer(before) if "nswer" in before else None
    if spoken is None or len(before) - spoken.end > 12 or not _DIGIT.search(spoken.inner):
        return ()
    return (spoken.inner,)


_DIGIT = re.compile(r"\d")


def _said_after(text: str, box: Span, spoken: Span) -> FinalAnswer:
    """A statement behind the last box, which counts where it is a value and not a remark."""
    if not _VALUE_MARK.search(spoken.inner) and (_VALUE_MARK.search(box.inner) or spoken.inner.count(" ") > 3):
        return _boxed(text, box)
    rivals = (box.inner,) if spoken.start < 12 else ()
    return FinalAnswer(spoken.inner, spoken.how, rivals)


_VALUE_MARK = re.compile(r"[\d$\\]")


def _with_unit(text: str, box: Span) -> str:
    """The box, with a per cent sign that stands just behind it."""
    after = text[box.end : box.end + 3].lstrip()
    return box.inner + "\\%" if after.startswith(("\\%", "%")) else box.inner


def _last_good_box(text: str) -> Span | None:
    limit = len(text)
    for _ in range(8):
        span = last_boxed(text, limit)
        if span is None or (span.inner[-1:] != "?" and not denied(text, span.start, span.end)):
            return span
        limit = span.start
    return None


_LONGEST_UNCLOSED = 200
"""A tag that is never closed holds an answer where hardly anything follows, and else a response that was cut off."""
_ANSWER_TAGS = ("answer>", "Answer>", "ANSWER>", "SOLUTION>")


def _from_tags(text: str, name: str) -> FinalAnswer | None:
    opening, ending = f"<{name}>", f"</{name}>"
    end = text.rfind(ending)
    start = text.rfind(opening, 0, end if end >= 0 else len(text))
    if start < 0:
        return None
    inner = text[start + len(opening) : end if end >= 0 else len(text)].strip()
    if not inner or (end < 0 and len(inner) > _LONGEST_UNCLOSED):
        return None
    earlier_end = text.rfind(ending, 0, start) if text.find("<", 0, start) >= 0 else -1
    earlier = text.rfind(opening, 0, earlier_end) if earlier_end >= 0 else -1
    rivals = (text[earlier + len(opening) : earlier_end].strip(),) if earlier >= 0 else ()
    if inner[-1] == "?":
        return None
    if "\\boxed" in inner:
        box = _last_good_box(inner)
        if box is not None:
            joined, more = _joined(inner, box)
            return FinalAnswer(joined, "answer tag", rivals + more)
    if len(inner) > 60 and (spoken := spoken_answer(inner)):
        return FinalAnswer(spoken.inner, "answer tag", rivals)
    return FinalAnswer(unfence(inner), "answer tag", rivals)


def _behind_denied(text: str, name: str) -> int:
    """Where the last tag ends, if the words around it deny it: `the answer is not <answer>7</answer>`. Else 0."""
    end = text.rfind(f"</{name}>")
    start = text.rfind(f"<{name}>", 0, end if end >= 0 else len(text))
    after = end + len(name) + 3 if end >= 0 else len(text)
    return after if denied(text, start, after) else 0


__all__ = ["FinalAnswer", "after_thinking", "boxed", "final_answer", "tagged", "thinking"]
