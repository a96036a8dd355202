"""A judge that sees a whole group at once and gives each response a score beside the others."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, InfraError
from assay.llm.grading import SYSTEM, as_text, asked_text, join
from assay.llm.guard import Guard, Guarded, guarded
from assay.llm.judge_model import Answer, JudgeModel, Prompt, Unscorable
from assay.llm.prompt import fence, letters
from assay.llm.question import Question, scale
from assay.llm.secret import Secret
from assay.llm.tournament import seed_of
from assay.reward import Contract, Per, RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory


@dataclass
class ListwiseJudge(RewardFunction):
    """1 where the judge, seeing the whole group, gives the top of its scale, 0 where it gives the bottom.

    One call for up to `at_once` responses. They are shown in an order that does not depend on theirs, under ids made of
    random letters, and every score is matched by its id: a reply that lacks one, or has one more, is no verdict. Equal
    responses are shown once. Where one response makes the judge fail, each is judged alone, and it alone gets 0.

    >>> ListwiseJudge("gpt-4.1-mini", api_key="sk-...", at_once=4).contract.per.value
    'group'

    Hacked by: making the others look worse: a response that argues against its rivals. The guards leave that out.
    """

    contract = Contract(per=Per.GROUP, range=(0.0, 1.0), cost=100.0)

    judge_model: str | Mapping[str, Any] | JudgeModel
    instruction: str = ""
    """What makes a response good, in words; added to the task."""
    api_key: str | Secret = field(default="", repr=False)
    base_url: str = field(default="", repr=False)
    scale: tuple[int, int] = (1, 10)
    at_once: int = field(default=8, repr=False)
    reference: bool = field(default=True, repr=False)
    """Show the ground truth, where the rows have one."""
    guard: Guard = field(default_factory=Guard, repr=False)

    def __post_init__(self) -> None:
        if self.at_once < 2:
            raise ConfigError(f"needed at_once of at least 2; found {self.at_once}.")
        scale(*self.scale, "")
        self.api_key = Secret(self.api_key)
        self.judge = JudgeModel.of(self.judge_model, self.api_key, self.base_url)
        self.contract: Contract = dataclasses.replace(  # type: ignore[misc]
            type(self).contract,
            concurrency=self.judge.concurrency,
            deterministic=self.judge.temperature == 0.0,
            version=f"{self.judge.version()} {self.instruction} {self.scale} {self.at_once} {self.guard}",
        )

    async def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        """Judge the responses to one prompt together."""
        reference = as_text(trajectories[0].ground_truth) if self.reference else ""
        given = [guarded(self.guard, t.response, t.prompt, reference) for t in trajectories]
        texts = sorted({one.text for one in given if not one.nothing})
        random.Random(seed_of(texts)).shuffle(texts)
        parts = [texts[i : i + self.at_once] for i in range(0, len(texts), self.at_once)]
        task = asked_text(trajectories[0])
        found: dict[str, RewardOutput] = {}
        for part in await asyncio.gather(*(self._judged(task, reference, part) for part in parts)):
            found.update(part)
        return [self._output(one, found) for one in given]

    async def _judged(self, task: str, reference: str, texts: Sequence[str]) -> dict[str, RewardOutput]:
        secret = self.judge.fence_secret
        ids = {text: letters(secret, text, 6) for text in texts}
        user = join(
            [
                self.instruction,
                fence("TASK", task, secret),
                fence("REFERENCE ANSWER", reference, secret) if reference else "",
                *(fence(f"RESPONSE {ids[text]}", text, secret) for text in texts),
            ]
        )
        low, high = self.scale
        questions = [
            scale(low, high, f"What does response {ids[t]} get, from {low} (worst) to {high} (best)?", ids[t])
            for t in texts
        ]
        try:
            answer = await self.judge.judge(Prompt(SYSTEM, user), questions)
        except InfraError as error:
            failed = RewardOutput.failed(Outcome.INFRA_ERROR, str(error))
            return dict.fromkeys(texts, failed)
        except Unscorable as error:
            if len(texts) == 1:
                record, why = {"unscorable": str(error)}, f"lowest score: {error}"
                return {texts[0]: RewardOutput(0.0, metadata=record, outcome=error.outcome, error=why)}
            alone = await asyncio.gather(*(self._judged(task, reference, [text]) for text in texts))
            return {text: output for one in alone for text, output in one.items()}
        return {t: self._scored(answer, q) for t, q in zip(texts, questions, strict=True)}

    def _scored(self, answer: Answer, question: Question) -> RewardOutput:
        shown = answer.as_dict()
        verdict = shown.pop("verdicts")[question.name]
        return RewardOutput(answer.value(question.name), metadata={"id": question.name, "verdict": verdict, **shown})

    def _output(self, given: Guarded, found: Mapping[str, RewardOutput]) -> RewardOutput:
        record = {"model": self.judge.model, **given.report}
        if given.nothing:
            return RewardOutput(0.0, metadata={"judge": {**record, "skipped": given.nothing}})
        out = found[given.text]
        return dataclasses.replace(out, metadata={"judge": {**record, **out.metadata}})
