"""The faster kernels: the same numbers as torch's own, or not taken."""

from __future__ import annotations

import types

import pytest

pytest.importorskip("torch", reason="the extra 'model' is not installed")
pytest.importorskip("transformers", reason="the extra 'model' is not installed")

import models
import torch

from assay.llm import kernels
from assay.rewards.model import RewardModel
from assay.types import Trajectory

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def counted(monkeypatch):
    """How often attention went through oneDNN."""
    if kernels._product(torch) is None:
        pytest.skip("this torch has no oneDNN")
    calls, own = [], kernels.products
    monkeypatch.setattr(kernels, "products", lambda *given: calls.append(1) or own(*given))
    return calls


def given(reads, there, heads=4, groups=2, texts=2):
    made = torch.Generator().manual_seed(reads + there)
    query = torch.randn(texts, heads, reads, 16, generator=made)
    key, value = (torch.randn(texts, heads // groups, there, 16, generator=made) for _ in range(2))
    return query, key, value, types.SimpleNamespace(num_key_value_groups=groups, is_causal=True)


def padding(reads, there):
    mask = torch.ones(2, 1, reads, there, dtype=torch.bool)
    mask[1, :, :, there - 50 :] = False
    return mask


@pytest.mark.parametrize(("reads", "there"), [(300, 300), (700, 700), (60, 1200), (20, 20)])
@pytest.mark.parametrize("how", ["both ways", "causal", "mask", "weights"])
def test_attention_is_torchs_own(reads, there, how, counted):
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    query, key, value, module = given(reads, there)
    mask = padding(reads, there) if how in ("mask", "weights") else None
    if how == "weights":
        mask = torch.where(mask, torch.linspace(-1, 1, there), torch.finfo(torch.float32).min)
    with torch.inference_mode():
        found, _ = kernels.attend(module, query, key, value, mask, scaling=0.3, is_causal=how == "causal")
        wanted, _ = sdpa_attention_forward(module, query, key, value, mask, scaling=0.3, is_causal=how == "causal")
    assert found.shape == wanted.shape
    assert float((found - wanted).abs().max()) < 1e-5
    assert len(counted) == (reads * there >= kernels.LONG**2 and (how != "causal" or reads == there))


def test_what_it_is_not_made_for_is_left_to_torch(counted):
    query, key, value, module = given(300, 300)
    kernels.attend(module, query.requires_grad_(), key, value, None)[0].sum().backward()
    assert query.grad is not None
    with torch.inference_mode():
        half = [t.detach().bfloat16() for t in (query, key, value)]
        assert kernels.attend(module, *half, None)[0].dtype is torch.bfloat16
        kernels.attend(module, query, key, value, None, position_bias=torch.zeros(2, 4, 300, 300))
    assert not counted


@pytest.mark.parametrize("kind", ["qwen2", "bert"])
def test_a_score_is_the_same_and_long_texts_take_the_kernel(kind, tmp_path, one_thread, counted):
    path = str(models.make_classifier(tmp_path, kind))
    rows = [Trajectory("Why?", "bees and tea " * n) for n in (1, 40, 140)]
    fast, own = RewardModel(path, "cpu"), RewardModel(path, "cpu", fast_linear=False)
    found = [out.reward for out in fast.compute_rewards(rows)]
    assert counted
    taken = len(counted)
    wanted = [out.reward for out in own.compute_rewards(rows)]
    assert len(counted) == taken
    assert max(abs(a - b) for a, b in zip(found, wanted, strict=True)) < 1e-4
    assert max(wanted) - min(wanted) > 1e-3


def test_a_kernel_that_does_not_agree_is_not_taken(tmp_path, one_thread, monkeypatch):
    own = kernels._product(torch)
    if own is None:
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr(kernels, "_product", lambda torch: lambda *given: own(*given) * 1.01)
    model = RewardModel(str(models.make_classifier(tmp_path)), "cpu")._model()[1].local.model
    assert model.config._attn_implementation == "sdpa"
    assert not any(isinstance(m.__dict__.get("forward"), kernels._Linear) for m in model.modules())
    monkeypatch.setattr(kernels, "_product", lambda torch: None)
    assert kernels.use_onednn(torch, model) == 0
