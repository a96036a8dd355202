"""Where responses come from: a vLLM server (or any that speaks its language), or a model in this process.

    sampler = vLLMSampler(model_id="Qwen/Qwen3-4B")            # vllm serve Qwen/Qwen3-4B
    sampler = TransformersSampler(model_id="Qwen/Qwen3-0.6B")
    response = sampler.sample(batch, num_samples=4)
    rewards = MathReward()(response.trajectories)

A batch is a list of prompts (strings, message lists, or rows with `prompt`), or an object that has `prompts` and
`ground_truths`. The samples of one prompt stand together and share a group, as the advantage functions want them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import InfraError, InputError, require
from assay.loop import run
from assay.types import Message, Tokens, Trajectory, text_of


@dataclass
class Batch:
    """Prompts with what is known to be right for each: what a data loader gives."""

    prompts: list[Any]
    ground_truths: list[Any] = field(default_factory=list[Any])

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Batch:
        """A batch of rows with `prompt` and `ground_truth`."""
        return cls([row["prompt"] for row in rows], [row.get("ground_truth") for row in rows])


@dataclass
class SampleResponse:
    """What was sampled: `num_samples` trajectories for each prompt, in order."""

    trajectories: list[Trajectory]


@dataclass
class vLLMSampler:
    """Samples from a server that speaks OpenAI's chat API, as `vllm serve` does."""

    model_id: str
    base_url: str = "http://127.0.0.1:8000/v1"
    api_key: str = field(default="", repr=False)
    max_tokens: int = 1024
    temperature: float = 1.0
    concurrency: int = 64
    timeout: float = 600.0
    retries: int = 3

    def sample(self, batch: Any, num_samples: int = 1) -> SampleResponse:
        """Ask the server for `num_samples` answers to each prompt."""
        rows = _rows(batch)
        answers = run(self._ask_all([messages for messages, _ in rows], num_samples))
        return SampleResponse(
            [
                _trajectory(messages, truth, text, group=i)
                for i, ((messages, truth), texts) in enumerate(zip(rows, answers, strict=True))
                for text in texts
            ]
        )

    async def _ask_all(self, prompts: Sequence[Sequence[Message]], num_samples: int) -> list[list[str]]:
        aiohttp = require("aiohttp", "judge", "sampling from a server")
        slots = asyncio.Semaphore(self.concurrency)
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        timeout = aiohttp.ClientTimeout(total=self.timeout)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:

            async def ask(messages: Sequence[Message]) -> list[str]:
                async with slots:
                    return await self._ask(aiohttp, session, messages, num_samples)

            return list(await asyncio.gather(*map(ask, prompts)))

    async def _ask(self, aiohttp: Any, session: Any, messages: Sequence[Message], num_samples: int) -> list[str]:
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        body = {
            "model": self.model_id.removeprefix("ms://"),
            "messages": list(messages),
            "n": num_samples,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
        }
        said = ""
        for tried in range(self.retries + 1):
            if tried:
                await asyncio.sleep(0.5 * 2 ** (tried - 1))
            try:
                async with session.post(url, json=body) as response:
                    if response.status == 200:
                        return _texts(await response.json(), num_samples)
                    said = f"status {response.status}: {(await response.text())[:200]}"
                    if response.status < 500 and response.status != 429:
                        break
            except (aiohttp.ClientError, TimeoutError) as error:
                said = f"{type(error).__name__}: {error}"
        raise InfraError(f"sampling needs an answer from {url}; found {said}. Start one: vllm serve {self.model_id}")


def _texts(answer: Mapping[str, Any], num_samples: int) -> list[str]:
    choices = sorted(answer.get("choices") or [], key=lambda choice: choice.get("index", 0))
    if len(choices) != num_samples:
        raise InfraError(f"the server was asked for {num_samples} samples and sent {len(choices)}.")
    return [str(choice["message"].get("content") or "") for choice in choices]


