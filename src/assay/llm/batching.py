"""Inputs of many lengths through one model, without paying for padding or for the same thing twice.

Identical inputs go once. What the answers to one prompt have in common at their start goes once, in models that read
from left to right. The rest is sorted by length and put in batches of so many tokens: on a CPU, batches in order of
arrival are several times slower than one by one.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import require
from assay.llm.encode import Encoded
from assay.llm.local import Local

CPU_TOKENS, GPU_TOKENS = 512, 32_768
"""On a CPU a text of 256 tokens fills the kernels by itself: more in a batch is padding and masks, and no faster."""
KEPT = 65_536
"""Tokens of a shared start that are held at once, counted for each row that reads them: they lie in memory."""
MIN_SHARED = 32
"""Tokens in common below which sharing is not worth its second pass."""
AGREEMENT = 1e-3
"""How far a shared score may be from an unshared one, relative to its size, before sharing is given up."""


@dataclass
class Batcher:
    """Runs encoded inputs through a model."""

    local: Local
    tokens_per_batch: int = 0
    share_prefix: bool = True
    shared_tokens: int = field(default=0, init=False)
    """Tokens that did not go through the model because another answer had them already."""

    def __post_init__(self) -> None:
        self._torch: Any = require("torch", "model", "a reward model")
        cpu = self.local.device.type == "cpu"
        self._budget = self.tokens_per_batch or (CPU_TOKENS if cpu else GPU_TOKENS)
        self._sharing_checked = False
        self._takes = frozenset(inspect.signature(self.local.model.forward).parameters)
        self._once: dict[str, Any] = {"use_cache": False} if "use_cache" in self._takes else {}
        """Keys and values are of no use to who reads a text once."""

    def scores(self, inputs: Sequence[Encoded], groups: Sequence[str]) -> list[list[float]]:
        """The logits of a sequence classifier for each input, in order."""
        unique: dict[tuple[Any, ...], int] = {}
        for i, one in enumerate(inputs):
            unique.setdefault((one.ids, one.types), i)
        first = list(unique.values())
        found: dict[int, list[float]] = {}
        with self._torch.inference_mode():
            alone = first
            if self.share_prefix and self.local.causal:
                alone = self._shared_first(inputs, first, groups, found)
            for rows in self.batches([len(inputs[i]) for i in alone], alone):
                self._plain(inputs, rows, found)
        return [found[unique[(one.ids, one.types)]] for one in inputs]

    def batches(self, lengths: Sequence[int], rows: Sequence[int], most: int = 0) -> Iterator[list[int]]:
        """Rows by length, longest first, as many together as the budget holds and at most so many (0: no limit)."""
        order = sorted(range(len(rows)), key=lambda k: (-lengths[k], k))
        batch: list[int] = []
        width = 0
        for k in order:
            full = max(width, lengths[k]) * (len(batch) + 1) > self._budget or len(batch) == most > 0
            if batch and full:
                yield batch
                batch, width = [], 0
            batch.append(rows[k])
            width = max(width, lengths[k])
        if batch:
            yield batch

    def _plain(self, inputs: Sequence[Encoded], rows: Sequence[int], found: dict[int, list[float]]) -> None:
        logits = self.local.model(**self.tensors([inputs[i] for i in rows]), **self._once).logits.float()
        found.update(zip(rows, logits.tolist(), strict=True))

    def tensors(self, inputs: Sequence[Encoded]) -> dict[str, Any]:
        """Inputs as padded tensors; no mask where nothing is padded."""
        torch, width = self._torch, max(map(len, inputs))
        given: dict[str, Any] = {"input_ids": self._padded([one.ids for one in inputs], width, self.local.pad)}
        if any(len(one) < width for one in inputs):
            lengths = torch.tensor([len(one) for one in inputs], device=self.local.device)
            given["attention_mask"] = (torch.arange(width, device=self.local.device)[None] < lengths[:, None]).long()
        if inputs[0].types:
            given["token_type_ids"] = self._padded([one.types for one in inputs], width, 0)
        return given

    def _padded(self, rows: Sequence[Sequence[int]], width: int, fill: int) -> Any:
        padded = [[*row, *[fill] * (width - len(row))] for row in rows]
        return self._torch.tensor(padded, device=self.local.device)

    def at(
        self, inputs: Sequence[Encoded], positions: Sequence[Sequence[int]], labels: Sequence[int]
    ) -> list[list[Any]]:
        """For each input the logits of these labels at these positions: a row of numbers for each position."""
        found: dict[int, list[Any]] = {}
        with self._torch.inference_mode():
            for rows in self.batches([len(one) for one in inputs], list(range(len(inputs)))):
                read = sorted({position for i in rows for position in positions[i]})
                logits = self._logits_at(self.tensors([inputs[i] for i in rows]), read)[..., list(labels)].float()
                place = {position: k for k, position in enumerate(read)}
                for k, i in enumerate(rows):
                    found[i] = logits[k, [place[position] for position in positions[i]]].tolist()
        return [found[i] for i in range(len(inputs))]

    def _logits_at(self, given: dict[str, Any], positions: Sequence[int]) -> Any:
        """Logits at these positions, by the model's own head: a language model's need not be made for every token."""
        model, read = self.local.model, self._torch.tensor(positions, device=self.local.device)
        if "logits_to_keep" in self._takes:
            return model(**given, **self._once, logits_to_keep=read).logits
        return model(**given, **self._once).logits[:, read]

    # -- sharing what answers have in common -------------------------------------------------------------------------

    def _shared_first(
        self, inputs: Sequence[Encoded], rows: Sequence[int], groups: Sequence[str], found: dict[int, list[float]]
    ) -> list[int]:
        """Score the groups that share a long start; returns the rows that are left."""
        by_group: dict[str, list[int]] = {}
        for i in rows:
            by_group.setdefault(groups[i], []).append(i)
        alone: list[int] = []
        for members in by_group.values():
            common = self._common(inputs, members)
            if not common or not self.share_prefix:
                alone += members
                continue
            self._group(inputs, members, common, found)
            if not self._sharing_checked and not self._agrees(inputs, members[0], found):
                self.share_prefix = False
                alone += members
        return alone

    def _common(self, inputs: Sequence[Encoded], members: Sequence[int]) -> int:
        """How many tokens the members have in common at their start, where sharing them pays; else 0."""
        if len(members) < 2:
            return 0
        low, high = min(inputs[i].ids for i in members), max(inputs[i].ids for i in members)
        shortest = min(len(inputs[i]) for i in members)
        common = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), shortest)
        common = min(common, shortest - 2)  # the place that is read must stay behind it, even where that is padding
        total = sum(len(inputs[i]) for i in members)
        return common if common >= MIN_SHARED and common * (len(members) - 1) > total / 4 else 0

    def _group(
        self, inputs: Sequence[Encoded], members: Sequence[int], common: int, found: dict[int, list[float]]
    ) -> None:
        torch, model, device = self._torch, self.local.model, self.local.device
        start = torch.tensor([inputs[members[0]].ids[:common]], device=device)
        base = getattr(model, model.base_model_prefix)
        past = base(input_ids=start, use_cache=True).past_key_values
        lengths = [len(inputs[i]) - common for i in members]
        for rows in self.batches(lengths, members, max(1, KEPT // common)):
            rest = [Encoded(inputs[i].ids[common:]) for i in rows]
            given = self.tensors(rest)
            mask = given.get("attention_mask", torch.ones_like(given["input_ids"]))
            before = torch.ones((len(rows), common), dtype=mask.dtype, device=device)
            positions = torch.arange(common, common + mask.shape[1], device=device)[None].expand(len(rows), -1)
            logits = model(
                input_ids=given["input_ids"],
                attention_mask=torch.cat([before, mask], dim=1),
                position_ids=positions,
                past_key_values=_repeated(past, len(rows)),
                use_cache=True,
            ).logits.float()
            found.update(zip(rows, logits.tolist(), strict=True))
        self.shared_tokens += common * (len(members) - 1)

    def _agrees(self, inputs: Sequence[Encoded], row: int, found: dict[int, list[float]]) -> bool:
        """Whether sharing changes a score: asked once, of the first group, since a model may keep no usable cache."""
        self._sharing_checked = True
        shared, plain = found[row], dict[int, list[float]]()
        self._plain(inputs, [row], plain)
        return all(abs(a - b) <= AGREEMENT * max(1.0, abs(b)) for a, b in zip(shared, plain[row], strict=True))


def _repeated(past: Any, times: int) -> Any:
    own = copy.deepcopy(past)  # a forward pass writes into its cache
    if times > 1:
        own.batch_repeat_interleave(times)
    return own
