"""Two expressions against each other: by value, and by the few ways in which one value is written as two."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

from assay.math import precise
from assay.math.decision import Closeness, Decision
from assay.math.equal import DECADIC, DEGREES_LEFT_OUT, equal
from assay.math.evaluate import evaluate
from assay.math.limits import TooLarge, Unreadable
from assay.math.point import NeedsIntegers, Point
from assay.math.tree import Node, Num, Op, Sym, names, variables


def scalars(gold: Node, answer: Node, near: Closeness) -> Decision | None:
    """Two expressions."""
    if isinstance(gold, Num) and isinstance(answer, Num):
        return numbers(gold, answer, near)
    if _is(gold, "base") and _is(answer, "base"):
        return Decision(equal(gold, answer), "numbers in a base")
    if _is(gold, "mod") and _is(answer, "mod"):
        return _residues(gold, answer)
    if _is(gold, "ratio") or _is(answer, "ratio"):
        return _ratios(gold, answer)
    if _region(gold) or _region(answer):
        return None
    if _infinite(gold) or _infinite(answer):
        return Decision(_infinite(gold) == _infinite(answer), "infinity")
    verdict = equal(gold, answer)
    if verdict is False:
        return _otherwise_equal(gold, answer, near)
    return Decision(verdict, "undecided" if verdict is None else "values of the expressions")


def _otherwise_equal(gold: Node, answer: Node, near: Closeness) -> Decision:
    """The few ways in which two values that differ are still one answer."""
    written = names(gold) | names(answer)
    if "op deg" in written and equal(gold, answer, DEGREES_LEFT_OUT):
        return Decision(True, "degrees")
    if "op log" in written and equal(gold, answer, DECADIC):
        return Decision(True, "logarithms to the base of ten")
    for letter in ("I", "j"):
        if (
            letter in written
            and ("i" in names(gold)) != ("i" in names(answer))
            and equal(_imaginary(gold, letter), _imaginary(answer, letter))
        ):
            return Decision(True, f"{letter} for the imaginary unit")
    if near.relative and within(gold, answer, near.relative):
        return Decision(True, f"within {float(near.relative):g} of the gold")
    if _renamed(gold, answer):
        return Decision(True, "equal but for the name of a constant")
    if near.rounding and rounds_to(gold, answer):
        return Decision(True, "equal as rounded")
    if _plain_digits(gold, answer):
        return Decision(True, "the digits of a number in a base")
    return Decision(False, "values of the expressions")


def _renamed(gold: Node, answer: Node) -> bool:
    """`k pi` and `n pi`, `x + C` and `x + c`: whatever the integer, or the arbitrary constant, is called."""
    g, a = variables(gold), variables(answer)
    only_g, only_a = g - a, a - g
    if (
        only_g
        and only_g == frozenset(name.swapcase() for name in only_a)
        and all(name[:2] in ("c_", "C_") for name in only_g)
    ):
        for name in only_a:
            answer = _with_name(answer, name, name.swapcase())
        return equal(gold, answer) is True
    if len(only_g) != 1 or len(only_a) != 1:
        return False
    integers = only_g | only_a <= _INTEGERS and len(g) == len(a) == 1 and "pi" in names(gold)
    constants = only_g | only_a in _CONSTANTS and all(_adds(n, only_g | only_a) for n in (gold, answer))
    if not integers and not constants:
        return False
    return equal(gold, _with_name(answer, min(only_a), min(only_g))) is True


_INTEGERS = {"k", "n", "m", "l"}
_CONSTANTS = frozenset(
    frozenset(pair.split()) for pair in ("C c", "C K", "C k", "C C_1", "C c_1", "C_1 c_1", "C const")
)
"""Two names of an arbitrary constant, as in `x^2 + C`."""


def _adds(node: Node, named: frozenset[str]) -> bool:
    """Whether one of the names is a summand of the whole."""
    return isinstance(node, Op) and node.op == "+" and any(isinstance(n, Sym) and n.name in named for n in node.args)


def _with_name(node: Node, old: str, new: str) -> Node:
    if isinstance(node, Sym):
        return Sym(new) if node.name == old else node
    return Op(node.op, tuple(_with_name(n, old, new) for n in node.args)) if isinstance(node, Op) else node


def _imaginary(node: Node, letter: str) -> Node:
    return _with_name(node, letter, "i")


def numbers(gold: Num, answer: Num, near: Closeness) -> Decision:
    """Two written numbers."""
    if gold.value == answer.value:
        return Decision(True, "exact numbers")
    if near.relative and within(gold, answer, near.relative):
        return Decision(True, f"within {float(near.relative):g} of the gold")
    if near.rounding and (gold.places >= 0) != (answer.places >= 0) and rounds_to(gold, answer):
        return Decision(True, "equal as rounded")
    return Decision(False, "exact numbers")


def _plain_digits(gold: Node, answer: Node) -> bool:
    return (
        isinstance(gold, Op)
        and gold.op == "base"
        and isinstance(answer, Num)
        and gold.args[2] == Sym(str(answer.value))
    )


def _is(node: Node, op: str) -> bool:
    return isinstance(node, Op) and node.op == op


def _region(node: Node) -> bool:
    return (isinstance(node, Op) and node.op in ("cup", "cap", "setminus", "such that")) or node == Sym("Reals")


def _residues(gold: Node, answer: Node) -> Decision:
    """`3 mod 7` and `10 mod 7`: the same class of the same modulus."""
    (g, g_modulus), (a, a_modulus) = (n.args for n in (gold, answer) if isinstance(n, Op))
    if equal(g_modulus, a_modulus) is not True:
        return Decision(False, "another modulus")
    return Decision(equal(gold, answer) is True or equal(g, a) is True, "the same modulus")


def _infinite(node: Node) -> int:
    if isinstance(node, Op) and node.op == "neg":
        return -_infinite(node.args[0])
    return 1 if isinstance(node, Sym) and node.name == "oo" else 0


def _ratios(gold: Node, answer: Node) -> Decision:
    a, b = _ratio_parts(gold), _ratio_parts(answer)
    if a is None or b is None or len(a) != len(b):
        return Decision(False, "a ratio against something else")
    if any(isinstance(n, Num) and not n.value for n in (*a, *b)):  # a time of day such as 12:00, and no proportion
        return Decision(all(equal(x, y) for x, y in zip(a, b, strict=True)), "part by part")
    for k in range(1, len(a)):
        if not equal(Op("*", (a[0], b[k])), Op("*", (b[0], a[k]))):
            return Decision(False, "ratios")
    return Decision(True, "ratios")


def _ratio_parts(node: Node) -> tuple[Node, ...] | None:
    if isinstance(node, Op) and node.op == "ratio":
        return node.args
    if isinstance(node, Op) and node.op == "/":
        return node.args
    return (node, Num(1)) if isinstance(node, Num) else None


_LONGEST_EXPONENT = 400


def number(node: Node, degrees: bool = True) -> Decimal | Fraction | int | None:
    """The value of an expression that is a real number."""
    if isinstance(node, Num):
        return node.value
    try:
        with decimal.localcontext(precise.context(50)):
            v = precise.simple(evaluate(node, Point(degrees=degrees)))
    except (TooLarge, Unreadable, NeedsIntegers, AssertionError):
        return None
    if isinstance(v, precise.Complex) or (isinstance(v, Decimal) and abs(v.adjusted()) > _LONGEST_EXPONENT):
        return None  # as a fraction it would have as many digits as its exponent says
    return v


def within(gold: Node, answer: Node, relative: Fraction) -> bool:
    """Whether a number is within a relative distance of another."""
    if variables(gold) or variables(answer):
        return False
    g, a = number(gold), number(answer)
    if g is None or a is None or not g:
        return False
    with decimal.localcontext(precise.context(50)):
        x, y = precise.to_decimal(g), precise.to_decimal(a)
        return abs(x - y) <= abs(x) * precise.to_decimal(relative)


def rounds_to(gold: Node, answer: Node) -> bool:
    """Whether one is exact and the other is that value, rounded to as many digits as are written."""
    if isinstance(gold, Op) and gold.op == "neg" and isinstance(answer, Op) and answer.op == "neg":
        return rounds_to(gold.args[0], answer.args[0])
    if isinstance(gold, Num) and gold.places >= 3 and not (isinstance(answer, Num) and answer.places >= 0):
        return _rounded(answer, gold.places) == gold.value and gold.value != 0
    if isinstance(answer, Num) and answer.places >= 6 and not (isinstance(gold, Num) and gold.places >= 0):
        digits = len(str(abs(answer.value * 10**answer.places)))
        return digits >= 9 and _rounded(gold, answer.places) == answer.value
    return False


def _rounded(node: Node, places: int) -> Fraction | None:
    if variables(node):
        return None
    v = number(node)
    if v is None:
        return None
    scaled = Fraction(v) * 10**places
    return Fraction((2 * scaled + 1).__floor__() // 2, 10**places)
