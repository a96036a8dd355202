"""A judge: a model behind an endpoint, how its verdicts are read, what it may cost, and whose fault a failure is.

judge = JudgeModel("gpt-4.1-mini", requests_per_minute=500, price=(0.4, 1.6), budget=20.0)
answer = await judge.ask(Prompt(system, user), [scale(1, 5, "How good is it?")])
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from assay.errors import ConfigError, InfraError, RewardError, did_you_mean
from assay.llm.client import Endpoint, Refused
from assay.llm.limits import Budget
from assay.llm.prompt import letters
from assay.llm.question import Question, Verdict
from assay.llm.read import Unreadable
from assay.llm.secret import Secret

Read = Literal["auto", "decisions", "logprobs", "schema", "text"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a judge is shown; how it is to answer is added by the way it is read."""

    system: str
    user: str


@dataclass(slots=True)
class Usage:
    """What a judge was used for, in this process."""

    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    unscorable: int = 0
    """Rows that a judge that is otherwise sound could not be brought to judge."""
    infra: int = 0
    """Rows lost to the server or the network."""


@dataclass(slots=True)
class Answer:
    """The verdicts on one prompt, and every call that was made for them."""

    verdicts: dict[str, Verdict]
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    spread: dict[str, float] = field(default_factory=dict[str, float])
    """By question the standard deviation over the samples, where there were several."""

    def value(self, name: str) -> float:
        """What the verdict on one question is worth."""
        return self.verdicts[name].value

    def as_dict(self) -> dict[str, Any]:
        """As JSON, for the metadata of an output."""
        spent = [call["spent"] for call in self.calls]
        shown: dict[str, Any] = {
            "verdicts": {name: verdict.as_dict() for name, verdict in self.verdicts.items()},
            "calls": self.calls,
            "spent": {
                "tokens": [sum(one["tokens"][i] for one in spent) for i in (0, 1)],
                "cost": sum(one["cost"] for one in spent),
                "seconds": max((one["seconds"] for one in spent), default=0.0),
                "cached": all(one["cached"] for one in spent),
            },
        }
        if self.spread:
            shown["spread"] = self.spread
        return shown


@dataclass(slots=True)
class Chance:
    """How often this judge's replies are nonsense by chance: told by the rows on which it then came to a verdict.

    A response is blamed for nonsense only where so much of it in a row is no chance. What never got a verdict does not
    count here, or a policy that learned to be unscorable would make the judge look bad instead of itself.
    """

    read: int = 0
    nonsense: int = 0

    def note(self, nonsense: int) -> None:
        """A row that got its verdict after so many replies that were none."""
        self.read += 1
        self.nonsense += nonsense

    def tries(self, least: int) -> int:
        """How many replies in a row must be nonsense before the response is to blame: one in a million by chance.

        >>> Chance().tries(3), Chance(read=900, nonsense=100).tries(3), Chance(read=500, nonsense=500).tries(3)
        (3, 6, 12)
        """
        share = (self.nonsense + 0.5) / (self.read + self.nonsense + 50)
        return max(least, min(MOST_TRIES, math.ceil(math.log(1e-6) / math.log(share))))


MOST_TRIES = 12


class Unscorable(RewardError):
    """A judge that is sound could not be brought to judge this response: its own doing, and possibly its aim."""


