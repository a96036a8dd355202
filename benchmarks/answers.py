"""How fast and how right is the answer check, beside math-verify and beside a bare string comparison?

    python benchmarks/answers.py [--quick] [--data responses.jsonl] [--labelled open.jsonl]

One process, one core, every grader over the same rows in the same run; times are CPU microseconds of the call alone.
Rows: {"prompt_id", "gold", "response", "label"}, in groups of 8. Without --data, and where the large sample is not
beside the checkout, a small sample is made. math-verify is skipped, with the reason, where it is not installed.
(The file is not called math.py: a script of that name would stand before the standard library's module.)
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.math.grade import correct, grade, tolerant
from assay.rewards.math import MathReward
from assay.text.boxes import boxed
from assay.types import Trajectory

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
Grader = Callable[[str, str], bool]
Row = dict[str, Any]

GOALS = "goals: mean 30 us, p99 500, max 20,000; in groups of 8 at most 15 us a sample, of 64 at most 5"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, and 200 for math-verify")
    parser.add_argument("--data", type=Path, default=SHARED / "math_speed.jsonl")
    parser.add_argument("--labelled", type=Path, default=SHARED / "math_open.jsonl")
    options = parser.parse_args()
    rows = read(options.data) or made()
    if options.quick:
        rows = [r for r in rows if r["prompt_id"] % 10 == 0]
    singles(rows, 200 if options.quick else 4000)
    groups(rows)
    long_responses()
    if options.labelled.exists():
        accuracy(read(options.labelled))


def read(path: Path) -> list[Row]:
    """The rows of a JSONL file; none where there is no file."""
    return [json.loads(line) for line in path.open(encoding="utf-8") if line.strip()] if path.exists() else []


def made() -> list[Row]:
    """A small sample of our own: eight responses to each of 250 prompts, half of them wrong."""
    chance = random.Random(7)
    rows: list[Row] = []
    for n in range(250):
        p, q = chance.randint(2, 90), chance.randint(2, 90)
        gold, wrong = rf"\frac{{{p}}}{{{q}}}", rf"\frac{{{p}}}{{{q + 1}}}"
        for k in range(8):
            said = (gold if k % 4 else f"{p}/{q}") if k < 4 else wrong
            text = f"We count the cases one by one and find {p} of {q}. " * 8 + rf"So the answer is \boxed{{{said}}}."
            rows.append({"prompt_id": n, "gold": gold, "response": text, "label": int(k < 4)})
    return rows


# -- graders ---------------------------------------------------------------------------------------------------------

_LEAD = re.compile(r"(?:final answer|answer)\s*(?:is|:|=)\s*:?\s*", re.I)
_TIDY = re.compile(r"\s+|\\[!,;:]|\\left|\\right|\$|\\text\{([^{}]*)\}|\^\{?\\circ\}?|\\?%")


def floor(response: str, gold: str) -> bool:
    """Extract, strip spacing and a few habits of LaTeX, compare strings."""

    def tidy(text: str) -> str:
        text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("{,}", "")
        return _TIDY.sub(lambda m: m.group(1) or "", text).rstrip(".")

    answer = boxed(response)
    if answer is None and "<answer>" in response:
        answer = response.rsplit("<answer>", 1)[1].split("</answer>")[0]
    if answer is None:
        answer = _LEAD.split(response[-600:])[-1].split("\n")[0]
    return tidy(answer) == tidy(gold)


def math_verify() -> Grader | str:
    """math-verify as its README shows it; the reason where it cannot be measured."""
    try:
        from math_verify import parse, verify
    except ImportError as error:
        return f"math-verify is not installed ({error}); pip install 'math-verify[antlr4_13_2]'"
    return lambda response, gold: bool(verify(parse("\\boxed{" + gold + "}"), parse(response)))


# -- one by one ------------------------------------------------------------------------------------------------------


def singles(rows: list[Row], peer_rows: int) -> None:
    """Every grader, row by row: nothing is deduplicated."""
    for grader in (correct, floor):
        for row in rows[:400]:
            grader(row["response"], row["gold"])  # warm
    print(f"{len(rows):,} responses one by one ({GOALS.split(';')[0]})")
    gc.collect()
    ours = report("assay", timed(correct, rows))
    floors = report("string (floor)", timed(floor, rows))
    peer = math_verify()
    if isinstance(peer, str):
        print(f"  math-verify: skipped: {peer}")
        return
    some = sample(rows, peer_rows)
    theirs = report(f"math-verify, {len(some):,} of them", timed(peer, some))
    same = report(f"assay, the same {len(some):,}", timed(correct, some))
    ratios = ", ".join(f"{k} {theirs[k] / same[k]:,.0f} x" for k in ("mean", "p95", "p99", "max"))
    print(f"  math-verify / assay: {ratios}; assay / floor at the mean: {ours['mean'] / floors['mean']:.1f} x")


def sample(rows: list[Row], count: int) -> list[Row]:
    """About so many rows, whole prompts, spread evenly."""
    step = max(1, len(rows) // count)
    prompts = sorted({r["prompt_id"] for r in rows})[::step]
    kept = set(prompts)
    return [r for r in rows if r["prompt_id"] in kept]


def timed(grader: Grader, rows: Iterable[Row]) -> list[tuple[float, bool, bool]]:
    """Seconds, verdict and label of each row."""
    clock = time.process_time
    results: list[tuple[float, bool, bool]] = []
    for row in rows:
        response, gold = row["response"], row["gold"]
        started = clock()
        verdict = grader(response, gold)
        results.append((clock() - started, verdict, bool(row["label"])))
    return results


def report(name: str, results: list[tuple[float, bool, bool]]) -> dict[str, float]:
    """Print one line and give its times in microseconds."""
    times = sorted(t * 1e6 for t, _, _ in results)
    n = len(times)
    at = {"mean": sum(times) / n, "median": times[n // 2], "max": times[-1]}
    at |= {"p95": times[int(n * 0.95)], "p99": times[int(n * 0.99)]}
    right = sum(verdict == label for _, verdict, label in results) / n
    paid = sum(verdict and not label for _, verdict, label in results)
    missed = sum(label and not verdict for _, verdict, label in results)
    wrong = max(1, sum(not label for _, _, label in results))
    print(
        f"  {name:30s}"
        + "  ".join(f"{k} {v:9,.1f}" for k, v in at.items())
        + f"  right {right:7.2%}  wrong answers paid {paid} ({paid / wrong:.2%})  right answers refused {missed}"
    )
    return at


# -- in groups -------------------------------------------------------------------------------------------------------


def groups(rows: list[Row]) -> None:
    """Through one group call: the gold is read once, equal answers are judged once."""
    reward = MathReward()
    for size in (8, 64):
        batches = list(grouped(rows, size))
        spent = sum(cost(reward, batch) for batch in batches)
        count = sum(map(len, batches))
        base = sum(floor_cost(batch) for batch in batches)
        ours, floors = spent / count * 1e6, base / count * 1e6
        print(
            f"groups of {size}: {ours:.1f} us a sample (string, the floor: {floors:.1f}; goal {15 if size == 8 else 5})"
        )


def grouped(rows: list[Row], size: int) -> Iterator[list[Trajectory]]:
    """Groups of one prompt; those of 64 are its 8 responses with 8 beginnings each, no two alike."""
    prompts: dict[Any, list[Row]] = {}
    for row in rows:
        prompts.setdefault(row["prompt_id"], []).append(row)
    repeats = size // 8
    for own in list(prompts.values())[:: max(1, repeats // 2)]:
        yield [
            Trajectory(
                response=f"Attempt {k}. {r['response']}" if repeats > 1 else r["response"], ground_truth=r["gold"]
            )
            for k in range(repeats)
            for r in own
        ]


def cost(reward: MathReward, batch: list[Trajectory]) -> float:
    """CPU seconds of one group call."""
    started = time.process_time()
    reward.compute_rewards(batch)
    return time.process_time() - started


def floor_cost(batch: list[Trajectory]) -> float:
    """CPU seconds of comparing the same as strings."""
    started = time.process_time()
    for t in batch:
        floor(t.response, t.ground_truth)
    return time.process_time() - started


# -- long responses, and accuracy ------------------------------------------------------------------------------------


def long_responses() -> None:
    """The same answer behind more and more reasoning."""
    line = "We compute $f(x)=x^2+3x+2=(x+1)(x+2)$, so $f(3)=20$ and 3 < 20. Next, \\[ \\frac{a}{b} \\] gives. "
    for size in (2_000, 20_000, 200_000):
        response = line * (size // len(line)) + "So the answer is \\boxed{\\frac{3}{4}}."
        started = time.process_time()
        for _ in range(200):
            grade(response, ("3/4",))
        spent = (time.process_time() - started) / 200 * 1e6
        print(f"a response of {size // 1000:3d} kB: {spent:7.1f} us (goal at 200 kB: 100)")


def accuracy(rows: list[Row]) -> None:
    """Right verdicts on labelled rows, contested ones apart."""
    plain = [r for r in rows if not r.get("contested")]
    human = [r for r in plain if _human(r)]
    print(f"{len(rows):,} labelled rows")
    report("not contested", timed(correct, plain))
    report("of them labelled by people", timed(correct, human))
    report("people, contested too, at 1 %", timed(tolerant, [r for r in rows if _human(r)]))


def _human(row: Row) -> bool:
    return "human" in str(row.get("label_by", ""))


if __name__ == "__main__":
    main()
