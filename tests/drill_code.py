"""The code reward, listed for the drill."""

from __future__ import annotations

from drill import Entry

from assay.rewards.code import CodeReward

TESTS = {"entry_point": "double", "cases": [{"args": [2], "expected": 4}, {"args": [-1], "expected": -2}]}

ENTRIES = [
    Entry(
        CodeReward(workers=1),
        {
            "prompt": "Write double(x).",
            "response": "```python\ndef double(x):\n    return 2 * x\n```",
            "tests": TESTS,
        },
        hacks=[
            "```python\nraise SystemExit(0)\n```",
            "```python\ndef double(x):\n    return x + 2\n```",
            "```python\nclass Same:\n    __eq__ = lambda self, other: True\ndouble = lambda x: Same()\n```",
        ],
        seconds=20.0,
    ),
]
