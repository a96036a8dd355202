"""What the adapters cost: a sample called as TRL calls, over the bare function; and the reward's share of a step.

python benchmarks/adapters.py [--quick]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from typing import Any

from assay.adapters.trl import reward_funcs
from assay.compose import CompositeReward
from assay.reward import FunctionReward

FLOOR_MICROSECONDS = 15.0
FLOOR_SHARE = 0.02


def bare(prompts: list[Any], completions: list[Any], answer: list[str], **kwargs: Any) -> list[float]:
    """As TRL's users write one."""
    return [float(a in c[0]["content"]) for c, a in zip(completions, answer, strict=True)]


def right(response: str, answer: str) -> float:
    """The same rule, as Assay's users write it."""
    return float(answer in response)


def batch(size: int) -> dict[str, Any]:
    rng = random.Random(0)
    words = ["gold", "ore", "assay", "touch", "stone", "5", "7"]
    completions = [[{"role": "assistant", "content": " ".join(rng.choices(words, k=50))}] for _ in range(size)]
    return {
        "prompts": [[{"role": "user", "content": f"after {i % 10}?"}] for i in range(size)],
        "completions": completions,
        "completion_ids": [[1] * 50 for _ in range(size)],
        "answer": [str(i % 10) for i in range(size)],
        "trainer_state": type("State", (), {"global_step": 1})(),
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }


def best(run: Any, repeats: int) -> float:
    """The least CPU time of several runs, in seconds."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


def a_sample(size: int, repeats: int) -> list[tuple[str, float, float]]:
    given = batch(size)
    plain = FunctionReward(right)
    one = reward_funcs(right).funcs
    two = reward_funcs(CompositeReward({"right": (right, 0.5), "again": (lambda response: 1.0, 0.5)})).funcs
    cases = {
        "a reward as it stands": lambda: plain(**given),
        "reward_funcs(reward)": lambda: [f(**given) for f in one],
        "reward_funcs(composite of 2)": lambda: [f(**given) for f in two],
    }
    base = best(lambda: bare(**given), repeats)
    return [(name, best(run, repeats) / size * 1e6, base / size * 1e6) for name, run in cases.items()]


def share_of_a_step(steps: int) -> tuple[float, float, float]:
    """All that happens in TRL's calls of the toy's reward, beside the whole step; CPU seconds a step."""
    from assay.adapters import trl
    from assay.train.trainer import Trainer

    spent, called = 0.0, trl._Part.__call__

    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal spent
        started = time.process_time()
        try:
            return called(self, *args, **kwargs)
        finally:
            spent += time.process_time() - started

    marks: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer({"output_dir": folder, "training": {"steps": steps, "measure_samples": 0}})
        trainer.add_step_callback(lambda result: marks.append((time.process_time(), spent)))
        trl._Part.__call__ = timed  # type: ignore[method-assign]
        try:
            trainer.train()
        finally:
            trl._Part.__call__ = called  # type: ignore[method-assign]
    step, reward = ((marks[-1][i] - marks[0][i]) / (len(marks) - 1) for i in (0, 1))
    return reward, step, reward / step


def main() -> None:
    quick = "--quick" in sys.argv
    print(f"{'a sample in TRL calling convention':38} {'ours us':>9} {'bare us':>9} {'over us':>9} {'floor':>7}")
    for name, ours, base in a_sample(512 if quick else 2048, 5 if quick else 15):
        verdict = "ok" if ours - base <= FLOOR_MICROSECONDS else "ABOVE"
        print(f"{name:38} {ours:9.2f} {base:9.2f} {ours - base:9.2f} {FLOOR_MICROSECONDS:7.1f} {verdict}")
    try:
        reward, step, share = share_of_a_step(8 if quick else 30)
    except ImportError as error:
        print(f"reward time in the toy GRPO run: skipped, {error}")
        return
    verdict = "ok" if share <= FLOOR_SHARE else "ABOVE"
    print(
        f"reward time in the toy GRPO run: {reward * 1e3:.2f} ms of a step's {step * 1e3:.0f} ms CPU = {share:.2%}",
        end="",
    )
    print(f" (floor {FLOOR_SHARE:.0%}) {verdict}")


if __name__ == "__main__":
    main()
