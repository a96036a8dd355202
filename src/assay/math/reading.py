"""What was written, read step by step and each step once: tokens, then the tree, then its canonical form."""

from __future__ import annotations

import re

from assay.math.canonical import LONGEST, canonical, fold
from assay.math.lex import Tokens, lex
from assay.math.limits import TooLarge, Unreadable
from assay.math.parse import parse, parse_measured
from assay.math.tree import Group, Node, Num, Op, Quantity, Sym
from assay.math.words import choice, choices, led_choice, normal_words, number_in_words

_INTEGER = re.compile(r"-?\d{1,18}")
_FRACTION = re.compile(r"(-?)(?:([0-9]{1,18})/([0-9]{1,18})|\\[dt]?frac\{([0-9]{1,18})\}\{([0-9]{1,18})\})")
_LED = re.compile(r"\s*(?:\\text\w*\{)?(?:\([A-J]\)|[A-J][.)]\s)")


def in_words(words: str) -> Node | None:
    """A number, or a well-known set, that is said in words."""
    value = number_in_words(words)
    if value is not None:
        return Num(value.numerator if value.denominator == 1 else value)
    if words in ("all real numbers", "all reals", "real numbers", "set of all real numbers", "set of real numbers"):
        return Sym("Reals")
    if words in ("noon", "midnight"):
        return Quantity(Op("ratio", (Num(12), Num(0))), ("pm" if words == "noon" else "am",))
    return Group("set", ()) if _NOTHING.fullmatch(words) else None


_NOTHING = re.compile(
    r"empty(?: set)?|no (?:real )?(?:solutions?|roots?|such (?:numbers?|integers?|values?))(?: exists?)?"
)


class Reading:
    """One answer as written, and what it is read as. The steps are taken when they are needed."""

    __slots__ = ("_canonical", "_letters", "_like", "_node", "_problem", "_tokens", "_words", "plain", "text")

    def __init__(self, text: str) -> None:
        self.text = text = _SAYS_SO.sub("", text, count=1) if "nswer" in text else text
        self._tokens: Tokens | None = None
        self.plain = Num(int(text)) if _INTEGER.fullmatch(text) else _fraction(text) if text[-1:] in _ENDS else None
        """The integer or the fraction, where nothing else is written."""
        self._node: Node | None = self.plain
        self._problem = ""
        self._letters: frozenset[str] | None = None
        self._words: str | None = None
        self._canonical: str | None = None
        self._like: Reading | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens; the text itself as the only one where it is too long to read."""
        if self._tokens is None:
            try:
                self._tokens = lex(self.text)
            except TooLarge as problem:
                self._problem = str(problem)
                self._tokens = Tokens([self.text])
        return self._tokens.tokens

    @property
    def node(self) -> Node | None:
        """The tree; None where it is no mathematics that is understood."""
        if self._like is not None:
            return self._like.node
        if self._node is None and not self._problem:
            tokens = self.tokens
            if not self._problem:
                try:
                    self._node = parse(self._tokens or Tokens(tokens))
                except (Unreadable, TooLarge) as problem:
                    self._node = in_words(self.words) if len(self.text) < 80 else None
                    self._problem = str(problem) or type(problem).__name__
        return self._node

    def is_read_as(self, other: Reading) -> None:
        """The tokens are the same, and so is everything that is read from them."""
        self._like = other

    @property
    def problem(self) -> str:
        """Why there is no tree."""
        return "" if self.node is not None else (self._like or self)._problem

    @property
    def words(self) -> str:
        """The answer as words."""
        if self._words is None:
            self._words = normal_words(self.text)
        return self._words

    @property
    def canonical(self) -> str:
        """The canonical form; of what is no mathematics, its words."""
        if self._like is not None:
            return self._like.canonical
        if self._canonical is None:
            node = self.node
            text = self.words if node is None else str(node.value) if isinstance(node, Num) else canonical(node)
            self._canonical = text[:LONGEST]
        return self._canonical

    @property
    def folded(self) -> Node | None:
        """The tree with what commutes sorted, for comparing the form and not the value."""
        return fold(self.node) if self.node is not None else None

    @property
    def letters(self) -> frozenset[str]:
        """The letters of a choice; empty where the answer is none."""
        if self._letters is None:
            text = self.text
            letter = choice(text) if len(text) < 40 else ""
            if not letter and _LED.match(text):
                letter = led_choice(text)
            plain = letter and (text.strip(" ()$.").isupper() or "(" in text or len(text) > 1)
            self._letters = (
                frozenset(letter) if plain else choices(text) if not letter and len(text) < 40 else frozenset()
            )
        return self._letters

    def ungrouped(self) -> Node | None:
        """The tree that is read when a comma never joins the digits of one number: `(1,234)` as a pair."""
        return _parsed(self.text, grouped=False)

    def loose_exponents(self) -> Node | None:
        """The tree that is read when `e^2t` means e to the 2t; None where nothing of the kind is written."""
        text = _LOOSE.sub(r"e^{\1}", self.text)
        return _parsed(text) if text != self.text else None

    def letters_apart(self) -> Node | None:
        """The product of its letters, where a short word may be one: `abc`."""
        return _parsed(" ".join(self.text)) if _FEW_LETTERS.fullmatch(self.text) else None

    def measured(self, split: bool = False) -> Quantity | None:
        """The number and its units that are read where letters behind a number are units and no variables."""
        if self._tokens is None:
            return None
        try:
            return parse_measured(self._tokens, split)
        except (Unreadable, TooLarge):
            return None


_SAYS_SO = re.compile(r"^\s*(?:\\text\{)?(?:the\s+)?(?:final\s+|correct\s+)?answer\s*(?:is\b|:)\s*:?\s*\}?", re.I)
_FEW_LETTERS = re.compile(r"[a-z]{3,4}")
_LOOSE = re.compile(r"e\^(-?\d+\s?[a-z])(?![a-z({^])")


_ENDS = frozenset("}0123456789")


def _fraction(text: str) -> Op | None:
    """The tree of a plain fraction of two integers; None for anything else."""
    written = _FRACTION.fullmatch(text)
    if written is None:
        return None
    sign, *parts = written.groups()
    top, bottom = (int(part) for part in parts if part)
    fraction = Op("/", (Num(top), Num(bottom)))
    return Op("neg", (fraction,)) if sign else fraction


def _parsed(text: str, grouped: bool = True) -> Node | None:
    try:
        return parse(lex(text, grouped))
    except (Unreadable, TooLarge):
        return None
