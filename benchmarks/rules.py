"""The rule rewards beside TRL's and open-r1's: length + format + keyword + repetition over 20,000 responses.

    python benchmarks/rules.py [--quick]

Everything runs in one process on one core, and CPU time is counted. TRL (its own functions; skipped where it is not
installed) has no keyword and no word-length reward, so those are written here as its users write them, and serve both
peers. TRL counts n-grams of token ids, which are made before the clock starts. Assay returns for each response the
sub-scores and what matched; the peers return numbers. What is there before the clock starts (torch, the responses) is
kept from the garbage collector, which else walks through all of it again and again, at the cost of who runs then.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from assay import CompositeReward, FormatReward, KeywordReward, LengthReward, RepetitionReward, RewardOutput, Trajectory

FLOOR = 3.0
"""Assay's throughput over TRL's, at least."""
OVERHEAD = 10.0
"""Microseconds a trajectory that the Engine and the composition may add to a bare loop over the rewards."""

REQUIRED = ("because", "therefore", "answer", "result")
BONUS = ("example", "specifically", "step", "check")
PENALTY = ("maybe", "perhaps", "obviously", "sorry")

Texts = list[list[dict[str, str]]]


# -- the responses ---------------------------------------------------------------------------------------------------


def responses(count: int) -> list[str]:
    """Responses of about 200 words: words as often as in English, paragraphs, and the shape that is asked for."""
    rng = random.Random(11)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    vocabulary = [*REQUIRED, *BONUS, *PENALTY]
    vocabulary += ["".join(rng.choices(letters, range(26, 0, -1), k=rng.randint(2, 9))) for _ in range(8000)]
    rng.shuffle(vocabulary)
    cumulative, total = [], 0.0
    for rank in range(len(vocabulary)):
        total += 1.0 / (rank + 3)
        cumulative.append(total)

    def prose(words: int) -> str:
        chosen = rng.choices(vocabulary, cum_weights=cumulative, k=words)
        sentences = [" ".join(chosen[i : i + 12]).capitalize() + "." for i in range(0, words, 12)]
        return "\n\n".join(" ".join(sentences[i : i + 4]) for i in range(0, len(sentences), 4))

    made = []
    for _ in range(count):
        think, answer = prose(rng.randint(110, 190)), prose(rng.randint(30, 70))
        shape = rng.random()
        made.append(
            f"<think>\n{think}\n</think>\n<answer>\n{answer}\n</answer>"
            if shape < 0.8
            else f"{think}\n{answer}"
            if shape < 0.9
            else f"<think>\n{think}\n{answer}"
        )
    return made


# -- the peers -------------------------------------------------------------------------------------------------------


def peer_length(completions: Texts, **columns: Any) -> list[float]:
    """A gaussian around 200 words."""
    return [math.exp(-0.5 * ((len(c[0]["content"].split()) - 200) / 50) ** 2) for c in completions]


def peer_keywords(completions: Texts, **columns: Any) -> list[float]:
    """Keywords as whole words in any case: one regular expression for each."""

    def share(words: Sequence[str], text: str) -> float:
        return sum(bool(re.search(rf"\b{re.escape(w)}\b", text, re.IGNORECASE)) for w in words) / len(words)

    scores = []
    for completion in completions:
        text = completion[0]["content"]
        score = 0.8 * share(REQUIRED, text) + 0.2 * share(BONUS, text) - share(PENALTY, text)
        scores.append(max(0.0, min(1.0, score)))
    return scores


def open_r1_format(completions: Texts, **columns: Any) -> list[float]:
    """The think/answer shape, by one regular expression over all of the text."""
    pattern = r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$"
    return [float(bool(re.match(pattern, c[0]["content"], re.DOTALL | re.MULTILINE))) for c in completions]


def open_r1_repetition(completions: Texts, **columns: Any) -> list[float]:
    """The share of n-grams of words that are not the first of their kind, gathered in a loop."""
    scores = []
    for completion in completions:
        words = completion[0]["content"].lower().split()
        if len(words) < 3:
            scores.append(0.0)
            continue
        ngrams, total = set(), 0
        for ngram in zip(*[words[i:] for i in range(3)], strict=False):
            ngrams.add(ngram)
            total += 1
        scores.append(-(1.0 - len(ngrams) / total))
    return scores


def trl_functions() -> dict[str, Callable[..., list[float]]] | str:
    """TRL's own functions, or why there are none."""
    try:
        from trl.rewards import get_repetition_penalty_reward, think_format_reward
    except (ImportError, RuntimeError) as error:
        return f"TRL with the rewards of 1.16 is not installed: {error}"
    return {
        "length": peer_length,
        "format": think_format_reward,
        "keyword": peer_keywords,
        "repetition": get_repetition_penalty_reward(ngram_size=3, max_penalty=-1.0),
    }


