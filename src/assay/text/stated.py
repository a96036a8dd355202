"""Statements in words: `the answer is ...`, `#### ...`, and how far the phrase behind them goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.text.boxes import Span
from assay.text.denied import denied, doubted

TAIL = 4000
"""How many of the last characters are searched for a statement that is not in a box or tag."""
_ANSWER_ABROAD = (
    "最终答案|答案|答え|정답|답"
    "|Réponse|Respuesta|Antwort|Resposta|Risposta|Ответ|Odpowiedź|Cevap|Jawaban|Đáp án|उत्तर|الجواب|الإجابة"
)
_LEAD = re.compile(
    r"(?:option|choice)\s+is\b"
    r"|(?:answers?\b|ans\b\.?)[*_\s]*(?:(?:to|of|for)\s+[^.\n:=$]{1,80}?)?\s*"
    r"(?:\b(?:is|are|was|must\s+be|should\s+be|would\s+be|will\s+be|equals|comes\s+to)\b|[\"']?\s*(?:[:=：→]|[-=]>)|(?<=answer)[*_]*\s*\n)[*_\s]*:?"
    rf"|(?:{_ANSWER_ABROAD})[*_\s]*(?:final[ea]?\s*)?(?:[:：=]|(?:est|ist|es|é|è|jest|to|adalah|هو|है)(?=\s)|是|为|為|は|은|는)[*_\s]*:?"
    r"|故选\s*[:：]?|应选\s*[:：]?|A\s?:(?=\s*\S)|####",
    re.I,
)
_KEYS = ("nswer", "option is", "choice is", "####", "NSWER", "\nA:", "\nAns", "\nans", "\nANS", " ans ")
_LONGEST_KEY = max(map(len, _KEYS))
_AT_THE_START = ("A:", "Ans", "ans", "ANS")
_OFFSET = {"nswer": -1, "NSWER": -1, "\nA:": 1, "\nAns": 1, "\nans": 1, "\nANS": 1, " ans ": 1}
_FOREIGN = re.compile(f"(?i){_ANSWER_ABROAD}|故选|应选")


def _abroad(text: str) -> bool:
    """Whether one of the words for an answer that have no accent may be there."""
    return "espuesta" in text or "ntwort" in text or "sposta" in text or "evap" in text or "awaban" in text


def _leads(tail: str) -> Iterator[re.Match[str]]:
    """Where a statement such as `the answer is` begins, from the last one back."""
    # From the last `answer` on first: little stands there, and mostly nothing before it is ever asked for.
    last, tries = max(tail.rfind("nswer"), 0), _MOST_LEADS
    for start, end in ((last, len(tail)), (0, last)):
        places = _places(tail, start, end)
        while places and tries:
            tries -= 1
            places.sort()
            place, key = places.pop()
            m = _LEAD.match(tail, max(0, place + _OFFSET.get(key, 0)))
            if m:
                yield m
            if key and (earlier := tail.rfind(key, start, place)) >= 0:
                places.append((earlier, key))


def _places(tail: str, start: int, end: int) -> list[tuple[int, str]]:
    """The last place at which each key begins between two places, and each at which a word of another language does."""
    part = tail[start : end + _LONGEST_KEY - 1]
    keys = [key for key in _KEYS if key in part]
    places = [(place, key) for key in keys if (place := tail.rfind(key, start, end + len(key) - 1)) >= 0]
    if not part.isascii() or _abroad(part):
        places += [(m.start(), "") for m in _FOREIGN.finditer(tail, start, end)]
    if not start and tail.startswith(_AT_THE_START):
        places.append((0, ""))
    return places


_MOST_LEADS = 24
_FILLER = re.compile(
    r"(?:therefore|thus|so|hence|that|just|simply|approximately|about|exactly|indeed|the|option|choice)\b[\s,:]*", re.I
)
_SENTENCE_END = re.compile(
    r"(?<!\bi\.e)(?<!\be\.g)\.(?=\s|$|\*|\"|'|”)(?!\s*\d)|[\n。！？!?](?![=\d)\]}])|<\||\s#{2,}|(?=</)|\bI hope\b"
)
_BULLET = re.compile(r"[-•]\s+")
_ASIDE = re.compile(r"(?<=[\d%])\s+\((?!or\s+(?:maybe|perhaps|possibly)\b)(?=[^()]*[a-z])[^()]*\s[^()]*\)$")
"""`16 (4 squared)`"""
_QUOTES = re.compile(r"^(?:\s|\\?[\"'“”`*_])+")
_BECAUSE = re.compile(
    r"[,\s]\s{0,4}\(?(?:i\.e\.|namely|or\s+(?:about|approximately|roughly)\b|equivalently"
    r"|because|since|which|where|so\b|as\b|but\b|due to|when\b|if\b|given"
    r"|after|assuming|based on|obtained|(?:by|using|from)\s+(?:the|our|[A-Z]\w+['’]s|[a-z]+ing)\b).*$"
    r"|(?:;|\s[-–—])\s{1,4}(?=[a-z]{2,}\s+[a-z]{2,}\s).*$|\s\[see\s[^\]]*\]$",
    re.I | re.S,
)
_CONTRAST = re.compile(
    r"(?:,|\s\(|\s[-–—])\s{0,4}(?:and\s|but\s)?not\s.*$|,?\s(?:rather than|instead of|as opposed to)\s.*$", re.I | re.S
)
"""`13, not 12`: what the answer is contrasted with."""
_DISOWNED = re.compile(r"\b(?:wrong|incorrect|false|untrue|not\s+(?:true|right|correct|the\s+answer))\b", re.I)
_CASES = re.compile(r"\b(?:if|when|otherwise|else|odd|even)\b")
"""`17 if n is even and 18 if n is odd` is no one answer."""
_TAKEN_BACK = re.compile(
    r"\bbut\s+(?:I\s+(?:get|got|think|believe|find)|actually|really|(?:it|that)(?:\s+is|\s+was|'s)\s+(?:wrong|not|incorrect)"
    r"|the\s+(?:correct|right|true|real|actual)|it\s+is\s+[-$\\]?\d+)\b"
    r"|(?:ではない|ではありません|じゃない|아닙니다|아니다|아니에요)$",
    re.I,
)
"""What takes a statement back in the same sentence: `42 according to the key, but I get 43`."""
_UNCLOSED_BOX = re.compile(r"\\boxed\s*\{[^{}]*$")
_COPULA = re.compile(r"(?:です|である|だ|입니다|이다|이에요|예요)$")
FENCE = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)(?<!\\)\$(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\]|\*\*([^*\n]+?)\*\*", re.S)


_GOES_ON = re.compile(r"\s*(?:,|and\b|or\b|%|\\%|[°a-zA-Z²³/]+(?=[\s.,;]|$))")
"""What makes a formula the beginning of the answer only: a comma, a unit."""


def _statement(text: str, lead: re.Match[str]) -> Span | None:
    """The phrase after `the answer is`."""
    i = lead.end()
    how = "####" if lead.group() == "####" else "stated"
    while i < len(text) and (text[i] in " \t\n*_:：\"'“`" or (text[i] == ">" and text[i - 1] == "\n")):
        i += 1
    bullet = _BULLET.match(text, i) if "\n" in text[lead.end() - 1 : i] else None
    i = bullet.end() if bullet else i
    while text[i : i + 1].isalpha() and (filler := _FILLER.match(text, i)):
        i = filler.end()
    rest = text[i : i + 1200]
    fence = FENCE.match(rest) if rest.startswith(("$", "\\", "*")) else None
    if fence and not _GOES_ON.match(rest, fence.end()):
        return Span(lead.start(), i + fence.end(), fence[fence.lastindex or 0], how)
    end = _SENTENCE_END.search(rest)
    if end and end.group() in ("?", "？"):
        return None  # a question states nothing
    phrase = rest[: end.start()] if end else rest
    if _TAKEN_BACK.search(phrase) or _UNCLOSED_BOX.search(phrase):
        return None
    if not phrase.lstrip().startswith(("if", "when")) and (cut := _BECAUSE.search(phrase)):
        if _DISOWNED.search(cut.group()):
            return None
        if len(_CASES.findall(cut.group())) < 2:
            phrase = phrase[: cut.start()]
    phrase = _CONTRAST.sub("", phrase) if "not" in phrase or " of " in phrase or " than " in phrase else phrase
    phrase = _QUOTES.sub("", phrase).rstrip("*_`\"'“”\\").strip()
    phrase = _ASIDE.sub("", phrase) if phrase[-1:] == ")" and phrase[:1].isdecimal() else phrase
    phrase = phrase if phrase.isascii() else _COPULA.sub("", phrase)
    return Span(lead.start(), i + (end.end() if end else len(rest)), phrase, how) if phrase else None


def spoken_answer(text: str) -> Span | None:
    """The last statement of the kind `the answer is ...` in the tail of a text."""
    offset = max(0, len(text) - TAIL)
    tail = text[offset:]
    for lead in _leads(tail):
        span = _statement(tail, lead)
        if span is None or denied(tail, lead.end(), span.end) or doubted(tail, lead.start(), lead.group()):
            continue
        if _NO_ANSWER.match(span.inner):
            continue
        return Span(span.start + offset, span.end + offset, _prose_value(span.inner), span.how)
    return None


_NO_ANSWER = re.compile(r"(?:not\b|nicht\b|pas\b|не\b|不|n['’]t\b|incorrect|wrong|unknown\b.*\bbecause)", re.I)


def _prose_value(phrase: str) -> str:
    """Of a whole sentence in words the part that is the value: what follows its last `is`."""
    if (len(phrase) < 24 or phrase.count(" ") < 4) and (phrase.isascii() or not _IS_IN_CHINESE.search(phrase)):
        return phrase
    if _VALUE_FIRST.match(phrase):
        return phrase
    said = _IS.match(phrase)
    return phrase[said.end() :] if said else phrase


_IS_IN_CHINESE = re.compile("是|为|等于")
_VALUE_FIRST = re.compile(r"[\s$\\({\[]*[-+]?[\d.]")
_IS = re.compile(r".*(?:\b(?:is|are|was|equals|be)\b\s+|(?:是|为|等于)\s*)(?=\S)(?!not\b)", re.S)
