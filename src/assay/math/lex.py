r"""Text to tokens: the cheapest normal form. Spacing, sizes, fonts and synonyms go; nothing that means anything does.

>>> lex(r"\left( 1,\; \dfrac{9}{2} \right)").tokens
['(', '1', ',', '\\frac', '{', '9', '}', '{', '2', '}', ')']
>>> lex("12\\,345").tokens == lex("12,345").tokens == ["12345"]
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.math.glyphs import plain_unicode
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


_SPLITS = r"(?:,\\!\s*|,\\,|,\{\}|\\!,|\{,\}|\{\\,\}|\{ \}|\\[,;: ]|,|'|_| |~)"
_BARE_SPLITS = r"(?:,\\!\s*|,\\,|,\{\}|\\!,|\{,\}|\{\\,\}|\{ \}|\\[,;: ]|_| |~)"
_FONTS = (
    r"text(?:bf|it|rm|normal|sf|tt|up|sc)?|math(?:rm|bf|it|sf|tt|cal|scr|frak|normal)|operatorname|mbox|hbox|boldsymbol|bm|pmb"
    r"|emph|underline|ensuremath|boxed|fbox|bold|style|rm|bf|it"
)
_REST = (
    r"|\d+(?:\.\d+)?(?:[eE][-+]?\d+(?![\d.]))?|\.\d+(?:[eE][-+]?\d+)?"
    rf"|\\(?:{_FONTS})\*?\s*\{{"
    r"|\\(?:hspace|vspace|phantom|color|textcolor|tag|label)\*?\s*\{[^{}]*\}"
    r"|\\mathbb\s*\{?\s*[A-Z]\s*\}?"
    r"|\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\s*\{[clr|@ ]*\})?(?:\[[a-z]\])?"
    r"|\\[a-zA-Z]+|\\."
    r"|[^\W\d_]+"
    r"|\s+"
    r"|\*\*|\+/-|<=|>=|!=|==|=<|:=|->|=>|\.\.\.|."
)
_TOKEN = re.compile(rf"(?<![\d.])[1-9]\d{{0,2}}(?:{_SPLITS}\d{{3}})+(?!\d)(?:\.\d+)?{_REST}", re.S)
_UNGROUPED = re.compile(rf"(?<![\d.])[1-9]\d{{0,2}}(?:{_BARE_SPLITS}\d{{3}})+(?!\d)(?:\.\d+)?{_REST}", re.S)
_SPLIT = re.compile(_SPLITS)
_TIMES_TEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_HALF_OF_DAY = re.compile(r"\b([aApP])\.\s?[mM]\b\.?")
_DOUBLED = re.compile(r"\\\\(?=[a-zA-Z({\[%$])")
_SINGLE = re.compile(r"(?<!\\)\\[a-zA-Z]")
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
_KNOWN: dict[str, str] = SIGNS | dict.fromkeys(DROPPED, "")


def lex(text: str, grouped: bool = True) -> Tokens:
    """The tokens of an answer. With `grouped` off a comma never joins the digits of one number."""
    if len(text) > MOST_CHARS:
        raise TooLarge(f"an answer of {len(text):,} characters; up to {MOST_CHARS:,} are read as mathematics")
    out = _scan((_TOKEN if grouped else _UNGROUPED).findall(_respelled(text)))
    if len(out.tokens) > MOST_TOKENS:
        raise TooLarge(f"an answer of more than {MOST_TOKENS:,} tokens")
    return out


def _respelled(text: str) -> str:  # noqa: C901 - one line a convention, each behind the cheapest test for it
    """The text with its conventions in the spelling that the tokens are made from."""
    if not text.isascii():
        text = plain_unicode(text)
    elif "\0" in text:
        text = text.replace("\0", "")
    if text[:1] == "$" and text.count("$") % 2 and not text.endswith("$"):
        text = "\\" + text  # `$5`: a price, and no formula that is never closed
    if "\\\\" in text and not _SINGLE.search(text):
        text = _DOUBLED.sub(r"\\", text)
    if "\\begin" in text:
        text = _ALIGNED.sub(_as_chain, text)
    if text[:1] in _ODD_ENDS or text[-1:] == "[":
        text = _even_brackets(text)
    if "C" in text or "base" in text or "16" in text:
        text = _conventions(text)
    if "<sup>" in text:
        text = text.replace("<sup>", "^{").replace("</sup>", "}")
    if "10" in text and ("x" in text or "X" in text):
        text = _TIMES_TEN.sub("*", text)
    if ".m" in text or ". m" in text or ".M" in text:
        text = _HALF_OF_DAY.sub(lambda m: f" {m.group(1).lower()}m ", text)
    return text


_ALIGNED = re.compile(
    r"\\begin\{(align(?:ed|at)?|equation|gather(?:ed)?|split|multline|eqnarray)\*?\}(?:\{\d\})?(.*?)\\end\{\1\*?\}",
    re.S,
)
_CONTINUED = re.compile(r"\\\\\s*(?=[=<>]|\\(?:leq?|geq?|approx|equiv|Rightarrow|implies|to)\b|$)")


def _as_chain(aligned: re.Match[str]) -> str:
    """Aligned lines as they are meant: a line that begins with a sign goes on where the one before it ended."""
    return _CONTINUED.sub(" ", aligned.group(2).replace("&", " ").strip())


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
_NCR = re.compile(r"(?<![\w.])(\d{1,4})C(\d{1,4})(?![\w.])")
_HEXADECIMAL = re.compile(
    r"(?:\\(?:text|mathrm)\w*\{\s*|\(|(?<![\w\\]))([\dA-Fa-f]*\d[A-Fa-f][\dA-Fa-f]*|[A-Fa-f]+\d[\dA-Fa-f]*)[\s})]*_\{?16\}?"
)
_IN_BASE = re.compile(
    r"(?<![\w.])([\dA-Fa-f]{1,200})\s*(?:\\text\{\s*)?\(?(?:in\s+)?base[\s~-]*(\d{1,2}|two|three|four|five|six|seven|eight|nine)\s*\)?\}?"
)


def _conventions(text: str) -> str:
    """`10C3`, `{}^{10}C_3`, `2A_{16}` and `1011 in base 2` in the spelling that is read."""
    text = _PRESCRIPT.sub(r"\\binom{\1}{\2}", text)
    text = _NCR.sub(r"\\binom{\1}{\2}", text)
    text = _IN_BASE.sub(r"\1_{\2}", text)
    return _HEXADECIMAL.sub(lambda m: str(int(m[1], 16)), text)


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
        if word[-1] == "}":
            return ""
    return word
