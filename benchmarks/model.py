"""RewardModel beside one by one, and beside padded batches in order of arrival, as TRL's reward loop makes them.

    python benchmarks/model.py [--quick]

One thread, CPU time, a BERT of 6 x 384 with random weights over texts at three mixes of length; then a Qwen2 of the
same size over groups of 8 answers to a prompt of 1,200 tokens. The mix of 50 to 1,500 tokens is 512 responses in the
three ways that matter, which takes minutes: what padding costs depends on who stands beside whom, and 64 of them give
anything from 3.7 to 5. The others, and all with `--quick`, are few texts in more ways. The ways take turns at blocks of
64 texts, so that what else the machine does falls on each of them alike.

`one by one` is the transformers model through its own `forward`. `TRL's loop` is what GRPOTrainer does with a model as
a reward: text, tokenizer, one padded batch in order of arrival. Its batch is what one process generates in a step: 8 by
default, and 8 times the gradient accumulation steps else. (RewardBench's command pads 8, its script 64; OpenRLHF's
server what a request brings.) The rate that the machine's own matrix product reaches in this run stands beside the rate
that scoring reaches: padding is not counted as work.
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
FLOORS = {"one by one": 1.6, "TRL's loop, 8": 4.0, "TRL's loop, 32": 4.0}
BLOCK = 64
MIXES = {"50-1,500 tokens": (50, 1500, 512), "short, 20-120": (20, 120, 64), "all alike, 400": (400, 400, 64)}
"""The least and the most tokens of a text, and how many texts."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
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
        for name, (low, high, count) in MIXES.items():
            _mix(torch, bert, name, (low, high), BLOCK // 2 if chosen.quick else count, rates)
        _group(qwen, 2 if chosen.quick else 4)


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
    with torch.no_grad():  # a fresh head's scores are so close together that any two ways would agree
        (model.classifier if kind == "bert" else model.score).weight.mul_(50.0)
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


def _mix(torch: Any, path: str, name: str, bounds: tuple[int, int], count: int, rates: dict[str, float]) -> None:
    from assay.rewards.model import RewardModel

    rows = _trajectories(bounds, count)
    fast, plain = RewardModel(path, "cpu"), RewardModel(path, "cpu", fast_linear=False)
    encoder, batcher, _ = plain._model()
    fast._model()
    model, tokenizer = batcher.local.model, batcher.local.tokenizer
    lengths = [len(encoder.encode(row)) for row in rows]
    flop = sum(LAYERS * (24 * HIDDEN**2 * n + 4 * HIDDEN * n**2) for n in lengths)

    def alone(block: list[Any]) -> list[float]:
        with torch.no_grad():
            return [float(model(**batcher.tensors([encoder.encode(row)])).logits[0, 0]) for row in block]

    def trl(size: int) -> Callable[[list[Any]], list[float]]:
        def loop(block: list[Any]) -> list[float]:
            found: list[float] = []
            for i in range(0, len(block), size):
                texts = [row.prompt + row.response for row in block[i : i + size]]
                how = {"return_tensors": "pt", "padding": True, "padding_side": "right", "add_special_tokens": False}
                given = tokenizer(text=texts, **how)
                with torch.inference_mode():
                    found += model(**given).logits[:, 0].tolist()
            return found

        return loop

    ways: dict[str, Callable[[list[Any]], list[float]]] = {
        "one by one": alone,
        "TRL's loop, 8": trl(8),
        "TRL's loop, 32": trl(32),
        "RewardModel, torch's kernels": lambda block: [o.reward or 0.0 for o in plain.compute_rewards(block)],
        "RewardModel": lambda block: [o.reward or 0.0 for o in fast.compute_rewards(block)],
    }
    if count > BLOCK:
        ways = {way: ways[way] for way in ("one by one", "TRL's loop, 8", "RewardModel")}
    seconds, kept = _in_turns(ways, rows, 1 if count > BLOCK else 2)
    print(f"{name}, {count} texts, {sum(lengths):,} tokens")
    ours, best_rate = seconds["RewardModel"], max(rates.values())
    for way, took in seconds.items():
        ratio, floor = took / ours, FLOORS.get(way) if bounds[1] > 500 else 1.0 if way == "one by one" else None
        missed = " MISSED" if floor and ratio < floor else ""
        rate = flop / took / 1e9
        bar = f"{floor:.1f}x" if floor else ""
        print(f"  {way:32} {took:8.2f} {ratio:6.2f}x {bar:>6} {rate:8.0f} {rate / best_rate:8.0%}{missed}")
    drift = max(abs(a - b) for a, b in zip(kept["one by one"], kept["RewardModel"], strict=True))
    spread = max(kept["one by one"]) - min(kept["one by one"])
    print(f"  largest difference to one by one: {drift:.1e}; the scores lie {spread:.2f} apart")


def _in_turns(
    ways: dict[str, Callable[[list[Any]], list[float]]], rows: list[Any], repeats: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """CPU seconds of each way, the better of its repeats block by block, and what it scored."""
    seconds, kept = dict.fromkeys(ways, 0.0), {way: list[float]() for way in ways}
    for start in range(0, len(rows), BLOCK):
        block, took = rows[start : start + BLOCK], dict.fromkeys(ways, float("inf"))
        for again in range(repeats):
            for way, work in ways.items():
                found: list[float] = []
                took[way] = min(took[way], _cpu(lambda do=work, b=block, f=found: f.extend(do(b))))
                if not again:
                    kept[way] += found
        for way in ways:
            seconds[way] += took[way]
    return seconds, kept


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
