"""Answers in words: the same words, a choice among letters, one number in a sentence."""

from __future__ import annotations

import re
from fractions import Fraction

from assay.math.glyphs import SUBSCRIPTS
from assay.math.names import NUMBER_WORDS, SCALES

_WRAP = re.compile(r"\\(?:text\w*|math\w+|mbox|hbox|operatorname|underline|emph)\s*\{([^{}]*)\}")
_NOISE = re.compile(
    r"\\[,;:! ]|\\(?:quad|qquad|left|right|displaystyle|boxed)\b|[$*{}\"“”`~]|(?<=\w)\.(?=\s|$)|[.!?;:]+$"
)
_SPACE = re.compile(r"[\s,;]+")
_WRAPPED = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_ARTICLES = frozenset({"the", "a", "an"})
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SAME = {"true": "yes", "false": "no", "dne": "does not exist", "undef": "undefined"} | {d[:3]: d for d in _DAYS}


def normal_words(text: str) -> str:
    """Words in lower case with single spaces, without fonts, quotes, articles and closing stops."""
    for _ in range(3):
        text, changed = _WRAP.subn(r" \1 ", text)
        if not changed:
            break
    text = _NOISE.sub(" ", text.strip()).strip().lower()
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped:
        text = wrapped.group(1) or wrapped.group(2) or text
    words = _SPACE.split(text)
    kept = [w.strip("'").rstrip(".") for w in words if w and w not in _ARTICLES]
    kept = kept[2:] if kept[:2] == ["it", "is"] else kept
    joined = " ".join(kept)
    return _SAME.get(joined, joined)


_CHOICE = re.compile(r"\s*(?:option|choice|letter|answer|case|part)?\s*[:(\[]?\s*([A-Ja-j])\s*[)\].:]*\s*$", re.I)
_LED_CHOICE = re.compile(
    r"\s*(?:(?:option|choice|answer)\s+\(?([A-Ja-j])\)?(?![A-Za-z])|\(([A-Ja-j])\)|([A-J])(?:[.:)]\s|[.:)]$|,\s(?=[a-z]{3})|\s\((?=[A-Za-z]{3}|[-+]?[\d$])))(.*)$",
    re.I | re.S,
)
_PARTS = re.compile(r"(?<!\w)\([a-jA-J]\)|(?:^|[\s,;])[a-j]\)")
_LETTERS = re.compile(r"[\s(\[{]*([A-J])(?:\s*(?:,|and|&|/|\s)\s*\(?([A-J])\)?)+[\s)\]}.]*$")


def choice(text: str) -> str:
    """The letter of a bare choice: `B`, `(B)`, `Option B`; empty where it is none."""
    m = _CHOICE.match(_plain(text))
    return m.group(1).upper() if m else ""


def led_choice(text: str) -> str:
    """The letter that an answer begins with, before its wording: `(B) 42`; empty where it is none or one of several."""
    plain = _plain(text)
    bare = _CHOICE.match(plain)
    if bare:
        return bare.group(1).upper()
    m = _LED_CHOICE.match(plain)
    if not m or len(_PARTS.findall(plain)) > 1:
        return ""
    rest = m.group(4).strip()
    if re.match(r"(?:,|and\b|or\b|&|/)?\s*\(?[A-J]\)?(?:[\s.,):]|$)", rest, re.I) and re.match(
        r"(?:,|and\b|or\b|&|/|\([A-J]\))", rest, re.I
    ):
        return ""
    return next(g for g in m.groups()[:3] if g).upper()


def choices(text: str) -> frozenset[str]:
    """The letters of several choices: `A, C`, `A and C`, `AC`; empty where it is none."""
    plain = _plain(text).replace("(", " ").replace(")", " ").strip()
    parts = [p for p in re.split(r"[\s,;&/]+|\band\b", plain) if p]
    if (
        len(parts) == 1
        and 2 <= len(parts[0]) <= 8
        and re.fullmatch(r"[A-J]+", parts[0])
        and len(set(parts[0])) == len(parts[0])
    ):
        return frozenset(parts[0])
    return frozenset(parts) if len(parts) > 1 and all(re.fullmatch(r"[A-J]", p) for p in parts) else frozenset()


