"""Spellings that mean something as a whole, turned into the one that the tokens are made from.

Each rule stands behind the cheapest test for it: nearly every answer passes through here unchanged.
"""

from __future__ import annotations

import html
import re

from assay.math.glyphs import plain_unicode


def respelled(text: str) -> str:
    """The text with signs, markup and conventions in the spelling that is read."""
    if not text.isascii():
        text = plain_unicode(text)
    elif "\0" in text:
        text = text.replace("\0", "")
    return _conventions(_markup(text))


def _markup(text: str) -> str:
    """LaTeX with doubled backslashes, aligned lines, and what is HTML."""
    if "\\\\" in text and not _SINGLE.search(text):
        text = _DOUBLED.sub(r"\\", text)
    if "\\begin" in text:
        text = _ALIGNED.sub(_as_chain, text)
    if "<sup>" in text or "superscript" in text:
        text = text.replace("<sup>", "^{").replace("</sup>", "}").replace("\\textsuperscript{", "^{")
    if "per cent" in text:
        text = text.replace("per cent", "percent")
    if ";" in text and "&" in text:
        text = _ENTITY.sub(lambda m: html.unescape(m.group()), text)
    return text


def _conventions(text: str) -> str:
    """Prices, brackets turned round, binomials, bases, repeating decimals, powers of ten, times of day."""
    if text[:1] == "$" and text.count("$") % 2 and not text.endswith("$"):
        text = "\\" + text  # `$5`: a price, and no formula that is never closed
    if text[:1] in _ODD_ENDS or text[-1:] == "[":
        text = _even_brackets(text)
    if text[:1] == "(" and text[1:3] in ("a)", "i)", "1)"):
        text = _parted(text)
    if "P" in text and "_" in text:
        text = _ARRANGED.sub(r"\\frac{(\1)!}{(\1-\2)!}", text)
    if "C" in text or "base" in text or "16" in text or "choose" in text:
        text = _counted(text)
    if "such that" in text or "for which" in text:
        text = _ALL_FOR_WHICH.sub("", text)
    if " o" in text or " in " in text:
        text = _OUT_OF.sub(r"\1/\2", text)
    if ".(" in text:
        text = _REPEATING.sub(r"\1\\overline{\2}", text)
    if "10" in text and ("x" in text or "X" in text):
        text = _TIMES_TEN.sub("*", text)
    if ".m" in text or ". m" in text or ".M" in text:
        text = _HALF_OF_DAY.sub(lambda m: f" {m.group(1).lower()}m ", text)
    return _noted(_in_plain_words(text) if " " in text else text)


def _noted(text: str) -> str:
    """`5'6"`, `0x1A`, `dy/dx`, `^3/_4`, `12.345.678`, repeating digits, and what an integer is called."""
    if "\\" in text:
        if "\\dot" in text:
            text = _DOTTED.sub(r"\1\\overline{\2\3\4}", text)
        if text[-1] == ")" and "\\in" in text:
            text = _FOR_INTEGERS.sub(r", \1", text)
    if "'" in text or "0x" in text or "0b" in text or ("/" in text and ("/d" in text or "/_" in text)):
        text = _marked(text)
    if "." in text and text.count(".") > 1:
        text = _POINTED.sub(lambda m: m[0].replace(".", ""), text)
    return text


def _in_plain_words(text: str) -> str:
    """`the point (1, 2)`, `a 20% increase`, `half an hour`, `x is at least 3`, `1 (double root)`, `1 234,5`."""
    if text[:1].isalpha():
        text = _ARTICLE.sub("", _KIND.sub("", text))
        if " real " in text or "except" in text:
            text = _ALL_THAN.sub("x is ", _ALL_BUT.sub(r"x \\ne ", text))
    if "," in text:
        text = _CONTINENTAL.sub(lambda m: re.sub(r"\s", "", m[0]).replace(",", "."), text)
    if text.count(" ") > 1:
        if "half a" in text:
            text = _HALF_OF.sub("1/2 ", text)
        if " is " in text:
            for words, sign in _COMPARED:
                text = words.sub(sign, text)
        if "root)" in text or "mult" in text:
            text = _MULTIPLICITY.sub("", text)
    return text


