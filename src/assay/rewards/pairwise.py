"""A judge that compares: each response against the others of its group, or against the reference."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, InfraError
from assay.llm.grading import SYSTEM, as_text, asked_text, join
from assay.llm.guard import Guard, Guarded, guarded
from assay.llm.judge_model import JudgeModel, Prompt, Unscorable
from assay.llm.prompt import fence
from assay.llm.question import Question
from assay.llm.secret import Secret
from assay.llm.tournament import Pair, pairings, seed_of, standings
from assay.reward import Contract, Per, RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory

WINNER = Question(
    "winner",
    "Which response does the task better: A, B, or is it a tie?",
    ("B", "tie", "A"),
    (0.0, 0.5, 1.0),
)
PLAIN = "There is nothing that I want to say to this."
"""What a response meets alone when a pair could not be judged, to see which of the two did it."""


@dataclass
class PairwiseJudge(RewardFunction):
    """1 where a response surely beats what it is compared with, 0 where it surely loses, 0.5 for a tie.

    In a group of the same prompt everyone meets everyone, or in a larger one `opponents` others, and the reward is the
    chance to beat another of the group. With `against="reference"` each response meets the ground truth. Every pair is
    judged in both orders. A response with nothing to judge loses without a call, and so does one that makes a sound
    judge fail; a pair that is lost to the server is left out.

    >>> PairwiseJudge("gpt-4.1-mini", api_key="sk-...").contract.per.value
    'group'

    Hacked by: what wins comparisons without being better: length, form, answering one more question than was asked.
    """

    contract = Contract(per=Per.GROUP, range=(0.0, 1.0), cost=200.0)

    judge_model: str | Mapping[str, Any] | JudgeModel
    instruction: str = ""
    """What makes a response better, in words; added to the task."""
    api_key: str | Secret = field(default="", repr=False)
    base_url: str = field(default="", repr=False)
    against: Literal["group", "reference"] = "group"
    opponents: int = field(default=4, repr=False)
    """How many others of a large group each response meets."""
    guard: Guard = field(default_factory=Guard, repr=False)

    def __post_init__(self) -> None:
        if self.against not in ("group", "reference") or self.opponents < 2:
            raise ConfigError(
                f"needed against as 'group' or 'reference', and at least 2 opponents; found {self.against!r} and "
                f"{self.opponents}."
            )
        self.api_key = Secret(self.api_key)
        self.judge = JudgeModel.of(self.judge_model, self.api_key, self.base_url)
        self.contract: Contract = dataclasses.replace(  # type: ignore[misc]
            type(self).contract,
            concurrency=max(1, self.judge.concurrency // 4),
            deterministic=self.judge.temperature == 0.0,
            version=f"{self.judge.version()} {self.instruction} {self.against} {self.opponents} {self.guard}",
        )

    async def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Compare the responses to one prompt."""
        if self.against == "reference":
            return list(await asyncio.gather(*map(self._against_reference, trajectories)))
        if len(trajectories) == 1:
            return [RewardOutput(None, error="a group of one has nobody to be compared with")]
        given = [guarded(self.guard, t.response, t.prompt) for t in trajectories]
        table = _Table(self, asked_text(trajectories[0]), given)
        pairs = pairings(len(given), self.opponents, seed_of([one.text for one in given]))
        await asyncio.gather(*(table.play(pair) for pair in pairs))
        places = standings(len(given), table.results)
        return [table.output(i, place) for i, place in enumerate(places)]

    async def _against_reference(self, trajectory: Trajectory) -> RewardOutput:
        reference = as_text(trajectory.ground_truth)
        if not reference.strip():
            return RewardOutput(
                None, error=f"reward {self.name!r} needs a ground truth to compare with; the row has none"
            )
        given = guarded(self.guard, trajectory.response, trajectory.prompt, reference)
        table = _Table(self, asked_text(trajectory), [given, Guarded(reference)])
        await table.play((0, 1))
        return table.output(0, table.results.get((0, 1)))


class _Table:
    """The games of one group: who met whom, how it ended, and who could not be judged."""

    def __init__(self, reward: PairwiseJudge, task: str, given: Sequence[Guarded]) -> None:
        self.reward, self.task, self.given = reward, task, given
        self.results: dict[Pair, float] = {}
        self.games: list[list[dict[str, Any]]] = [[] for _ in given]
        self.lost: list[str] = [""] * len(given)
        self._blamed: dict[int, asyncio.Task[str]] = {}
        self._at_fault: dict[int, str] = {}

    async def play(self, pair: Pair) -> None:
        """Settle one pair: without a call where that can be, else in both orders."""
        i, j = pair
        first, second = self.given[i], self.given[j]
        if first.nothing or second.nothing or first.text == second.text:
            self._note(pair, 0.5 + 0.5 * (bool(second.nothing) - bool(first.nothing)), {"called": False})
            return
        try:
            forth, back = await asyncio.gather(self._ask(first.text, second.text), self._ask(second.text, first.text))
        except InfraError as error:
            self.lost[i] = self.lost[j] = str(error)
            return
        except Unscorable:
            at_fault = [bool(await self._blame(k)) for k in pair]
            if any(at_fault):
                self._note(pair, 0.5 + 0.5 * (at_fault[1] - at_fault[0]), {"unscorable": True})
            else:
                self.lost[i] = self.lost[j] = "the judge could judge neither order of this pair"
            return
        self._note(pair, (forth + 1.0 - back) / 2, {"forth": forth, "back": 1.0 - back})

    def _note(self, pair: Pair, result: float, how: dict[str, Any]) -> None:
        i, j = pair
        self.results[pair] = result
        self.games[i].append({"against": j, "won": result, **how})
        self.games[j].append({"against": i, "won": 1.0 - result, **how})

    async def _ask(self, first: str, second: str) -> float:
        reward, secret = self.reward, self.reward.judge.fence_secret
        fenced = [fence(f"RESPONSE {name}", text, secret) for name, text in (("A", first), ("B", second))]
        user = join([reward.instruction, fence("TASK", self.task, secret), *fenced])
        return (await reward.judge.judge(Prompt(SYSTEM, user), [WINNER])).value("winner")

    async def _blame(self, i: int) -> str:
        """Why this response cannot be judged even beside a plain one; empty where it can."""
        if i not in self._blamed:
            self._blamed[i] = asyncio.ensure_future(self._alone(i))
        return await self._blamed[i]

    async def _alone(self, i: int) -> str:
        try:
            await self._ask(self.given[i].text, PLAIN)
        except Unscorable as error:
            self._at_fault[i] = str(error)
            return str(error)
        except InfraError:
            return ""
        return ""

    def output(self, i: int, place: float | None) -> RewardOutput:
        """The reward of one response, from its games."""
        record: dict[str, Any] = {"model": self.reward.judge.model, "games": self.games[i], **self.given[i].report}
        if self.given[i].nothing:
            record["skipped"] = self.given[i].nothing
        if blamed := self._at_fault.get(i):
            record["unscorable"] = blamed
            why = f"lowest score: {blamed}"
            return RewardOutput(0.0, metadata={"judge": record}, outcome=Outcome.GRADER_ERROR, error=why)
        asked = [game for game in self.games[i] if "forth" in game]
        if asked:
            record["consistent"] = sum((g["forth"] - 0.5) * (g["back"] - 0.5) >= 0 for g in asked) / len(asked)
        if place is None:
            return RewardOutput.failed(Outcome.INFRA_ERROR, self.lost[i] or "no pair was judged", judge=record)
        return RewardOutput(place, metadata={"judge": record})
