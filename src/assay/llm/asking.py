"""How a question becomes a request and a reply becomes a verdict, in each of the four ways of reading.

Which ways a server has is asked once, about a harmless response, and in the order of trust; what a server takes and
then ignores (some ignore log-probabilities, or schemas) is found out there, and not on a response's account.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError, InfraError
from assay.llm import client
from assay.llm.client import Call, Json, Refused, Reply
from assay.llm.judge_model import CONTROL, Answer, JudgeModel, Prompt, Read, verdict_keys
from assay.llm.limits import Budget
from assay.llm.prompt import letters
from assay.llm.question import Question, Verdict
from assay.llm.read import (
    Unreadable,
    decisions_question,
    fault_in_chat,
    has_logprobs,
    read_decision,
    read_logprobs,
    read_schema,
    read_text,
    schema_for,
    systemone_question,
    text_of_reply,
)

_UNSUPPORTED = frozenset({400, 404, 405, 415, 422, 501})
CONTROL_SECONDS = 60.0
"""How long a judge that answered the harmless question counts as sound."""


async def ask_once(
    judge: JudgeModel, prompt: Prompt, questions: Sequence[Question], sample: int, control: bool = False
) -> Answer:
    """One verdict on each question; asked again where the reply cannot be read, until that can be no chance."""
    way = judge._way or await _find_way(judge, questions[0])
    salt = f"control {int(time.monotonic() / CONTROL_SECONDS)}" if control else f"{sample}"
    problem: Unreadable | None = None
    calls: list[dict[str, Any]] = []
    attempt = 0
    while attempt < judge.chance.tries(judge.tries):
        talk = _Talk(judge, prompt, f"{salt} try {attempt}", calls, reminder=attempt > 0)
        try:
            verdicts = await _WAYS[way](talk, questions)
            judge.chance.note(attempt)
            return Answer(verdicts, calls)
        except Unreadable as error:
            problem = error
        attempt += 1
    assert problem is not None
    raise problem


async def _find_way(judge: JudgeModel, question: Question) -> Read:
    if judge.read != "auto":
        judge._way = judge.read
        return judge.read
    ways: list[Read] = ["logprobs", "schema"] if judge._client is not None else ["decisions", "logprobs", "schema"]
    for way in ways:
        talk = _Talk(judge, CONTROL, "probe", [])
        try:
            await _WAYS[way](talk, [question])
        except Refused as error:
            if error.status not in _UNSUPPORTED:
                raise
            judge.offers[way] = f"no (status {error.status})"
        except IgnoredByServer:
            judge.offers[way] = "taken and ignored"
        except Unreadable as error:
            judge.offers[way] = f"not usable: {error}"
        else:
            judge.offers[way] = "yes"
            judge._way = way
            return way
    judge.offers["text"] = "what is left"
    judge._way = "text"
    return "text"


class IgnoredByServer(InfraError):
    """The server took a parameter and ignored it."""


class _Talk:
    """One exchange with a judge: sends requests, and writes down what each was and cost."""

    def __init__(
        self, judge: JudgeModel, prompt: Prompt, salt: str, calls: list[dict[str, Any]], reminder: bool = False
    ) -> None:
        self.judge, self.prompt, self.salt, self.calls = judge, prompt, salt, calls
        self.reminder = "\n(Your reply must have exactly this form.)" if reminder else ""

    def messages(self, instruction: str) -> list[Json]:
        """The chat, with the question and the form of the answer at its end: after the response."""
        user = f"{self.prompt.user}\n\n{instruction}{self.reminder}"
        system = [{"role": "system", "content": self.prompt.system}] if self.prompt.system else []
        return [*system, {"role": "user", "content": user}]

    async def chat(self, instruction: str, max_tokens: int, **fields: Any) -> Json:
        """One chat completion. Two quirks of servers are learned once: the limit's other name, a fixed temperature."""
        quirks = self.judge._quirks
        for _ in range(3):
            payload: Json = {"model": self.judge.model, "messages": self.messages(instruction), **fields}
            payload["max_completion_tokens" if "limit" in quirks else "max_tokens"] = max_tokens
            if "temperature" not in quirks:
                payload["temperature"] = self.judge.temperature
            try:
                return await self.send("/chat/completions", {**payload, **self.judge.extra}, fault_in_chat)
            except Refused as error:
                said = str(error)
                new = (
                    {"limit"}
                    if "max_completion_tokens" in said
                    else {"temperature"}
                    if "temperature" in said
                    else set()
                )
                if error.status != 400 or not new - quirks:
                    raise
                quirks |= new
        raise ConfigError(
            f"the server takes neither max_tokens nor temperature as sent; found quirks {sorted(quirks)}."
        )

    async def send(self, path: str, payload: Json, fault_in: Callable[[Json], str]) -> Json:
        """One request, paid from the budget and written down."""
        judge, usage, spent = self.judge, self.judge.usage, [0, 0]
        words = sum(len(str(m.get("content"))) for m in payload.get("messages", ())) or len(str(payload))
        estimate = words // 3 + int(payload.get("max_tokens") or payload.get("max_completion_tokens") or 16)

        def account(body: Json) -> int:
            tokens = _tokens(body)
            for i in (0, 1):
                spent[i] += tokens[i]
            return sum(tokens)

        call = Call(path, payload, estimate, fault_in, account, salt=self.salt)
        reserved = (words // 3 * judge.price[0] + (estimate - words // 3) * judge.price[1]) / 1e6
        assert isinstance(judge.budget, Budget)
        judge.budget.reserve(reserved)
        reply = Reply({})
        try:
            reply = await (
                _own(judge, payload, account, fault_in) if judge._client else client.post(judge.endpoint(), call)
            )
        finally:
            cost = (spent[0] * judge.price[0] + spent[1] * judge.price[1]) / 1e6
            judge.budget.settle(reserved, cost)
            usage.calls += reply.attempts
            usage.cached += reply.cached
            usage.tokens_in += spent[0]
            usage.tokens_out += spent[1]
            usage.cost += cost
        self.calls.append(
            {
                "path": path,
                "request": payload.get("messages") or {k: v for k, v in payload.items() if k != "model"},
                "reply": _shown(reply.body),
                "spent": {
                    "tokens": spent,
                    "cost": cost,
                    "seconds": round(reply.seconds, 4),
                    "attempts": reply.attempts,
                    "cached": reply.cached,
                },
            }
        )
        return reply.body


async def _own(
    judge: JudgeModel, payload: Json, account: Callable[[Json], int], fault_in: Callable[[Json], str]
) -> Reply:
    """The same over the user's own client, whose retries and limits are then its own."""
    started = time.monotonic()
    standard = {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "response_format"}
    standard |= {"logprobs", "top_logprobs"}
    fields: Json = {k: v for k, v in payload.items() if k in standard}
    if more := {k: v for k, v in payload.items() if k not in standard}:
        fields["extra_body"] = more
    try:
        completion = await judge._client.chat.completions.create(**fields)
    except Exception as error:
        status = getattr(error, "status_code", None)
        said = judge.key().scrub(f"{type(error).__name__}: {error}")[:300]
        if isinstance(status, int) and 400 <= status < 500 and status not in (408, 409, 429):
            raise Refused(f"your client: {said}", status) from error
        raise InfraError(f"your client: {said}") from error
    body: Json = completion if isinstance(completion, dict) else completion.model_dump()
    account(body)
    if problem := fault_in(body):
        raise InfraError(f"your client: {problem}")
    return Reply(body, time.monotonic() - started)


def _tokens(body: Mapping[str, Any]) -> tuple[int, int]:
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return 0, 0
    given = [
        usage.get(a) or usage.get(b) or 0
        for a, b in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]
    return tuple(n if isinstance(n, int) and n >= 0 else 0 for n in given)  # type: ignore[return-value]


def _shown(body: Mapping[str, Any]) -> Any:
    if "answers" in body:
        return body["answers"]
    message = (body.get("choices") or [{}])[0].get("message") or {}
    return message.get("content") or message.get("refusal") or ""


# -- the four ways ---------------------------------------------------------------------------------------------------


async def _by_decisions(talk: _Talk, questions: Sequence[Question]) -> dict[str, Verdict]:
    judge = talk.judge
    state = "\n\n".join(part for part in (talk.prompt.system, talk.prompt.user) if part)
    one: Json = {"state": state, "questions": {q.name: systemone_question(q) for q in questions}}
    other: Json = {"input": state, "questions": [decisions_question(q) for q in questions]}
    if judge._form == "systemone":
        try:
            body = await talk.send("/systemone", {"model": judge.model, **one}, _fault_in_answers)
            return {q.name: read_decision(_answer(body, q, i), q) for i, q in enumerate(questions)}
        except Refused as error:
            if error.status not in (404, 405, 501):
                raise
    body = await talk.send("/decisions", {"model": judge.model, **other}, _fault_in_answers)
    judge._form = "decisions"
    return {q.name: read_decision(_answer(body, q, i), q) for i, q in enumerate(questions)}


def _answer(body: Json, question: Question, i: int) -> Any:
    answers = body["answers"]
    if isinstance(answers, Mapping):
        return answers.get(question.name)
    named = [a for a in answers if isinstance(a, Mapping) and a.get("name") == question.name]
    return named[0] if len(named) == 1 else answers[i] if i < len(answers) and not answers[i].get("name") else None


def _fault_in_answers(body: Json) -> str:
    return "" if isinstance(body.get("answers"), dict | list) else "a decision without answers"


async def _by_logprobs(talk: _Talk, questions: Sequence[Question]) -> dict[str, Verdict]:
    async def one(question: Question) -> Verdict:
        body = await talk.chat(_ask_for_code(question), 1, logprobs=True, top_logprobs=20)
        if not has_logprobs(body):
            raise IgnoredByServer(
                f"{talk.judge.base_url} takes logprobs and sends none. Set read='schema', 'text' or 'auto'."
            )
        return read_logprobs(body, question, talk.judge.min_mass)

    return dict(zip([q.name for q in questions], await asyncio.gather(*map(one, questions)), strict=True))


def _ask_for_code(question: Question) -> str:
    meanings = question.meanings or [""] * len(question.labels)
    lines = [
        f"{code} = {', '.join(part for part in (label if label != code else '', meaning) if part)}"
        for code, label, meaning in zip(question.codes, question.labels, meanings, strict=True)
        if code != label or meaning
    ]
    order = " (lowest to highest)" if question.ordered else ""
    form = f"Answer with one of {', '.join(question.codes)}{order} and nothing else."
    return "\n".join([question.text, *lines, form])


async def _by_schema(talk: _Talk, questions: Sequence[Question]) -> dict[str, Verdict]:
    judge = talk.judge
    form = _schema_form(judge.fence_secret, judge.reason, tuple(questions))
    body = await talk.chat(form.instruction, judge.max_tokens, response_format=form.response_format)
    verdicts = read_schema(text_of_reply(body), questions, form.keys, form.reason_key)
    return {q.name: verdict for q, verdict in zip(questions, verdicts, strict=True)}


@dataclass(frozen=True, slots=True)
class _SchemaForm:
    """How questions are asked for a JSON object: the same for every response."""

    keys: dict[str, str]
    reason_key: str
    response_format: Json
    instruction: str


@functools.lru_cache(maxsize=64)
def _schema_form(secret: str, reason: bool, questions: tuple[Question, ...]) -> _SchemaForm:
    keys = verdict_keys(secret, questions)
    reason_key = "reason_" + letters(secret, "reason", 8) if reason else ""
    schema = {"name": "verdict", "strict": True, "schema": schema_for(questions, keys, reason_key)}
    lines = [_explained(question, keys[question.name], alone=len(questions) == 1) for question in questions]
    wanted = [f'"{reason_key}" (your reasons, at most three sentences, first)'] if reason_key else []
    form = f"Reply with one JSON object and nothing else. Its keys: {', '.join([*wanted, *lines])}."
    asked = questions[0].text if len(questions) == 1 else ""
    instruction = "\n".join(part for part in (asked, form) if part)
    return _SchemaForm(keys, reason_key, {"type": "json_schema", "json_schema": schema}, instruction)


def _explained(question: Question, key: str, alone: bool) -> str:
    meanings = question.meanings or [""] * len(question.labels)
    answers = " or ".join(f'"{x}"{f" ({m})" if m else ""}' for x, m in zip(question.labels, meanings, strict=True))
    order = ", lowest to highest" if question.ordered else ""
    return f'"{key}" ({"" if alone else question.text + " "}{answers}{order})'


async def _by_text(talk: _Talk, questions: Sequence[Question]) -> dict[str, Verdict]:
    keys = talk.judge.keys(questions)
    asked = [f"{keys[q.name]}: {q.text} One of {', '.join(q.labels)}." for q in questions]
    reasons = "Give your reasons in at most three sentences. Then end" if talk.judge.reason else "Reply"
    form = f"{reasons} with exactly these lines, each with its answer:"
    lines = [f"{keys[q.name]}: <answer>" for q in questions]
    body = await talk.chat("\n".join([*asked, form, *lines]), talk.judge.max_tokens)
    verdicts = read_text(text_of_reply(body), questions, keys)
    return {q.name: verdict for q, verdict in zip(questions, verdicts, strict=True)}


_WAYS: dict[str, Any] = {
    "decisions": _by_decisions,
    "logprobs": _by_logprobs,
    "schema": _by_schema,
    "text": _by_text,
}