def _marked(text: str) -> str:
    text = _OCLOCK.sub(r"\1:00", _FEET.sub(r"\1 ft \2 in", text))
    text = _PREFIXED.sub(lambda m: str(int(m[0], 0)), text)
    text = _DIFFERENTIALS.sub(r"\\frac{d\1}{d\2}", text)
    return _SLANTED.sub(r"\\frac{\1}{\2}", text)


_KIND = re.compile(
    r"^\s*(?:the\s+)?(?:points?|ordered\s+(?:pairs?|triples?)|intervals?|vectors?|solution\s+sets?)\s+(?=[(\[{]|\\[{(l])",
    re.I,
)
_ARTICLE = re.compile(r"^\s*(?:an?\s+(?=\d)|both\s+(?=[-\d$\\]))")
_ALL_BUT = re.compile(
    r"^\s*(?:all|any)\s+(?:real\s+)?(?:numbers?|values?(?:\s+of\s+x)?)\s+(?:x\s+)?(?:except|other\s+than)(?:\s+for)?\s+"
)
_ALL_THAN = re.compile(r"^\s*(?:all|any)\s+real\s+numbers?\s+(?:x\s+)?(?=(?:greater|less|larger|smaller)\s+than)")
_HALF_OF = re.compile(r"\bhalf\s+an?\s+(?=(?!dozen|hundred|thousand|million|billion)[a-z])")
_COMPARED = tuple(
    (re.compile(rf"\bis\s+(?:{words})\b"), sign)
    for words, sign in (
        (r"(?:greater|more|larger|bigger)\s+than\s+or\s+equal\s+to|at\s+least|no\s+less\s+than", ">="),
        (r"(?:less|smaller)\s+than\s+or\s+equal\s+to|at\s+most|no\s+(?:more|greater)\s+than", "<="),
        (r"(?:strictly\s+)?(?:greater|more|larger|bigger)\s+than", ">"),
        (r"(?:strictly\s+)?(?:less|smaller)\s+than", "<"),
    )
)
_MULTIPLICITY = re.compile(
    r"\s*\(\s*(?:(?:a\s+)?(?:double|triple|repeated|simple)\s+root|(?:with\s+|of\s+)?multiplicity\s+\w+)\s*\)"
)
_OCLOCK = re.compile(r"\b(\d{1,2})\s*o['’]\s?clock\b")
_CONTINENTAL = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+,\d{1,2}(?![\w.,])")
"""`1 234,5`"""
_FEET = re.compile(r"^\s*(\d{1,3})\s*'\s*(\d{1,2}(?:\.\d+)?)\s*(?:\"|'')\s*$")
_PREFIXED = re.compile(r"(?<![\w.])(?:0x[0-9A-Fa-f]{1,99}|0b[01]{1,99})(?!\w)")
_DIFFERENTIALS = re.compile(r"(?<![\w\\])d([a-z])\s?/\s?d([a-z])(?!\w)")
_SLANTED = re.compile(r"\^\{?(\d{1,9})\}?\s*/\s*_\{?(\d{1,9})\}?")
_POINTED = re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3}){2,9}(?![\w.]|,\d)")
_DOTTED = re.compile(r"(\d\.\d{0,20})\\dot\s*\{?(\d)\}?(\d{0,20})\\dot\s*\{?(\d)\}?")
"""`0.\\dot{1}4285\\dot{7}`"""
_FOR_INTEGERS = re.compile(
    r"(?:\s|\\q?quad|\\[,;:! ]|,)*\(\s*((?:[a-z]\s*,\s*)?[a-z]\s*\\in\s*\\mathbb\s*\{?\s*[ZNRQ]\s*\}?"
    r"(?:\^?[+*]|_\{?\d\}?)?)\s*\)$"
)
"""`2k\\pi \\quad (k \\in \\mathbb{Z})`"""
_SINGLE = re.compile(r"(?<!\\)\\[a-zA-Z]")
_DOUBLED = re.compile(r"\\\\(?=[a-zA-Z({\[%$])")
_HALF_OF_DAY = re.compile(r"\b([aApP])\.\s?[mM]\b\.?")
_TIMES_TEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_ENTITY = re.compile(r"&(?:lt|gt|amp|nbsp);")
_ALL_FOR_WHICH = re.compile(r"^\s*(?:the\s+set\s+of\s+)?all\s+[^=<>\\]{0,30}?(?:such\s+that|for\s+which)\s+", re.I)
_OUT_OF = re.compile(r"^\s*(\d+)\s+(?:out\s+of|in)\s+(?:every\s+)?(\d+)\s*\.?\s*$")
_REPEATING = re.compile(r"(?<![\w.])(\d+\.)\((\d{1,20})\)")
"""`0.(3)`"""
_ALIGNED = re.compile(
    r"\\begin\{(align(?:ed|at)?|equation|gather(?:ed)?|split|multline|eqnarray)\*?\}(?:\{\d\})?(.*?)\\end\{\1\*?\}",
    re.S,
)
_CONTINUED = re.compile(r"\\\\\s*(?=[=<>]|\\(?:leq?|geq?|approx|equiv|Rightarrow|implies|to)\b|$)")


