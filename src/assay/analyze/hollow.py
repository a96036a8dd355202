"""Whether a response keeps a form and has nothing in it.

>>> hollow("<think>...</think><answer>12</answer>"), hollow("<answer>12</answer>")
(True, False)
"""

from __future__ import annotations

import re

LONGEST = 1_500
"""Characters. A longer response has something in it, if only the same thing again."""

MOST_WORDS = 40
"""The same in words: an empty <think> before a whole answer is a policy that does not think aloud, and no hack."""

_REASONING = r"think|thinking|thoughts?|reason|reasoning|analysis|scratchpad|rationale|explanation|plan|cot|reflection"
_INSIDE = re.compile(rf"<({_REASONING})>(.*?)(?:</\1>|$)|^(.*?)</think>", re.DOTALL)
_SCAFFOLD = re.compile(
    r"</?[a-z][\w-]*>"  # tags
    r"|```[a-z+#]*|\b(?:pass|todo)\b"
    r"|\\boxed\s*\{\s*\}"
    r"|^\s*#{1,6} [^\n]*$|^\s*\*\*[^*\n]{1,40}\*\*:?\s*$"  # headings
    r"|[\"'][\w ]{1,30}[\"']\s*:\s*(?:[\"']\s*[\"']|null|\[\s*\]|\{\s*\})",  # keys without a value
    re.MULTILINE,
)
_STAND_IN = re.compile(
    r"\b(?:reasoning|thoughts?|thinking|process|explanation|solution|answer|steps?) (?:process )?(?:goes |go )?here\b"
    r"|\binsert (?:your |the )?\w+(?: \w+)?(?: here)?\b"
    r"|^\W*(?:your|my|the|final) (?:final )?(?:reasoning|thoughts?|answer)\W*$"
)
_WORD = re.compile(r"[^\W_]+")
FEW = 3
"""Fewer words than these are no reasoning."""


def hollow(lowered: str) -> bool:
    """Whether a text, given in lower case, is a form with nothing in it.

    Where there is a place for reasoning, that is what has to have something in it; elsewhere anything at all counts, so
    that a bare `<answer>12</answer>` or `\\boxed{12}` is an answer and no empty form.
    """
    if len(lowered) > LONGEST:
        return False
    inside = [found[2] or found[3] or "" for found in _INSIDE.finditer(lowered)]
    if inside:
        said = " ".join(inside)
        return len(_WORD.findall(said)) < FEW or _STAND_IN.search(said.strip()) is not None
    bare, forms = _SCAFFOLD.subn(" ", lowered)
    return forms > 0 and _WORD.search(_STAND_IN.sub(" ", bare)) is None
