"""Answers that are made to hang, to crash or to be paid: each comes back at once, off the main thread, unpaid."""

from __future__ import annotations

import threading
import time

import fuzz
import pytest

from assay.math.grade import Grade, grade

BOX = r"\boxed{%s}"
WRONG: dict[str, tuple[str, str]] = {
    "a factorial": (BOX % "10^{9}!", "7"),
    "a tower": (BOX % "9^{9^{9^9}}", "7"),
    "two towers": (BOX % "9^{9^{9^9}}", "9^{9^{9^8}}"),
    "a high power of a sum": (BOX % "(x+1)^{100000}", "(x+2)^{100000}"),
    "braces": (BOX % ("{" * 20_000 + "1" + "}" * 20_000), "7"),
    "open braces": ("{" * 20_000, "7"),
    "digits": (BOX % ("7" * 300_000), "7"),
    "digits of the gold": ("7" * 300_000, "7" * 299_999 + "8"),
    "nested fractions": (BOX % (r"\frac{1}{1+" * 3000 + "1" + "}" * 3000), "7"),
    "boxes": (r"\boxed{1}" * 100_000, "7"),
    "boxes in one breath": (r"\boxed{1} and " * 100_000, "7"),
    "open boxes": (r"\boxed{" * 100_000, "7"),
    "denied boxes": (r"not \boxed{7} " * 100_000, "7"),
    "a large matrix": (BOX % (r"\begin{pmatrix}" + r"1&2&3&4&5\\" * 1000 + r"\end{pmatrix}"), "7"),
    "NUL": ("\0" * 100_000 + BOX % "8", "7"),
    "nothing to see": ("\u200b" * 100_000, "7"),
    "junk": (r"a$\{}<>()[]|^_ " * 70_000, "7"),
    "many statements": ("the answer is " * 70_000, "7"),
    "many denials": ("The answer is not 7. " * 50_000, "7"),
    "open tags": ("<answer>" * 100_000, "7"),
    "many tags": ("<answer>8</answer>" * 50_000, "7"),
    "open thinking": ("<think>" * 100_000 + "7", "7"),
    "dollars": ("$" * 1_000_000, "7"),
    "stars": ("**" * 500_000, "7"),
    "spaces": ("The answer is" + " " * 1_000_000 + "8", "7"),
    "commas": (BOX % ("1," * 50_000), "7"),
    "a binomial": (BOX % r"\binom{100000000}{50000000}", "7"),
    "a long sum": (BOX % r"\sum_{k=1}^{10^9} k", "7"),
    "sums in sums": (BOX % r"\sum_{a=1}^{200}\sum_{b=1}^{200}\sum_{c=1}^{200} abc", "7"),
    "an angle of many digits": (BOX % r"\sin(10^{5000})", "0.5"),
    "exponentials": (BOX % "e^{e^{e^{e^{10}}}}", "7"),
    "indices in indices": (BOX % ("F_{n-2}+" + "F_{{n-2}+" * 20 + "F_{n-1}"), "7"),
    "mixed numbers in mixed numbers": (BOX % (r"3\frac{" * 15 + "1" + "}{2}" * 15), "7"),
    "mixed numbers below mixed numbers": (BOX % (r"3\frac{1}{" * 15 + "1" + "}" * 15), "7"),
    "signs in an exponent": (BOX % ("9^" + "-" * 1400 + "1"), "7"),
    "signs of a sine": (BOX % (r"\sin " + "-" * 1400 + "1"), "7"),
    "arrows over arrows": (BOX % (r"\vec" * 900 + "x"), "7"),
    "a multiple of the prime": (BOX % "7+2^{127}-1", "7"),
    "asides": ("(a " + "1 " * 1900, "7"),
    "nested roots": (BOX % (r"\sqrt{1+" * 55 + "1" + "}" * 55), "7"),
    "bars": (BOX % ("|" * 500), "7"),
    "many functions": (BOX % (r"\sin " * 400 + "x"), "7"),
    "many signs": (BOX % ("-" * 1400 + "1"), "7"),
    "an inequality in a tuple": (BOX % "(1,x<3)", r"2\log_e 2 + (x<4,1)"),
    "tuples of inequalities": (BOX % "(1,x<3)", "(2,x<4)"),
    "many turns": (BOX % (r"\cis 75^" * 50 + "2"), "7"),
    "many degrees": (BOX % ("5" + "°" * 700), "7"),
    "an exponent of six digits": (BOX % "1e999999", "7"),
    "almost nothing": (BOX % "1e-999999", "0"),
    "almost one": (BOX % "1.0000001^{10^{11}}", "7"),
    "too small to see": (BOX % "1+e^{-1000}", "1+e^{-2000}"),
    "a huge power, rounded": (BOX % "3333333333333333^222222222", "11111.4441"),
    "many quotients": (BOX % ("1" + "/e" * 700), "7"),
    "many logarithms": (
        BOX % "+".join(rf"\ln {i}" for i in range(2, 350)),
        "+".join(rf"\ln {i}" for i in range(351, 2, -1)),
    ),
    "emoji": ("👩‍👩‍👧‍👦" * 100_000, "7"),
    "code": (BOX % "(lambda: open('f','w'))()", "7"),
    "more code": (BOX % "__import__('os').system('true')", "7"),
}
RIGHT: dict[str, tuple[str, str]] = {
    "a million earlier boxes": (r"\boxed{1} " * 1_000_000 + BOX % "42", "42"),
    "a high power": (BOX % "(x+1)^{100000}", "(1+x)^{100000}"),
    "a list in another order": (
        BOX % ",".join(f"x+{i}" for i in range(300)),
        ",".join(f"{i}+x" for i in reversed(range(300))),
    ),
    "a large matrix": (
        BOX % (r"\begin{pmatrix}" + r"x+1&2&3&4&5\\" * 40 + r"\end{pmatrix}"),
        r"\begin{pmatrix}" + r"1+x&2&3&4&5\\" * 40 + r"\end{pmatrix}",
    ),
}
SECONDS = 1.0
"""Ten times the limit that is kept on a quiet machine; what hangs takes longer."""


def in_a_thread(response: str, gold: str) -> tuple[Grade, float]:
    """A grade worked out off the main thread, and its CPU time."""
    found: list[tuple[Grade, float]] = []

    def work() -> None:
        started = time.thread_time()
        found.append((grade(response, (gold,)), time.thread_time() - started))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("case", WRONG)
def test_a_hostile_answer_comes_back_unpaid(case: str) -> None:
    found, seconds = in_a_thread(*WRONG[case])
    assert not found.correct
    assert seconds < SECONDS


@pytest.mark.parametrize("case", RIGHT)
def test_a_large_right_answer_is_paid(case: str) -> None:
    found, seconds = in_a_thread(*RIGHT[case])
    assert found.correct, found.reason
    assert seconds < SECONDS


def test_no_answer_of_many_mutated_ones_crashes_or_hangs() -> None:
    slowest, worst = fuzz.run(3000, seed=5)
    assert slowest < SECONDS, worst


def test_the_verdict_is_the_same_on_a_second_asking() -> None:
    for response, gold in (*WRONG.values(), *RIGHT.values()):
        assert grade(response, (gold,)).rule == grade(response, (gold,)).rule


@pytest.mark.parametrize("text", ["(" + "7" * 3900 + ")_2", "F" * 3900 + "_{16}", "(1e9999)_2", "1" * 3000 + " base 2"])
def test_a_long_number_in_a_base_is_no_crash(text: str) -> None:
    assert not grade(BOX % text, ("7",)).correct
    assert not grade(BOX % "7", (text,)).correct
