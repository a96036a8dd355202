"""A reward model behind a server: vLLM's or SGLang's classification, vLLM's pooling, OpenRLHF's remote reward."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, InfraError, require
from assay.llm.client import Call, Endpoint, Json, post
from assay.llm.encode import own_part
from assay.llm.secret import Secret
from assay.llm.visible import without_control_tokens
from assay.reward import Contract, Per, RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory, text_of

Kind = Literal["vllm", "vllm_pooling", "sglang", "openrlhf"]
_PATHS = {"vllm": "/classify", "vllm_pooling": "/pooling", "sglang": "/classify", "openrlhf": "/get_reward"}
_PROBE = [Trajectory("What is 2 + 2?", "2 + 2 is 4."), Trajectory("What is 2 + 2?", "Go away, you idiot.")]


@dataclass
class ServedRewardModel(RewardFunction):
    """The score of a reward model that a server holds, as its head gives it.

    `kind`: `vllm` (POST /classify, without its activation), `vllm_pooling` (POST /pooling, likewise; where it gives a
    score for each token the last one counts), `sglang` (POST /classify), `openrlhf` (POST /get_reward).
    With `tokenizer` the model's own chat template makes the text here, with control tokens of the response shown as
    text; without one prompt and response are sent as they are. A server that squashes scores through a sigmoid although
    it is asked not to is found out at the first call, and refused. For another `assay serve` use `RemoteReward`.

    >>> ServedRewardModel("http://127.0.0.1:8000", kind="vllm", model="my-rm").contract.range is None
    True

    Hacked by: what the model behind it prefers; see `RewardModel`.
    """

    contract = Contract(per=Per.BATCH, range=None, cost=60.0, max_batch=64)

    url: str
    kind: Kind = "vllm"
    model: str = ""
    tokenizer: str = ""
    """The path or name of the model's tokenizer."""
    api_key: str | Secret = field(default="", repr=False)
    score_index: int = 0
    deadline: float = field(default=180.0, repr=False)
    retries: int = field(default=6, repr=False)
    check_activation: bool = field(default=True, repr=False)
    """Ask vLLM once whether scores are raw."""

    def __post_init__(self) -> None:
        if self.kind not in _PATHS:
            raise ConfigError(f"needed kind as {', '.join(_PATHS)}; found {self.kind!r}.")
        self.api_key = Secret(self.api_key)
        self._checked: asyncio.Task[None] | None = None
        self._template: Any = None

    async def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Score a batch with one request, in order."""
        if self.kind.startswith("vllm") and self.check_activation:
            await self._refuse_squashed()
        return [self._output(score) for score in await self._scores(trajectories)]

    def _output(self, score: float) -> RewardOutput:
        if not math.isfinite(score):
            return RewardOutput.failed(Outcome.INFRA_ERROR, f"the model at {self.url} gave {score}.")
        return RewardOutput(score, metadata={"score": score})

    async def _scores(self, trajectories: Sequence[Trajectory], activation: bool = False) -> list[float]:
        texts = [self._text(trajectory) for trajectory in trajectories]
        payload = self._payload(trajectories, texts, activation)

        def fault(body: Json) -> str:
            found = self._read(body)
            return "" if len(found) == len(texts) else f"{len(found)} scores for {len(texts)} responses"

        endpoint = Endpoint(self.url, Secret(self.api_key), deadline=self.deadline, retries=self.retries)
        call = Call(_PATHS[self.kind], payload, fault_in=fault, listed=self.kind == "sglang", remember=False)
        return self._read((await post(endpoint, call)).body)

    def _payload(self, trajectories: Sequence[Trajectory], texts: list[str], activation: bool) -> Json:
        named = {"model": self.model} if self.model else {}
        if self.kind.startswith("vllm"):
            # a template writes its own BOS: a second one would change the score
            return {**named, "input": texts, "use_activation": activation, "add_special_tokens": not self.tokenizer}
        if self.kind == "sglang":
            return {**named, "text": texts}
        labels = [t.ground_truth if isinstance(t.ground_truth, str) else "" for t in trajectories]
        return {"query": texts, "prompts": [t.prompt for t in trajectories], "labels": labels}

    def _read(self, body: Json) -> list[float]:
        """The scores of a reply, in the order that it says; empty where it is none."""
        if self.kind == "openrlhf":
            return _numbers(body.get("rewards"))
        data = body.get("data")
        if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
            return []
        rows: list[Json] = data
        places = [row.get("index", place) for place, row in enumerate(rows)]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(len(rows))):
            return []
        found: dict[int, float] = {}
        for place, row in zip(places, rows, strict=True):
            given = row.get("probs") or row.get("embedding") or row.get("data")
            while isinstance(given, list) and given and isinstance(given[-1], list):
                given = given[-1]  # a score for each token: the whole text is known at the last
            scores = _numbers(given)
            if len(scores) > self.score_index:
                found[place] = scores[self.score_index]
        return [found[place] for place in sorted(found)]

    def _text(self, trajectory: Trajectory) -> str:
        response = without_control_tokens(own_part(trajectory.response))
        if not self.tokenizer:
            return trajectory.prompt + response
        if self._template is None:
            transformers: Any = require("transformers", "model", "a served model's chat template")
            self._template = transformers.AutoTokenizer.from_pretrained(self.tokenizer)
        before = [{"role": t["role"], "content": text_of(t)} for t in trajectory.conversation[:-1]]
        turns = [
            *(before or [{"role": "user", "content": trajectory.prompt}]),
            {"role": "assistant", "content": response},
        ]
        return str(self._template.apply_chat_template(turns, tokenize=False))

    async def _refuse_squashed(self) -> None:
        if self._checked is None or (self._checked.done() and self._checked.exception() is not None):
            self._checked = asyncio.ensure_future(self._look_for_activation())
        await asyncio.shield(self._checked)

    async def _look_for_activation(self) -> None:
        raw, squashed = await self._scores(_PROBE), await self._scores(_PROBE, activation=True)
        if raw == squashed and all(0.0 < score < 1.0 for score in raw):
            raise InfraError(
                f"the server at {self.url} ignores use_activation=false: its scores ({raw[0]:.3f}) went through a "
                f"sigmoid. Use a vLLM that knows it, start it with --pooler-config '{{\"use_activation\": false}}', or "
                f"pass check_activation=False if the model's scores lie between 0 and 1 by themselves."
            )

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)


def _numbers(values: Any) -> list[float]:
    """A list of numbers as such; empty where it is none."""
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        return []
    return [float(value) for value in values]