def _plain(text: str) -> str:
    for _ in range(3):
        text, changed = _WRAP.subn(r"\1", text)
        if not changed:
            break
    return text.replace("$", "").replace("**", "").replace("{", "").replace("}", "").replace("\\ ", " ").strip()


_MONTHS_OF_THE_YEAR = "january february march april may june july august september october november december"
_MONTHS = {spelled: i + 1 for i, name in enumerate(_MONTHS_OF_THE_YEAR.split()) for spelled in (name, name[:3])}


def date(words: str) -> tuple[int, int, int] | None:
    """Year (0 where none is said), month and day of `march 5th`, `5 march 1905`, `1905-03-05`; None for other words."""
    iso = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", words)
    if iso:
        return int(iso[1]), int(iso[2]), int(iso[3])
    parts = words.replace("of ", "").split()
    months = [_MONTHS[p] for p in parts if p in _MONTHS]
    numbers = [m for p in parts if (m := re.fullmatch(r"(\d{1,4})(?:st|nd|rd|th)?", p))]
    if len(months) != 1 or not 1 <= len(numbers) <= 2 or len(parts) != 1 + len(numbers):
        return None
    days = [int(m[1]) for m in numbers if len(m[1]) < 3]
    years = [int(m[1]) for m in numbers if len(m[1]) == 4]
    return (years[0] if years else 0, months[0], days[0]) if len(days) == 1 else None


_HALVES = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}


def number_in_words(text: str) -> Fraction | None:
    """`twenty-five`, `one half`, `two hundred`; None for other words."""
    whole, _, part = text.replace("-", " ").partition(" and ")
    if part and any(w.rstrip("s") in _HALVES for w in part.split()):  # `three and a half`
        first, second = number_in_words(whole), number_in_words(part.removeprefix("a "))
        return first + second if first is not None and second is not None else None
    parts = text.replace("-", " ").replace(" and ", " ").split()
    if len(parts) > 1 and parts[0] in ("negative", "minus"):
        positive = number_in_words(" ".join(parts[1:]))
        return None if positive is None else -positive
    if parts[:1] == ["a"]:
        parts = parts[1:]
    if len(parts) == 2 and parts[0] == "half" and parts[1] in SCALES:
        return Fraction(SCALES[parts[1]], 2)
    if parts[:1] and parts[0] in SCALES:
        parts = ["one", *parts]
    if len(parts) == 1 and parts[0] in _HALVES:
        return Fraction(1, _HALVES[parts[0]])
    if not parts or len(parts) > 8:
        return None
    total, current, seen = 0, 0, False
    for k, part in enumerate(parts):
        part_of = _HALVES.get(part.rstrip("s"))
        if part_of and k == len(parts) - 1 and seen:
            return Fraction(total + current, part_of)
        if part in NUMBER_WORDS:
            current += NUMBER_WORDS[part]
        elif part in SCALES and seen:
            current *= SCALES[part]
            total, current = (total + current, 0) if SCALES[part] > 100 else (total, current)
        else:
            return None
        seen = True
    return Fraction(total + current)


_NUMBER = re.compile(r"(?<![\w.\\^_{])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w^]|\.\d)")


def only_number(text: str) -> Fraction | None:
    """The one number of a sentence; None where there is none, or more than one, or the sentence denies it."""
    plain = _plain(text)
    if _QUALIFIED.search(plain):
        return None
    found = list(_NUMBER.finditer(plain))
    if found:
        said = found[0]
        if len(found) > 1 or _NUMBERED.search(plain, 0, said.start()) or _OTHER_NUMBER.search(plain):
            return None
        return Fraction(said.group().replace(",", ""))
    words = plain.lower().replace(",", " ").split()
    counted = [k for k, w in enumerate(words) if w in NUMBER_WORDS or w in SCALES]
    if not counted or len(words) > 12:
        return None
    first, last = counted[0], counted[-1]
    first -= bool(first and words[first - 1] in ("negative", "minus"))
    return number_in_words(" ".join(words[first : last + 1]))


