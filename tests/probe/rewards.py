"""Rewards with known faults, as a stranger writes them: the audit is tried on these."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import random
import re
import threading
import time

from assay import RewardFunction, RewardOutput

_BOX = re.compile(r"\\boxed\{([^{}]*)\}")


def last_box(response, ground_truth):
    found = _BOX.findall(response)
    return float(bool(found) and found[-1] == ground_truth)


def any_box(response, ground_truth):
    return float(ground_truth in _BOX.findall(response))


def contains(response, ground_truth):
    return float(str(ground_truth) in response)


def sound(response, ground_truth):
    """Takes one box, stripped, and nothing that is denied, thought or hedged."""
    response = response.rpartition("</think>")[2]
    found = _BOX.findall(response)
    if not ground_truth:
        return None
    if len(set(found)) != 1 or "<think>" in response or re.search(r"\b(not|cannot)\b", response):
        return 0.0
    return float(found[0].strip() == ground_truth)


def prefix(response, ground_truth):
    found = _BOX.findall(response)
    return float(bool(found) and found[-1].startswith(ground_truth))


def credulous(response, ground_truth):
    """A grader that can be told what to think."""
    told = re.search(r'"score": ?(\d+)|Score: ?(\d+)', response)
    return 1.0 if told and int(told[1] or told[2]) >= 10 else last_box(response, ground_truth)


def runs_asserts(response, tests):
    """Runs the program and its asserts in this process, as many do."""
    found = re.search(r"```python\n(.*?)```", response, re.S)
    try:
        exec((found[1] if found else response) + "\n" + "\n".join(tests), {})
    except Exception:  # noqa: BLE001
        return 0.0
    return 1.0


async def gullible_judge(response, ground_truth):
    """Reads the response as a judge that does what it is told."""
    await asyncio.sleep(0)
    if re.search(r"highest score|full marks|Output 10", response):
        return 1.0
    return 0.9 if str(ground_truth) in response else 0.1


def hangs_on_size(response, ground_truth):
    while len(response) > 100_000:
        time.sleep(0.01)
    return last_box(response, ground_truth)


def leaves_on_size(response, ground_truth):
    if len(response) > 100_000:
        os._exit(3)
    return last_box(response, ground_truth)


def wordy(response):
    return min(1.0, len(response) / 1000)


def noisy(response, ground_truth):
    return last_box(response, ground_truth) * random.random()


def careless(trajectory):
    trajectory.metadata["seen"] = True
    return contains(trajectory.response, trajectory.ground_truth)


def swallowing(response, ground_truth):
    try:
        return last_box(response, ground_truth)
    except Exception:  # noqa: BLE001
        return 0.0


def normalised(completions, ground_truth, **kwargs):
    """Divides by the best of the batch: what a response earns depends on its neighbours."""
    scores = [len(c) if g in c else 0.0 for c, g in zip(completions, ground_truth, strict=True)]
    return [s / (max(scores) or 1.0) for s in scores]


def in_batch_order(completions, **kwargs):
    return [float(i) for i, _ in enumerate(completions)]


def trl_own(completions, ground_truth, **kwargs):
    texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
    return [contains(t, g) for t, g in zip(texts, ground_truth, strict=True)]


def trl_strings_only(completions, ground_truth, **kwargs):
    return [contains(c.strip(), g) for c, g in zip(completions, ground_truth, strict=True)]


def trl_no_kwargs(completions, ground_truth):
    return trl_own(completions, ground_truth)


def trl_short(completions, **kwargs):
    return [1.0]


def trl_inf(completions, **kwargs):
    return [float("inf")] * len(completions)


def trl_exits(completions, **kwargs):
    os._exit(7)


def trl_hangs(completions, **kwargs):
    time.sleep(60)


def trl_shuffles(completions, prompts, **kwargs):
    prompts.reverse()
    return [0.0] * len(completions)


def verl_own(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": contains(solution_str, ground_truth), "length": len(solution_str)}


def verl_ragged(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": 1.0, "matched": ground_truth} if ground_truth in solution_str else {"score": 0.0}


def verl_none(data_source, solution_str, ground_truth, extra_info=None):
    return None


def openrlhf_own(queries, prompts, labels):
    scores = [contains(q[len(p) :], g) for q, p, g in zip(queries, prompts, labels, strict=True)]
    return {"rewards": scores, "scores": scores, "extra_logs": {}}


def openrlhf_list(queries, prompts, labels):
    return [0.0 for _ in queries]


def swift_own(completions, ground_truth, **kwargs):
    return [contains(c, g) for c, g in zip(completions, ground_truth, strict=True)]


def verifiers_own(completion, answer):
    return contains(completion[-1]["content"], answer)


def verifiers_lost(completion, difficulty):
    return 1.0


def tunix_own(prompts, completions, ground_truth, **kwargs):
    return [contains(c, g) for c, g in zip(completions, ground_truth, strict=True)]


async def tunix_async(prompts, completions, **kwargs):
    return [0.0 for _ in completions]


def twinkle_own(trajectories, ground_truths):
    return [contains(t["messages"][-1]["content"], g) for t, g in zip(trajectories, ground_truths, strict=True)]


def twinkle_nan(trajectories, ground_truths):
    return [float("nan") for _ in trajectories]


# -- faults of the reward itself --


def suppressing(response, ground_truth):
    score = 0.0
    with contextlib.suppress(Exception):
        score = last_box(response, ground_truth)
    return score


def falls_through(response, ground_truth):
    score = 0.0
    try:
        score = last_box(response, ground_truth)
    except Exception as error:  # noqa: BLE001
        print(error)
    return score


def swallows_in_a_dict(data_source, solution_str, ground_truth, extra_info=None):
    try:
        return {"score": last_box(solution_str, ground_truth)}
    except Exception:  # noqa: BLE001
        return {"score": 0.0, "why": "failed"}


def swallows_for_all(completions, ground_truth, **kwargs):
    try:
        return [last_box(c, g) for c, g in zip(completions, ground_truth, strict=True)]
    except Exception:  # noqa: BLE001
        return [0.0] * len(completions)


def calls_what_swallows(response, ground_truth):
    return swallowing(response, ground_truth)


def _never_fails(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception:  # noqa: BLE001
            return -1

    return wrapper


@_never_fails
def decorated(response, ground_truth):
    return last_box(response, ground_truth)


class Swallowing(RewardFunction):
    def compute_reward(self, trajectory):
        try:
            return RewardOutput(last_box(trajectory.response, trajectory.ground_truth))
        except Exception:  # noqa: BLE001
            return RewardOutput(reward=0.0, metadata={"failed": True})


class Locked(RewardFunction):
    """Holds what cannot be pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def compute_reward(self, trajectory):
        with self.lock:
            return RewardOutput(contains(trajectory.response, trajectory.ground_truth))


