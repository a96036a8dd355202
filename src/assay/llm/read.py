"""The one reader of verdicts. In this order of trust: typed decisions, log-probabilities, a strict schema, strict text.

Nothing here searches a text for something like a verdict. A reply is read at one place, in one form, or not at all:
what a judge merely quotes from the response can then never be taken for what it decided.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import RewardError
from assay.llm.question import Question, Verdict, chosen, expected

_LABEL_FORMS = str.maketrans("", "", " \t\n\"'`*.:()[]▁Ġ")


class Unreadable(RewardError):
    """The judge replied, and the reply is no verdict: prose, a refusal, a duplicate, an answer that is not allowed."""


# -- chat replies ----------------------------------------------------------------------------------------------------


def fault_in_chat(body: Mapping[str, Any]) -> str:
    """What is wrong with a chat completion as such, or nothing: a fault of the server and not of what is judged."""
    if body.get("error"):
        return f"an error in a reply of status 200: {body['error']!r:.200}"
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return "a chat completion without choices"
    if not isinstance(choices[0].get("message"), Mapping):
        return "a chat completion without a message"
    return ""


def text_of_reply(body: Mapping[str, Any]) -> str:
    """The judge's own words; its reasoning left out. A refusal or a reply that was cut is `Unreadable`."""
    choice = body["choices"][0]
    if refusal := choice["message"].get("refusal"):
        raise Unreadable(f"the judge refused: {str(refusal)[:200]!r}")
    if choice.get("finish_reason") == "content_filter":
        raise Unreadable("the judge's provider filtered the reply (finish_reason 'content_filter')")
    if choice.get("finish_reason") == "length":
        raise Unreadable("the judge's reply was cut at its token limit; raise max_tokens if that is common")
    content = choice["message"].get("content")
    if not isinstance(content, str) or not content.strip():
        raise Unreadable("the judge's reply was empty")
    if content.lstrip().startswith("<think>"):
        content = content.rpartition("</think>")[2]
    return content.strip()


# -- log-probabilities -----------------------------------------------------------------------------------------------


def has_logprobs(body: Mapping[str, Any]) -> bool:
    """Whether the server sent log-probabilities at all; some take the parameter and ignore it."""
    return bool(_first_position(body))