_NUMBERED = re.compile(
    r"\b(?:exercise|problem|page|question|step|case|line|equation|figure|table|part|theorem|lemma|section|chapter|number)\s+\(?$",
    re.I,
)
"""What a number in `see exercise 17` is the number of."""
_OTHER_NUMBER = re.compile(rf"\b(?:{'|'.join(w for w in NUMBER_WORDS if w != 'one')})\b", re.I)
_QUALIFIED = re.compile(
    r"\b(?:not|no|never|n't|without|if|or|least|most|than|between|under|over|above|below|up\s+to|almost|nearly|wrong|double|twice|triple|half|times"
    r"|multiples?|divisible|remainder|tens|less|fewer|tenths?|hundredths?|thousandths?|negative|except|but|root|factorial|power|loss|percent|first|last|before|cannot"
    r"|squared|cubed|choose|minus|plus|close|closer|near|nearer|exceeds?|possibly|maybe|perhaps)\b|\d-digit|[=^\\<>≤≥≠]|\d\+(?!\s?\d)",
    re.I,
)
"""Words with which a number in a sentence is not simply that number."""


def same_list(gold: str, answer: str) -> bool:
    """Whether two lists of words, as in `red, blue`, have the same members."""
    g, a = ([normal_words(p) for p in _LISTED.split(_plain(text)) if p.strip()] for text in (gold, answer))
    if {"yes", "no"}.issuperset(g):  # one for each of several questions
        return len(g) > 1 and g == a
    return len(g) > 1 and sorted(g) == sorted(a)


_LISTED = re.compile(r"\s*(?:[,;]\s*(?:and\b)?|\band\b|\\\\)\s*")


def led_word(text: str) -> str:
    """The `yes` or `no` that a sentence begins with; empty where it begins otherwise."""
    m = _LED_WORD.match(text)
    return _SAME.get(m[1].lower(), m[1].lower()) if m else ""


_LED_WORD = re.compile(r"\W*(yes|no|true|false)\s*(?:[,.;:!—–-]|$)", re.I)


def formulas(gold: str, answer: str) -> bool:
    """Whether both are written as chemical formulas, such as `C2H4`, in which the order says something."""
    return bool(_FORMULA.fullmatch(gold) and _FORMULA.fullmatch(answer))


_FORMULA = re.compile(r"(?=.*[A-Z].*[A-Z])(?=.*[A-Za-z]\d)(?:[A-Z][a-z]?\d{0,3}){2,30}")


def same_letters(gold: str, answer: str) -> bool:
    """Whether two texts differ only in how an index is marked: `H_2O` and `H2O`, `x_{12}` and `x12`."""
    g, a = (_INDEX_MARKS.sub("", _ARROW.sub("=", text.translate(SUBSCRIPTS))) for text in (gold, answer))
    plain = _MARK.search(gold) is None or _MARK.search(answer) is None
    return plain and g == a and bool(_PLAIN_TEXT.fullmatch(g))


_MARK = re.compile(r"_|\^")
_ARROW = re.compile(r"\\(?:long)?(?:to|rightarrow)(?![a-z])|->|→")
_INDEX_MARKS = re.compile(
    r"(?<=[A-Za-z)}])_|(?<=[A-Za-z)}\d])\^(?=\{?\d?[+-]\}?$)|\\(?:text\w*|math\w*|ce)(?=\{)|[\s{}$]|\\[,;!]"
)
_PLAIN_TEXT = re.compile(r"[\w()+,.=*/-]+")
