"""A reward model trained on preferences, over TRL's RewardTrainer; and what any reward is worth on preferences."""

from __future__ import annotations

import difflib
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from assay.engine import score
from assay.errors import InputError, UnknownName, require
from assay.llm.calibration import correlation
from assay.llm.encode import Encoder
from assay.llm.local import Local, loading, max_length_of
from assay.rollouts import whole_rows
from assay.train.telemetry import no_telemetry
from assay.types import Trajectory


@dataclass(frozen=True, slots=True)
class Preference:
    """Two answers to one prompt, the better one first. One real row:

    {"prompt": "What is 2 + 2?", "chosen": "4", "rejected": "5", "category": "math"}
    """

    prompt: str
    chosen: str
    rejected: str
    category: str = ""
    turns: tuple[Mapping[str, Any], ...] = ()
    """What stood before the answers, where it was given as messages."""

    def answered(self, answer: str, group: str = "") -> Trajectory:
        """The conversation with one of the answers."""
        if not self.turns:
            return Trajectory(self.prompt, answer, group=group)
        return Trajectory(messages=[*self.turns, {"role": "assistant", "content": answer}], group=group)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a reward model is trained."""

    epochs: float = 1.0
    steps: int = 0
    """0: as many as the epochs take."""
    batch: int = 16
    learning_rate: float = 1e-5
    held_out: float = 0.1
    """The share of the preferences that is kept for the evaluation."""
    max_length: int = 1024
    center: float = 0.01
    """How strongly scores are drawn to zero on average."""
    seed: int = 0
    trl: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Any further argument of TRL's RewardConfig."""


def read_preferences(path: str | Path) -> list[Preference]:
    """Preferences of a file: `prompt`, `chosen`, `rejected`, each a text or messages; perhaps `category`."""
    found: list[Preference] = []
    for number, row in enumerate(whole_rows(path), 1):
        try:
            found.append(_preference(row))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}, row {number}: needed a preference with 'prompt', 'chosen' and 'rejected' ({error})."
            ) from None
    return found


def _preference(row: Any) -> Preference:
    if not isinstance(row, dict):
        raise TypeError(f"an object, found {type(row).__name__}")
    category = str(row.get("category") or row.get("subset") or "")
    prompt = row.get("prompt")
    if prompt is None:
        prompt = row["chosen"][:-1] if isinstance(row["chosen"], list) else None
    if not isinstance(prompt, str | list):
        raise KeyError("prompt")
    turns: list[Mapping[str, Any]] = prompt if isinstance(prompt, list) else []
    text = "\n\n".join(_text([turn]) for turn in turns) if turns else str(prompt)
    return Preference(text, _text(row["chosen"]), _text(row["rejected"]), category, tuple(turns))


def _text(value: Any) -> str:
    if isinstance(value, list):
        if not value or not isinstance(value[-1], dict):
            raise TypeError("a text or messages, found a list without a message")
        value = value[-1]["content"]
    if not isinstance(value, str):
        raise TypeError(f"a text or messages, found {type(value).__name__}")
    return value


def train_reward_model(
    preferences: Sequence[Preference], base: str | Path, output: str | Path, recipe: Recipe | None = None
) -> dict[str, float]:
    """Train a reward model from a base model (a folder or a hub name), save it, and return its figures.

    It is trained on the very token ids that `RewardModel` will read: template, special tokens and all.
    """
    recipe = recipe or Recipe()
    no_telemetry()
    trl: Any = require("trl", "train", "training a reward model")
    datasets: Any = require("datasets", "train", "training a reward model")
    arguments = _arguments(trl, recipe, output)
    encoder = _encoder(str(base))
    parts = split(preferences, recipe.held_out, recipe.seed)
    train, held = (_as_ids(part, encoder, recipe.max_length) for part in parts)
    if not train:
        raise InputError(f"each of the {len(parts[0])} pairs is longer than max_length={recipe.max_length} tokens.")
    with loading(str(base)):
        trainer = trl.RewardTrainer(
            model=str(base),
            args=arguments,
            train_dataset=datasets.Dataset.from_list(train),
            eval_dataset=datasets.Dataset.from_list(held) if held else None,
            processing_class=encoder.local.tokenizer,
        )
    outcome = trainer.train()
    figures = {"train_loss": float(outcome.training_loss), "train_pairs": float(len(train))}
    if held:
        told = trainer.evaluate()
        figures |= {"held_out_pairs": float(len(held)), "held_out_accuracy": float(told["eval_accuracy"])}
    if len(train) + len(held) < len(preferences):
        figures["too_long_pairs"] = float(len(preferences) - len(train) - len(held))
    trainer.save_model(str(output))
    encoder.local.tokenizer.save_pretrained(str(output))
    return figures


def split(preferences: Sequence[Preference], share: float, seed: int) -> tuple[list[Preference], list[Preference]]:
    """Training and held-out preferences. A prompt is on one side only, or the accuracy would flatter."""
    prompts = sorted({p.prompt for p in preferences})
    if len(prompts) < 2 or share <= 0:
        return list(preferences), []
    random.Random(seed).shuffle(prompts)
    kept = set(prompts[: min(len(prompts) - 1, max(1, round(share * len(prompts))))])
    return [p for p in preferences if p.prompt not in kept], [p for p in preferences if p.prompt in kept]


