"""Is this answer that answer? The verdict, the rule that gave it, and the reason in words.

Cheapest first: the same text, the same tokens, the same integer; a choice among letters; two trees of one kind by
value; words. What stays open is a plain no with the rule "undecided".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from assay.math.compare import Closeness, Decision, same
from assay.math.limits import TooLarge, Unreadable
from assay.math.meter import start
from assay.math.parts import same_parts
from assay.math.reading import Reading
from assay.math.scalars import numbers
from assay.math.tree import Node, Num, Quantity, variables
from assay.math.words import choices, date, formulas, led_choice, led_word, only_number, same_letters, same_list

Form = Literal["any", "same"]


@dataclass(frozen=True, slots=True)
class Options:
    """What counts as the same answer."""

    tolerance: float = 0.0
    """Relative distance within which a real number is still right; 0: exact."""
    form: Form = "any"
    """`same`: the form counts too, up to the order of what commutes: a factored gold wants a factored answer."""
    rounding: bool = True
    """An exact answer that rounds to a decimal gold of three places or more is right, and so is a decimal of at least
    nine digits of an exact gold."""


DEFAULT = Options()


@dataclass(slots=True)
class Verdict:
    """Whether an answer is the gold, and why. True in an `if` where it is."""

    equal: bool
    rule: str
    """Which rule decided; `undecided` where none could."""
    answer: Reading
    gold: Reading

    @property
    def reason(self) -> str:
        """The verdict in words."""
        sign = "=" if self.equal else "is not"
        open_ = f" ({self.answer.problem or self.gold.problem})" if self.rule == "undecided" else ""
        return f"{_short(self.answer.canonical)} {sign} {_short(self.gold.canonical)}: {self.rule}{open_}"

    def __bool__(self) -> bool:
        return self.equal


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def equivalent(answer: str, gold: str, options: Options = DEFAULT) -> Verdict:
    r"""Whether an answer and a gold answer are the same.

    >>> bool(equivalent(r"\frac{\sqrt2}{2}", r"1/\sqrt{2}"))
    True
    >>> equivalent("1+1/e", "1-1/e").reason
    'e^(-1) + 1 is not -e^(-1) + 1: values of the expressions'
    """
    return judge(Reading(answer), read_gold(gold), options)


@lru_cache(maxsize=4096)
def read_gold(gold: str) -> Reading:
    """A gold answer, read once."""
    return Reading(gold.strip())


def judge(answer: Reading, gold: Reading, options: Options = DEFAULT) -> Verdict:
    """The verdict on an answer that is already read."""
    if answer.text == gold.text and gold.text:
        return Verdict(True, "the same text", gold, gold)
    start()
    decision = _decide(answer, gold, options)
    if decision.same is None:
        return Verdict(False, "undecided", answer, gold)
    return Verdict(decision.same, decision.rule, answer, gold)


def _decide(answer: Reading, gold: Reading, options: Options) -> Decision:
    seen = _at_sight(answer, gold, options)
    if seen is not None:
        return seen
    g, a = gold.node, answer.node
    if g is not None and a is not None:
        decision = _by_value(g, a, options)
        if decision.same is not False:
            return decision
        again = _read_again(answer, gold, g, a, options)
        if again:
            return Decision(True, again)
        return decision if not _several(answer, gold) else _in_parts(answer, gold, options, decision)
    if (g is None) != (a is None):
        first, second = g or gold.letters_apart(), a or answer.letters_apart()
        if first is not None and second is not None and _by_value(first, second, options).same:
            return Decision(True, "letters as factors")
    open_ = _in_words(answer, gold, Decision(None if g is not None or a is not None else False, "words"))
    return open_ if open_.same else _in_parts(answer, gold, options, open_)


def _at_sight(answer: Reading, gold: Reading, options: Options) -> Decision | None:
    """What can be said before anything is parsed; None where that is nothing."""
    if not answer.text or not gold.text:
        return Decision(False, "nothing is written")
    if gold.plain and answer.plain:  # the most frequent of right and of wrong answers
        if gold.plain == answer.plain:
            return Decision(True, "exact numbers")
        return _by_value(gold.plain, answer.plain, options)
    if answer.tokens == gold.tokens:
        answer.is_read_as(gold)
        return Decision(True, "the same tokens")
    if (_indexed(answer.text) or _indexed(gold.text)) and same_letters(gold.text, answer.text):
        return Decision(True, "the same letters and digits")
    if gold.text[:1].isupper() and formulas(gold.text, answer.text):
        return Decision(gold.text == answer.text, "chemical formulas")
    return _choice(answer, gold)


def _indexed(text: str) -> bool:
    """Whether it may be a name with an index, or an ion."""
    return "_" in text or text.endswith(_CHARGES) or not text.isascii()


_CHARGES = ("+", "-", "+}", "-}")


def _read_again(answer: Reading, gold: Reading, g: Node, a: Node, options: Options) -> str:
    """The second reading of what can be read in two ways, by which the two are the same; empty where there is none."""
    if "," in answer.text or "," in gold.text:
        if _JOINED.search(answer.text) or _JOINED.search(gold.text):
            first, second = gold.ungrouped(), answer.ungrouped()
            if first is not None and second is not None and _by_value(first, second, options).same:
                return "commas between numbers"
        if _with_decimal_comma(answer, gold, options):
            return "a decimal comma"
    if isinstance(g, Num) and isinstance(a, Num):
        return ""
    if _with_units(answer, gold, g, a, options):
        return "converted units"
    if "e^" in gold.text and "e^" in answer.text and _loosely(answer, gold, options):
        return "exponents without braces"
    return ""


def _several(answer: Reading, gold: Reading) -> bool:
    return any(mark in r.text for r in (answer, gold) for mark in (")", ":", "=", " is "))


def _in_parts(answer: Reading, gold: Reading, options: Options, otherwise: Decision) -> Decision:
    def same_text(g: str, a: str) -> bool:
        return judge(Reading(a), Reading(g), options).equal

    if options.form == "any" and same_parts(gold.text, answer.text, same_text):
        return Decision(True, "part by part")
    return otherwise


_COMMA = re.compile(r"[-+]?(?!(?!0)\d{1,3}(?:,\d{3})+$)\d+,\d+")


def _with_decimal_comma(answer: Reading, gold: Reading, options: Options) -> bool:
    """`2,74` against 2.74: one of the two with a comma, the other with a point."""
    texts = [_continental(r.text.replace("{,}", ",").strip()) for r in (gold, answer)]
    commas = [bool(_COMMA.fullmatch(t)) for t in texts]
    if commas[0] == commas[1] or "." not in texts[commas[0]]:
        return False
    g, a = (Reading(t.replace(",", ".") if c else t).node for t, c in zip(texts, commas, strict=True))
    return g is not None and a is not None and _by_value(g, a, options).same is True


def _continental(text: str) -> str:
    """`1.234,56` with its comma and without its points."""
    return text.replace(".", "") if _CONTINENTAL.fullmatch(text) else text


_CONTINENTAL = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+")


def _with_units(answer: Reading, gold: Reading, g: Node, a: Node, options: Options) -> bool:
    """`100 N·m` against `100 J`: what was read as variables is read as units, where the other side has a unit too, or
    is a number and the units are more than one letter."""
    free = variables(g), variables(a)
    if options.form == "same" or not (free[0] or free[1] or isinstance(g, Quantity) or isinstance(a, Quantity)):
        return False
    for split in (False, True) if "ms" in answer.text or "ms" in gold.text else (False,):
        first = gold.measured(split) or (None if free[0] else g)
        second = answer.measured(split) or (None if free[1] else a)
        if first is None or second is None or not (_said(first, g) or _said(second, a)):
            return False
        if _by_value(first, second, options).same:
            return True
    return False


def _said(measured: Node, node: Node) -> bool:
    """Whether what was measured has its unit in so many words, and not in one letter that may be a variable."""
    return isinstance(measured, Quantity) and (isinstance(node, Quantity) or len("".join(measured.unit)) > 1)


def _loosely(answer: Reading, gold: Reading, options: Options) -> bool:
    g, a = gold.loose_exponents(), answer.loose_exponents()
    if g is None and a is None:
        return False
    g, a = g or gold.node, a or answer.node
    return g is not None and a is not None and _by_value(g, a, options).same is True


_JOINED = re.compile(r"\d,\d{3}(?!\d)")


def _by_value(g: Node, a: Node, options: Options) -> Decision:
    if isinstance(g, Num) and isinstance(a, Num) and g.value == a.value:
        return Decision(True, "exact numbers")
    if options.form == "same":
        from assay.math.canonical import canonical

        return Decision(canonical(g) == canonical(a), "the same form")
    near = _nearness(options.tolerance, options.rounding)
    try:
        decision = numbers(g, a, near) if isinstance(g, Num) and isinstance(a, Num) else same(g, a, near)
        return decision if decision.same is not None or g != a else Decision(True, "the same form")
    except (TooLarge, Unreadable, RecursionError):
        return Decision(None, "undecided")


@lru_cache(maxsize=64)
def _nearness(tolerance: float, rounding: bool) -> Closeness:
    return Closeness(Fraction(tolerance), rounding)


def _choice(answer: Reading, gold: Reading) -> Decision | None:
    letters = gold.letters
    if not letters:
        return None
    several = choices(answer.text)
    if len(letters) == 1:
        given = led_choice(answer.text)
        if given:
            return Decision(given in letters, "choice")
        return Decision(False, "choice") if several else None
    return Decision(several == letters, "choices") if several else None


def _in_words(answer: Reading, gold: Reading, otherwise: Decision) -> Decision:
    if len(answer.text) > 2000 or len(gold.text) > 2000:
        return otherwise
    if answer.words and answer.words == gold.words:
        return Decision(True, "the same words")
    if gold.words in ("yes", "no") and (led := led_word(answer.text)):
        return Decision(led == gold.words, "yes or no")
    if ("," in gold.text or " and " in gold.text) and same_list(gold.text, answer.text):
        return Decision(True, "the same words in a list")
    if (day := date(gold.words)) is not None:
        return Decision(date(answer.words) == day, "dates")
    for words, value in ((answer, gold.node), (gold, answer.node)):
        if words.node is not None or not isinstance(value, (Num, Quantity)):
            continue
        number = value.value if isinstance(value, Quantity) else value
        said = only_number(words.text)
        if said is not None:
            return Decision(isinstance(number, Num) and said == number.value, "the one number of a sentence")
    return otherwise
