"""Judges that compare, and juries."""

from __future__ import annotations

import json
import random
import re

import pytest

pytest.importorskip("aiohttp", reason="the extra 'judge' is not installed")

from llm.server import Fault, JudgeServer, by_schema, completion, said, willing

import assay
from assay.errors import ConfigError
from assay.llm.judge_model import JudgeModel
from assay.llm.tournament import pairings, seed_of, standings
from assay.rewards.jury import Jury
from assay.rewards.listwise import ListwiseJudge
from assay.rewards.pairwise import PairwiseJudge
from assay.types import Outcome

QUALITY = {"great": 4, "good": 3, "fair": 2, "poor": 1}


def group(*words, **more):
    return [{"prompt": "Write.", "response": f"It is {word} prose.", **more} for word in words]


def shown(request):
    """The responses that a request shows, by their name."""
    found = re.findall(r"^\[RESPONSE (\w+) ([a-z]+)\]\n(.*?)\n\[END OF", said(request), re.MULTILINE | re.DOTALL)
    return {name: text for name, _, text in found}


def quality(text):
    return next((q for word, q in QUALITY.items() if word in text), 0)


def comparing(path, request, n):
    both = shown(request)
    if not both:
        return willing(request)
    if "BANANA" in said(request):
        return completion("BANANA")
    a, b = quality(both["A"]), quality(both["B"])
    return by_schema(request, "A" if a > b else "B" if b > a else "tie")


def pairwise(server, **more):
    return PairwiseJudge(JudgeModel("m", "", server.url, read="schema"), **more)


def test_all_meet_all_in_both_orders():
    with JudgeServer(comparing) as server:
        outputs = assay.score(pairwise(server), group("poor", "great", "good"))
        assert len(server.requests) == 6
    poor, great, good = (out.reward for out in outputs)
    assert great > good > poor
    assert outputs[0].metadata["judge"]["consistent"] == 1.0
    assert len(outputs[0].metadata["judge"]["games"]) == 2


def test_a_judge_that_always_takes_the_first_decides_nothing():
    with JudgeServer(lambda path, request, n: by_schema(request, "A")) as server:
        outputs = assay.score(pairwise(server), group("poor", "great"))
    assert [out.reward for out in outputs] == [0.5, 0.5]
    assert outputs[0].metadata["judge"]["consistent"] == 0.0


def test_nothing_to_judge_loses_without_a_call():
    with JudgeServer(comparing) as server:
        rows = [*group("poor"), {"prompt": "Write.", "response": "Solution:"}]
        a, b = assay.score(pairwise(server), rows)
        assert a.reward > 0.7 > 0.3 > b.reward
        assert not server.requests
        same = assay.score(pairwise(server), group("good", "good"))
        assert [out.reward for out in same] == [0.5, 0.5]
        assert not server.requests


def test_who_makes_the_judge_fail_loses_and_not_its_rival():
    with JudgeServer(comparing) as server:
        outputs = assay.score(pairwise(server), group("poor", "great BANANA", "good"))
    poor, attack, good = (out.reward for out in outputs)
    assert attack < poor < good


def test_a_pair_lost_to_the_server_is_left_out():
    def answer(path, request, n):
        both = "".join(shown(request).values())
        return Fault(status=401) if "poor" in both and "great" in both else comparing(path, request, n)

    with JudgeServer(answer) as server:
        outputs = assay.score(pairwise(server), group("poor", "great", "good"))
        assert outputs[1].reward > outputs[2].reward > outputs[0].reward
    with JudgeServer(lambda *_: Fault(status=401)) as server:
        outputs = assay.score(pairwise(server), group("poor", "great"))
        assert {out.outcome for out in outputs} == {Outcome.INFRA_ERROR}


def test_against_the_reference():
    with JudgeServer(comparing) as server:
        judge = pairwise(server, against="reference")
        outputs = assay.score(judge, [*group("great", "poor", ground_truth="It is good prose."), *group("fair")])
    assert [out.reward for out in outputs] == [1.0, 0.0, None]
    assert outputs[2].outcome is Outcome.ABSTAINED


def test_a_group_of_one_is_not_scored():
    out = assay.score(PairwiseJudge("m"), group("good"))[0]
    assert (out.reward, out.outcome) == (None, Outcome.ABSTAINED)


def test_a_ring_finds_the_order_with_few_games():
    strength = list(range(16))
    random.Random(3).shuffle(strength)
    pairs = pairings(16, 4, seed_of([str(s) for s in strength]))
    assert len(pairs) == 32  # of 120
    places = standings(16, {(i, j): float(strength[i] > strength[j]) for i, j in pairs})
    right = sum((places[i] > places[j]) == (strength[i] > strength[j]) for i in range(16) for j in range(i))
    assert right / 120 > 0.8
    full = standings(16, {(i, j): float(strength[i] > strength[j]) for i, j in pairings(16, 15, 0)})
    assert sorted(range(16), key=full.__getitem__) == sorted(range(16), key=strength.__getitem__)


# -- listwise --------------------------------------------------------------------------------------------------------