def _encoder(base: str) -> Encoder:
    transformers: Any = require("transformers", "train", "training a reward model")
    with loading(base):
        tokenizer = transformers.AutoTokenizer.from_pretrained(base)
        config = transformers.AutoConfig.from_pretrained(base)
    # the trainer hands on ids and nothing else, so that nothing else may be read when the model is used
    tokenizer.model_input_names = [name for name in tokenizer.model_input_names if name != "token_type_ids"]
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token or tokenizer.sep_token
    tokenizer.eos_token = tokenizer.eos_token or tokenizer.sep_token  # an encoder has none, and the trainer wants one
    limit, rows = max_length_of(tokenizer, config), config.get_text_config().vocab_size
    return Encoder(Local(None, tokenizer, None, limit, tokenizer.pad_token_id or 0, False, rows))


def _as_ids(preferences: Sequence[Preference], encoder: Encoder, longest: int) -> list[dict[str, list[int]]]:
    """The pairs as the trainer takes them, without those that are too long: it would leave them out unsaid."""
    pairs = [
        [list(encoder.encode(preference.answered(answer)).ids) for answer in (preference.chosen, preference.rejected)]
        for preference in preferences
    ]
    return [{"chosen_ids": a, "rejected_ids": b} for a, b in pairs if max(len(a), len(b)) <= longest]


def _arguments(trl: Any, recipe: Recipe, output: str | Path) -> Any:
    torch: Any = require("torch", "train", "training a reward model")
    known = {field.name for field in fields(trl.RewardConfig)}
    for name in recipe.trl:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise UnknownName(f"TRL's RewardConfig has no argument {name!r}.{meant}")
    gpu = torch.cuda.is_available()
    own: dict[str, Any] = {
        "output_dir": str(output),
        "num_train_epochs": recipe.epochs,
        "max_steps": recipe.steps or -1,
        "per_device_train_batch_size": recipe.batch,
        "per_device_eval_batch_size": recipe.batch,
        "learning_rate": recipe.learning_rate,
        "max_length": recipe.max_length,
        "center_rewards_coefficient": recipe.center,
        "seed": recipe.seed,
        "use_cpu": not gpu,
        "bf16": gpu and torch.cuda.is_bf16_supported(),
        # on by default in TRL: less memory for a third more work, which a CPU need not do
        next(name for name in ("activation_checkpointing", "gradient_checkpointing") if name in known): gpu,
        "dataloader_pin_memory": gpu,
        "report_to": "none",
        "save_strategy": "no",
        "eval_strategy": "no",
        "logging_steps": 50,
    }
    return trl.RewardConfig(**{**own, **recipe.trl})


# -- what a reward is worth on preferences ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slice:
    """Some preferences, and how many of them a reward got right; a tie counts half."""

    name: str
    pairs: int
    accuracy: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How often a reward gives the better answer more, where it does, and what length has to do with it."""

    pairs: int
    unscored: int
    why_unscored: str
    """The reason of the first pair that got no score."""
    ties: int
    accuracy: float
    categories: tuple[Slice, ...]
    when_better_is_longer: Slice
    when_better_is_shorter: Slice
    prefers_longer: float
    """How often the longer answer gets more; what people preferred is the longer one in `longer_is_better`."""
    longer_is_better: float
    length_correlation: float
    """Between the difference in length and the difference in score."""
    margin: float
    """The mean difference, in standard deviations of the scores."""


def evaluate(reward: Any, preferences: Sequence[Preference]) -> Evaluation:
    """Score both answers of every preference and compare; a pair with an answer that got no score is left out."""
    rows = [p.answered(answer, group=f"{i}") for i, p in enumerate(preferences) for answer in (p.chosen, p.rejected)]
    outputs = score(reward, rows)
    both = [(p, outputs[2 * i].reward, outputs[2 * i + 1].reward) for i, p in enumerate(preferences)]
    judged = [_Judged(p, a, b) for p, a, b in both if a is not None and b is not None]
    names = dict.fromkeys(one.preference.category or "(none)" for one in judged)
    told = [one for one in judged if one.longer]
    differ = [one.difference for one in judged]
    scores = [value for one in judged for value in (one.chosen, one.rejected)]
    spread = statistics.pstdev(scores) if len(scores) > 1 else 0.0
    return Evaluation(
        pairs=len(judged),
        unscored=len(preferences) - len(judged),
        why_unscored=next((out.error or str(out.outcome) for out in outputs if out.reward is None), ""),
        ties=sum(d == 0 for d in differ),
        accuracy=_slice("all", judged).accuracy,
        categories=tuple(_slice(n, [j for j in judged if (j.preference.category or "(none)") == n]) for n in names),
        when_better_is_longer=_slice("better is longer", [j for j in told if j.longer > 0]),
        when_better_is_shorter=_slice("better is shorter", [j for j in told if j.longer < 0]),
        prefers_longer=_mean([j.right if j.longer > 0 else 1.0 - j.right for j in told]),
        longer_is_better=_mean([float(j.longer > 0) for j in told]),
        length_correlation=correlation([float(j.longer) for j in judged], differ),
        margin=_mean(differ) / spread if spread else 0.0,
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    preference: Preference
    chosen: float
    rejected: float

    @property
    def difference(self) -> float:
        return self.chosen - self.rejected

    @property
    def right(self) -> float:
        return 0.5 if self.difference == 0 else float(self.difference > 0)

    @property
    def longer(self) -> int:
        return len(self.preference.chosen) - len(self.preference.rejected)


def _slice(name: str, judged: Sequence[_Judged]) -> Slice:
    return Slice(name, len(judged), _mean([one.right for one in judged]))


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0
