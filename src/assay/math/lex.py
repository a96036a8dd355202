r"""Text to tokens: the cheapest normal form. Spacing, sizes, fonts and synonyms go; nothing that means anything does.

>>> lex(r"\left( 1,\; \dfrac{9}{2} \right)").tokens
['(', '1', ',', '\\frac', '{', '9', '}', '{', '2', '}', ')']
>>> lex("12\\,345").tokens == lex("12,345").tokens == ["12345"]
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.math.limits import MOST_CHARS, MOST_TOKENS, TooLarge
from assay.math.names import DROPPED, SIGNS
from assay.math.spelling import respelled


@dataclass(slots=True)
class Tokens:
    """The tokens of one answer."""

    tokens: list[str]
    upright: set[int] = field(default_factory=set)
    """Indexes of tokens that stood in `\\text{}` or an upright font: words and units, not variables."""
    spaced: set[int] = field(default_factory=set)
    """Indexes of tokens with white space before them."""


_SPLITS = r"(?:,\\!\s*|,\\,|,\{\}|\\!,|\{,\}|\{\\,\}|\{ \}|\\[,;: ]|,|'|_| |~)"
_BARE_SPLITS = r"(?:,\\!\s*|,\\,|,\{\}|\\!,|\{,\}|\{\\,\}|\{ \}|\\[,;: ]|_| |~)"
_FONTS = (
    r"text(?:bf|it|rm|normal|sf|tt|up|sc)?|math(?:rm|bf|it|sf|tt|cal|scr|frak|normal)|operatorname|mbox|hbox|boldsymbol|bm|pmb"
    r"|emph|ce|underline|ensuremath|boxed|fbox|bold|style|rm|bf|it"
)
_REST = (
    r"|\d+(?:\.\d+)?(?:[eE][-+]?\d+(?![\d.]))?|\.\d+(?:[eE][-+]?\d+)?"
    rf"|\\(?:{_FONTS})\*?\s*\{{"
    r"|\\(?:hspace|vspace|phantom|color|textcolor|tag|label)\*?\s*\{[^{}]*\}"
    r"|\\mathbb\s*\{?\s*[A-Z]\s*\}?"
    r"|\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\s*\{[clr|@ ]*\})?(?:\[[a-z]\])?"
    r"|\\(?:left|right)\s*\.|\\[a-zA-Z]+|\\."
    r"|[^\W\d_]+"
    r"|\s+"
    r"|\*\*|\+/-|<=|>=|!=|==|=<|:=|->|=>|\.\.\.|."
)
_TOKEN = re.compile(rf"(?<![\d.])[1-9]\d{{0,2}}(?:{_SPLITS}\d{{3}})+(?!\d)(?:\.\d+)?{_REST}", re.S)
_UNGROUPED = re.compile(rf"(?<![\d.])[1-9]\d{{0,2}}(?:{_BARE_SPLITS}\d{{3}})+(?!\d)(?:\.\d+)?{_REST}", re.S)
_SPLIT = re.compile(_SPLITS)
_NUMERIC = re.compile(r"[\d.eE+-]+")
_TILTED = (
    "\\mathbf",
    "\\mathit",
    "\\boldsymbol",
    "\\bm",
    "\\pmb",
    "\\boxed",
    "\\fbox",
    "\\mathcal",
    "\\mathscr",
    "\\mathfrak",
    "\\ensuremath",
    "\\underline",
)
"""Fonts and frames that leave a letter a variable."""
_SETS = {"R": "Reals", "Z": "Integers", "N": "Naturals", "Q": "Rationals", "C": "Complexes"}
_ITSELF = {sign: sign for sign in map(chr, range(33, 127))}
_KNOWN: dict[str, str] = _ITSELF | SIGNS | dict.fromkeys((*sorted(DROPPED), " "), "")
"""The token for each word that a table knows; nothing for a word that only keeps others apart."""


def lex(text: str, grouped: bool = True) -> Tokens:
    """The tokens of an answer. With `grouped` off a comma never joins the digits of one number."""
    if len(text) > MOST_CHARS:
        raise TooLarge(f"an answer of {len(text):,} characters; up to {MOST_CHARS:,} are read as mathematics")
    out = _scan((_TOKEN if grouped else _UNGROUPED).findall(respelled(text)))
    if len(out.tokens) > MOST_TOKENS:
        raise TooLarge(f"an answer of more than {MOST_TOKENS:,} tokens")
    return out


def _scan(found: list[str]) -> Tokens:  # noqa: C901 - the hot loop, in one piece
    out = Tokens([])
    tokens, fonts, space, known = out.tokens, list[tuple[int, bool]](), False, _KNOWN.get
    depth = 0
    for word in found:
        token = known(word)
        if token is None:
            first = word[0]
            if first.isspace():
                space = True
                continue
            token = word if len(word) == 1 else _long(word, first)
        if not token:
            space = True
            continue
        if token == "{":
            depth += 1
        elif token == "}":
            if fonts and fonts[-1][0] == depth:
                fonts.pop()
                depth -= 1
                space = True
                continue
            depth -= 1
        elif token == "\\font{":
            depth += 1
            fonts.append((depth, not word.startswith(_TILTED)))
            space = True
            continue
        if space:
            if tokens:
                out.spaced.add(len(tokens))
            space = False
        if fonts and fonts[-1][1]:
            out.upright.add(len(tokens))
        tokens.append(token)
    while tokens and tokens[-1] in _CLOSING:
        tokens.pop()
    return out


_CLOSING = frozenset({".", ",", ";", "\\\\", "\\", ":"})


def _long(word: str, first: str) -> str:
    """The token for a word of several characters that no table knows."""
    if first.isdecimal():
        return word if word.isdecimal() or _NUMERIC.fullmatch(word) else _SPLIT.sub("", word)
    if first == "\\":
        if word[-1] == "{":
            return "\\font{"
        if word.startswith("\\mathbb"):
            return _SETS.get(word.strip("}{ ")[-1], "Set")
        if word.startswith(("\\begin", "\\end")):
            return re.sub(r"\s+|\{[clr|@ ]*\}$|\[[a-z]\]$", "", word)
        if word[-1] == "}" or (word[-1] == "." and len(word) > 2):
            return ""
    return word