def listing(request):
    """Scores every response that is shown by its quality, under the key that its id was asked for."""
    schema = request["response_format"]["json_schema"]["schema"]["properties"]
    keys = re.findall(r'"(verdict_[a-z]+)" \(What does response (\w+) get', said(request))
    if len(keys) < len(shown(request)):  # one response: its key stands without the question
        keys = [(next(k for k in schema if "enum" in schema[k]), next(iter(shown(request))))]
    scores = {key: str(2 * quality(shown(request)[name]) + 1) for key, name in keys}
    return completion(json.dumps({k: scores.get(k, "Because.") for k in schema}))


def listwise(server, **more):
    return ListwiseJudge(JudgeModel("m", "", server.url, read="schema"), **more)


def test_one_call_scores_a_group_by_id():
    with JudgeServer(lambda path, request, n: listing(request)) as server:
        outputs = assay.score(listwise(server), group("poor", "great", "good", "poor"))
        assert len(server.requests) == 1
        again = assay.score(listwise(server), group("good", "poor", "great"))
    assert [out.reward for out in outputs] == pytest.approx([2 / 9, 8 / 9, 6 / 9, 2 / 9])
    assert [out.reward for out in again] == pytest.approx([6 / 9, 2 / 9, 8 / 9])
    ids = {out.metadata["judge"]["id"] for out in outputs}
    assert all(re.fullmatch("[a-z]{6}", name) for name in ids)


def test_an_id_that_is_missing_or_wrong_is_no_verdict():
    def answer(path, request, n):
        if not shown(request):
            return willing(request)
        body = json.loads(listing(request)["choices"][0]["message"]["content"])
        if len(shown(request)) > 1:
            body.popitem()
        return completion(json.dumps(body))

    with JudgeServer(answer) as server:
        outputs = assay.score(listwise(server), group("poor", "great"))
    assert [out.reward for out in outputs] == pytest.approx([2 / 9, 8 / 9])  # each judged alone instead


def test_one_that_makes_the_judge_fail_gets_the_lowest_alone():
    def answer(path, request, n):
        if not shown(request):
            return willing(request)
        return completion("no") if "BANANA" in said(request) else listing(request)

    with JudgeServer(answer) as server:
        outputs = assay.score(listwise(server), group("poor", "great BANANA", "good"))
    assert [out.reward for out in outputs] == pytest.approx([2 / 9, 0.0, 6 / 9])
    assert [out.outcome.value for out in outputs] == ["scored", "grader_error", "scored"]


def test_a_large_group_is_judged_in_parts():
    with JudgeServer(lambda path, request, n: listing(request)) as server:
        rows = group(*[f"{word} and {i}" for i in range(5) for word in QUALITY])
        outputs = assay.score(listwise(server, at_once=8), rows)
        assert len(server.requests) == 3
    assert all(
        out.reward == pytest.approx(2 * quality(row["response"]) / 9) for row, out in zip(rows, outputs, strict=True)
    )


# -- juries ----------------------------------------------------------------------------------------------------------


def juror(value):
    def give(response):
        asked.append(value)
        return value(response) if callable(value) else value

    asked: list = []
    give.asked = asked
    return give


@pytest.mark.parametrize(("verdict", "reward"), [("mean", 0.5), ("median", 0.4), ("majority", 0.0)])
def test_verdicts_of_a_jury(verdict, reward):
    jury = Jury([juror(1.0), juror(0.4), juror(0.1)], verdict)
    out = assay.score(jury, ["x"])[0]
    assert out.reward == pytest.approx(reward)
    assert list(out.metadata["votes"].values()) == [1.0, 0.4, 0.1]
    assert len(out.components) == 3


def test_the_rest_are_asked_where_the_first_disagree():
    split = juror(lambda response: 0.9 if response == "clear" else 0.2)
    third = juror(0.9)
    jury = Jury([juror(0.9), split, third], "median", first=2)
    outputs = assay.score(jury, ["clear", "moot", "clear"])
    assert [out.reward for out in outputs] == pytest.approx([0.9, 0.9, 0.9])
    assert [out.metadata["escalated"] for out in outputs] == [False, True, False]
    assert len(third.asked) == 1


def test_a_juror_that_fails_is_replaced_and_a_quorum_is_kept():
    jury = Jury([juror(None), juror(0.6), juror(0.8)], first=2)
    assert assay.score(jury, ["x"])[0].reward == pytest.approx(0.7)
    out = assay.score(Jury([juror(None), juror(0.6)], quorum=2), ["x"])[0]
    assert (out.reward, out.outcome) == (None, Outcome.ABSTAINED)


def test_a_jury_of_models_asks_together():
    def answer(path, request, n):
        return by_schema(request, {"one": "5", "two": "4", "three": "1"}[request["model"]])

    from assay.rewards.judge import LLMJudge

    with JudgeServer(answer, latency=0.1) as server:
        jury = Jury([LLMJudge(JudgeModel(m, "", server.url, read="schema")) for m in ("one", "two", "three")], "median")
        out = assay.score(jury, [{"prompt": "Write.", "response": "A poem."}])[0]
        assert server.most_at_once == 3
    assert out.reward == 0.75


def test_wrong_settings_are_refused():
    for wrong in ({"verdict": "best"}, {"first": 3}, {"quorum": 0}):
        with pytest.raises(ConfigError):
            Jury([juror(1.0)], **wrong)
    with pytest.raises(ConfigError):
        PairwiseJudge("m", against="me")
    with pytest.raises(ConfigError):
        ListwiseJudge("m", at_once=1)
