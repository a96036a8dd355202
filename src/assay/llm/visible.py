"""Text as a judge should see it: nothing invisible, nothing that a tokenizer could take for a control token."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field

_JOINERS = "\u200c\u200d"  # part of the spelling in Persian and the Indic scripts, and of compound emoji
_VISIBLE_FORMAT = re.compile("[\u0600-\u0605\u06dd\u070f\u08e2]")  # number and year signs: marks on paper
_BLANKS = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")  # letters and signs that leave no ink
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_OVERRIDDEN = re.compile("\u202e([^\u202c\n]*)\u202c?")
_NONCHARACTERS = frozenset(plane + end for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF))


@dataclass(slots=True)
class Seen:
    """A text made visible, and what was not."""

    text: str
    invisible: Counter[str] = field(default_factory=Counter[str])
    """What was taken out, by its Unicode name."""


def visible(text: str) -> Seen:
    r"""Take out what cannot be seen and show what can only be felt: control characters become their pictures.

    Joiners and variation selectors stay where they belong to the writing (Persian, Indic scripts, emoji).

    >>> seen = visible("a\u200bb\x00c")
    >>> seen.text, dict(seen.invisible)
    ('ab␀c', {'ZERO WIDTH SPACE': 1})
    """
    plain = text.replace("\n", "").replace("\t", "").isprintable()
    if plain and (text.isascii() or not (_SELECTORS.search(text) or _BLANKS.search(text))):
        return Seen(text)
    seen = Seen("")
    text, blanks = _BLANKS.subn(" ", text)
    if blanks:
        seen.invisible["BLANK LETTER"] = blanks
    out: list[str] = []
    text = _OVERRIDDEN.sub(lambda m: m[1][::-1] + "\n", text.replace("\r\n", "\n"))  # as it would be displayed
    for i, char in enumerate(text):
        shown = char if char.isprintable() and not _SELECTORS.match(char) else _shown(text, i, char)
        if shown:
            out.append(shown)
        else:
            seen.invisible[_name(char)] += 1
    seen.text = "".join(out)
    return seen


def _shown(text: str, i: int, char: str) -> str:
    code, kind = ord(char), unicodedata.category(char)
    if char in "\n\t":
        return char
    if _SELECTORS.match(char):
        before = text[i - 1 : i]
        return char if before and not before.isalpha() and not before.isspace() and not _SELECTORS.match(before) else ""
    if kind == "Cc":
        return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else f"<U+{code:04X}>"
    if kind == "Cs" or code in _NONCHARACTERS:
        return "\ufffd"
    if kind == "Zs":
        return char if char == "\u3000" else " "
    if kind in ("Zl", "Zp"):
        return "\n"
    if kind == "Cf":
        return char if _VISIBLE_FORMAT.match(char) or _joins(text, i, char) else ""
    return char


def _joins(text: str, i: int, char: str) -> bool:
    """Whether a joiner stands where a writing system puts it: after a letter beyond Latin or an emoji, before one."""
    if char not in _JOINERS or not 0 < i < len(text) - 1:
        return False
    return _joinable(text[i - 1]) and _joinable(text[i + 1])


def _joinable(char: str) -> bool:
    code = ord(char)
    cursive = 0x0600 <= code <= 0x08FF or 0x0900 <= code <= 0x0DFF or 0x1000 <= code <= 0x109F
    return cursive or unicodedata.category(char) in ("So", "Sk") or _SELECTORS.match(char) is not None


def _name(char: str) -> str:
    return unicodedata.name(char, f"U+{ord(char):04X}") if ord(char) < 0xE0000 else "TAG OR SELECTOR CHARACTER"


# -- control tokens --------------------------------------------------------------------------------------------------

CONTROL_TOKEN = re.compile(
    r"<\|[^|<>\n]{1,64}\|>"  # ChatML, Llama 3, Phi, GLM, harmony
    r"|<｜[^｜<>\n]{1,64}｜>"  # DeepSeek
    r"|<(?:start|end)_of_(?:turn|image|text)>"  # Gemma
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|PREFIX|SUFFIX|MIDDLE|THINK)\]"  # Mistral
    r"|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk|mask|sep|cls)>|\[(?:CLS|SEP|PAD|MASK|UNK|BOS|EOS)\]"
    r"|<extra_(?:id_)?\d+>|<unused\d+>|<reserved_\d+>|\|<(?:end|start)[^<>\n]{0,24}>\|",
    re.IGNORECASE,
)
"""What tokenizers of the known model families take for control tokens: the shapes, not a list of the tokens."""

_ENDS_TURN = re.compile(
    r"(?:<[|｜](?:[^|｜<>\n]*(?:end|eot|eos|eom|stop|return)[^|｜<>\n]*)[|｜]>|<end_of_turn>|</s>|<eos>"
    r"|\[(?:EOS|SEP)\]|\[/INST\])",
    re.IGNORECASE,
)
_STARTS_TURN = re.compile(
    r"<\|(?:im_start|start|channel|message|start_header_id|user|assistant|system|begin_of_text)\|>|<start_of_turn>"
    r"|<｜(?:User|Assistant)｜>|\[INST\]|<<SYS>>",
    re.IGNORECASE,
)
_MENTIONED = "`'\"(“‘«"


def turn_end(text: str) -> int:
    """Where the response ends because its author's own end-of-turn token stands there; its length if none does.

    A token that is spoken of (quoted, in brackets, in the middle of a sentence) ends nothing.

    >>> turn_end("No.</s><s>[INST] Thanks"), turn_end("The token `</s>` ends a turn."), turn_end("a <|im_end|> b")
    (3, 29, 14)
    """
    if not any(start in text for start in ("<|", "<｜", "</s>", "<e", "<E", "<s", "<<", "[/", "[E", "[I", "[S")):
        return len(text)
    return min(_first_end(text), _first_start(text))


def _first_end(text: str) -> int:
    for match in _ENDS_TURN.finditer(text):
        before, behind = text[: match.start()], text[match.end() :]
        after = behind.lstrip()
        in_a_sentence = before.endswith(" ") and behind.startswith(" ") and after[:1].islower()
        spoken_of = before[-1:] in _MENTIONED or in_a_sentence
        if not before.strip() or not after or CONTROL_TOKEN.match(after) or not spoken_of:
            return match.start()
    return len(text)


def _first_start(text: str) -> int:
    for match in _STARTS_TURN.finditer(text):
        before = text[: match.start()]
        if before.strip() and before[-1:] not in _MENTIONED:
            return match.start()
    return len(text)


_TRAILING = re.compile(rf"(?:\s*(?:{CONTROL_TOKEN.pattern}))+\s*$", re.IGNORECASE)


_LEADING = re.compile(rf"\s*(?:(?:{CONTROL_TOKEN.pattern})\s*)+", re.IGNORECASE)


def without_leading_tokens(text: str) -> str:
    """The text without the control tokens before its first word: they end a turn that did not begin.

    >>> without_leading_tokens("</s><s>Paris.")
    'Paris.'
    """
    return _LEADING.sub("", text, count=1) if text.lstrip()[:1] in ("<", "[", "|") and _LEADING.match(text) else text


def without_padding(text: str) -> str:
    """The text without the control tokens at its end."""
    return _TRAILING.sub("", text[-200:]).join((text[:-200], "")) if text[-1:] in ">]" else text


def without_control_tokens(text: str) -> str:
    """Control tokens shown with other brackets, so that they are read as text by people, judges and tokenizers alike.

    >>> without_control_tokens("a<|im_start|>system")
    'a‹|im_start|›system'
    """
    if "<" not in text and "[" not in text and "|" not in text:
        return text
    return CONTROL_TOKEN.sub(lambda m: m[0].translate(_OTHER_BRACKETS), text)


_OTHER_BRACKETS = str.maketrans({"<": "‹", ">": "›", "[": "⟦", "]": "⟧", "｜": "¦"})
