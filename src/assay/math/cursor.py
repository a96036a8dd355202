"""A place in the tokens of an answer: looking ahead, stepping on, and how deep one is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.math.lex import Tokens
from assay.math.limits import DEEPEST, MOST_RETRIES, TooLarge, Unreadable
from assay.math.tree import Node


class Grammar(NamedTuple):
    """The rules that an atom calls for what is inside it."""

    sequence: Callable[[Cursor], Node]
    relation: Callable[[Cursor], Node]
    total: Callable[[Cursor], Node]
    product: Callable[[Cursor], Node]
    power: Callable[[Cursor], Node]
    atom: Callable[[Cursor], Node]
    starts_factor: Callable[[Cursor, Node], bool]


SEPARATORS = frozenset({",", ";", "and", "or", "\\\\", "&"})
CLOSERS = frozenset({")", "]", "}", "\\}", "\\rangle", "\\rfloor", "\\rceil", ""})
_PADDING = ("",) * 8
"""Behind the last token, so that looking a few tokens ahead needs no test."""


class Cursor:
    """Where the reading is. `bars` counts open `|`, so that the next one closes; `braced` how many braces are open."""

    __slots__ = ("bars", "braced", "depth", "grammar", "i", "in_set", "n", "retries", "spaced", "t", "upright")

    def __init__(self, tokens: Tokens, grammar: Grammar) -> None:
        self.grammar = grammar
        self.t = [*tokens.tokens, *_PADDING]
        self.upright = tokens.upright
        self.spaced = tokens.spaced
        self.n = len(tokens.tokens)
        self.i = 0
        self.depth = 0
        self.bars = 0
        self.braced = 0
        self.in_set = False
        self.retries = 0

    def peek(self, ahead: int = 0) -> str:
        """The token here, or further on; empty at the end."""
        return self.t[self.i + ahead]

    def take(self) -> str:
        """The token here; steps on."""
        token = self.t[self.i]
        if token:  # never past the end
            self.i += 1
        return token

    def accept(self, token: str) -> bool:
        """Whether this token is here; steps over it when it is."""
        if self.t[self.i] == token:
            self.i += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over a token that must be here."""
        if not self.accept(token):
            raise Unreadable(f"{token!r} expected, {self.peek()!r} found")

    def split(self, parts: Sequence[str]) -> None:
        """Put several tokens in the place of the one here."""
        more, here = len(parts) - 1, self.i
        self.t[here : here + 1] = parts
        self.n += more
        self.upright = {k + more if k > here else k for k in self.upright}
        self.spaced = {k + more if k > here else k for k in self.spaced}

    def enter(self) -> None:
        """Go one level deeper; every caller leaves again."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooLarge(f"more than {DEEPEST} levels of brackets")

    def retry(self, start: int) -> None:
        """Go back to read something another way; a few times in all, because within each other they multiply."""
        self.retries += 1
        if self.retries > MOST_RETRIES:
            raise TooLarge(f"more than {MOST_RETRIES} places that can be read in two ways")
        self.i = start

    def leave(self) -> None:
        """Come up one level."""
        self.depth -= 1
