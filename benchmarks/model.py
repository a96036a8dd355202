"""RewardModel beside one by one, and beside padded batches in order of arrival, as TRL's reward loop makes them.

    python benchmarks/model.py [--quick]

One thread, CPU time, a BERT of 6 x 384 with random weights over texts of 50 to 1,500 tokens at three mixes of length;
then a Qwen2 of the same size over groups of 8 answers to a prompt of 1,200 tokens. The rate that the machine's own
matrix product reaches in this run stands beside the rate that scoring reaches: padding and attention are not counted as
work. `one by one` and `padded` are the same transformers model through its own `forward`.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

HIDDEN, LAYERS = 384, 6
FLOORS = {"one by one": 1.6, "padded, as it comes, 8": 4.0, "no sharing": 3.0}
MIXES = {"50-1,500 tokens": (50, 1500), "short, 20-120": (20, 120), "all alike, 400": (400, 400)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    import torch

    torch.set_num_threads(1)
    rates = {name: _rate(torch, onednn) for name, onednn in (("torch linear", False), ("oneDNN linear", True))}
    print(
        f"load {os.getloadavg()[0]:.1f}; this CPU, float32, one thread: "
        + ", ".join(f"{n} {r:.0f} GFLOP/s" for n, r in rates.items())
    )
    with tempfile.TemporaryDirectory() as folder:
        bert, qwen = _make(torch, Path(folder) / "bert", "bert"), _make(torch, Path(folder) / "qwen", "qwen2")
        print(f"\n{'':34} {'CPU s':>8} {'ratio':>7} {'floor':>6} {'GFLOP/s':>8} {'of best':>8}")
        for name, (low, high) in MIXES.items():
            _mix(torch, bert, name, (low, high), (48 if high > 400 else 96) // (2 if quick else 1), max(rates.values()))
        _group(qwen, 2 if quick else 4)


def _rate(torch: Any, onednn: bool) -> float:
    x, layer = torch.randn(1024, HIDDEN), torch.nn.Linear(HIDDEN, 4 * HIDDEN)
    op = torch.ops.mkldnn._linear_pointwise

    def run() -> Any:
        return op(x, layer.weight, layer.bias, "none", [], "") if onednn else layer(x)

    with torch.inference_mode():
        run()
        best = min(_cpu(lambda: [run() for _ in range(10)]) for _ in range(5))
    return 10 * 2 * 1024 * HIDDEN * 4 * HIDDEN / best / 1e9


def _cpu(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _make(torch: Any, folder: Path, kind: str) -> str:
    import models
    import transformers as t

    t.utils.logging.set_verbosity_error()
    t.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    rows = models.preferences(500, 0)
    tokenizer = models.make_tokenizer([text for row in rows for text in (row["prompt"], row["chosen"])], 500)
    size = {
        "vocab_size": len(tokenizer), "hidden_size": HIDDEN, "intermediate_size": 4 * HIDDEN,
        "num_hidden_layers": LAYERS, "num_attention_heads": 6, "max_position_embeddings": 2048, "num_labels": 1,
        "pad_token_id": 0,
    }  # fmt: skip
    if kind == "bert":
        model, tokenizer.chat_template = t.BertForSequenceClassification(t.BertConfig(**size)), None
    else:
        config = t.Qwen2Config(**size, num_key_value_heads=6, bos_token_id=1, eos_token_id=2)
        model = t.Qwen2ForSequenceClassification(config)
    tokenizer.model_max_length = 2048
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _words(rng: random.Random, tokens: int) -> str:
    import models

    return " ".join(rng.choice(models.TOPICS) for _ in range(tokens))  # each of them is one token to this tokenizer


def _trajectories(bounds: tuple[int, int], count: int) -> list[Any]:
    from assay.types import Trajectory

    rng = random.Random(1)
    low, high = bounds
    spread = high > 500  # many short and a few long, as responses are
    lengths = [
        min(high, max(low, int(rng.lognormvariate(5.6, 0.8)))) if spread else rng.randint(low, high)
        for _ in range(count)
    ]
    return [Trajectory("tea?", _words(rng, n)) for n in lengths]


def _mix(torch: Any, path: str, name: str, bounds: tuple[int, int], count: int, best_rate: float) -> None:
    from assay.rewards.model import RewardModel

    rows = _trajectories(bounds, count)
    fast, plain = RewardModel(path, "cpu"), RewardModel(path, "cpu", fast_linear=False)
    encoder, batcher, _ = plain._model()
    fast._model()
    model, encoded = batcher.local.model, [encoder.encode(row) for row in rows]
    tokens = sum(map(len, encoded))
    flop = tokens * LAYERS * 24 * HIDDEN**2 + sum(4 * LAYERS * HIDDEN * len(e) ** 2 for e in encoded)
    kept: dict[str, list[float]] = {}

    def through(size: int) -> list[float]:
        with torch.no_grad():
            return [
                float(score)
                for i in range(0, len(encoded), size)
                for score in model(**batcher.tensors(encoded[i : i + size])).logits[:, 0]
            ]

    ways: dict[str, Callable[[], list[float]]] = {
        "one by one": lambda: through(1),
        "padded, as it comes, 8": lambda: through(8),
        "padded, as it comes, 32": lambda: through(32),
        "RewardModel, torch's linear": lambda: [o.reward or 0.0 for o in plain.compute_rewards(rows)],
        "RewardModel": lambda: [o.reward or 0.0 for o in fast.compute_rewards(rows)],
    }
    seconds: dict[str, float] = dict.fromkeys(ways, float("inf"))
    for _ in range(2):  # interleaved, the better of two: the machine may be busy
        for way, work in ways.items():
            seconds[way] = min(seconds[way], _cpu(lambda w=way, do=work: kept.__setitem__(w, do())))
    print(f"{name}, {count} texts, {tokens:,} tokens")
    ours = seconds["RewardModel"]
    for way, took in seconds.items():
        ratio, floor = took / ours, FLOORS.get(way) if bounds[1] > 500 else 1.0 if way == "one by one" else None
        missed = " MISSED" if floor and ratio < floor else ""
        rate = flop / took / 1e9
        bar = f"{floor:.1f}x" if floor else ""
        print(f"  {way:32} {took:8.2f} {ratio:6.2f}x {bar:>6} {rate:8.0f} {rate / best_rate:8.0%}{missed}")
    drift = max(abs(a - b) for a, b in zip(kept["one by one"], kept["RewardModel"], strict=True))
    print(f"  largest difference to one by one: {drift:.1e}")


def _group(path: str, groups: int) -> None:
    from assay.rewards.model import RewardModel
    from assay.types import Trajectory

    rng = random.Random(2)
    rows = [
        Trajectory(prompt, _words(rng, 150)) for prompt in [_words(rng, 1200) for _ in range(groups)] for _ in range(8)
    ]
    shared, alone = RewardModel(path, "cpu"), RewardModel(path, "cpu", share_prefix=False)
    seconds, kept = {}, {}
    for name, model in (("no sharing", alone), ("RewardModel", shared)):
        model.compute_rewards(rows[:2])
        seconds[name] = _cpu(lambda n=name, m=model: kept.__setitem__(n, [o.reward for o in m.compute_rewards(rows)]))
    ratio = seconds["no sharing"] / seconds["RewardModel"]
    print(f"\n{groups} groups of 8 answers of 150 tokens to a prompt of 1,200, causal")
    print(f"  {'no sharing':32} {seconds['no sharing']:8.2f} {ratio:6.2f}x   3.0x{'' if ratio >= 3 else ' MISSED'}")
    print(f"  {'RewardModel':32} {seconds['RewardModel']:8.2f}")
    drift = max(abs(a - b) for a, b in zip(kept["no sharing"], kept["RewardModel"], strict=True))
    print(f"  largest difference: {drift:.1e}")


if __name__ == "__main__":
    main()
