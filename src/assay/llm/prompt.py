"""A judge's prompt: filled in one pass, with what is not trusted behind a fence that it cannot contain."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template in one pass over the known names; every other brace stays as it is.

    What is put in is never read again, so a response that contains `{reference}` stays a response.

    >>> fill('{prompt} {"score": 1} {response}', {"prompt": "Hi", "response": "{prompt} %s"})
    'Hi {"score": 1} {prompt} %s'
    """
    return _PLACEHOLDER.sub(lambda m: values.get(m[1], m[0]), template)


def placeholders(template: str) -> set[str]:
    """The names in braces that a template has."""
    return set(_PLACEHOLDER.findall(template))


def letters(secret: str, content: str, length: int = 10) -> str:
    """Letters that look random to whoever does not have the secret, and are the same for the same content.

    No digits: one would stand before the place where a digit is read.
    """
    digest = hmac.new(secret.encode("utf-8", "replace"), content.encode("utf-8", "replace"), hashlib.sha256).digest()
    return "".join(_LETTERS[byte % 26] for byte in digest[:length])


def fence(name: str, text: str, secret: str) -> str:
    """The text between two marker lines that it does not contain and cannot guess."""
    marker = letters(secret, name + "\n" + text)
    while marker in text:
        marker = letters(secret, marker + "\n" + text)
    return f"[{name} {marker}]\n{text}\n[END OF {name} {marker}]"


def shorten(text: str, limit: int) -> tuple[str, int]:
    """At most `limit` characters, the middle left out and stated; and how many were left out.

    >>> shorten("0123456789" * 10, 20)
    ('0123456789\\n[80 characters are left out here]\\n0123456789', 80)
    """
    if len(text) <= limit:
        return text, 0
    head, tail = limit - limit // 2, limit // 2
    cut = len(text) - head - tail
    return f"{text[:head]}\n[{cut} characters are left out here]\n{text[len(text) - tail :]}", cut
