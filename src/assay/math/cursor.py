"""A place in the tokens of an answer: looking ahead, stepping on, and how deep one is."""

from __future__ import annotations

from assay.math.lex import Tokens
from assay.math.limits import DEEPEST, TooLarge, Unreadable


class Cursor:
    """Where the reading is. `bars` counts open `|`, so that the next one closes."""

    __slots__ = ("bars", "depth", "i", "n", "spaced", "t", "upright")

    def __init__(self, tokens: Tokens) -> None:
        self.t = list(tokens.tokens)
        self.upright = tokens.upright
        self.spaced = tokens.spaced
        self.n = len(self.t)
        self.i = 0
        self.depth = 0
        self.bars = 0

    def peek(self, ahead: int = 0) -> str:
        """The token here, or further on; empty at the end."""
        k = self.i + ahead
        return self.t[k] if k < self.n else ""

    def take(self) -> str:
        """The token here; steps on."""
        token = self.peek()
        self.i += 1
        return token

    def accept(self, token: str) -> bool:
        """Whether this token is here; steps over it when it is."""
        if self.peek() == token:
            self.i += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over a token that must be here."""
        if not self.accept(token):
            raise Unreadable(f"{token!r} expected, {self.peek()!r} found")

    def enter(self) -> None:
        """Go one level deeper; every caller leaves again."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooLarge(f"more than {DEEPEST} levels of brackets")

    def leave(self) -> None:
        """Come up one level."""
        self.depth -= 1
