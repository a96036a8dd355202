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
from collections.abc import Callable, Iterator
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


_SPACED = re.compile(r"(?<![^\W_])[^\W\d_]([ ._-])(?:[^\W\d_]\1){2,}[^\W\d_](?![^\W_])")
_MIXED = re.compile(r"(?<![^\W_])(?=[^\W_]*[a-z])[^\W_]*[0134578@$][^\W_]*")
_LEET_WORD = re.compile(r"[a-z]{1,12}[013457@$][a-z]")
_BASE64 = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{11,}={0,2}(?![\w+/=])")
_HEX = re.compile(r"(?:\b[0-9a-fA-F]{2}\b[ ,:]{0,2}){6,}|(?:\b[01]{8}\b ?){4,}")
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})")


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
            told = base64.b64decode(match[0].rstrip("=") + "=" * (-len(match[0].rstrip("=")) % 4)).decode("ascii")
            if told.isprintable() and (" " in told or ":" in told):
                said.append(told)
    return " ".join(said)


def _from_bytes(text: str) -> str:
    said: list[str] = []
    for match in _HEX.finditer(text):
        parts = re.findall(r"[0-9a-fA-F]+", match[0])
        said.append("".join(chr(int(part, 2 if len(part) == 8 else 16)) for part in parts))
    return " ".join(said)


def _from_escapes(text: str) -> str:
    return _ESCAPED.sub(lambda m: chr(int(m[0][2:], 16)), text)


def _unleet(text: str) -> str:
    return _MIXED.sub(lambda match: match[0].translate(_LEET), text.lower())


def _could_be(text: str, words: AbstractSet[str]) -> Iterator[Callable[[str], str]]:
    """The kinds of reading that a text of these words could have: a quick look."""
    odd = [word for word in words if not word.isalpha()]
    if sum(len(word) == 1 for word in words) > 2:
        yield _spelled
    if any(_LEET_WORD.match(word) for word in odd):
        yield _unleet
    if sum(len(word) == 2 for word in odd) > 1 or any(len(word) == 8 and set(word) <= {"0", "1"} for word in odd):
        yield _from_bytes
    if any(len(word) > 10 for word in words):
        yield _from_base64
    if "&#" in text:
        yield html.unescape
    if text.count("%") > 1:
        yield urllib.parse.unquote
    if "\\u" in text or "\\x" in text:
        yield _from_escapes


def readings_of(text: str, words: AbstractSet[str], telling: Callable[[str], bool]) -> list[Callable[[str], str]]:
    """The kinds of reading in which a text says something telling: looked up once for all of its passages."""
    return [read for read in _could_be(text, words) if (other := read(text)) != text and telling(folded(other))]


def others(text: str, kinds: list[Callable[[str], str]]) -> Iterator[str]:
    """What else a passage can be read as."""
    for read in kinds:
        other = read(text)
        if other and other != text:
            yield folded(other)
