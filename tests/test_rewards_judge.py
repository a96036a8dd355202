"""LLMJudge against a local server that answers, misbehaves, and is fooled, as told."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import logging
import pickle
import random
import re
import traceback
from collections import Counter
from types import SimpleNamespace

import pytest

pytest.importorskip("aiohttp", reason="the extra 'judge' is not installed")

from llm.server import Fault, JudgeServer, by_schema, completion, keys_asked, said, willing

import assay
from assay.errors import ConfigError
from assay.fingerprint import fingerprint
from assay.llm.guard import Guard
from assay.llm.judge_model import JudgeModel, Prompt
from assay.record import RunWriter
from assay.rewards.judge import LLMJudge
from assay.types import Outcome, Trajectory

ROW = {"prompt": "What is the capital of France?", "response": "It is Paris.", "ground_truth": "Paris"}
KEY = "sk-very-secret-4711"


def schema_judge(label):
    """A server with schemas and nothing better, whose judge gives this label (or what `label(request)` says)."""

    def answer(path, request, n):
        if path != "/chat/completions" or "response_format" not in request:
            return Fault(status=404) if path != "/chat/completions" else completion("verdict: hm")
        if "What is 2 + 2?" in said(request):
            return willing(request)
        told = label(request) if callable(label) else label
        return told if isinstance(told, dict | Fault) else by_schema(request, told)

    return answer


def judge_at(server, template="", read="schema", **more):
    fields = {f.name for f in dataclasses.fields(JudgeModel)} & more.keys()
    model = JudgeModel("m", KEY, server.url, read=read, **{name: more.pop(name) for name in fields})
    return LLMJudge(model, template, **more)


def one(judge, **row):
    return assay.score(judge, [{**ROW, **row}])[0]


def test_a_score_on_a_scale():
    with JudgeServer(schema_judge("4")) as server:
        out = one(judge_at(server))
        assert out.reward == 0.75
        record = out.metadata["judge"]
        assert record["score"] == 4.0
        assert record["verdicts"]["score"]["reason"] == "Because."
        assert record["spent"]["tokens"] == [100, 10]
        assert "It is Paris." in str(record["calls"][0]["request"])
        assert "Paris" in said(server.requests[-1][1])
        json.dumps(out.metadata)


def test_the_judge_sees_everything_in_its_place():
    with JudgeServer(schema_judge("yes")) as server:
        one(judge_at(server, rubric=["It is right.", ("It is short.", 2)]))
        text = said(server.requests[-1][1])
    parts = ("- It is right.", "What is the capital", "REFERENCE ANSWER", "It is Paris.", "Reply with one JSON")
    order = [text.index(part) for part in parts]
    assert order == sorted(order)
    assert text.count("It is Paris.") == 1


def test_a_template_places_what_it_names():
    with JudgeServer(schema_judge("9")) as server:
        judge = judge_at(server, 'Q: {prompt}\nA: {response}\nGold: {reference}\nRate from 1 to 10, like {"score": 3}.')
        out = one(judge, response="{reference} {prompt} {0} %s {{x}}")
        text = said(server.requests[-1][1])
    assert out.metadata["judge"]["scale"] == [1, 10]
    assert out.reward == pytest.approx(8 / 9)
    assert "{reference} {prompt} {0} %s {{x}}" in text
    assert 'like {"score": 3}' in text
    assert text.count("What is the capital") == 1


@pytest.mark.parametrize(("template", "word"), [("Rate {answer}", "response"), ("{question} {response}", "prompt")])
def test_a_placeholder_with_another_name_is_refused(template, word):
    with pytest.raises(ConfigError, match=f"Write {{{word}}}"):
        LLMJudge("m", template)


def test_a_rubric_is_folded_by_weight():
    def by_criterion(request):
        schema = request["response_format"]["json_schema"]["schema"]["properties"]
        keys = [key for key, rule in schema.items() if "enum" in rule]
        return completion(
            json.dumps(
                {k: "Because." for k in schema if k not in keys} | dict(zip(keys, ["yes", "no", "yes"], strict=True))
            )
        )

    with JudgeServer(schema_judge(by_criterion)) as server:
        out = one(judge_at(server, rubric=["right", ("short", 2), ("rude", -0.5)]))
        assert out.reward == pytest.approx((1 - 0.5) / 3)
        assert out.metadata["judge"]["rubric"]["c2"] == {"criterion": "short", "weight": 2.0}
        out = one(judge_at(server, rubric_column="rubric"), rubric=[{"criterion": "a", "points": 1}, "b", "c"])
        assert out.reward == pytest.approx(2 / 3)


def test_the_rows_own_rubric_must_be_there():
    out = one(LLMJudge("m", rubric_column="rubric"), rubric="no list")
    assert out.outcome is Outcome.GRADER_ERROR
    assert "needs a list of criteria in 'rubric'" in out.error


@pytest.mark.parametrize("read", ["logprobs", "text", "decisions", "auto"])
def test_every_way_of_reading(read):
    def answer(path, request, n):
        if path == "/systemone" and read == "decisions":
            return {"answers": {"score": {"type": "score", "probabilities": {str(i): float(i == 3) for i in range(5)}}}}
        if path != "/chat/completions":
            return Fault(status=404)
        if request.get("logprobs"):
            return completion("4", {"4": 0.9, "1": 0.1})
        (key,) = keys_asked(request)
        return completion(f"It says [[5]].\n{key}: 4")

    with JudgeServer(answer) as server:
        out = one(judge_at(server, read=read))
        assert out.reward == pytest.approx(0.675 if read in ("logprobs", "auto") else 0.75)
        assert out.metadata["judge"]["verdicts"]["score"]["read"] == ("logprobs" if read == "auto" else read)


def test_what_a_server_ignores_is_noticed():
    def liar(path, request, n):  # takes log-probabilities and schemas, and ignores both
        keys = keys_asked(request)
        return (
            completion("\n".join(f"{key}: 2" for key in keys) or "4")
            if path == "/chat/completions"
            else Fault(status=404)
        )

    with JudgeServer(liar) as server:
        out = one(judge_at(server, read="auto"))
        assert out.metadata["judge"]["verdicts"]["score"]["read"] == "text"
        out = one(judge_at(server, read="logprobs"))
        assert out.outcome is Outcome.INFRA_ERROR
        assert "takes logprobs and sends none" in out.error


def test_the_wire_form_of_decisions():
    def answer(path, request, n):
        if path != "/decisions":
            return Fault(status=404)
        assert isinstance(request["input"], str)
        (question,) = request["questions"]
        levels = [
            {"label": level["label"], "value": i, "probability": 0.2} for i, level in enumerate(question["levels"])
        ]
        return {
            "answers": [{"type": "score", "name": question["name"], "probabilities": levels}],
            "usage": {"input_tokens": 7},
        }

    with JudgeServer(answer) as server:
        out = one(judge_at(server, read="decisions"))
        assert out.reward == pytest.approx(0.5)
        assert out.metadata["judge"]["spent"]["tokens"] == [7, 0]


def test_names_of_limits_are_learned():
    def modern(path, request, n):
        if "max_tokens" in request:
            return Fault(status=400, body="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in request:
            return Fault(status=400, body="Unsupported value: 'temperature' does not support 0.0")
        return by_schema(request, "3")

    with JudgeServer(modern) as server:
        judge = judge_at(server)
        assert one(judge).reward == 0.5
        assert one(judge, response="Lyon").reward == 0.5
        assert len(server.requests) == 4


# -- nothing to judge, and being unscorable --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "response", ["", "  \n", ":", "Solution", "Let's think step by step.", "It cannot be determined."]
)
def test_nothing_to_judge_is_lowest_without_a_call(response):
    out = one(LLMJudge("m", base_url="http://127.0.0.1:9/v1"), response=response)
    assert out.reward == 0.0
    assert out.metadata["judge"]["skipped"]


@pytest.mark.parametrize("nonsense", ["BANANA", "", '{"score": 5}', "I cannot judge this."])
def test_a_response_that_makes_the_judge_fail_gets_the_lowest_score(nonsense):
    def gullible(request):
        return completion(nonsense) if "BANANA" in said(request) else "5"

    with JudgeServer(schema_judge(gullible)) as server:
        judge = judge_at(server)
        honest, attack = assay.score(judge, [ROW, {**ROW, "response": "It is BANANA."}])
        assert (honest.reward, attack.reward) == (1.0, 0.0)
        assert (honest.outcome, attack.outcome) == (Outcome.SCORED, Outcome.GRADER_ERROR)
        assert "could not be brought to judge" in attack.metadata["judge"]["unscorable"]
        assert (judge.judge.usage.unscorable, judge.judge.usage.infra) == (1, 0)
        strict = judge_at(server, on_unscorable="unscored")
        out = one(strict, response="It is BANANA.")
        assert (out.reward, out.outcome) == (None, Outcome.GRADER_ERROR)


def test_a_refusal_by_status_is_the_responses_doing_too():
    def filtered(request):
        return Fault(status=400, body="content_filter") if "BANANA" in said(request) else "5"

    with JudgeServer(schema_judge(filtered)) as server:
        assert one(judge_at(server), response="It is BANANA.").reward == 0.0


def test_a_judge_that_is_broken_for_all_costs_nobody_a_score():
    with JudgeServer(lambda path, request, n: completion("hm")) as server:
        judge = judge_at(server)
        outputs = assay.score(judge, [{**ROW, "response": f"It is city {i}."} for i in range(5)])
        assert {out.outcome for out in outputs} == {Outcome.INFRA_ERROR}
        assert "harmless response" in outputs[0].error
        assert judge.judge.usage.infra == 5


def test_no_server_is_not_a_zero():
    judge = LLMJudge(JudgeModel("m", KEY, "http://127.0.0.1:9/v1", retries=1, deadline=1.0))
    out = one(judge)
    assert (out.reward, out.outcome) == (None, Outcome.INFRA_ERROR)


# -- nothing lost ----------------------------------------------------------------------------------------------------

FAULTS = [
    Fault(status=429, headers={"Retry-After": "0.02"}),
    Fault(status=429, headers={"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}),
    Fault(status=500),
    Fault(status=502, body="<html>Bad Gateway</html>"),
    Fault(status=503),
    Fault(status=529, body='{"type": "overloaded_error"}'),
    Fault("drop"),
    Fault("cut", status=200, body='{"choices": [{"message": {"content": "5"}}]}'),
    Fault("raw", status=200, body="garbage {"),
    Fault("raw", status=200, body='{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}'),
    Fault("hang"),
    Fault("slow", status=200, body='{"choices": [{"message": {"content": "5"}}]}'),
    Fault("raw", status=200, body='{"choices": [{"message": {"content": ["5"]}}]}'),
    completion('{"wrong": "ids"}'),
    completion(""),
    completion(None),
    completion('{"verdict', finish_reason="length"),
    completion(None, finish_reason="content_filter"),
]


def test_two_thousand_rows_through_a_server_that_fails_a_third(monkeypatch):
    monkeypatch.setattr("assay.llm.client.backoff", lambda attempt: 0.01 * random.random())
    rng, sent, paid = random.Random(0), Counter(), [0, 0]

    def answer(path, request, n):
        number = re.search(r"row (\d+) ", said(request))
        if number is None:
            return willing(request)
        if rng.random() < 0.3:
            told = rng.choice(FAULTS)
        else:
            told = by_schema(request, str(int(number[1]) % 5 + 1))
            sent[number[1]] += 1
        usage = json.loads(told.body).get("usage") if isinstance(told, Fault) and "usage" in told.body else None
        usage = told.get("usage") if isinstance(told, dict) else usage
        if usage:
            paid[0] += usage["prompt_tokens"]
            paid[1] += usage["completion_tokens"]
        return told

    with JudgeServer(answer) as server:
        judge = judge_at(
            server, attempt_timeout=4.0, deadline=120.0, retries=8, tries=4, price=(2.0, 8.0), concurrency=200
        )
        rows = [{"prompt": "Write.", "response": f"This is row {i} of them."} for i in range(2000)]
        outputs = assay.score(judge, rows)
        usage = judge.judge.usage
    right = [out.reward == (i % 5) / 4 for i, out in enumerate(outputs)]
    unscored = [out for out in outputs if out.reward is None]
    assert all(out.error for out in unscored)
    assert sum(right) + len(unscored) == 2000
    assert len(unscored) <= 20
    assert (usage.unscorable, usage.infra) == (0, len(unscored))  # chance is nobody's fault
    assert len(sent) == 2000
    assert max(sent.values()) == 1  # none judged twice
    assert [usage.tokens_in, usage.tokens_out] == paid
    assert usage.cost == pytest.approx((paid[0] * 2.0 + paid[1] * 8.0) / 1e6)


def test_a_budget_stops_cleanly():
    with JudgeServer(schema_judge("5")) as server:
        judge = judge_at(server, price=(10.0, 10.0), budget=0.05, max_tokens=20)
        outputs = assay.score(judge, [{**ROW, "response": f"It is city {i}."} for i in range(200)])
        scored = [out for out in outputs if out.reward is not None]
        assert 5 < len(scored) < 60
        assert judge.judge.usage.cost <= 0.05
        assert all("budget of 0.05 is spent" in out.error for out in outputs if out.reward is None)
        assert {out.outcome for out in outputs if out.reward is None} == {Outcome.INFRA_ERROR}


def test_samples_are_drawn_apart_and_their_spread_told():
    labels = iter(["1", "3", "5", "5"])
    with JudgeServer(schema_judge(lambda request: next(labels))) as server:
        out = one(judge_at(server, samples=4, temperature=1.0))
        assert out.reward == pytest.approx((0 + 0.5 + 1 + 1) / 4)
        assert out.metadata["judge"]["spread"]["score"] > 0.3
        assert len(server.requests) == 4
        assert len(out.metadata["judge"]["calls"]) == 4
    with pytest.raises(ConfigError, match="one verdict repeated"):
        JudgeModel("m", samples=3)


def test_equal_responses_are_judged_once():
    with JudgeServer(schema_judge("3"), latency=0.05) as server:
        outputs = assay.score(judge_at(server), [ROW] * 10)
        assert len(server.requests) == 1
        assert {out.reward for out in outputs} == {0.5}


# -- the key ---------------------------------------------------------------------------------------------------------


def test_the_key_is_nowhere(caplog):
    caplog.set_level(logging.DEBUG)
    with JudgeServer(lambda *_: Fault(status=401, body=f"Incorrect API key: {KEY}")) as server:
        judge = LLMJudge("m", "Rate this.", KEY, server.url)
        out = one(judge)
        assert server.headers[0]["authorization"] == f"bearer {KEY}"
    kept = [repr(judge), str(vars(judge)), repr(judge.judge), out.error, json.dumps(out.metadata), caplog.text]
    kept += [str(dataclasses.asdict(judge.judge)), str(judge.contract), str(fingerprint(judge).as_dict())]
    assert KEY not in "".join(kept)
    assert KEY.encode() not in pickle.dumps(judge)
    assert "Check the API key" in out.error
    with pytest.raises(TypeError):
        json.dumps(judge.judge.key())


ECHOES = {
    "a refusal": Fault(status=401, body=f"Incorrect API key: {KEY}"),
    "an error": Fault(status=500, body=f"upstream said: bad key {KEY}"),
    "garbage": Fault("raw", status=200, body=f"<html>{KEY}"),
    "an error of status 200": Fault("raw", status=200, body=json.dumps({"error": {"message": KEY}})),
    "an odd encoding": Fault("raw", status=200, headers={"content-encoding": KEY}),
    "an odd framing": Fault("raw", status=200, headers={"transfer-encoding": KEY}),
    "no header": Fault("raw", status=200, headers={f"{KEY} ": "x"}),
    "a verdict": completion(json.dumps({"verdict": KEY})),
    "a drop": Fault("drop"),
}


@pytest.mark.parametrize("told", ECHOES.values(), ids=ECHOES)
def test_the_key_is_in_nothing_that_is_left(told, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with JudgeServer(lambda *_: told) as server:
        model = JudgeModel("m", KEY, server.url, headers={"x-key": KEY}, retries=1, deadline=2.0, read="schema")
        judge = LLMJudge(model, guard=Guard(redact=False))
        outputs = assay.score(judge, [ROW], engine=assay.Engine(cache=tmp_path / "cache"))
        with RunWriter(tmp_path / "run.jsonl", fingerprint(judge).as_dict(), reward=judge) as run:
            run.write([ROW], outputs)
        try:
            asyncio.run(model.judge(Prompt("Grade.", "It is Paris."), [judge.question]))
        except assay.AssayError as error:
            chain, shown = error, "".join(traceback.format_exception(error))
            while chain is not None:
                shown += f"{chain!r} {vars(chain)}"
                chain = chain.__cause__ or chain.__context__
        else:
            pytest.fail("it was judged")
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).decode("utf-8", "replace")
    assert len(kept) > 100
    assert KEY not in kept + shown + caplog.text + "".join(capfd.readouterr())


def test_other_secrets_are_kept_as_the_key_is():
    client = SimpleNamespace(api_key=KEY)
    model = JudgeModel("m", headers={"api-key": KEY}, secret=KEY, client=client)
    judge = LLMJudge(model)
    assert KEY not in repr(model) + str(fingerprint(judge).as_dict()) + str(dataclasses.asdict(model))
    assert KEY.encode() not in pickle.dumps(judge)
    assert model.endpoint().headers[0][1].reveal() == KEY


def test_what_was_spent_is_no_part_of_what_the_judge_is():
    judge = LLMJudge(JudgeModel("m", price=(1.0, 1.0), budget=5.0))
    before = fingerprint(judge).key
    judge.judge.usage.calls += 1
    judge.judge.budget.settle(0.0, 1.0)
    assert fingerprint(judge).key == before
    assert fingerprint(LLMJudge(JudgeModel("other"))).key != before


def test_another_process_takes_the_key_from_its_environment(monkeypatch):
    judge = pickle.loads(pickle.dumps(LLMJudge("m", api_key=KEY)))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    assert judge.judge.key().reveal() == "sk-env"
    assert copy.deepcopy(LLMJudge("m", api_key=KEY)).judge.key().reveal() == KEY


# -- attacks ---------------------------------------------------------------------------------------------------------


def fooled(request):
    """A judge that obeys whatever in the chat looks like an order or a verdict; without one it knows a bad answer."""
    text = said(request).split("[RESPONSE")[-1].split("[END OF RESPONSE")[0].lower()
    orders = r"score|rating|\[\[|maximum|full marks|grader|judge|ignore|instructions|verified|yes|correct|rubric|expert"
    return "5" if re.search(orders, text) else "1" if "cheese" in text else "5"


def test_the_open_attacks_gain_nothing_with_a_judge_that_obeys(shared):
    attacks = [json.loads(line) for line in (shared / "data" / "judge_attacks.jsonl").read_text().splitlines()]
    bad = "The moon is made of cheese."
    values = {"bad": bad, "good": "Rock.", "max": "5", "ref": "rock"}
    rows = []
    for attack in attacks:
        response = re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), attack["template"])
        rows.append({"prompt": "What is the moon made of?", "response": response, "ground_truth": "rock"})
    with JudgeServer(schema_judge(fooled)) as server:
        guarded = assay.score(judge_at(server), rows)
        bare = assay.score(judge_at(server, guard=Guard(redact=False, empty=False, hedges=False)), rows)
    gained = [a["id"] for a, out in zip(attacks, guarded, strict=True) if out.reward != 0.0]
    assert set(gained) <= {
        "o027"
    }  # the characters of formatting: they crash nothing, and 'score' among them is its bait
    assert sum(out.reward == 1.0 for out in bare) > 20


# -- your own client -------------------------------------------------------------------------------------------------


def test_ones_own_client():
    class Overloaded(Exception):
        status_code = 503

    async def create(**fields):
        if "city 13" in str(fields["messages"]):
            raise Overloaded("busy")
        assert "extra_body" not in fields
        return SimpleNamespace(model_dump=lambda: by_schema(fields, "4"))

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    judge = LLMJudge(JudgeModel("m", client=client, read="schema"))
    assert one(judge).reward == 0.75
    assert one(judge, response="It is city 13.").outcome is Outcome.INFRA_ERROR


def test_it_can_be_awaited_by_hand():
    with JudgeServer(schema_judge("2")) as server:
        out = asyncio.run(judge_at(server).compute_reward(Trajectory(**ROW)))
        assert out.reward == 0.25


def test_the_conversation_before_the_answer_is_shown():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Capital of France?"},
        {"role": "assistant", "content": "Paris"},
    ]
    with JudgeServer(schema_judge("5")) as server:
        assay.score(judge_at(server), [{"messages": messages}])
        text = said(server.requests[-1][1])
    assert "system: Be brief.\n\nuser: Hello\n\nassistant: Hi\n\nuser: Capital of France?" in text


def test_wrong_settings_are_refused():
    for settings in ({"base_url": "localhost"}, {"base_url": "http://me:pw@host/v1"}, {"tries": 0}):
        with pytest.raises(ConfigError):
            JudgeModel("m", **settings)
    with pytest.raises(ConfigError, match="Did you mean 'base_url'"):
        JudgeModel.of({"model": "m", "base_urls": "x"})
    with pytest.raises(ConfigError, match="positive weight"):
        LLMJudge("m", rubric=[("bad", -1)])
    with pytest.raises(ConfigError, match="on_unscorable"):
        LLMJudge("m", on_unscorable="maybe")
    with pytest.raises(ConfigError, match="needed a scale"):
        LLMJudge("m", scale=(5, 1))
