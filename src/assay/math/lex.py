r"""Text to tokens: the cheapest normal form. Spacing, sizes, fonts and synonyms go; nothing that means anything does.

>>> lex(r"\left( 1,\; \dfrac{9}{2} \right)").tokens
['(', '1', ',', '\\frac', '{', '9', '}', '{', '2', '}', ')']
>>> lex("12\\,345").tokens == lex("12,345").tokens == ["12345"]
True
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from assay.math.limits import MOST_CHARS, MOST_TOKENS, TooLarge
from assay.math.names import DROPPED, SIGNS


@dataclass(slots=True)
class Tokens:
    """The tokens of one answer."""

    tokens: list[str]
    upright: set[int] = field(default_factory=set[int])
    """Indexes of tokens that stood in `\\text{}` or an upright font: words and units, not variables."""
    spaced: set[int] = field(default_factory=set[int])
    """Indexes of tokens with white space before them."""


_SUP = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣ", "0123456789+-=()nix")
_SUB = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙₓ", "0123456789+-=()nx")
_SUPS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣ]+")
_SUBS = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙₓ]+")
_UNICODE = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "﹣": "-", "×": "*", "✕": "*", "⋅": "*", "·": "*", "∙": "*", "•": "*", "∗": "*",
    "÷": "/", "∕": "/", "⁄": "/", "≤": "<=", "≦": "<=", "⩽": "<=", "≥": ">=", "≧": ">=", "⩾": ">=", "≠": "!=", "≈": " \\approx ", "≃": " \\approx ",
    "∞": " \\infty ", "π": " \\pi ", "√": " \\sqrt ", "∛": " \\sqrt[3] ", "±": "\\pm ", "∓": "\\mp ", "°": "°", "º": "°", "˚": "°",
    "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ", "∉": "\\notin ", "∅": "\\emptyset ", "∖": "\\setminus ", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}",
    "→": "\\to ", "⇒": "\\Rightarrow ", "…": "\\ldots ", "⋯": "\\ldots ", "⟨": "\\langle ", "⟩": "\\rangle ", "〈": "\\langle ", "〉": "\\rangle ",
    "⌊": "\\lfloor ", "⌋": "\\rfloor ", "⌈": "\\lceil ", "⌉": "\\rceil ", "∠": "\\angle ", "ħ": "\\hbar ", "µ": "\\mu ", "∑": "\\sum ", "∏": "\\prod ", "∫": "\\int ",
    "，": ",", "；": ";", "：": ":", "（": "(", "）": ")", "、": ",", "。": ".", "′": "'", "’": "'", "‘": "'", "″": "''", "“": '"', "”": '"', "∶": ":", "∣": "|",
    "½": "{1/2}", "⅓": "{1/3}", "⅔": "{2/3}", "¼": "{1/4}", "¾": "{3/4}", "⅕": "{1/5}", "⅖": "{2/5}", "⅗": "{3/5}", "⅘": "{4/5}", "⅙": "{1/6}",
    "⅚": "{5/6}", "⅛": "{1/8}", "⅜": "{3/8}", "⅝": "{5/8}", "⅞": "{7/8}", "∧": " and ", "∨": " or ", "℃": "°C", "℉": "°F", "∘": "°", "△": "\\triangle ", "\u2061": "",
    "\u200b": "", "\u200c": "", "\u200d": "", "\ufeff": "", "\u2060": "", "\u2062": " ", "\u00ad": "", "\u2009": "\\,", "\u202f": "\\,", "\u00a0": " ", "\u2003": " ", "\u2002": " ",
}  # fmt: skip
_GREEK_LETTERS = dict(zip(
    "αβγδεζηθικλμνξρστυφχψωΓΔΘΛΞΣΦΨΩ",
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega".split(), strict=True,
))  # fmt: skip
_TABLE = str.maketrans(_UNICODE | {k: f" \\{v} " for k, v in _GREEK_LETTERS.items()} | {"\0": ""})
_MIXED = re.compile(r"(?<=\d)\s*(?=[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])")


def plain_unicode(text: str) -> str:
    """Signs, superscripts, full-width digits and the like in the spelling that the lexer knows."""
    text = _SUPS.sub(lambda m: "^{" + m.group().translate(_SUP) + "}", text)
    text = _SUBS.sub(lambda m: "_{" + m.group().translate(_SUB) + "}", text)
    return unicodedata.normalize("NFKC", _MIXED.sub(" ", text).translate(_TABLE)).translate(_TABLE)


_GROUPS = r"(?:,\\!\s*|,\\,|,\{\}|\\!,|\{,\}|\{\\,\}|\{ \}|\\,|\\ |,|'| |~)"
_TOKEN = re.compile(
    rf"(?P<grouped>(?<![\d.])\d{{1,3}}(?:{_GROUPS}\d{{3}})+(?!\d)(?:\.\d+)?)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+(?![\d.]))?|\.\d+(?:[eE][-+]?\d+)?)"
    r"|(?P<font>\\(?:text(?:bf|it|rm|normal|sf|tt|up|sc|color)?|math(?:rm|bf|it|sf|tt|cal|scr|frak|bb|normal)|operatorname|mbox|hbox|boldsymbol|bm|pmb|emph|underline|ensuremath|boxed|fbox|hspace|vspace|phantom|color|bold|style|tag|label|rm|bf|it)\*?\s*(?=\{))"
    r"|(?P<env>\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\s*\{[clr|@ ]*\})?(?:\[[a-z]\])?)"
    r"|(?P<command>\\[a-zA-Z]+|\\.)"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<space>\s+)"
    r"|(?P<sign>\*\*|<=|>=|!=|==|=<|:=|->|=>|\.\.\.|.)",
    re.S,
)
_DOUBLED = re.compile(r"\\\\(?=[a-zA-Z({\[%$])")
_COMMA_GROUP = re.compile(_GROUPS)
_FONT_NAME = re.compile(r"[a-zA-Z]+")
_EMPTY_FONTS = frozenset({"hspace", "vspace", "phantom", "color", "textcolor", "tag", "label"})
_UPRIGHT_FONTS = frozenset(
    {
        "text",
        "textrm",
        "textnormal",
        "mathrm",
        "mbox",
        "hbox",
        "textbf",
        "textit",
        "textsf",
        "operatorname",
        "rm",
        "mathsf",
        "textup",
    }
)


def lex(text: str, grouped: bool = True) -> Tokens:
    """The tokens of an answer. With `grouped` off a comma never joins the digits of one number."""
    if len(text) > MOST_CHARS:
        raise TooLarge(f"an answer of {len(text):,} characters; up to {MOST_CHARS:,} are read as mathematics")
    if not text.isascii():
        text = plain_unicode(text)
    elif "\0" in text:
        text = text.replace("\0", "")
    if "\\\\" in text and not re.search(r"(?<!\\)\\[a-zA-Z]", text):
        text = _DOUBLED.sub(r"\\", text)
    return _scan(text, grouped)


def _scan(text: str, grouped: bool) -> Tokens:
    out = Tokens([])
    tokens, fonts, depth, space = out.tokens, list[int](), 0, False
    scanner = _TOKEN.scanner(text)  # type: ignore[attr-defined]
    position = 0
    while m := _TOKEN.match(text, position):
        position = m.end()
        kind, word = m.lastgroup, m.group()
        if kind == "space":
            space = True
            continue
        if kind == "grouped":
            if grouped or ("," not in word and "'" not in word):
                word = _COMMA_GROUP.sub("", word)
            else:
                word = _TOKEN_NUMBER.match(word).group()  # type: ignore[union-attr]
                position = m.start() + len(word)
        elif kind == "font":
            name = _FONT_NAME.search(word).group()  # type: ignore[union-attr]
            if name in _EMPTY_FONTS:
                end = text.find("}", position)
                position = end + 1 if end >= 0 else len(text)
            else:
                brace = text.find("{", position)
                position, depth = brace + 1, depth + 1
                fonts.append(depth if name in _UPRIGHT_FONTS else -depth)
                space = True
            continue
        elif kind == "env":
            word = re.sub(r"\s+|\{[clr|@ ]*\}$|\[[a-z]\]$", "", word)
        elif word == "{":
            depth += 1
        elif word == "}":
            if fonts and abs(fonts[-1]) == depth:
                fonts.pop()
                depth -= 1
                space = True
                continue
            depth -= 1
        elif kind != "number" and word in DROPPED:
            space = True
            continue
        if kind != "number" and kind != "grouped":
            word = SIGNS.get(word, word)
        if space and tokens:
            out.spaced.add(len(tokens))
        if fonts and fonts[-1] > 0:
            out.upright.add(len(tokens))
        tokens.append(word)
        space = False
        if len(tokens) > MOST_TOKENS:
            raise TooLarge(f"an answer of more than {MOST_TOKENS:,} tokens")
    del scanner
    while tokens and tokens[-1] in (".", ",", ";", "\\\\", "\\", ":"):
        tokens.pop()
    return out


_TOKEN_NUMBER = re.compile(r"\d+")
