"""What must hold for every answer: reflexive, symmetric, blind to spelling, never blind to a digit.

EXAMPLES=20000 pytest tests/math/test_properties.py     # many more than a run of the tests takes
"""

from __future__ import annotations

import os
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assay.math import equivalent
from assay.math.canonical import canonical
from assay.math.limits import TooLarge, Unreadable
from assay.math.parse import read

EXAMPLES = int(os.environ.get("EXAMPLES", "120"))
QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)

numbers = st.integers(-999, 999)
letters = st.sampled_from("xyzab")


def expressions() -> st.SearchStrategy[str]:
    """LaTeX expressions of a few levels."""
    leaves = st.one_of(numbers.map(lambda n: f"({n})" if n < 0 else str(n)), letters, st.sampled_from([r"\pi", "e"]))

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map(lambda p: f"({p[0]}+{p[1]})"),
            st.tuples(inner, inner).map(lambda p: f"({p[0]}-{p[1]})"),
            st.tuples(inner, inner).map(lambda p: rf"({p[0]}) \cdot ({p[1]})"),
            st.tuples(inner, inner).map(lambda p: rf"\frac{{{p[0]}}}{{{p[1]}}}"),
            st.tuples(inner, st.integers(2, 5)).map(lambda p: f"({p[0]})^{{{p[1]}}}"),
            inner.map(lambda x: rf"\sqrt{{{x}}}"),
            inner.map(lambda x: rf"\sin({x})"),
            inner.map(lambda x: rf"\ln({x})"),
        )

    return st.recursive(leaves, grown, max_leaves=6)


rationals = st.fractions(min_value=-50, max_value=50, max_denominator=60)


def answers() -> st.SearchStrategy[str]:
    """Answers of many kinds."""
    number = rationals.map(
        lambda q: str(q.numerator) if q.denominator == 1 else rf"\frac{{{q.numerator}}}{{{q.denominator}}}"
    )
    return st.one_of(
        number,
        expressions(),
        st.tuples(number, number).map(lambda p: f"({p[0]}, {p[1]})"),
        st.lists(number, min_size=2, max_size=5).map(", ".join),
        st.lists(number, min_size=1, max_size=4).map(lambda xs: r"\{" + ",".join(xs) + r"\}"),
        st.tuples(number, st.sampled_from(["cm", "m", "kg", "s", "hours", "apples"])).map(
            lambda p: rf"{p[0]} \text{{ {p[1]} }}"
        ),
        st.tuples(letters, number).map(lambda p: f"{p[0]} = {p[1]}"),
        st.tuples(letters, st.sampled_from(["<", r"\le", ">", r"\ge"]), number).map(" ".join),
        st.sampled_from(
            ["yes", "no solution", r"\text{Monday}", "(B)", "odd", r"\infty", r"\emptyset", "2:30 pm", r"\pm 3"]
        ),
    )


SHAPES = [
    "@", "-@", "@.5", r"@.\overline{37}", r"\frac{@}{100003}", r"@\frac{1}{3}", r"@ \times 10^{3}", r"@\%", r"\$@", r"@^\circ",
    "@ cm", r"@ \text{ m/s}^2", "@ apples", "@:100003", "3:@:100003", r"\sqrt{@+2}", r"\sqrt[3]{@}", r"2^{@}", r"\log_{7} @", r"\ln(@+1)",
    r"\binom{@+9}{3}", r"\lfloor @ + \frac{1}{2} \rfloor", "|@ + 1|", r"e^{@}", r"@\pi", "@ + 2i", "3 - @i", "@x", "x^2 + @", "x^{@}",
    r"\frac{x+@}{y}", r"\sin(x + @)", r"\sqrt{x^2 + @}", "a_{@}", "f(@)", "(@, 1)", "(1, @)", "(2, 5, @)", "[@, 10^{15})", r"(-\infty, @]",
    r"(-9, @) \cup (10^{15}, \infty)", r"\{-5, @\}", "-5, -4, @", r"\pm @", "x = @", "x > @", r"-3 \le x < @", r"x \neq @", "y = @x + 1", "x + 2y = @",
    "x = @, y = 2", "f(x) = x + @", r"\begin{pmatrix} @ & 1 \\ 0 & 2 \end{pmatrix}", r"\begin{bmatrix} 1 \\ @ \end{bmatrix}", "@i + 2j",
    r"x \equiv 2 \pmod{@+1}", r"\frac{\pi}{@+3} + 2k\pi", "(a) 3, (b) @", r"\text{Area} = @", r"\sum_{k=1}^{3} (k+@)", r"\mathbb{R} \setminus \{@\}",
    r"\{x \mid x < @\}", r"@ \text{ hours}", r"\vec{a} + @\vec{b}",
]  # fmt: skip
"""One for each kind of answer; none means the same for two numbers."""
digits = st.integers(1, 10**12).map(str)


@given(st.sampled_from(SHAPES), digits, digits)
@QUICK
def test_another_number_is_another_answer_of_every_kind(shape: str, n: str, m: str) -> None:
    assume(n != m)
    one, other = shape.replace("@", n), shape.replace("@", m)
    assert equivalent(one, one)
    verdict = equivalent(one, other)
    assert not verdict, verdict.reason
    assert not equivalent(other, one)


