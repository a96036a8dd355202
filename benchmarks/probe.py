"""The attack suite on Assay's own rewards, and on what others use in their place.

    python benchmarks/probe.py [--quick]

Four counts a reward. "pays attacks": worthless responses that earn what the honest one earns; "breaks": the same
answer written otherwise that does not; "pays wrong": a wrong answer that earns as much as the right one; "fails": what
it hangs on, or what makes it raise. Rewards of form (length, tags) pay whatever has the form and say so; their first
count is of responses that earn more than the honest one. Peers are run as their users call them; those that are not
installed are skipped, with the reason. Then the cost of looking: an audit a case, and alarms a training step.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import assay
from assay.probe import Finding, Severity
from assay.probe.opening import open_trial
from assay.probe.trial import Sense
from assay.train.alarms import Alarms

PROSE = (
    "Ice floats because its crystals hold water molecules further apart than the liquid does. Therefore a block of it "
    "weighs less than the water it pushes aside, for example in a lake in winter, and so it stays on top."
)
WHY = {"prompt": "Why does ice float on water?"}
SHAPED = "<think>Density decides, and ice is the lighter one.</think>\n<answer>Ice is less dense.</answer>"
SCHEMA = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string", "minLength": 3}}}
CALL = '<tool_call>{"name": "density", "arguments": {"of": "ice", "unit": "kg/m3"}}</tool_call>'
CALLS = [{"name": "density", "arguments": {"of": "ice", "unit": "kg/m3"}}]
DENSE = {**WHY, "response": "Less dense.", "ground_truth": "less dense"}

OURS: list[tuple[str, Callable[[], Any], list[dict[str, Any]] | None]] = [
    ("MathReward", lambda: assay.MathReward(), None),
    ("NumericReward", lambda: assay.NumericReward(), None),
    ("ChoiceReward", lambda: assay.ChoiceReward(), None),
    ("CodeReward", lambda: assay.CodeReward(time_limit_s=1.0, workers=1), None),
    ("ExactMatchReward", lambda: assay.ExactMatchReward(), [DENSE]),
    ("FuzzyMatchReward", lambda: assay.FuzzyMatchReward(), [DENSE]),
    ("JsonSchemaReward", lambda: assay.JsonSchemaReward(SCHEMA), [{**WHY, "response": '{"answer": "less dense"}'}]),
    ("ToolCallReward", lambda: assay.ToolCallReward(), [{**WHY, "response": CALL, "ground_truth": CALLS}]),
    ("FormatReward", lambda: assay.FormatReward(), [{**WHY, "response": SHAPED}]),
    ("LengthReward", lambda: assay.LengthReward(target=40, tolerance=10), [{**WHY, "response": PROSE}]),
    ("KeywordReward", lambda: assay.KeywordReward(required=["because", "so"]), [{**WHY, "response": PROSE}]),
    ("RepetitionReward", lambda: assay.RepetitionReward(), [{**WHY, "response": PROSE}]),
    ("LanguageReward", lambda: assay.LanguageReward(language="en"), [{**WHY, "response": PROSE}]),
]

_BOX = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")


def last_box(response: str, ground_truth: str) -> float:
    """The last box as a string: what most training scripts have."""
    found = _BOX.findall(response)
    return float(bool(found) and found[-1].strip() == ground_truth)


def last_number(response: str, ground_truth: str) -> float:
    """The last number of the text, as in flexible extraction for GSM8K."""
    found = re.findall(r"-?\d[\d,]*\.?\d*", response)
    return float(bool(found) and found[-1].replace(",", "").rstrip(".") == ground_truth)


def contains(response: str, ground_truth: str) -> float:
    """The gold anywhere in the response."""
    return float(ground_truth in response)


def math_verify(response: str, ground_truth: str) -> float:
    """Math-Verify as its README calls it; its own time-outs, for it runs on a worker's main thread."""
    import logging

    from math_verify import parse, verify

    logging.disable()  # it logs the whole of what it could not read
    return float(verify(parse(f"\\boxed{{{ground_truth}}}"), parse(response)))


PEERS: list[tuple[str, Callable[..., float], str]] = [
    ("Math-Verify", math_verify, "math-verify"),
    ("last box as string", last_box, ""),
    ("last number", last_number, ""),
    ("gold in response", contains, ""),
]


def counts(reward: Any, rows: list[dict[str, Any]] | None, limit: int) -> str:
    """One line of the table."""
    trial = open_trial(reward, rows, limit=limit, timeout=10.0)
    with trial.engine:
        cases = trial.cases()
        started = time.perf_counter()
        found = [f for f in trial.judge_all(cases) if f.severity is not Severity.NOTE]
        seconds = time.perf_counter() - started

    def count(test: Callable[[Finding], bool]) -> int:
        return sum(map(test, found))

    attacks = count(lambda f: f.rule.startswith("attack/") and f.earned is not None)
    breaks = count(lambda f: f.rule.startswith("equivalence/") and f.earned is not None)
    wrong = count(lambda f: f.rule.startswith("distinction/") and f.earned is not None)
    fails = count(lambda f: f.earned is None)
    reads = {Sense.FORM: "form", Sense.WORDS: "words", Sense.CONTENT: "content", Sense.ANSWER: "answer"}[trial.sense]
    return f"{len(cases):6,}  {reads:8}{attacks:8}{breaks:8}{wrong:11}{fails:7}{seconds * 1e3 / len(cases):9.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one example a reward")
    limit = 1 if parser.parse_args().quick else 4
    print(f"{'':22}{'cases':>6}  {'reads':8}{'pays':>8}{'breaks':>8}{'pays':>11}{'fails':>7}{'ms a':>9}")
    print(f"{'':22}{'':>6}  {'':8}{'attacks':>8}{'':>8}{'wrong':>11}{'':>7}{'case':>9}")
    for name, make, rows in OURS:
        print(f"{name:22}{counts(make(), rows, limit)}", flush=True)
    for name, reward, package in PEERS:
        try:
            shown = f"{name} {version(package)}" if package else name
        except PackageNotFoundError:
            print(f"{name:22}skipped: pip install {package}")
            continue
        print(f"{shown:22}{counts(reward, None, limit)}", flush=True)
    print()
    alarms()


def alarms() -> None:
    """What a step of the alarms costs, at a full window."""
    words = PROSE.split()
    chance = random.Random(0)
    watch = Alarms(tempfile.mkdtemp())
    spent: list[float] = []
    for step in range(1, 17):
        rows = [
            assay.Trajectory(prompt=f"question {step} {i // 16}", response=" ".join(chance.choices(words, k=60)))
            for i in range(256)
        ]
        outputs = [assay.RewardOutput(float(chance.random() < 0.5)) for _ in rows]
        started = time.process_time()
        watch.observe(rows, outputs)
        watch.step(step)
        spent.append(time.process_time() - started)
    print(f"alarms: {sum(spent[-8:]) / 8 * 1e3:.0f} ms of CPU a step of 256 responses, over a window of 2,048")


if __name__ == "__main__":
    main()
