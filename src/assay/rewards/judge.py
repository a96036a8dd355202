"""A language model as the judge of one response at a time: on a scale, by a rubric, with or without a reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, InfraError, MissingColumn
from assay.llm.grading import Beside, as_text, check_template, grading_prompt, scale_in
from assay.llm.guard import Guard, guarded
from assay.llm.judge_model import Answer, JudgeModel, Unscorable
from assay.llm.question import Criterion, Question, rubric_of, scale, weighted
from assay.llm.secret import Secret
from assay.reward import Contract, RewardFunction
from assay.types import Outcome, RewardOutput, Trajectory

_OPENAI = "https://api.openai.com/v1"


@dataclass
class LLMJudge(RewardFunction):
    """1 where the judge gives the top of its scale (or every criterion of its rubric), 0 where it gives the bottom.

    The judge sees the task, the reference where the row has a ground truth, and the response, which is data to it: made
    visible, cleared of passages that speak to the judge, fenced. `prompt_template` may place them with `{prompt}`,
    `{reference}`, `{rubric}` and `{response}`; what it does not place follows it in that order. A response with nothing
    to judge is 0 without a call.

    A judge that cannot be reached leaves the row unscored (`infra_error`). A response that a sound judge cannot be
    brought to judge is a `grader_error` with the lowest score, as `on_unscorable` says.

    >>> judge = LLMJudge("gpt-4.1-mini", "Rate this response from 1 to 10.", api_key="sk-...")
    >>> judge.question.labels[-1], judge
    ('10', LLMJudge(judge_model='gpt-4.1-mini', prompt_template='Rate this response from 1 to 10.'))

    Hacked by: what persuades the model and is not addressed to it, above all length, form and confident wrong facts.
    Use a reference or a rubric of checkable criteria, and look at the slope of the score over the length.
    """

    contract = Contract(range=(0.0, 1.0), cost=100.0)

    judge_model: str | Mapping[str, Any] | JudgeModel
    """A model's name, or a `JudgeModel` (or its fields) with limits, prices and how verdicts are read."""
    prompt_template: str = ""
    api_key: str | Secret = field(default="", repr=False)
    base_url: str = field(default=_OPENAI, repr=False)
    scale: tuple[int, int] | None = field(default=None, repr=False)
    """From the lowest to the highest score; the template's own where it names one, or else 1 to 5."""
    rubric: Sequence[Any] = field(default=(), repr=False)
    """Criteria in place of one score: texts, (text, weight) pairs, or mappings as rubric data sets have them."""
    rubric_column: str = field(default="", repr=False)
    """The column that holds each row's own rubric."""
    reference: bool = field(default=True, repr=False)
    """Show the ground truth, where the row has one."""
    guard: Guard = field(default_factory=Guard, repr=False)
    on_unscorable: Literal["lowest", "unscored"] = field(default="lowest", repr=False)
    """What a response gets that no sound judge can be brought to judge."""

    def __post_init__(self) -> None:
        check_template(self.prompt_template)
        if self.on_unscorable not in ("lowest", "unscored"):
            raise ConfigError(f"needed on_unscorable as 'lowest' or 'unscored'; found {self.on_unscorable!r}.")
        self.api_key = Secret(self.api_key)
        self.judge = JudgeModel.of(self.judge_model, self.api_key, self.base_url)
        low, high = self.scale or scale_in(self.prompt_template) or (1, 5)
        text = "How well does the response do the task?" if not self.prompt_template else "What does the response get?"
        self.question: Question = scale(low, high, f"{text} From {low} (worst) to {high} (best).")
        self._rubric = rubric_of(self.rubric) if self.rubric else []
        self.contract: Contract = dataclasses.replace(  # type: ignore[misc]
            type(self).contract,
            concurrency=self.judge.concurrency,
            deterministic=self.judge.temperature == 0.0,
            version=f"{self.judge.version()} {self.prompt_template} {self.question} {self._rubric} {self.guard}",
            columns=(self.rubric_column,) if self.rubric_column else (),
        )

    async def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        """Ask the judge about one response."""
        reference = as_text(trajectory.ground_truth) if self.reference else ""
        given = guarded(self.guard, trajectory.response, trajectory.prompt, reference)
        if given.nothing:
            return RewardOutput(0.0, metadata={"judge": {"skipped": given.nothing, **given.report}})
        rubric = self._rubric_for(trajectory)
        questions = [question for _, question in rubric] or [self.question]
        beside = Beside(reference, _listed(rubric), self.guard.fence)
        prompt = grading_prompt(self.judge, self.prompt_template, trajectory, given, beside)
        record: dict[str, Any] = {"model": self.judge.model, **given.report}
        try:
            answer = await self.judge.judge(prompt, questions)
        except Unscorable as error:
            return self._unscorable(error, record)
        except InfraError as error:
            return RewardOutput.failed(Outcome.INFRA_ERROR, str(error), judge=record)
        if self.judge.offers:
            record["offers"] = dict(self.judge.offers)
        value = weighted(rubric, {q.name: answer.value(q.name) for q in questions}) if rubric else answer.value("score")
        return RewardOutput(value, metadata={"judge": {**self._explained(answer, rubric), **record}})

    def _rubric_for(self, trajectory: Trajectory) -> list[tuple[Criterion, Question]]:
        if not self.rubric_column:
            return self._rubric
        own = trajectory.metadata.get(self.rubric_column)
        if not isinstance(own, Sequence) or isinstance(own, str) or not own:
            raise MissingColumn(
                f"reward {self.name!r} needs a list of criteria in {self.rubric_column!r}; the row has {own!r:.80}."
            )
        return rubric_of(own)

    def _unscorable(self, error: Unscorable, record: dict[str, Any]) -> RewardOutput:
        record = {"unscorable": str(error), **record}
        if self.on_unscorable == "unscored":
            return RewardOutput.failed(Outcome.GRADER_ERROR, str(error), judge=record)
        return RewardOutput(0.0, metadata={"judge": record}, outcome=error.outcome, error=f"lowest score: {error}")

    def _explained(self, answer: Answer, rubric: list[tuple[Criterion, Question]]) -> dict[str, Any]:
        if rubric:
            criteria = {q.name: {"criterion": c.text, "weight": c.weight} for c, q in rubric}
            return {**answer.as_dict(), "rubric": criteria}
        low, high = int(self.question.labels[0]), int(self.question.labels[-1])
        score = low + answer.value("score") * (high - low)  # what a person looks for stands first
        reason = {"reason": answer.verdicts["score"].reason} if answer.verdicts["score"].reason else {}
        return {"score": score, "scale": [low, high], **reason, **answer.as_dict()}


def _listed(rubric: list[tuple[Criterion, Question]]) -> str:
    return "\n".join(["Criteria:", *(f"- {c.text}" for c, _ in rubric)]) if rubric else ""