@given(st.sampled_from(SHAPES), st.integers(1, 10**12), st.integers(0, 11), st.integers(1, 9))
@QUICK
def test_a_changed_digit_is_seen_in_every_kind(shape: str, n: int, place: int, by: int) -> None:
    figures = list(str(n).zfill(place + 1))
    k = len(figures) - 1 - place
    figures[k] = str((int(figures[k]) + by) % 10)
    changed = int("".join(figures))
    assume(changed not in (n, 0))
    verdict = equivalent(shape.replace("@", str(changed)), shape.replace("@", str(n)))
    assert not verdict, verdict.reason


@given(st.sampled_from(SHAPES), st.integers(1, 999).map(str))
@QUICK
def test_spelling_does_not_matter_in_any_kind(shape: str, n: str) -> None:
    text = shape.replace("@", n)
    for spell in SPELLINGS[:-1]:
        if "," in text and spell("(") == r"\left(" and "(a)" in text:
            continue  # labels are no brackets
        verdict = equivalent(spell(text), text)
        assert verdict, (spell(text), verdict.reason)


@given(st.sampled_from(SHAPES), st.integers(1, 999).map(str))
@QUICK
def test_the_canonical_form_of_every_kind_is_one(shape: str, n: str) -> None:
    once = canonical(read(shape.replace("@", n)))
    try:
        again = canonical(read(once))
    except (Unreadable, TooLarge):
        return
    only_shown = ("sum(", "mod(", "vec(", "[[", " $")  # written so for people, and read otherwise
    assert again == once or any(mark in once for mark in only_shown)


@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES), st.integers(1, 99).map(str))
@QUICK
def test_the_order_does_not_matter_between_kinds(a: str, b: str, n: str) -> None:
    a, b = a.replace("@", n), b.replace("@", n)
    one_way = "." in a + b or r"\frac" in a + b  # what a gold fixes is its precision
    assert one_way or equivalent(a, b).equal == equivalent(b, a).equal


@given(answers())
@QUICK
def test_every_answer_is_itself(answer: str) -> None:
    assert equivalent(answer, answer)
    assert equivalent(answer + " ", "  " + answer + ".")


@given(answers(), answers())
@QUICK
def test_the_order_does_not_matter(a: str, b: str) -> None:
    assert equivalent(a, b).equal == equivalent(b, a).equal


@given(expressions())
@QUICK
def test_reading_a_canonical_form_gives_it_again(text: str) -> None:
    once = canonical(read(text))
    assert canonical(read(once)) == once


@pytest.mark.parametrize(
    "text",
    [r"\{3,1,2\}", "(1,2]", "x > 3", r"|x-1|", "5!", r"45^\circ", "1101_2", r"\lfloor x \rfloor", "3:4", r"\log_2 x"],
)
def test_the_canonical_form_of_other_kinds_too(text: str) -> None:
    once = canonical(read(text))
    assert canonical(read(once)) == once


SPELLINGS = [
    lambda s: s.replace("+", " + ").replace("-", " - "),
    lambda s: s.replace(r"\frac", r"\dfrac"),
    lambda s: s.replace("(", r"\left(").replace(")", r"\right)"),
    lambda s: s.replace(r"\cdot", "*"),
    lambda s: s.replace("-", "−").replace(r"\pi", "π"),
    lambda s: f"${s}$",
    lambda s: rf"\({s}\)",
    lambda s: rf"\boxed{{{s}}}",
    lambda s: s.replace(",", r",\;"),
    lambda s: f"{{{s}}}" if "," not in s and "=" not in s else s,
]


@given(expressions(), st.sampled_from(SPELLINGS))
@QUICK
def test_spelling_does_not_matter(text: str, spell: object) -> None:
    assert equivalent(spell(text), text)  # type: ignore[operator]


@given(rationals, st.integers(2, 40))
@QUICK
def test_fractions_of_one_value_are_one(q: Fraction, k: int) -> None:
    assert equivalent(rf"\frac{{{q.numerator * k}}}{{{q.denominator * k}}}", f"{q.numerator}/{q.denominator}")


@given(st.integers(0, 10**30), st.integers(0, 29), st.integers(1, 9))
@QUICK
def test_a_changed_digit_is_another_number(n: int, place: int, by: int) -> None:
    digits = list(str(n).zfill(place + 1))
    k = len(digits) - 1 - place
    digits[k] = str((int(digits[k]) + by) % 10)
    assume(int("".join(digits)) != n)
    assert not equivalent("".join(digits), str(n))


@given(expressions(), st.integers(1, 9))
@QUICK
def test_one_more_is_another_value(text: str, by: int) -> None:
    verdict = equivalent(f"({text})+{by}", text)
    assert not verdict, verdict.reason


@given(st.text(alphabet=r"0123456789+-*/^(){}[]|,.;:=<>!'_%$\& \n" + "abcdefgxyz" + "√π∞½²°≤±", max_size=40))
@settings(max_examples=max(400, EXAMPLES), deadline=None, derandomize=True)
def test_any_text_gets_a_verdict(text: str) -> None:
    assert equivalent(text, "7").rule
    assert equivalent("7", text).rule
    try:
        once = canonical(read(text))
    except (Unreadable, TooLarge):
        return
    assert isinstance(once, str)
