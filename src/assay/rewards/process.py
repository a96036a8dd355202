"""A process reward model: each step of a solution is scored, and the steps make the reward."""

from __future__ import annotations

import dataclasses
import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, InfraError
from assay.llm.batching import Batcher
from assay.llm.encode import Encoded, Encoder, own_part
from assay.llm.local import Spec, load, weights_on_disk
from assay.reward import Contract, Per, RewardFunction
from assay.tokens import place, steps, words
from assay.types import Outcome, RewardOutput, Tokens, Trajectory

Aggregate = Literal["min", "mean", "product", "last"]


@dataclass
class ProcessRewardModel(RewardFunction):
    """1 where the model holds every step for right, 0 where it holds a step for wrong (by `aggregate`).

    The response is parted into steps (blank lines, list items, `Step 3`), a step token is put behind each, and the
    probability of "right" is read there: from the labels of a token classifier (`kind="token"`, as Qwen's PRMs), or
    from two words of a language model (`kind="labels"`, as Math-Shepherd: `step_token="ки"`). Step tokens in the
    response itself are text. `token_rewards` says what each step changed; they sum to the reward.

    >>> ProcessRewardModel("Qwen/Qwen2.5-Math-PRM-7B", step_token="<extra_0>").aggregate
    'min'

    Hacked by: one long step instead of many, or steps that say nothing: they are right, too. `min` over real steps with
    an outcome reward beside it leaves little of that.
    """

    contract = Contract(per=Per.BATCH, range=(0.0, 1.0), cost=60.0)

    model_path: str
    step_token: str = "<extra_0>"
    kind: Literal["token", "labels"] = "token"
    labels: tuple[str, str] = ("+", "-")
    """For `kind="labels"`: the words for right and wrong."""
    right: int = 1
    """For `kind="token"`: the label that means right."""
    aggregate: Aggregate = "min"
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    max_length: int = 0
    tokens_per_batch: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.aggregate not in ("min", "mean", "product", "last"):
            raise ConfigError(f"needed aggregate as 'min', 'mean', 'product' or 'last'; found {self.aggregate!r}.")
        if self.kind not in ("token", "labels"):
            raise ConfigError(f"needed kind as 'token' or 'labels'; found {self.kind!r}.")
        if min(self.max_length, self.tokens_per_batch) < 0:
            raise ConfigError("needed max_length and tokens_per_batch of at least 0; 0 is what suits the model.")
        self._spec = Spec(self.model_path, "token" if self.kind == "token" else "causal", self.device, self.dtype)
        self.contract = dataclasses.replace(type(self).contract, version=weights_on_disk(self.model_path))
        self._ready: _Reader | None = None
        self._loading = threading.Lock()

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Score a batch, in order."""
        reader = self._reader()
        given: dict[int, _Steps] = {}
        outputs: dict[int, RewardOutput] = {}
        for i, trajectory in enumerate(trajectories):
            try:
                given[i] = reader.encode(trajectory)
            except InfraError as error:  # of this row's text: the others are not to pay for it
                outputs[i] = RewardOutput.failed(Outcome.INFRA_ERROR, str(error))
        read = iter(reader.probabilities([one for one in given.values() if one.positions]))
        for i, one in given.items():
            outputs[i] = self._output(trajectories[i], one, next(read) if one.positions else [])
        return [outputs[i] for i in range(len(trajectories))]

    def _output(self, trajectory: Trajectory, given: _Steps, scores: list[float]) -> RewardOutput:
        if not scores and given.left_out:  # nobody read it; yet to be unreadable on purpose must not pay
            why = "its first step is longer than the model can read"
            record: dict[str, Any] = {"steps": [], "why": why, "steps_left_out": given.left_out}
            return RewardOutput(0.0, metadata=record, outcome=Outcome.GRADER_ERROR, error=f"lowest score: {why}")
        if not scores:
            return RewardOutput(0.0, metadata={"steps": [], "why": "the response has no step"})
        so_far = [combine(self.aggregate, scores[:k]) for k in range(1, len(scores) + 1)]
        changes = [so_far[0], *(b - a for a, b in itertools.pairwise(so_far))]
        if self.aggregate == "mean":
            changes = [score / len(scores) for score in scores]
        record = {"steps": scores, "worst": min(range(len(scores)), key=scores.__getitem__)}
        if given.left_out:
            record["steps_left_out"] = given.left_out
        return RewardOutput(so_far[-1], _on_tokens(trajectory, given, changes), metadata=record)

    def _reader(self) -> _Reader:
        with self._loading:
            if self._ready is None:
                local = load(self._spec)
                encoder = Encoder(local, self.max_length)
                self._ready = _Reader(encoder, Batcher(local, self.tokens_per_batch), self._ids(encoder))
            return self._ready

    def _ids(self, encoder: Encoder) -> _Ids:
        local = encoder.local
        step = _single(local.tokenizer, self.step_token, self.model_path)
        if self.kind == "labels":
            right, wrong = (_single(local.tokenizer, label, self.model_path) for label in self.labels)
            return _Ids(step, [wrong, right], 1)
        count = int(local.model.config.num_labels)
        if not 0 <= self.right < count:
            raise InfraError(f"right={self.right} is none of the {count} labels of {self.model_path!r}.")
        return _Ids(step, list(range(count)), self.right)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)


def combine(aggregate: Aggregate, scores: Sequence[float]) -> float:
    """The reward of some steps.

    >>> [combine(a, [0.5, 0.8]) for a in ("min", "mean", "product", "last")]
    [0.5, 0.65, 0.4, 0.8]
    """
    if aggregate == "min":
        return min(scores)
    if aggregate == "mean":
        return sum(scores) / len(scores)
    return math.prod(scores) if aggregate == "product" else scores[-1]


@dataclass(frozen=True, slots=True)
class _Ids:
    step: int
    labels: list[int]
    right: int
    """The index among `labels` that means right."""


@dataclass(slots=True)
class _Steps:
    """A response in steps: the input, where it is read, and what each step was."""

    encoded: Encoded
    positions: list[int]
    spans: list[tuple[int, int]]
    left_out: int = 0
    """Steps at the end that the model had no room for."""


@dataclass(slots=True)
class _Reader:
    encoder: Encoder
    batcher: Batcher
    ids: _Ids

    def encode(self, trajectory: Trajectory) -> _Steps:
        """The prompt, and each step with the step token behind it."""
        response = own_part(trajectory.response)
        spans = [span for span in steps(response) if response[span[0] : span[1]].strip()]
        limit = self.encoder.limit
        ids, at = list[int](), list[int]()
        for start, end in spans:
            step = self.encoder.plain_ids(response[start:end].strip())
            if len(ids) + len(step) + 1 > limit:
                break
            ids += [token for token in step if token != self.ids.step]
            at.append(len(ids))
            ids.append(self.ids.step)
        prompt = self.encoder.prompt_ids(trajectory)
        prompt = prompt[max(0, len(prompt) + len(ids) - limit) :]
        encoded = Encoded(tuple(prompt + ids))
        if at:
            self.encoder.check(encoded)
        return _Steps(encoded, [len(prompt) + k for k in at], spans[: len(at)], len(spans) - len(at))

    def probabilities(self, given: Sequence[_Steps]) -> list[list[float]]:
        """For each response the probability of right at each of its steps."""
        rows = self.batcher.at([one.encoded for one in given], [one.positions for one in given], self.ids.labels)
        return [[_softmax(step)[self.ids.right] for step in row] for row in rows]


def _softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    weights = [math.exp(value - top) for value in logits]
    return [weight / sum(weights) for weight in weights]


def _single(tokenizer: Any, text: str, path: str) -> int:
    """The one token that a text is; some tokenizers put a space's mark before it."""
    known = tokenizer.get_vocab()
    for spelling in (text, f"▁{text}", f"Ġ{text}"):
        if spelling in known:
            return int(known[spelling])
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    if len(ids) != 1:
        raise InfraError(f"{text!r} is {len(ids)} tokens for {path!r}; a step token and its labels must be one each.")
    return int(ids[0])


def _on_tokens(trajectory: Trajectory, given: _Steps, changes: list[float]) -> list[float]:
    tokens = trajectory.tokens
    if tokens is None or len(tokens.offsets) != len(tokens.ids):
        spans = words(trajectory.response)
        tokens = Tokens(ids=range(len(spans)), offsets=spans)
    return place(given.spans, changes, tokens)