def _as_chain(aligned: re.Match[str]) -> str:
    """Aligned lines as they are meant: a line that begins with a sign goes on where the one before it ended."""
    return _CONTINUED.sub(" ", aligned.group(2).replace("&", " ").strip())


_SERIES = (("a", "b", "c", "d", "e", "f"), ("i", "ii", "iii", "iv", "v", "vi"), ("1", "2", "3", "4", "5", "6"))


def _parted(text: str) -> str:
    """`(i) 3 (ii) 4` as `(a) 3; (b) 4`: parts that only their labels keep apart."""
    series = next(s for s in _SERIES if s[0] == text[1])
    pieces, rest = list[str](), text[3:]
    for mark in series[1:]:
        piece, found, after = rest.partition(f"({mark})")
        if not found:
            break
        pieces.append(piece)
        rest = after
    pieces = [p.strip().removesuffix("and").strip(" ,;\n") for p in (*pieces, rest)]
    if len(pieces) < 2 or not all(p and (p[0].isalnum() or p[0] in "-\\$.(") for p in pieces):
        return text
    return "; ".join(f"({letter}) {piece}" for letter, piece in zip(_SERIES[0], pieces, strict=False))


_ODD_ENDS = ("]", "<")
_PAIR = re.compile(r"([\[\]])([^\[\]]*[,;][^\[\]]*)([\[\]])")
_VECTOR = re.compile(r"<([^<>=]*,[^<>=]*)>")


def _even_brackets(text: str) -> str:
    """`]0, 1[` as the interval (0, 1), and `<1, 2>` as a vector."""
    vector = _VECTOR.fullmatch(text.strip())
    if vector:
        return f"({vector.group(1)})"
    return _PAIR.sub(lambda m: ("[" if m[1] == "[" else "(") + m[2] + ("]" if m[3] == "]" else ")"), text)


_INDEX = r"\{?\s*(\d+|[a-z])\s*\}?"
_PRESCRIPT = re.compile(rf"(?:\{{\s*\}})?[\^_]{_INDEX}\s*C\s*_\s*{_INDEX}")
_ARRANGED = re.compile(rf"(?:\{{\s*\}})?[\^_]{_INDEX}\s*P\s*_\s*{_INDEX}")
_CHOOSE = re.compile(r"(?<![\w.])(\d{1,4}|[a-z])\s+choose\s+(\d{1,4}|[a-z])(?!\w)")
_NCR = re.compile(r"(?<![\w.])(\d{1,4})C(\d{1,4})(?![\w.])")
_HEXADECIMAL = re.compile(
    r"(?:\\(?:text|mathrm)\w*\{\s*|\(|(?<![\w\\]))([\dA-Fa-f]{0,99}\d[A-Fa-f][\dA-Fa-f]{0,99}|[A-Fa-f]{1,99}\d[\dA-Fa-f]{0,99}|[A-F]{2,99})[\s})]*_\{?16\}?"
)
_IN_BASE = re.compile(
    r"(?<![\w.])([\dA-Fa-f]{1,200})\s*(?:\\text\{\s*)?\(?(?:in\s+)?base[\s~-]*(\d{1,2}|two|three|four|five|six|seven|eight|nine)\s*\)?\}?"
)


def _counted(text: str) -> str:
    """`10C3`, `{}^{10}C_3`, `2A_{16}` and `1011 in base 2` in the spelling that is read."""
    text = _PRESCRIPT.sub(r"\\binom{\1}{\2}", text)
    text = _NCR.sub(r"\\binom{\1}{\2}", text)
    text = _CHOOSE.sub(r"\\binom{\1}{\2}", text)
    text = _IN_BASE.sub(r"\1_{\2}", text)
    return _HEXADECIMAL.sub(lambda m: str(int(m[1], 16)), text)
