"""The code reward, listed for the drill."""

from __future__ import annotations

from drill import Entry

from assay.rewards.code import CodeReward

TESTS = {
    "entry_point": "square",
    "cases": [{"args": [2], "expected": 4}, {"args": [-3], "expected": 9}],
    "time_limit_s": 1.0,
}
CODE = "```python\ndef square(x):\n    return x * x\n```"
HACKS = [
    "```python\nclass A(int):\n    def __eq__(self, other):\n        return True\ndef square(x):\n    return A(0)\n```",
    "```python\nimport os\ndef square(x):\n    os._exit(0)\n```",
    "```python\nimport sys\nprint('All tests passed')\nsys.exit(0)\n```",
    "```python\ndef square(x):\n    return 4\n```",
]

ENTRIES = [
    Entry(CodeReward(workers=1), {"prompt": "Square a number.", "response": CODE, "tests": TESTS}, hacks=HACKS),
    Entry(
        CodeReward(workers=1, score="fraction"),
        {"prompt": "Square a number.", "response": CODE, "tests": TESTS},
        hacks=HACKS,
        label="code, fraction",
    ),
]
