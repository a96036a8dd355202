"""A language model small enough to learn by reinforcement on a CPU in a minute, and the task that it learns.

"after 4?" is to be answered with "<answer>5</answer>". Tokenizer and model are built here; nothing is downloaded. A
short supervised warm-up on noisy answers leaves a policy that is right now and then: GRPO needs that to begin with.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

from assay.compose import CompositeReward
from assay.errors import require

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TAGS = ("<answer>", "</answer>")
NEAR = (-2, -1, 0, 1, 2, 3)
"""What a warm-up answer is off by, one chance each; 1 is right."""
WRITES_TAGS = 0.6
"""How many warm-up answers stand in the tags."""
WARMUP_BATCH = 64

_ANSWER = re.compile(r"<answer>(\d)</answer>")


@dataclass(frozen=True)
class ToyTask:
    """Rows of the task, and the two ways in which an answer can be written: in its tags or bare."""

    before: str = TAGS[0]
    after: str = TAGS[1]

    def rows(self, count: int, seed: int) -> list[dict[str, Any]]:
        """`count` rows with `prompt`, `answer` and `ground_truth`."""
        rng = random.Random(seed)
        return [self.row(rng.randrange(10)) for _ in range(count)]

    def row(self, digit: int) -> dict[str, Any]:
        """The row that asks for the digit after this one."""
        answer = str((digit + 1) % 10)
        prompt = [{"role": "user", "content": f"after {digit}?"}]
        return {"prompt": prompt, "answer": answer, "ground_truth": answer}

    def noisy_answer(self, digit: int, rng: random.Random) -> str:
        """What a bad teacher says: often without tags, mostly wrong by a little."""
        answer = str((digit + rng.choice(NEAR)) % 10)
        return f"{self.before}{answer}{self.after}" if rng.random() < WRITES_TAGS else answer


def answer_format(response: str) -> float:
    """1 where the response is one digit in answer tags and nothing else, 0 otherwise."""
    return float(_ANSWER.fullmatch(response.strip()) is not None)


def answer_correct(response: str, answer: str) -> float:
    """1 where the digit in the tags is the answer, 0 otherwise."""
    found = _ANSWER.fullmatch(response.strip())
    return float(found is not None and found.group(1) == answer)


def toy_reward() -> CompositeReward:
    """1 for the right answer in its tags, 0.1 for the tags alone, 0 otherwise."""
    return CompositeReward({"format": (answer_format, 0.1), "correct": (answer_correct, 0.9)}, name="toy")


def build_tokenizer(task: ToyTask | None = None) -> Any:
    """A byte-level tokenizer with a chat template, in which each half of an answer's dress is one token."""
    tokenizers = require("tokenizers", "train", "the toy model")
    transformers = require("transformers", "train", "the toy model")
    task = task or ToyTask()
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={char: i for i, char in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    inner.add_special_tokens(["<|pad|>", "<|im_start|>", "<|im_end|>"])
    whole = [tag for tag in (task.before, task.after) if len(tag) > 1]
    inner.add_tokens([tokenizers.AddedToken(tag, normalized=False) for tag in whole])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<|pad|>", eos_token="<|im_end|>", padding_side="left"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_model(tokenizer: Any, hidden: int = 64, layers: int = 2) -> Any:
    """A Qwen2 of about 150,000 parameters."""
    transformers = require("transformers", "train", "the toy model")
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=hidden * 4,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attention_dropout=0.0,
        # with the usual 0.02 a model this narrow is blind to the prompt for hundreds of steps
        initializer_range=0.1,
    )
    return transformers.Qwen2ForCausalLM(config)


def warm_up(model: Any, tokenizer: Any, seed: int, steps: int = 80, task: ToyTask | None = None) -> float:
    """Supervised steps on noisy answers; the last loss."""
    torch = require("torch", "train", "the toy model")
    rng, task = random.Random(seed), task or ToyTask()
    rate = 4e-3
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    model.train()
    loss = 0.0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 10)
        ids, labels = _warm_up_batch(tokenizer, task, rng)
        ids, labels = torch.tensor(ids), torch.tensor(labels)
        mask = (ids != tokenizer.pad_token_id).long()
        output = model(input_ids=ids, attention_mask=mask, labels=labels)
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss = float(output.loss.detach())
    return loss


def _warm_up_batch(tokenizer: Any, task: ToyTask, rng: random.Random) -> tuple[list[list[int]], list[list[int]]]:
    ids: list[list[int]] = []
    labels: list[list[int]] = []
    for _ in range(WARMUP_BATCH):
        digit = rng.randrange(10)
        prompt = chat_text(tokenizer, task.row(digit)["prompt"])
        answer = task.noisy_answer(digit, rng) + tokenizer.eos_token
        asked, said = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, answer))
        ids.append(asked + said)
        labels.append([-100] * len(asked) + said)
    width = max(map(len, ids))
    return (
        [row + [tokenizer.pad_token_id] * (width - len(row)) for row in ids],
        [row + [-100] * (width - len(row)) for row in labels],
    )


def chat_text(tokenizer: Any, messages: list[dict[str, str]]) -> str:
    """The prompt as the model reads it."""
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
