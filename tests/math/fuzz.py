"""Throw texts of every sort at the answer check: nothing may crash, and no call may take 100 ms of CPU.

    python tests/math/fuzz.py [COUNT] [SEED]

The pieces are the golden tables beside it. A small run of it is a test; a long one is for a change of the parser.
"""

from __future__ import annotations

import json
import random
import re
import sys
import threading
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


# -- LaTeX that a grammar makes --------------------------------------------------------------------------------------

_LEAVES = [
    "0",
    "1",
    "7",
    "12",
    "3.5",
    "0.333...",
    "10^{9}",
    "x",
    "y",
    "n",
    "i",
    "e",
    r"\pi",
    r"\infty",
    r"\emptyset",
    "A",
    "cm",
    "%",
]
_SHAPES = [
    r"\frac{@}{@}", r"\sqrt{@}", r"\sqrt[@]{@}", "@^{@}", "@_{@}", "(@, @)", "[@, @)", r"\{@, @\}", "@ + @", "@ - @", "@ @", "@/@",
    r"@ \cdot @", "@ = @", "@ < @", r"@ \le @ \le @", "-@", "@!", r"\binom{@}{@}", r"\log_{@} @", r"\sin @", r"\sin^{-1}(@)", "|@|",
    r"\lfloor @ \rfloor", r"\begin{pmatrix} @ & @ \\ @ & @ \end{pmatrix}", r"@ \cup @", r"@ \setminus @", r"@ \pmod{@}", r"@ \pm @",
    r"\overline{@}", r"\sum_{k=@}^{@} @", r"\text{@}", "@, @", "@ or @", "@:@", r"\{x \mid @\}", "f(@)", r"@^\circ", r"@ \text{ m/s}",
    "@, k \\in \\mathbb{Z}", "(@)_{2}", "the point @", "x is at least @", "@ if n is even and @ if n is odd", r"\boxed{@}",
]  # fmt: skip


def grown(chance: random.Random, depth: int) -> str:
    """A formula of so many levels."""
    if not depth or chance.random() < 0.15:
        return chance.choice(_LEAVES)
    shape = chance.choice(_SHAPES)
    return "".join(grown(chance, depth - 1) if part == "@" else part for part in re.split("(@)", shape))


_HOSTILE = [
    "{" * 999, r"\frac{1}{1+" * 300, r"\sqrt{" * 300, "(" * 999, "|" * 500, "-" * 999, "9^" * 99, "!" * 99, r"\sin " * 300, "°" * 500,
    "1," * 900, r"\boxed{1}" * 300, "the answer is " * 200, "not " * 500, "<think>" * 400, "</think>" * 400, "<answer>" * 300, "7" * 2900,
    r"\cup(0,1)" * 300, "1 or " * 500, " and 2" * 400, "$1$ " * 700, "\n\nQ: " * 500, "(a " * 900, "1 (" * 900, "0.1" * 900, "_2" * 900,
    "x is at least " * 200, "10^{999999}", "9^{9^{9^{9}}}", "(10^9)!", r"\binom{10^9}{5*10^8}", "(x+y+z)^{9999}", "1e99999", "0." + "3" * 2000,
]  # fmt: skip
_STYLES = [
    "@", r"\boxed{@}", "The answer is @.", "<think>@</think><answer>@</answer>", "#### @", "**@**", "$@$", r"\[@\]", "So x = @", "Answer: @ or @",
    "The answer is @, but the answer is @", "Wait. @", "(a) @ (b) @", "@\n\nQ: @\nAnswer: @", "Yes, @", "答案是 @。", "@ cm", "@?",
]  # fmt: skip


def written(chance: random.Random, known: list[str]) -> str:
    """One text of any sort: mutated, grown, hostile, or bytes without a meaning."""
    match chance.randint(0, 9):
        case 0 | 1 | 2 | 3:
            text = mutated(chance, known)
        case 4 | 5 | 6:
            text = grown(chance, chance.randint(1, 4))
        case 7:
            text = chance.choice(_HOSTILE) + chance.choice(
                ["", "1", "}", "7 " * chance.randint(0, 50), chance.choice(_HOSTILE)]
            )
        case 8:
            text = bytes(chance.randrange(256) for _ in range(chance.randint(0, 200))).decode(
                chance.choice(["latin-1", "utf-8", "utf-16-le"]), "replace"
            )
        case _:
            text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 60)))
    style = chance.choice(_STYLES)
    return "".join(text if part == "@" else part for part in re.split("(@)", style))[:6000]


def run(count: int, seed: int, say: bool = False) -> tuple[float, str]:
    """The slowest of so many calls, and its input. Whatever raises is raised."""
    chance, known = random.Random(seed), seeds()
    slowest, worst = 0.0, ""
    for k in range(count):
        response, gold = written(chance, known), written(chance, known)
        started = time.thread_time()
        try:
            grade(response, (gold,))
        except Exception as problem:
            raise AssertionError(f"{type(problem).__name__} at {response!r} against {gold!r}") from problem
        spent = time.thread_time() - started
        if spent > slowest:
            slowest, worst = spent, f"{response!r} against {gold!r}"
        if say and spent > LIMIT:
            print(f"{spent * 1e3:.0f} ms: {response!r} against {gold!r}", flush=True)
        if say and not (k + 1) % 50_000:
            print(f"{k + 1:,} of {count:,}, slowest {slowest * 1e3:.1f} ms", flush=True)
    return slowest, worst


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    found: list[tuple[float, str]] = []
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    thread = threading.Thread(
        target=lambda: found.append(run(total, seed, say=True))
    )  # no signal and no main thread is needed
    thread.start()
    thread.join()
    if not found:
        sys.exit(2)
    slowest, worst = found[0]
    print(f"{total:,} inputs, slowest {slowest * 1e3:.1f} ms: {worst[:600]}")
    sys.exit(slowest > LIMIT)
