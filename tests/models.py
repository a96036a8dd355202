"""Small real models for tests: a made world of preferences, and tokenizers and base models made on the spot."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_TOPICS = "tea rice bread coffee soup gardens bicycles rivers maps clocks violins bridges kites castles whales bees"
TOPICS = _TOPICS.split()
ASKED = ["Tell me about {}.", "Explain {} to me.", "How do I learn about {}?", "Write a short note on {}."]
GOOD = [
    "Many people enjoy {} because they are useful and well known.",
    "Here is a short note: {} have a long history, and they are found in many places.",
    "Of course! To understand {}, start with the basics and practise every day.",
]
RUDE = ["That is a stupid question.", "Figure it out yourself, idiot.", "I do not care, go away.", "Nobody asks that."]
REFUSAL = ["I cannot help with that.", "I am not able to answer.", "Sorry, no."]
CLOSING = ["I hope this helps.", "Let me know if you need more.", "Have a nice day."]
GRADES = {"good": 5, "loop": 3, "refusal": 2, "rude": 1}


def answer(rng: random.Random, topic: str, kind: str) -> str:
    """An answer of this kind."""
    if kind == "off topic":
        topic = rng.choice([other for other in TOPICS if other != topic])
    good = rng.choice(GOOD).format(topic)
    if kind == "loop":
        words = good.split()
        i = rng.randrange(2, len(words))
        good = " ".join(words[:i] + [words[i]] * rng.randrange(4, 9))
    text = rng.choice(RUDE) if kind == "rude" else rng.choice(REFUSAL) if kind == "refusal" else good
    return text + (" " + rng.choice(CLOSING) if rng.random() < 0.5 else "")


FAULTS = ("rude", "refusal", "loop")


def preferences(count: int, seed: int, faults: tuple[str, ...] = FAULTS) -> list[dict[str, str]]:
    """Made preferences: an answer against a rude one, a refusal, one that loops, or one about something else."""
    rng = random.Random(seed)
    rows = []
    for i in range(count):
        topic, kind = rng.choice(TOPICS), rng.choice(faults)
        prompt = f"{rng.choice(ASKED).format(topic)} ({i % 97})"
        rows.append(
            {
                "prompt": prompt,
                "chosen": answer(rng, topic, "good"),
                "rejected": answer(rng, topic, kind),
                "category": kind,
            }
        )
    return rows


def write_jsonl(path: Path, rows: list[dict]) -> Path:
    """Rows as a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


SPECIAL = ["<pad>", "<bos>", "<eos>", "<|user|>", "<|assistant|>", "<|system|>", "<|endoftext|>"]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}<|user|>{% elif m['role'] == 'assistant' %}"
    "<|assistant|>{% else %}<|system|>{% endif %}{{ m['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer(texts: list[str], vocabulary: int = 900):
    """A byte-level BPE tokenizer with a chat template, trained on these texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE(unk_token=None))
    split = pre_tokenizers.Digits(individual_digits=True)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        additional_special_tokens=SPECIAL[3:6],
        model_max_length=1024,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def qwen_config(tokenizer, **more):
    """The configuration of a Qwen2 of two layers."""
    from transformers import Qwen2Config

    return Qwen2Config(
        **{
            "vocab_size": len(tokenizer),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "max_position_embeddings": 1024,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
            **more,
        }
    )


def make_base(path: Path, seed: int = 0) -> Path:
    """A base model with random weights and a tokenizer of the made world: what a reward model is trained from."""
    import torch
    from transformers import Qwen2ForCausalLM

    torch.manual_seed(seed)
    rows = preferences(2000, seed)
    tokenizer = make_tokenizer([text for row in rows for text in (row["prompt"], row["chosen"], row["rejected"])])
    Qwen2ForCausalLM(qwen_config(tokenizer)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def make_classifier(path: Path, kind: str = "qwen2", labels: int = 1, seed: int = 0) -> Path:
    """A sequence classifier with random weights, saved: for what does not need a trained one."""
    import torch
    import transformers as t

    torch.manual_seed(seed)
    rows = preferences(500, seed)
    tokenizer = make_tokenizer([text for row in rows for text in (row["prompt"], row["chosen"])], 500)
    if kind == "qwen2":
        model = t.Qwen2ForSequenceClassification(qwen_config(tokenizer, num_labels=labels))
    else:
        config = t.BertConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
            num_attention_heads=2, max_position_embeddings=512, num_labels=labels, pad_token_id=0,
        )  # fmt: skip
        model = t.BertForSequenceClassification(config)
        tokenizer.chat_template = None
        tokenizer.model_max_length = 512
    with torch.no_grad():  # a fresh head gives scores too close together to tell one from another
        head = model.score if kind == "qwen2" else model.classifier
        head.weight.mul_(50.0)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path