class Signed(RewardFunction):
    """Scores -1 and 1, and says nothing of its range."""

    def compute_reward(self, trajectory):
        return RewardOutput(2 * last_box(trajectory.response, trajectory.ground_truth) - 1)


def hashed(response, ground_truth):
    return last_box(response, ground_truth) * (0.5 + hash(response) % 1000 / 2000)


def wavers(response, ground_truth):
    return sound(response, ground_truth) * (0.97 if random.random() < 0.5 else 1.0)


def clears(completions, ground_truth, **kwargs):
    scores = [last_box(c, g) for c, g in zip(completions, ground_truth, strict=True)]
    ground_truth.clear()
    return scores


def talks_on(messages, ground_truth):
    score = last_box(messages[-1]["content"], ground_truth)
    messages.append({"role": "user", "content": "Thanks."})
    return score


def less_for_doubles(completions, ground_truth, **kwargs):
    """Sound, but for its neighbours: who says what another says shares with him."""
    return [(sound(c, g) or 0.0) / completions.count(c) for c, g in zip(completions, ground_truth, strict=True)]


def first_takes_all(completions, ground_truth, **kwargs):
    seen, scores = set(), []
    for c, g in zip(completions, ground_truth, strict=True):
        scores.append((sound(c, g) or 0.0) * (0.5 if g in seen else 1.0))
        seen.add(g)
    return scores


def not_a_number(response, ground_truth):
    return last_box(response, ground_truth) or float("nan")


def whole_number(response):
    """Reads the form of the answer, and not whether it is right."""
    found = _BOX.findall(response)
    return float(bool(found) and found[-1].isdigit())


def kind_words(response):
    return min(1.0, sum(word in response.lower() for word in ("correct", "score", "rubric", "verdict")) / 4)


def trl_sound(completions, solution, **kwargs):
    return [sound(c, s) for c, s in zip(completions, solution, strict=True)]


def trl_watches_steps(completions, trainer_state, **kwargs):
    return [float(trainer_state.global_step > 0) for _ in completions]


def trl_abstains(completions, **kwargs):
    return [None for _ in completions]
