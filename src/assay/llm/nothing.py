"""Why a response has nothing to judge: it announces an answer and gives none, or gives none where one is known."""

from __future__ import annotations

import re
import unicodedata

from assay.llm.hollow import SAYS_NOTHING

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


_PLACEHOLDER = re.compile(
    r"\W*(?:(?:the |my |your )?(?:final |correct )?(?:answer|solution|result)\W*(?:is)?\W*)?"
    r"(?:[\[({<$%]+|\\boxed\{)\s*(?:your |the |my |insert |put |ref_?|final |correct |ground_|gold_)*"
    r"(?:answer|solution|response|reference|truth|gold|prompt|question|result|placeholder|output|completion)"
    r"(?: here)?\s*[\])}>$]*\W*|\W*(?:todo|tbd|fixme|x{3,})\W*",
    re.IGNORECASE,
)
"""A placeholder that was left unfilled."""
_ABOUT_WORDS = re.compile(
    r"\b(?:words?|translat\w*|opposite|synonyms?|antonyms?|how do you say|mean(?:s|ing)?|spell|blank|complete"
    r"|rhymes?|übersetz\w*|tradu\w*|quote|repeat)\b|__",
    re.IGNORECASE,
)
"""A prompt whose answer may be any word."""
_AFFIRMS = re.compile(r"(?:(?:that|this|it|the (?:claim|statement|answer))(?: is|'s) )?(?:correct|right|true)\W?", re.I)
_EMPTY_PAIR = re.compile(r"<([a-z]{1,12})\b[^<>]{0,80}>\s*</\1>")
_OPEN_END = re.compile(
    r"[^\n]{1,60}[:：]|[^\n]{1,200}\b(?:is|are|be|that|to|as|follows|by|now|we|the|with|of|in)\b(?:[\s:…]|\.\.\.)*",
    re.IGNORECASE,
)
"""A line that breaks off where an answer would begin."""


def _only_promises(text: str) -> bool:
    """Whether a text is one line that breaks off before it said anything but words about answers."""
    line = text.strip().strip("*_#` ")
    if not _OPEN_END.fullmatch(line):
        return False
    words = _WORD.findall(line.lower())
    if line[-1] in ":：" and len(words) <= 3 and all(word.isalpha() for word in words):
        return True
    return len(words) > 2 and all(word in SAYS_NOTHING or word in _META for word in words)


def content_free(text: str, prompt: str = "") -> str:
    """Why a response says nothing, or an empty string where it says something.

    A number, a name, a single letter that answers a choice: each is content. Openers and their punctuation are not,
    unless the prompt asks about words.

    >>> content_free("Let's solve this problem step by step."), content_free("B")
    ('nothing but words that announce an answer', '')
    """
    if len(text) <= _PROBE and (_PLACEHOLDER.fullmatch(text.strip()) or _only_promises(text)):
        return "a place for an answer, and none in it"
    first = text[:300].lower().split()[:30]
    if any(word.isalpha() and word.isascii() and len(word) > 1 and word not in _META for word in first):
        return ""
    plain = _NUMBERED.sub(" ", unicodedata.normalize("NFKC", text[:_PROBE]).lower())
    words = _WORD.findall(_EMPTY_PAIR.sub(" ", _COMMAND.sub(" ", plain.replace("q.e.d", "qed"))))
    if not words and len(text) > _PROBE:
        words = _WORD.findall(text.lower())
    if not words:
        answers = any(unicodedata.category(c) in ("So", "Sm", "Lo") and c not in _NO_ANSWER for c in text[:_PROBE])
        return "" if answers else "no word, number or symbol that could answer"
    if len(words) == 1 and len(words[0]) == 1 and words[0].isascii():
        return ""
    if _ABOUT_WORDS.search(prompt) or _AFFIRMS.fullmatch(text.strip()):
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
    if _says_nothing(text, reference):
        return "it says nothing but words about answers, where one is known"
    bare = text.replace(",", " ").split()
    if len(bare) >= 5 and len(reference.split()) == 1 and all(_NUMBER.fullmatch(word) for word in bare):
        return f"it lists {len(bare)} numbers instead of one"
    items = [item for item in _ITEM.split(text) if item.strip()]
    usual = len([item for item in _ITEM.split(reference) if item.strip()])
    if len(items) >= max(4, 2 * usual + 2) and _MAYBE.search(text) and all(len(item) < 60 for item in items):
        return f"it lists {len(items)} possible answers instead of one"
    return ""


def _says_nothing(text: str, reference: str) -> bool:
    words = set(_WORD.findall(text.lower()))
    wanted = set(_WORD.findall(reference.lower()))
    known = SAYS_NOTHING | _HEDGING
    return bool(words) and words <= known and not wanted <= known and not wanted & words


_HEDGES = """
    sure certain unsure uncertain ambiguous debatable unclear vary varies varied opinions definitive expected
    expectation not no both none either know enough follows looking refer already something known unique exist
    exists exercise left professional consult infinitely hard tell problem
"""
_HEDGING = frozenset(_HEDGES.split())


def _answers(rest: str, reference: str) -> bool:
    """Whether anything of the reference, or any number, is left in a text without its evasions."""
    wanted = set(_WORD.findall(reference.lower())) - _META
    words = set(_WORD.findall(rest.lower()))
    return bool(wanted & words) or any(word.isdigit() for word in words)


def is_the_answer(text: str, reference: str) -> bool:
    """Whether a response is the reference and no more."""
    return bool(reference) and len(text) <= 2 * len(reference) + 20 and _plain(text) == _plain(reference) != ""


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text[:_PROBE].lower()))
