"""A reward model: any sequence classifier that was trained to score a conversation."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, InfraError
from assay.llm.batching import Batcher
from assay.llm.encode import Encoded, Encoder
from assay.llm.local import Spec, load, weights_on_disk
from assay.reward import Contract, Per, RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory


@dataclass
class RewardModel(RewardFunction):
    """The score of a reward model: whatever its head gives for the conversation (`raw`), or that through a sigmoid.

    The model is loaded at the first score. A response's control tokens are text and not turns; where prompt and answer
    do not fit, the prompt is cut at its start; equal inputs and common starts are computed once, and batches are made
    by length, so that a score does not depend on what else is in the batch (to 1e-4 in float32; bfloat16 drifts by some
    hundredths).

    >>> RewardModel("Skywork/Skywork-Reward-V2-Qwen3-0.6B", device="auto").contract.range is None
    True

    Hacked by: whatever its training preferred beside what was meant, first of all length and a confident tone. Watch
    `assay eval-rm`'s length bias, and mix it with a reward that can be checked.
    """

    contract = Contract(per=Per.BATCH, range=None, cost=50.0)

    model_path: str
    """A folder, or a name on the hub."""
    device: str = "auto"
    """auto (a GPU where there is one), cpu, cuda, cuda:1 ..."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    output: Literal["raw", "sigmoid", "standardized"] = "raw"
    mean: float = 0.0
    """For `standardized`: the reward is (score - mean) / std."""
    std: float = 1.0
    score_index: int | None = None
    """Which label is the score, for a head with several."""
    max_length: int = 0
    """Tokens; 0 is what the model can take."""
    tokens_per_batch: int = 0
    """0 is 512 on a CPU and 32,768 on a GPU."""
    share_prefix: bool = field(default=True, repr=False)
    fast_linear: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        if self.output not in ("raw", "sigmoid", "standardized"):
            raise ConfigError(f"needed output as 'raw', 'sigmoid' or 'standardized'; found {self.output!r}.")
        if self.output == "standardized" and self.std <= 0:
            raise ConfigError(f"needed a positive std for output='standardized'; found {self.std}.")
        if min(self.max_length, self.tokens_per_batch) < 0:
            raise ConfigError("needed max_length and tokens_per_batch of at least 0; 0 is what suits the model.")
        self._spec = Spec(self.model_path, "sequence", self.device, self.dtype, self.fast_linear)
        self.contract: Contract = dataclasses.replace(  # type: ignore[misc]
            type(self).contract,
            range=(0.0, 1.0) if self.output == "sigmoid" else None,
            version=weights_on_disk(self.model_path),
        )
        self._ready: tuple[Encoder, Batcher, int] | None = None
        self._loading = threading.Lock()

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Score a batch, in order."""
        encoder, batcher, index = self._model()
        inputs: dict[int, Encoded] = {}
        outputs: dict[int, RewardOutput] = {}
        for i, trajectory in enumerate(trajectories):
            try:
                inputs[i] = encoder.encode(trajectory)
            except InfraError as error:  # of this row's text: the others are not to pay for it
                outputs[i] = RewardOutput.failed(Outcome.INFRA_ERROR, str(error))
        logits = batcher.scores(list(inputs.values()), [trajectories[i].group_id for i in inputs])
        outputs |= {i: self._output(row[index], one) for (i, one), row in zip(inputs.items(), logits, strict=True)}
        return [outputs[i] for i in range(len(trajectories))]

    def _output(self, score: float, one: Encoded) -> RewardOutput:
        record: dict[str, Any] = {"score": score, "tokens": len(one)}
        if one.cut:
            record["prompt_tokens_cut"] = one.cut
        if not math.isfinite(score):
            return RewardOutput.failed(
                Outcome.INFRA_ERROR, f"the model {self.model_path!r} gave {score}.", tokens=len(one)
            )
        return RewardOutput(self._scaled(score), metadata=record)

    def _scaled(self, score: float) -> float:
        if self.output == "sigmoid":
            return 1.0 / (1.0 + math.exp(-score)) if score >= 0 else math.exp(score) / (1.0 + math.exp(score))
        return (score - self.mean) / self.std if self.output == "standardized" else score

    def _model(self) -> tuple[Encoder, Batcher, int]:
        with self._loading:
            if self._ready is None:
                local = load(self._spec)
                index = self._index(int(local.model.config.num_labels))
                batcher = Batcher(local, self.tokens_per_batch, self.share_prefix)
                self._ready = Encoder(local, self.max_length), batcher, index
            return self._ready

    def _index(self, labels: int) -> int:
        if self.score_index is None and labels > 1:
            raise InfraError(
                f"the model {self.model_path!r} has {labels} labels. Say which is the score: "
                f"score_index=0 to {labels - 1}."
            )
        index = self.score_index or 0
        if not 0 <= index < labels:
            raise InfraError(f"score_index={index} is none of the {labels} labels of {self.model_path!r}.")
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()
