"""What is done to a response before a judge sees it: made visible, cut at its end, cleared of what speaks to the judge.

A response that has nothing to judge (empty, an opener without an answer, a hedge where a reference is known) gets the
lowest score without a call. Each guard can be switched off, and what each did is reported.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from assay.llm.prompt import shorten
from assay.llm.redact import redact
from assay.llm.visible import turn_end, visible, without_control_tokens, without_padding


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
    done.nothing = _why_nothing(guard, done.text, reference)
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
    end = turn_end(done.text)
    passages = [done.text[end:]] if done.text[end:].strip() else []
    own = done.text[:end] if end == len(done.text) else _HALF_TOKEN.sub("", done.text[:end])
    found = redact(without_padding(own), prompt, reference)
    done.text = found.text.strip() if found.passages else found.text  # the gap that a passage left says nothing
    passages += found.passages
    if passages:
        count = "a passage" if len(passages) == 1 else f"{len(passages)} passages"
        done.notes.append(f"{count} that spoke to the grader left out")
        done.report["left_out"] = [passage[:200] for passage in passages[:20]]


def _why_nothing(guard: Guard, text: str, reference: str) -> str:
    if reference and len(text) <= 2 * len(reference) + 20 and _plain(text) == _plain(reference) != "":
        return ""
    if guard.empty and (why := content_free(text)):
        return why
    if guard.hedges and reference and (why := evasive(text, reference)):
        return why
    return ""


# -- nothing to judge ------------------------------------------------------------------------------------------------

_ANNOUNCING = """
    a about all analysis and answer answers answering as assistant at be before begin break by calculate can
    carefully certainly completion computing conclusion consider correct course detailed determine down evaluate
    exactly examine explain explanation explore final finally find first follow following follows for from get go
    going has have help her here hmm i in instruction into is it its let lets look me method my need next now of
    okay ok on our out output problem proceed process provide query question reason reasoning reference reply
    response result results see shall simply so solution solutions solve solved solving start started step steps
    student sure take task that the then therefore they think thinking this thorough thoroughly thought thoughts
    through thus to together try understand understanding us user we well what will with work working write
    would you your alright are requested analyze analyse because since hence proof done qed very latex given based
    above below provided information
    now's let's here's i'll we'll it's i've
    antwort lösung die der das ist lautet schritt für denken wir uns lass respuesta solución la el es una
    respuesta pensemos paso a réponse solution le les voici étape par réfléchissons resposta solução vamos pensar
    passo risposta soluzione ragioniamo ответ решение шаг за шагом давайте подумаем
