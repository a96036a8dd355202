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
    return text


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
