"""Several judges, one verdict: their mean, their median, or what most of them hold."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal

from assay.compose.flow import Ask, Batch, Composition, Flow, distinct, union, unscored
from assay.errors import ConfigError
from assay.reward import Contract, as_reward
from assay.types import RewardOutput

Verdict = Literal["mean", "median", "majority"]


class Jury(Composition):
    """What the jurors give on average: 1 where all of them give 1, 0 where all give 0.

    Jurors are rewards of any kind, best judges of different models. `verdict`: their `mean`, their `median`, or
    `majority`: 1 where more than half give at least `bar`, 0 where fewer do, 0.5 where it is even. With `first=2` two
    are asked, and the rest only about the rows where those two are further apart than `apart`, or one gave no score.
    A row with fewer than `quorum` scores is not scored.

    >>> from assay import score
    >>> jury = Jury([lambda response: 1.0, lambda response: 0.4, lambda response: 0.0], verdict="median")
    >>> score(jury, ["Hello"])[0].reward
    0.4

    Hacked by: what fools models alike, since they learned from the same texts; the spread then shows no alarm.
    """

    made_of = ("jurors",)

    def __init__(
        self,
        jurors: Sequence[Any],
        verdict: Verdict = "mean",
        first: int = 0,
        apart: float = 0.25,
        quorum: int = 1,
        bar: float = 0.5,
    ) -> None:
        self.children = distinct([as_reward(juror) for juror in jurors])
        if verdict not in ("mean", "median", "majority"):
            raise ConfigError(f"needed verdict as 'mean', 'median' or 'majority'; found {verdict!r}.")
        if not (0 <= first <= len(self.children) and 1 <= quorum <= len(self.children)):
            raise ConfigError(
                f"needed first and quorum of at most the {len(self.children)} jurors; found {first} and {quorum}."
            )
        self.verdict: Verdict = verdict
        self.first, self.apart, self.quorum, self.bar = first or len(self.children), apart, quorum, bar
        self.name = "jury"
        ranges = union([juror.contract.range for juror in self.children.values()])
        self.contract = Contract(range=(0.0, 1.0) if verdict == "majority" else ranges)

    def flow(self, batch: Batch) -> Flow:
        """The first jurors on every row; the others where these disagree."""
        rows = list(range(len(batch.trajectories)))
        names = list(self.children)
        parts: list[dict[str, RewardOutput]] = [{} for _ in rows]
        for panel in (names[: self.first], names[self.first :]):
            asked = rows if panel[:1] == names[:1] else [i for i in rows if self._open(parts[i])]
            if not panel or not asked:
                continue
            answers = yield [Ask(name, self.children[name], asked) for name in panel]
            for name, outputs in zip(panel, answers, strict=True):
                for i, output in zip(asked, outputs, strict=True):
                    parts[i][name] = output
        return [self._fold(part) for part in parts]

    def _open(self, parts: dict[str, RewardOutput]) -> bool:
        values = [part.reward for part in parts.values() if part.reward is not None]
        return len(values) < len(parts) or max(values) - min(values) > self.apart

    def _fold(self, parts: dict[str, RewardOutput]) -> RewardOutput:
        values = [part.reward for part in parts.values() if part.reward is not None]
        votes = {name: part.reward for name, part in parts.items()}
        if len(values) < self.quorum:
            return unscored(parts, {"votes": votes})
        spread = statistics.pstdev(values)
        record = {"votes": votes, "spread": spread, "escalated": len(parts) > self.first}
        return RewardOutput(self._verdict(values), metadata=record, components=parts)

    def _verdict(self, values: Sequence[float]) -> float:
        if self.verdict == "mean":
            return statistics.fmean(values)
        if self.verdict == "median":
            return float(statistics.median(values))
        share = sum(value >= self.bar for value in values) / len(values)
        return 0.5 if share == 0.5 else float(share > 0.5)