@dataclass
class TransformersSampler:
    """Samples from a Transformers model in this process: `model_id` is loaded, or `model` and `tokenizer` are given."""

    model_id: str = ""
    model: Any = None
    tokenizer: Any = None
    max_tokens: int = 1024
    temperature: float = 1.0
    batch_size: int = 256
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.model is None:
            transformers = require("transformers", "train", "sampling from a model")
            name = self.model_id.removeprefix("ms://")
            self.model = transformers.AutoModelForCausalLM.from_pretrained(name).to(self.device)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, padding_side="left")

    def sample(self, batch: Any, num_samples: int = 1) -> SampleResponse:
        """Sample `num_samples` answers to each prompt; the sampled token ids come along."""
        rows = [(i, *row) for i, row in enumerate(_rows(batch)) for _ in range(num_samples)]
        out: list[Trajectory] = []
        for start in range(0, len(rows), self.batch_size):
            chunk = rows[start : start + self.batch_size]
            for (group, messages, truth), ids in zip(chunk, self._generate([m for _, m, _ in chunk]), strict=True):
                text = self.tokenizer.decode(ids, skip_special_tokens=True)
                out.append(_trajectory(messages, truth, text, group, Tokens(ids=ids)))
        return SampleResponse(out)

    def _generate(self, prompts: Sequence[Sequence[Message]]) -> list[list[int]]:
        torch = require("torch", "train", "sampling from a model")
        texts = [self._text(messages) for messages in prompts]
        encoded = self.tokenizer(
            texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False
        )
        encoded = {name: encoded[name].to(self.model.device) for name in ("input_ids", "attention_mask")}
        training = self.model.training
        self.model.eval()
        with torch.no_grad():
            sampled = self.model.generate(
                **encoded,
                do_sample=self.temperature > 0,
                temperature=self.temperature or None,
                top_k=0,
                max_new_tokens=self.max_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        self.model.train(training)
        return [self._until_end(row) for row in sampled[:, encoded["input_ids"].shape[1] :].tolist()]

    def _text(self, messages: Sequence[Message]) -> str:
        if getattr(self.tokenizer, "chat_template", None):
            return self.tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
        return "\n".join(text_of(message) for message in messages)  # a base model knows no turns

    def _until_end(self, ids: list[int]) -> list[int]:
        end = self.tokenizer.eos_token_id
        return ids[: ids.index(end) + 1] if end in ids else ids


def _rows(batch: Any) -> list[tuple[list[Message], Any]]:
    """The messages and the ground truth of each prompt of a batch."""
    if hasattr(batch, "prompts"):
        truths = getattr(batch, "ground_truths", None) or [None] * len(batch.prompts)
        pairs = list(zip(batch.prompts, truths, strict=True))
    elif isinstance(batch, Mapping):
        truths = batch.get("ground_truth") or [None] * len(batch["prompt"])
        pairs = list(zip(batch["prompt"], truths, strict=True))
    else:
        pairs = [_pair(row) for row in batch]
    return [(_messages(prompt), truth) for prompt, truth in pairs]


def _pair(row: Any) -> tuple[Any, Any]:
    if isinstance(row, Trajectory):
        return list(row.messages) or row.prompt, row.ground_truth
    return (
        (row.get("prompt") or row.get("messages"), row.get("ground_truth")) if isinstance(row, Mapping) else (row, None)
    )


def _messages(prompt: Any) -> list[Message]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    if isinstance(prompt, Sequence) and prompt and all(isinstance(m, Mapping) and "role" in m for m in prompt):
        return list(prompt)
    raise InputError(f"needed prompts: strings, message lists, or rows with 'prompt'; found {prompt!r:.80}")


def _trajectory(
    messages: Sequence[Message], truth: Any, response: str, group: int, tokens: Tokens | None = None
) -> Trajectory:
    said = {"role": "assistant", "content": response}
    return Trajectory(messages=[*messages, said], ground_truth=truth, group=str(group), tokens=tokens)
