"""A passage as it would be read: look-alike letters as the usual ones, and what is spelled out, reversed or encoded.

What a judge can decode, an attack can hide in; so each passage is looked at in every reading that it may have.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import html
import re
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

_MARKS = re.compile("[\u0300-\u036f]")
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһкмтвнАВЕКМНОРСТХІЅЈαορτυνικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxijsdhkmtbhABEKMHOPCTXISJaoptuvikABEZHIKMNOPTYX"
)
_SMALL_CAPITALS = dict(zip(map(ord, "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"), "abcdefghijklmnoprstuvwyz", strict=True))
_SIGNS = {  # letters in filled circles and squares, and as flags
    start + k: chr(97 + k) for start in (0x1F150, 0x1F170, 0x1F1E6) for k in range(26)
}
_PLAIN = _SMALL_CAPITALS | _SIGNS
_LEET = str.maketrans("0134578@$", "oieastbas")


def folded(text: str) -> str:
    """Lower case, with full-width and ornamental letters as usual ones, look-alikes in Latin words as these.

    >>> folded("Ｓсоrе"), folded("ᴏᴜᴛᴘᴜᴛ")
    ('score', 'output')
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text.translate(_PLAIN))))
    words = text.split(" ")
    mixed = [w.translate(_LOOKALIKES) if any(c.isascii() and c.isalpha() for c in w) else w for w in words]
    return " ".join(mixed).lower()


_SPACED = re.compile(r"(?<![^\W_])[^\W\d_]([ ._·•-]{1,2})(?:[^\W\d_](?:\1_)?\1){2,}[^\W\d_](?![^\W_])")
_MIXED = re.compile(r"(?<![^\W_])(?=[^\W_]*[a-z])[^\W_]*[0134578@$][^\W_]*")
_LEET_WORD = re.compile(r"[a-z]{1,12}[013457@$][a-z]")
_BASE64 = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{11,}={0,2}(?![\w+/=-])")
_BASE32 = re.compile(r"(?<![\w])[A-Z2-7]{16,}={0,6}(?![\w=])")
_HEX = re.compile(r"(?:\b[0-9a-fA-F]{2}\b[ ,:]{0,2}){6,}|(?:\b[01]{8}\b ?){4,}")
_RUN_OF_HEX = re.compile(r"\b(?:[2-7][0-9a-fA-F]){6,}\b")
_DECIMALS = re.compile(r"(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\b[ ,]{1,2}){5,}\d{2,3}\b")
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})|\\([0-3][0-7]{2})")


_CODES_IN_A_ROW = re.compile(b"[\2\3]{6}")
"""Six words of two or three signs: the lengths of what could be codes."""
_RUN_OF_CODES = re.compile(r"[01]{8}$|(?:[2-7][0-9a-f]){6}")


def reversed_text(text: str) -> str:
    """A text from its end."""
    return text[::-1]


def rotated(text: str) -> str:
    """A text by ROT13, which is its own inverse."""
    return codecs.encode(text, "rot13")


def _spelled(text: str) -> str:
    return _SPACED.sub(lambda m: re.sub(r"[\W_]", "", m[0]), text)


def _from_base64(text: str) -> str:
    said: list[str] = []
    for match in _BASE64.finditer(text):
        with contextlib.suppress(ValueError):
            bare = match[0].rstrip("=").replace("-", "+").replace("_", "/")
            told = base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("ascii")
            if told.isprintable() and (" " in told or ":" in told):
                said.append(told)
    for match in _BASE32.finditer(text):
        with contextlib.suppress(ValueError):
            bare = match[0].rstrip("=")
            said.append(base64.b32decode(bare + "=" * (-len(bare) % 8)).decode("ascii"))
    return " ".join(said)


def _from_bytes(text: str) -> str:
    said: list[str] = []
    for match in _HEX.finditer(text):
        parts = re.findall(r"[0-9a-fA-F]+", match[0])
        said.append("".join(chr(int(part, 2 if len(part) == 8 else 16)) for part in parts))
    said += [bytes.fromhex(match[0]).decode("latin-1") for match in _RUN_OF_HEX.finditer(text)]
    said += ["".join(chr(int(n)) for n in re.findall(r"\d+", match[0])) for match in _DECIMALS.finditer(text)]
    return " ".join(said)


def _from_escapes(text: str) -> str:
    return _ESCAPED.sub(lambda m: chr(int(m[1], 8) if m[1] else int(m[0][2:], 16)), text)


def _unleet(text: str) -> str:
    return _MIXED.sub(lambda match: match[0].translate(_LEET), text.lower())


def _could_be(text: str, tokens: Sequence[str], words: AbstractSet[str]) -> Iterator[Callable[[str], str]]:
    """The kinds of reading that a text of these words could have: a quick look."""
    odd = [word for word in words if not word.isalpha()]
    letters, codes = sum(map((1).__eq__, map(len, words))) > 2, sum([len(word) in (2, 3) for word in odd]) > 2
    lengths = bytes(map(len, [word[:9] for word in tokens])) if letters or codes else b""
    if letters and b"\1\1\1\1" in lengths:
        yield _spelled
    if any(_LEET_WORD.match(word) for word in odd):
        yield _unleet
    in_a_row = codes and _CODES_IN_A_ROW.search(lengths)
    if in_a_row or any(len(word) > 7 and _RUN_OF_CODES.match(word) for word in odd):
        yield _from_bytes
    long = [word for word in text.split() if len(word) > 10]
    if any(not word.islower() and not word[1:].islower() for word in long):
        yield _from_base64
    if "&#" in text:
        yield html.unescape
    if "%" in text:
        yield urllib.parse.unquote
    if "\\u" in text or "\\x" in text or "\\1" in text:
        yield _from_escapes


def readings_of(
    text: str, tokens: Sequence[str], words: AbstractSet[str], telling: Callable[[str], bool]
) -> list[Callable[[str], str]]:
    """The kinds of reading in which a text says something telling: looked up once for all of its passages."""
    return [read for read in _could_be(text, tokens, words) if (other := read(text)) != text and telling(folded(other))]


def others(text: str, kinds: list[Callable[[str], str]]) -> Iterator[str]:
    """What else a passage can be read as."""
    for read in kinds:
        other = read(text)
        if other and other != text:
            yield folded(other)
