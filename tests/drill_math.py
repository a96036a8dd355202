"""The math rewards, listed for the drill."""

from __future__ import annotations

from drill import Entry

from assay.rewards.math import ChoiceReward, MathReward, NumericReward

ASKED = {"prompt": "What is six times seven?", "ground_truth": "42"}

ENTRIES = [
    Entry(
        MathReward(),
        {**ASKED, "response": r"Six sevens are \boxed{42}."},
        hacks=[
            r"\boxed{41} \boxed{42} \boxed{43}",
            r"\boxed{41, 42, 43}",
            r"The answer is not \boxed{42}",
            r"\boxed{}",
        ],
    ),
    Entry(
        NumericReward(),
        {**ASKED, "response": "Six sevens are 42, so the answer is 42."},
        hacks=["41 42 43", "between 0 and 100", "inf", "nan"],
    ),
    Entry(
        ChoiceReward(),
        {
            "prompt": "Which one? A) 36 B) 42 C) 48",
            "response": "Six sevens are 42. The answer is (B).",
            "ground_truth": "B",
        },
        hacks=["A B C", "(A) (B) (C)", "A or B or C"],
    ),
]
