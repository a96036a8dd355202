"""Rewards for code: three programs against the tests of their task, each in a sandbox.

    python examples/code_reward.py

On the command line it is `assay score programs.jsonl --reward code:score=fraction`, with the tests in a column `tests`.
"""

import assay

TESTS = {
    "entry_point": "median",
    "cases": [
        {"args": [[3, 1, 2]], "expected": 2},
        {"args": [[4, 1, 3, 2]], "expected": 2.5},
        {"args": [[7]], "expected": 7},
    ],
    "time_limit_s": 0.5,
}

PROGRAMS = {
    "right": """
def median(xs):
    xs, half = sorted(xs), len(xs) // 2
    return xs[half] if len(xs) % 2 else (xs[half - 1] + xs[half]) / 2
""",
    "odd only": "def median(xs):\n    return sorted(xs)[len(xs) // 2]\n",
    "endless": "def median(xs):\n    while True:\n        pass\n",
    "cheat": """
class Always:
    def __eq__(self, other):
        return True

def median(xs):
    return Always()
""",
}


def main() -> list[float | None]:
    reward = assay.CodeReward(score="fraction", workers=2)
    rows = [{"response": f"```python\n{program}```", "tests": TESTS} for program in PROGRAMS.values()]
    outputs = assay.score(reward, rows)
    for name, output in zip(PROGRAMS, outputs, strict=True):
        tests = [test["outcome"] for test in output.metadata.get("tests", [])]
        print(f"{name:10} {output.reward}  {tests}  {output.metadata.get('flags') or ''}{output.error}")
    reward.close()
    return [output.reward for output in outputs]


if __name__ == "__main__":
    main()