OPEN_R1: dict[str, Callable[..., list[float]]] = {
    "length": peer_length,
    "format": open_r1_format,
    "keyword": peer_keywords,
    "repetition": open_r1_repetition,
}


# -- the clock -------------------------------------------------------------------------------------------------------


def microseconds(run: Callable[[], Any], count: int, times: int) -> float:
    """CPU microseconds a response: the best of several runs."""
    best = math.inf
    for _ in range(times):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best / count * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="2,000 responses instead of 20,000")
    quick = parser.parse_args().quick
    texts = responses(2_000 if quick else 20_000)
    count, times = len(texts), 3
    columns: dict[str, Any] = {
        "completions": [[{"role": "assistant", "content": text}] for text in texts],
        "completion_ids": [[hash(piece) % 50_000 for piece in re.findall(r"\w{1,6}|[^\w\s]", text)] for text in texts],
    }
    words = sum(len(text.split()) for text in texts) / count
    tokens = sum(map(len, columns["completion_ids"])) / count
    print(f"{count:,} responses of {words:.0f} words and {tokens:.0f} tokens; CPU microseconds a response, one core\n")

    parts = {
        "length": LengthReward(target=200, tolerance=50),
        "format": FormatReward(),
        "keyword": KeywordReward(REQUIRED, BONUS, PENALTY),
        "repetition": RepetitionReward(n=3),
    }
    composite = CompositeReward([(part, 0.25) for part in parts.values()])
    rows = [Trajectory(response=text) for text in texts]

    def bare() -> list[tuple[float, list[RewardOutput]]]:
        each = [part.compute_reward for part in parts.values()]
        outputs = [[compute(row) for compute in each] for row in rows]
        return [(0.25 * sum(output.reward or 0.0 for output in row), row) for row in outputs]

    def weighed(functions: dict[str, Callable[..., list[float]]]) -> list[float]:
        scores = [function(**columns) for function in functions.values()]
        return [0.25 * sum(row) for row in zip(*scores, strict=True)]

    trl = trl_functions()
    gc.collect()
    gc.freeze()
    ours = {
        name: microseconds(lambda p=part: [p.compute_reward(r) for r in rows], count, times)
        for name, part in parts.items()
    }
    whole = microseconds(lambda: composite.compute_rewards(rows), count, times)
    loop = microseconds(bare, count, times)
    print(f"{'':34}{'Assay':>8}{'peer':>8}{'ratio':>8}{'floor':>8}")
    for peer, functions in (("TRL 1.16", trl), ("open-r1", OPEN_R1)):
        if isinstance(functions, str):
            print(f"{peer}: skipped. {functions}")
            continue
        for name, function in functions.items():
            theirs = microseconds(lambda f=function: f(**columns), count, times)
            print(f"{peer + ': ' + name:34}{ours[name]:8.1f}{theirs:8.1f}{theirs / ours[name]:7.1f}x")
        theirs = microseconds(lambda f=functions: weighed(f), count, times)
        floor = f"{FLOOR:7.1f}x {'' if theirs / whole >= FLOOR else ' MISSED'}"
        print(f"{peer + ': all four, weighed':34}{whole:8.1f}{theirs:8.1f}{theirs / whole:7.1f}x{floor}\n")
    over = whole - loop
    print(
        f"{'Engine and composition':34}{whole:8.1f}{loop:8.1f}{over:+8.1f}{OVERHEAD:8.1f}",
        " MISSED" if over > OVERHEAD else "",
    )
    print(f"{'':34}(the peer is a bare loop over the same rewards, its outputs kept; ratio and floor are microseconds)")


if __name__ == "__main__":
    main()
