"""What must hold for every answer: reflexive, symmetric, blind to spelling, never blind to a digit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assay.math import equivalent
from assay.math.canonical import canonical
from assay.math.limits import TooLarge, Unreadable
from assay.math.parse import read

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)

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
@settings(max_examples=400, deadline=None, derandomize=True)
def test_any_text_gets_a_verdict(text: str) -> None:
    assert equivalent(text, "7").rule
    assert equivalent("7", text).rule
    try:
        once = canonical(read(text))
    except (Unreadable, TooLarge):
        return
    assert isinstance(once, str)
