"""What is proven apart in floats is different; what is equal never is, however it is written."""

from __future__ import annotations

import importlib

import pytest
from golden import read

from assay.math.equal import equal
from assay.math.limits import TooLarge, Unreadable
from assay.math.parse import read as tree
from assay.math.rough import apart
from assay.math.tree import Node

CASES = read("answers")


def read_or_none(text: str) -> Node | None:
    try:
        return tree(text)
    except (Unreadable, TooLarge):
        return None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"\frac{\sqrt2}{3}", r"5\sqrt{10}"),
        (r"\frac{3}{8}", r"\frac{4}{25}"),
        ("x^3 + 2x^2 + x", r"-\frac{1}{2x}"),
        (r"\ln 3 + \sin x", r"\ln 3 + \cos x"),
        (r"e^{2x} - 1", "e^{2x}"),
        (r"30^\circ", "30"),
        (r"\sqrt[3]{2}", r"\sqrt[3]{3}"),
        ("1.0000001", "1"),
    ],
)
def test_what_differs_in_the_first_digits_is_apart(first: str, second: str) -> None:
    assert apart(tree(first), tree(second))
    assert apart(tree(second), tree(first))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"\sqrt{8}", r"2\sqrt{2}"),
        ("(x+1)^{30} - (x+1)^{30} + x", "x"),
        (r"(1 + \sqrt{2})^{20} - (1 + \sqrt{2})^{20}", "0"),
        (r"\ln(e^{x})", "x"),
        (r"\sin(x)^2 + \cos(x)^2", "1"),
        ("10^{200} + 1 - 10^{200}", "1"),
        ("0.1 + 0.2", "0.3"),
        ("x \\cdot 0", "0"),
    ],
)
def test_what_is_equal_is_never_apart(first: str, second: str) -> None:
    assert not apart(tree(first), tree(second))
    assert not apart(tree(second), tree(first))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("10^{400}", "10^{401}"),  # more than a float holds
        ("10^{-300}", "10^{-301}"),
        ("12679677000000000000", "12679677000000000001"),  # the same float
        (r"\sqrt{-2}", r"\sqrt{-3}"),
        ("n!", "n"),
        (r"\lfloor x \rfloor", "x"),
        (r"\frac{1}{\sqrt{2} - \sqrt{2}}", "1"),
        ("i", "2i"),
        (r"\sin(10^{50})", "2"),
        ("e^{1000}", "e^{1001}"),
    ],
)
def test_nothing_is_said_where_no_float_bounds_the_value(first: str, second: str) -> None:
    assert not apart(tree(first), tree(second))


def test_the_proof_agrees_with_the_exact_comparison_on_the_golden_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("assay.math.equal"), "apart", lambda a, b: False)  # the exact one alone
    trees = [pair for c in CASES if None not in (pair := (read_or_none(c["answer"]), read_or_none(c["gold"])))]
    nodes = [node for pair in trees for node in pair]
    proven = 0
    for first, second in [*trees, *zip(nodes, nodes[7:], strict=False)]:
        assert first is not None
        assert second is not None
        if apart(first, second):
            proven += 1
            assert equal(first, second) is not True
    assert proven > 300
