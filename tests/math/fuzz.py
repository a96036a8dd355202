"""Throw mutated answers and responses at the answer check: nothing may crash, and no call may take 100 ms.

    python tests/math/fuzz.py [COUNT] [SEED]

The pieces are the golden tables beside it. A small run of it is a test; a long one is for a change of the parser.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from pathlib import Path

from assay.math.grade import grade

CASES = Path(__file__).parents[1] / "cases"
LIMIT = 0.1
_PIECES = r"""
\frac{}{} \sqrt{} ^{} _{} \binom{}{} \left( \right) \{ \} \boxed{ } <think> </think> <answer> </answer> #### $ $$ \( \)
\begin{pmatrix} \end{pmatrix} & \\ | \| \lfloor \rceil \pm \cup \infty \pi ! !! ^\circ % ° √ ² ½ ∞ … \text{
\mathrm{ \sum_{k=1}^{n} \int \lim_{x\to0} \log_ \sin \arctan^{-1} 10^{9}! 9^{9^{9}}
1e999 0.\overline{3} = < \le \in \ne ~ \approx
and or not the answer is maybe if am pm cm kg m/s^2 dollars \$ € , ; : . \mathbb{R} \setminus \mid - + * / é 数 👍
(((((((((( )))))))))) {{{{{{{{{{ }}}}}}}}}}
"""
PIECES = [*_PIECES.split(), " ", "\n", "\0", "\u200b", "\ud800"]


def _lines(name: str) -> list[str]:
    return (CASES / name).read_text(encoding="utf-8").splitlines()


def seeds() -> list[str]:
    """What is mutated."""
    answers = [json.loads(line) for line in _lines("answers.jsonl")]
    responses = [json.loads(line) for line in _lines("final_answers.jsonl")]
    return [*(c["answer"] for c in answers), *(c["gold"] for c in answers), *(c["response"] for c in responses)]


def mutated(chance: random.Random, known: list[str]) -> str:
    """One text made of others: cut, joined, repeated, with pieces put in."""
    text = chance.choice(known)
    for _ in range(chance.randint(1, 5)):
        i = chance.randint(0, len(text))
        match chance.randint(0, 6):
            case 0:
                text = text[:i] + chance.choice(PIECES) + text[i:]
            case 1:
                text = text[:i] + chance.choice(known) + text[i:]
            case 2:
                j = min(len(text), i + chance.randint(1, 6))
                text = text[:i] + text[j:]
            case 3:
                j = min(len(text), i + chance.randint(1, 12))
                text = text[:i] + text[i:j] * chance.randint(2, 40) + text[j:]
            case 4:
                text = rf"\boxed{{{text}}}"
            case 5:
                text = text[:i] + chr(chance.randint(1, 0x2FFF)) + text[i:]
            case _:
                text = re.sub(r"\d", lambda m: m.group() * chance.randint(1, 9), text, count=2)
    return text[:3000]


def run(count: int, seed: int) -> tuple[float, str]:
    """The slowest of so many calls, and its input."""
    chance, known = random.Random(seed), seeds()
    slowest, worst = 0.0, ""
    for _ in range(count):
        response, gold = mutated(chance, known), mutated(chance, known)
        started = time.thread_time()
        grade(response, (gold,))
        spent = time.thread_time() - started
        if spent > slowest:
            slowest, worst = spent, f"{response!r} against {gold!r}"
    return slowest, worst


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    slowest, worst = run(total, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{total:,} inputs, slowest {slowest * 1e3:.1f} ms: {worst[:600]}")
    sys.exit(slowest > LIMIT)
