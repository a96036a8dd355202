"""What is done to a response before a judge sees it: made visible, cut at its end, cleared of what speaks to the judge.

A response that has nothing to judge (empty, an opener without an answer, a hedge where a reference is known) gets the
lowest score without a call. Each guard can be switched off, and what each did is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from assay.llm.hollow import speaks_of
from assay.llm.nothing import content_free, evasive, is_the_answer
from assay.llm.prompt import shorten
from assay.llm.redact import redact
from assay.llm.visible import (
    turn_end,
    visible,
    without_control_tokens,
    without_leading_tokens,
    without_padding,
)


@dataclass(frozen=True, slots=True)
class Guard:
    """Which guards stand before a judge."""

    empty: bool = True
    """Score content-free responses as lowest without a call."""
    hedges: bool = True
    """The same for hedges and references to the reference, where a reference is known."""
    redact: bool = True
    """Leave out passages that speak to the judge."""
    fence: bool = True
    """Put the response between markers that it cannot contain."""
    tell: bool = False
    """Tell the judge what was taken out. Off: such a note moved a small judge's verdict more than the attack did."""
    max_chars: int = 24_000
    """Characters of a response that are shown; the middle of a longer one is left out."""
    reasoning_end: str = ""
    """The policy's own marker (say `</think>`): only what follows its first occurrence is judged."""


@dataclass(slots=True)
class Guarded:
    """A response as the judge will see it."""

    text: str
    nothing: str = ""
    """Why there is nothing to judge; empty where there is."""
    notes: list[str] = field(default_factory=list[str])
    """What was done to it, in words for the judge; the record has it in `report`."""
    report: dict[str, Any] = field(default_factory=dict[str, Any])


def guarded(guard: Guard, response: str, prompt: str = "", reference: str = "") -> Guarded:
    """Prepare a response for a judge."""
    done = Guarded(response)
    if guard.reasoning_end:
        _, marker, answer = response.partition(guard.reasoning_end)
        if not marker:
            done.nothing = f"the reasoning was never closed with {guard.reasoning_end!r}"
            return done
        done.text = answer
    _make_visible(done)
    if guard.redact:
        _redact(done, prompt, reference)
    done.text = without_control_tokens(done.text)
    done.text, cut = shorten(done.text, guard.max_chars)
    if cut:
        done.notes.append(f"{cut} characters in its middle left out")
        done.report["characters_cut"] = cut
    done.nothing = _why_nothing(guard, done.text, prompt, reference)
    if not guard.tell:
        done.notes.clear()
    return done


def _make_visible(done: Guarded) -> None:
    seen = visible(done.text)
    done.text = seen.text
    if seen.invisible:
        what = ", ".join(f"{name} x{n}" for name, n in sorted(seen.invisible.items())[:5])
        done.notes.append(f"{sum(seen.invisible.values())} invisible characters taken out ({what})")
        done.report["invisible"] = dict(seen.invisible)


_HALF_TOKEN = re.compile(r"\s*<[|｜][^|｜<>\n]{0,20}$")


def _redact(done: Guarded, prompt: str, reference: str) -> None:
    done.text = without_leading_tokens(done.text)
    end = turn_end(done.text)
    passages = [done.text[end:]] if done.text[end:].strip() else []
    own = done.text[:end] if end == len(done.text) else _HALF_TOKEN.sub("", done.text[:end])
    own = without_padding(own)
    found = redact(own, prompt, reference)
    if not found.text.strip() and speaks_of(own, prompt):
        done.text, done.report["suspect"] = own, found.rules[:5]  # the task is about such things
        return
    done.text = found.text.strip() if found.passages else found.text  # the gap that a passage left says nothing
    passages += found.passages
    if passages:
        count = "a passage" if len(passages) == 1 else f"{len(passages)} passages"
        done.notes.append(f"{count} that spoke to the grader left out")
        done.report["left_out"] = [passage[:200] for passage in passages[:20]]


def _why_nothing(guard: Guard, text: str, prompt: str, reference: str) -> str:
    if is_the_answer(text, reference):
        return ""
    if guard.empty and (why := content_free(text, prompt)):
        return why
    if guard.hedges and reference and (why := evasive(text, reference)):
        return why
    return ""