@dataclass
class JudgeModel:
    """A judge's model, its server, and its limits. Two rewards that share one share its budget and its counts.

    The key comes from `api_key`, or else from the environment variable `api_key_env`. It is never shown, and is not in
    a pickle: another process takes it from its own environment.
    """

    model: str
    api_key: str | Secret = field(default="", repr=False)
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = "OPENAI_API_KEY"
    read: Read = "auto"
    """How verdicts are read. `auto` takes the most trusted way that the server has: it is asked once."""
    reason: bool = True
    """Have the judge give a reason before its verdict, where it writes one (schema, text)."""
    min_mass: float = 0.5
    """Log-probabilities: with less of the probability than this on the allowed answers there is no verdict."""
    samples: int = 1
    """Verdicts per question; their mean counts and their spread is reported. More than 1 wants a temperature."""
    temperature: float = 0.0
    max_tokens: int = 1024
    tries: int = 3
    """How often a judge is asked whose reply cannot be read; more often where its replies are nonsense by chance."""
    price: tuple[float, float] = (0.0, 0.0)
    """Money for a million tokens in, and out."""
    budget: float | Budget | None = None
    """Money that may be spent; then the remaining rows are `infra_error`, not scored."""
    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    concurrency: int = 256
    attempt_timeout: float = 60.0
    deadline: float = 180.0
    retries: int = 6
    headers: Mapping[str, str | Secret] = field(default_factory=dict[str, "str | Secret"], repr=False)
    """More headers; kept as the key is, since some servers want theirs there."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More fields for the request's body, as the server takes them."""
    secret: str | Secret = field(default="", repr=False)
    """What fences and keys are derived from; made from the model's name where none is given."""
    client: InitVar[Any] = None
    """Your own `openai.AsyncOpenAI` (or what has its `chat.completions.create`), used in place of ours."""

    def __post_init__(self, client: Any) -> None:
        where = urlsplit(self.base_url)
        if where.scheme not in ("http", "https") or not where.hostname:
            raise ConfigError(f"needed base_url as http(s)://host/v1; found {self.base_url!r}.")
        if where.username or where.password:
            raise ConfigError("base_url holds a user or a password; give the key as api_key= instead.")
        if self.samples < 1 or self.tries < 1:
            raise ConfigError(f"needed samples and tries of at least 1; found {self.samples} and {self.tries}.")
        if self.samples > 1 and self.temperature == 0.0:
            raise ConfigError(f"{self.samples} samples at temperature 0 are one verdict repeated; set temperature=.")
        self.api_key, self.secret = Secret(self.api_key), Secret(self.secret)
        self.headers = {name: Secret(value) for name, value in self.headers.items()}
        if not isinstance(self.budget, Budget):
            self.budget = Budget(self.budget)
        self.usage = Usage()
        """What it was used for, in this process."""
        self.offers: dict[str, str] = {}
        """What its server was found to have when it was asked (`read="auto"`): by way of reading, yes or why not."""
        self.chance = Chance()
        """How often its replies are nonsense by chance."""
        self._client = client
        self._way: Read | None = None
        self._form = "systemone"
        self._quirks: set[str] = set()

    @classmethod
    def of(cls, value: Any, api_key: str | Secret = "", base_url: str = "") -> JudgeModel:
        """A judge from one, from a model's name, or from a mapping of the fields."""
        if isinstance(value, JudgeModel):
            return value
        given: dict[str, Any] = {"model": value} if isinstance(value, str) else dict(value)
        known = [*(f.name for f in dataclasses.fields(cls)), "client"]
        for name in given:
            if name not in known:
                raise ConfigError(
                    f"a judge model has no {name!r}; it has {', '.join(known)}.{did_you_mean(name, known)}"
                )
        if api_key:
            given.setdefault("api_key", api_key)
        if base_url:
            given.setdefault("base_url", base_url)
        return cls(**given)

    def key(self) -> Secret:
        """The API key: the given one, or the environment's."""
        given = Secret(self.api_key)
        return given or Secret(os.environ.get(self.api_key_env, "") if self.api_key_env else "")

    @property
    def fence_secret(self) -> str:
        """What the fences of this judge's prompts are derived from."""
        return Secret(self.secret).reveal() or f"assay fence {self.model}"

    def endpoint(self) -> Endpoint:
        """The server, the key and the limits, for the client."""
        return Endpoint(
            self.base_url,
            self.key(),
            self.requests_per_minute,
            self.tokens_per_minute,
            self.concurrency,
            self.attempt_timeout,
            self.deadline,
            self.retries,
            tuple((name, Secret(value)) for name, value in self.headers.items()),
        )

    def keys(self, questions: Sequence[Question]) -> dict[str, str]:
        """For each question the key that its verdict stands under: letters that a response cannot guess."""
        return verdict_keys(self.fence_secret, questions)

    def version(self) -> str:
        """What the judge's verdicts depend on, for a cache."""
        return f"{self.base_url} {self.model} {self.read} {self.samples} {self.temperature} {self.reason} {self.extra}"

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    async def ask(self, prompt: Prompt, questions: Sequence[Question]) -> Answer:
        """The judge's verdicts. `InfraError` is the server's fault; `Unreadable` a reply that is no verdict."""
        from assay.llm.asking import ask_once

        if self.samples == 1:
            return await ask_once(self, prompt, questions, 0)
        drawn = await asyncio.gather(*(ask_once(self, prompt, questions, sample) for sample in range(self.samples)))
        first = drawn[0]
        verdicts: dict[str, Verdict] = {}
        spread: dict[str, float] = {}
        for question in questions:
            values = [answer.value(question.name) for answer in drawn]
            one = first.verdicts[question.name]
            mean = statistics.fmean(values)
            nearest = min(range(len(question.values)), key=lambda i: abs(question.values[i] - mean))
            verdicts[question.name] = Verdict(question.labels[nearest], mean, one.read, reason=one.reason)
            spread[question.name] = statistics.pstdev(values)
        return Answer(verdicts, [call for answer in drawn for call in answer.calls], spread)

    async def judge(self, prompt: Prompt, questions: Sequence[Question]) -> Answer:
        """The judge's verdicts, with the blame settled where there are none.

        A reply that cannot be read is `Unscorable` when the same judge judges a harmless response at that time, and
        an `InfraError` when it does not: then the judge is broken, and no response may pay for it.
        """
        try:
            return await self.ask(prompt, questions)
        except (Unreadable, Refused) as error:
            if isinstance(error, Refused) and error.status not in (400, 413, 422):
                self.usage.infra += 1
                raise
            if await self._is_sound(questions[0]):
                self.usage.unscorable += 1
                raise Unscorable(
                    f"the judge {self.model!r} could not be brought to judge this response: {error}"
                ) from None
            self.usage.infra += 1
            raise InfraError(
                f"the judge {self.model!r} at {self.base_url} does not judge a harmless response either: {error}. "
                f"Check the model, read= and max_tokens=."
            ) from None
        except InfraError:
            self.usage.infra += 1
            raise

    async def _is_sound(self, question: Question) -> bool:
        from assay.llm.asking import ask_once

        try:
            await ask_once(self, CONTROL, [question], sample=0, control=True)
        except (Unreadable, InfraError):
            return False
        return True


def verdict_keys(secret: str, questions: Sequence[Question]) -> dict[str, str]:
    """For each question the key that its verdict stands under: letters that a response cannot guess."""
    return {q.name: "verdict_" + letters(secret, q.name + q.text, 8) for q in questions}


CONTROL = Prompt("You check responses.", "Task: What is 2 + 2?\n\nResponse: 4")
"""A harmless response: a judge that cannot judge it is broken."""
