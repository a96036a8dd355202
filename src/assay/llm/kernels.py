"""What a model spends its time on, on a CPU in float32: matrix products, by a faster kernel where there is one.

torch hands float32 products to MKL, which on many CPUs reaches half of what oneDNN does; torch carries both. Linear
layers and the attention over long texts go through oneDNN here: the same arithmetic in the same type. Each use is
checked to agree with torch's own before it is taken, and left alone where it does not.
"""

from __future__ import annotations

from typing import Any

ATTENTION = "assay_onednn"
LONG = 256
"""Tokens from which oneDNN's products pay in attention; below, torch's fused kernel has less to set up."""
CELLS = 2**20
"""Scores of one head that are held at once: what a core keeps near itself."""


def use_onednn(torch: Any, model: Any) -> int:
    """Run a model's linear layers and attention through oneDNN. Returns how many linear layers were changed."""
    op = _product(torch)
    if op is None:
        return 0
    changed = 0
    with torch.inference_mode():
        for module in model.modules():
            if type(module) is torch.nn.Linear and min(module.in_features, module.out_features) >= 32:
                probe = torch.linspace(-1, 1, 4 * module.in_features).reshape(4, -1)
                if _agree(torch, module(probe), op(probe, module.weight, module.bias, "none", [], "")):
                    module.forward = _Linear(op, module)
                    changed += 1
        if torch.get_num_threads() == 1 and _attention_agrees(torch):
            _take_attention(model)
    return changed


def _product(torch: Any) -> Any:
    """oneDNN's `x @ weight.T + bias`, or None where this torch has none."""
    has = torch.backends.mkldnn.is_available()
    return getattr(getattr(torch.ops, "mkldnn", None), "_linear_pointwise", None) if has else None


def _agree(torch: Any, wanted: Any, found: Any) -> bool:
    return torch.allclose(wanted, found, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()))


class _Linear:
    """The forward pass of one linear layer by oneDNN."""

    def __init__(self, op: Any, module: Any) -> None:
        self._op, self._module = op, module

    def __call__(self, x: Any) -> Any:
        return self._op(x, self._module.weight, self._module.bias, "none", [], "")


# -- attention -------------------------------------------------------------------------------------------------------


def _take_attention(model: Any) -> None:
    """Give a model that calls torch's attention through transformers' interface this one instead."""
    import transformers
    from transformers import masking_utils

    attention: Any = getattr(transformers, "AttentionInterface", None)
    mask: Any = getattr(masking_utils, "AttentionMaskInterface", None)
    own = getattr(model.config, "_attn_implementation", "")
    if attention is None or mask is None or own != "sdpa":  # an older transformers, or a model with a way of its own
        return
    attention.register(ATTENTION, attend)
    mask.register(ATTENTION, masking_utils.sdpa_mask)
    model.set_attn_implementation(ATTENTION)


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **more: Any,
) -> tuple[Any, None]:
    """Attention as transformers asks for it: by oneDNN over long texts, by torch's own kernel otherwise."""
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    reads, there = query.shape[2], key.shape[2]
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = bool(causal) and attention_mask is None and reads > 1
    plain = not dropout and more.get("position_bias") is None and more.get("cache") is None
    long = reads * there >= LONG**2 and (reads == there or not causal)
    if not (long and plain and query.dtype is torch.float32 and query.device.type == "cpu") or torch.is_grad_enabled():
        how = {"dropout": dropout, "scaling": scaling, "is_causal": is_causal}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **how, **more)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return products(torch, query * scale, key, value, attention_mask, causal), None


def products(torch: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool) -> Any:
    """softmax(query @ key + mask) @ value, some rows of one head at a time; [batch, tokens, heads, width]."""
    op = _product(torch)
    texts, heads, reads, _ = query.shape
    there, group = key.shape[2], heads // key.shape[1]
    query, key, value = query.contiguous(), key.contiguous(), value.transpose(-1, -2).contiguous()
    if mask is not None:
        mask = torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf) if mask.dtype is torch.bool else mask
        mask = mask.expand(texts, heads, reads, there)
    rows = max(64, min(LONG, CELLS // there))
    ahead = torch.full((rows, rows), -torch.inf).triu_(1)
    out = torch.empty(texts, reads, heads, value.shape[2])
    for text in range(texts):
        for head in range(heads):
            keys, values = key[text, head // group], value[text, head // group]
            for start in range(0, reads, rows):
                end = min(start + rows, reads)
                seen = end if causal else there
                scores = op(query[text, head, start:end], keys[:seen], None, "none", [], "")
                if causal:
                    scores[:, start:] += ahead[: end - start, : end - start]
                elif mask is not None:
                    scores += mask[text, head, start:end]
                weights = torch.softmax(scores, -1)
                out[text, start:end, head] = op(weights, values[:, :seen].contiguous(), None, "none", [], "")
    return out


def _attention_agrees(torch: Any) -> bool:
    """Whether this attention gives what torch's gives: with a mask, from left to right, and without either."""
    rising = torch.linspace(-3, 3, 2 * 300 * 32).reshape(1, 2, 300, 32)
    query, key, value = rising.sin(), (7 * rising).cos(), (3 * rising).sin()
    mask = (torch.arange(300) < 200).expand(1, 1, 300, 300)
    own = torch.nn.functional.scaled_dot_product_attention
    return all(
        _agree(
            torch,
            own(query, key, value, attn_mask=given, is_causal=causal, scale=1.0).transpose(1, 2),
            products(torch, query, key, value, given, causal),
        )
        for given, causal in ((None, False), (None, True), (mask, False))
    )