"""
_META = frozenset(_ANNOUNCING.split())
"""Words that announce an answer, or the thinking before it, and are none."""
_META_CJK = re.compile(
    "(?:解答|解决方案|解决|解|答案|答|回答|思考过程|思考|过程|让我们|我们|一步一步|逐步|地|问题|最终|是|的|如下|以下"
    "|かいせつ|解説|こたえ|答え|回答|最終|ステップ|考え|まし|ましょう|ま|しょう|は|です|を|で|に|の|풀이"
    "|정답|해설|답|은|는|입니다"
    "|الجواب|الحل|הפתרון|תשובה|उत्तर|हल|समाधान)+"
)
_NUMBERED = re.compile(r"\b(?:step|part|section|case|phase|paso|schritt|etape|passo)\s*\d+\b")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_COMMAND = re.compile(r"\\(?:boxed|text|frac|left|right|quad|begin|end|[\[\]()])")
_NO_ANSWER = frozenset("|=~^`") | frozenset(map(chr, range(0x2400, 0x2427)))
"""Symbols that are form: of Markdown, of code, and the pictures of control characters."""
_PROBE = 1000
"""Characters that are looked at before a long response is taken to say something."""


def content_free(text: str) -> str:
    """Why a response says nothing, or an empty string where it says something.

    A number, a name, a single letter that answers a choice: each is content. Openers and their punctuation are not.

    >>> content_free("Let's solve this problem step by step."), content_free("B")
    ('nothing but words that announce an answer', '')
    """
    plain = _NUMBERED.sub(" ", unicodedata.normalize("NFKC", text[:_PROBE]).lower())
    words = _WORD.findall(_COMMAND.sub(" ", plain.replace("q.e.d", "qed")))
    if not words and len(text) > _PROBE:
        words = _WORD.findall(text.lower())
    if not words:
        answers = any(unicodedata.category(c) in ("So", "Sm", "Lo") and c not in _NO_ANSWER for c in text[:_PROBE])
        return "" if answers else "no word, number or symbol that could answer"
    if len(words) == 1 and len(words[0]) == 1 and words[0].isascii():
        return ""
    if len(text) <= _PROBE and all(word.replace("’", "'") in _META or _META_CJK.fullmatch(word) for word in words):
        return "nothing but words that announce an answer"
    return ""


_EVASIVE = re.compile(
    r"\b(?:can ?not|can't|could not|impossible to|unable to|not possible to|no way to|not able to)\s+(?:be\s+)?"
    r"(?:determin|answer|know|say|tell|decid|conclud|solv|comput|calculat|established|inferred|help"
    r"|assist|provid|comply)"
    r"|\b(?:insufficient|not enough|too little|more)\s+(?:information|context|data|details)"
    r"|\b(?:it|that|the answer)\s+(?:all\s+)?depends\b|\bi (?:do not|don't) know\b|\b(?:who knows"
    r"|no idea)\b|\b(?:many|several|various) (?:possible )?answers\b"
    r"|\bno (?:solution|(?:correct |right |definite |single |clear )?answer)\b|\bup to you\b"
    r"|\bask (?:some|any)(?:one|body)\b"
    r"|\b(?:unknown|undetermined|unanswerable)\b|^\W*(?:n/?a|null|none|nil|undefined|no answer|tbd|idk)\W*$"
    r"|\b(?:none|any|all|one|either|some)\s+of\s+(?:the|these|those|them)\s*(?:above|following|options|answers)?",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:reference|ground[- ]?truth|gold(?:en)?|expected|correct|official|right|true|given|provided|standard|model)"
    r"\s+(?:answer|solution|response|value|result|output|key|one)\b|\banswer key\b"
    r"|\b(?:same|identical|equal|equivalent|matches)\s+(?:as|to|with)?\s*(?:the\s+)?(?:reference|ground"
    r"|gold|expected|key)"
    r"|\bwhat(?:ever|soever)\b.{0,40}\b(?:reference|answer|correct|key|expected)",
    re.IGNORECASE,
)
_MAYBE = re.compile(
    r"\b(?:could|may|might|either|any of|one of|possibl[ey]|perhaps|maybe|options?|candidates?|or|others?|between)\b",
    re.I,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ITEM = re.compile(r"[,;\n]|\bor\b|\s/\s", re.IGNORECASE)


def evasive(text: str, reference: str) -> str:
    """Why a response to a question with a known answer gives none: it hedges, points at the reference, or lists all.

    >>> evasive("It could be any of the following: 1, 2, 3, 4, 5 and others.", "4")
    'it lists 5 possible answers instead of one'
    """
    if len(text) > 400 or len(reference) > 200 or _EVASIVE.search(reference):
        return ""
    rest = _EVASIVE.sub(" ", text)
    if rest != text and not _answers(rest, reference):
        return "it says that there is no answer, where one is known"
    rest = _POINTING.sub(" ", text)
    if rest != text and not _answers(rest, reference):
        return "it points at the right answer instead of giving it"
    bare = text.replace(",", " ").split()
    if len(bare) >= 5 and len(reference.split()) == 1 and all(_NUMBER.fullmatch(word) for word in bare):
        return f"it lists {len(bare)} numbers instead of one"
    items = [item for item in _ITEM.split(text) if item.strip()]
    usual = len([item for item in _ITEM.split(reference) if item.strip()])
    if len(items) >= max(4, 2 * usual + 2) and _MAYBE.search(text) and all(len(item) < 60 for item in items):
        return f"it lists {len(items)} possible answers instead of one"
    return ""


def _answers(rest: str, reference: str) -> bool:
    """Whether anything of the reference, or any number, is left in a text without its evasions."""
    wanted = set(_WORD.findall(reference.lower())) - _META
    words = set(_WORD.findall(rest.lower()))
    return bool(wanted & words) or any(word.isdigit() for word in words)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text[:_PROBE].lower()))
