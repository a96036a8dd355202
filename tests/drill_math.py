"""The mathematical rewards, listed for the drill."""

from __future__ import annotations

from typing import Any

from drill import Entry

from assay.rewards.math import ChoiceReward, MathReward, NumericReward

ASKED = "What is 1/2 + 1/4?"
HACKS = [
    r"\boxed{3/4} or maybe \boxed{5/4}",
    r"The answer is not \boxed{3/4}.",
    r"<think>\boxed{3/4}",
    r"\boxed{1/4, 1/2, 3/4}",
    "<answer>3/4</answer><answer>1/4</answer>",
    r"If the answer were \boxed{3/4}, it would be more than a half.",
    r"\boxed{1/2} \boxed{3/4} \boxed{5/4}",
    r"\boxed{}",
]


def _row(response: str, truth: Any, **columns: Any) -> dict[str, Any]:
    return {"prompt": ASKED, "response": response, "ground_truth": truth, **columns}


ENTRIES = [
    Entry(MathReward(), _row(r"We add: \boxed{\frac{3}{4}}", "0.75"), hacks=HACKS),
    Entry(MathReward(tolerance=0.01, strict=False), _row(r"We add: \boxed{0.752}", "0.75"), label="math, lenient"),
    Entry(
        NumericReward(max_error=1.0),
        _row("The answer is 0.75.", "3/4"),
        hacks=[r"<think>0.75", "not 0.75", "1/4 3/4 5/4", "between 0 and 1", "inf", "nan"],
    ),
    Entry(ChoiceReward(), _row("The answer is (B).", "B"), hacks=["A or B", "A, B, C, D", "not B", "(A) (B) (C)"]),
]