def _first_position(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = (body["choices"][0].get("logprobs") or {}).get("content") or []
    if not content or not isinstance(content[0], Mapping):
        return []
    top = content[0].get("top_logprobs") or []
    return [entry for entry in top if isinstance(entry, Mapping)]


def read_logprobs(body: Mapping[str, Any], question: Question, min_mass: float = 0.5) -> Verdict:
    """The expectation over the allowed answers at the first position; no verdict where their probability is small."""
    label_of = {code.casefold(): label for code, label in zip(question.codes, question.labels, strict=True)}
    found: dict[str, float] = {}
    for entry in _first_position(body):
        token, logprob = entry.get("token"), entry.get("logprob")
        if isinstance(token, str) and isinstance(logprob, int | float):
            label = label_of.get(token.translate(_LABEL_FORMS).casefold())
            if label is not None:
                found[label] = found.get(label, 0.0) + math.exp(min(0.0, logprob))
    mass = sum(found.values())
    if mass < min_mass or mass <= 0.0:
        raise Unreadable(f"only {mass:.2f} of the probability is on the allowed answers {list(question.codes)}")
    verdict = expected(question, found, "logprobs")
    verdict.mass = mass
    return verdict


# -- a strict schema -------------------------------------------------------------------------------------------------


def schema_for(questions: Sequence[Question], keys: Mapping[str, str], reason_key: str) -> dict[str, Any]:
    """The JSON schema of a reply: a reason first, then one allowed answer under each question's own key."""
    properties: dict[str, Any] = {reason_key: {"type": "string"}} if reason_key else {}
    for question in questions:
        properties[keys[question.name]] = {"type": "string", "enum": list(question.labels)}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_schema(text: str, questions: Sequence[Question], keys: Mapping[str, str], reason_key: str) -> list[Verdict]:
    """The verdicts of a reply that is exactly one JSON object with exactly the keys that were asked for."""
    text = _unfenced(text)
    try:
        found = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the judge's reply is not the JSON that was asked for ({error}): {text[:120]!r}") from None
    wanted = {*keys.values(), *([reason_key] if reason_key else [])}
    if not isinstance(found, dict) or set(found) != wanted:
        raise Unreadable(f"the judge's reply does not have exactly the keys {sorted(wanted)}: {text[:120]!r}")
    reason = str(found.get(reason_key, ""))[:2000]
    return [_named(question, found[keys[question.name]], "schema", reason) for question in questions]


def _unfenced(text: str) -> str:
    inner = re.fullmatch(r"```(?:json)?\s*\n(.*)\n```", text, re.DOTALL)
    return inner[1] if inner and "```" not in inner[1] else text


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def _named(question: Question, answer: Any, read: str, reason: str = "") -> Verdict:
    said = str(answer).strip().casefold() if isinstance(answer, str | int) and not isinstance(answer, bool) else None
    for label in question.labels:
        if said == label.casefold():
            return chosen(question, label, read, reason)
    raise Unreadable(f"the judge answered {str(answer)[:60]!r}; allowed are {list(question.labels)}")


# -- strict text -----------------------------------------------------------------------------------------------------


def read_text(text: str, questions: Sequence[Question], keys: Mapping[str, str]) -> list[Verdict]:
    """The verdicts of a reply whose last lines are `key: answer`, one for each question and each key once."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    last, before = lines[-len(questions) :], lines[: -len(questions)]
    answers: dict[str, str] = {}
    for line in last:
        match = re.fullmatch(r"[*_`]*([a-z0-9_]+?)[*_`]*\s*[:=]\s*[*_`\"]*(.+?)[*_`\".]*", line)
        if match is None or match[1] in answers:
            break
        answers[match[1]] = match[2].strip()
    if set(answers) != set(keys.values()):
        raise Unreadable(f"the judge's reply does not end in the lines that were asked for: {text[-120:]!r}")
    if any(key in line for key in keys.values() for line in before):
        raise Unreadable("the judge's reply gives a verdict twice")
    reason = "\n".join(before)[:2000]
    return [_named(question, answers[keys[question.name]], "text", reason) for question in questions]


# -- typed decisions -------------------------------------------------------------------------------------------------


def systemone_question(question: Question) -> dict[str, Any]:
    """A question as `/v1/systemone` takes it."""
    if question.labels == ("no", "yes"):
        return {"type": "noul", "instructions": question.text}
    if question.ordered:
        return {"type": "score", "instructions": question.text, "criteria": _levels(question)}
    meanings = question.meanings or [None] * len(question.labels)
    return {
        "type": "choice",
        "instructions": question.text,
        "criteria": dict(zip(question.labels, meanings, strict=True)),
    }


def decisions_question(question: Question) -> dict[str, Any]:
    """A question as `/v1/decisions` takes it."""
    base = {"name": question.name, "instructions": question.text}
    if question.labels == ("no", "yes"):
        return {**base, "type": "predicate"}
    if question.ordered:
        return {**base, "type": "score", "levels": [{"label": level} for level in _levels(question)]}
    meanings = question.meanings or [""] * len(question.labels)
    choices = [
        {"value": label, **({"description": meaning} if meaning else {})}
        for label, meaning in zip(question.labels, meanings, strict=True)
    ]
    return {**base, "type": "choice", "choices": choices}


def _levels(question: Question) -> list[str]:
    meanings = question.meanings or [""] * len(question.labels)
    return [f"{label}: {m}" if m else label for label, m in zip(question.labels, meanings, strict=True)]


def read_decision(answer: Any, question: Question) -> Verdict:
    """The expectation over the probabilities of one typed answer, of either wire form."""
    if not isinstance(answer, Mapping):
        raise Unreadable(f"the judge gave no decision on {question.name!r}")
    if answer.get("type") == "refusal":
        raise Unreadable(f"the judge refused to decide {question.name!r}")
    yes = answer.get("noul", answer.get("probability"))
    if question.labels == ("no", "yes") and isinstance(yes, int | float):
        return expected(question, {"no": max(0.0, 1.0 - yes), "yes": max(0.0, float(yes))}, "decisions")
    given = answer.get("probabilities")
    by_label: dict[str, float] = {}
    if isinstance(given, Mapping):  # by option, or by the number of the level
        named = question.ordered and all(label.isdigit() for label in map(str, given))
        by_label = {question.labels[int(k)] if named else str(k): float(v) for k, v in given.items()}
    elif isinstance(given, list) and question.ordered:
        by_label = {question.labels[i]: float(p["probability"]) for i, p in enumerate(given)}
    elif isinstance(given, list):
        by_label = {str(p["value"]): float(p["probability"]) for p in given}
    if set(by_label) != set(question.labels) or not all(0 <= p <= 1.0 + 1e-6 for p in by_label.values()):
        raise Unreadable(f"the decision on {question.name!r} does not give a probability for each answer")
    return expected(question, by_label, "decisions")
