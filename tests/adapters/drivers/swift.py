"""ms-swift: its own GRPO algorithm computes rewards with the adapted class from orms."""

import inspect

import torch
from common import EXPECTED, RESPONSES, reward

try:
    from swift.rewards import ORM, orms
except ImportError:
    from swift.plugin import ORM, orms

from assay.adapters.swift import orm

orms["toy"] = orm(reward(), unscored=None)
made = orms["toy"]()
columns = {"ground_truth": ["5"] * 3, "messages": [[{"role": "user", "content": "after 4?"}]] * 3}
got = made(list(RESPONSES), **columns, request_id=["a", "b", "c"], finish_reason=["stop"] * 3, is_truncated=[False] * 3)
assert [round(r, 6) for r in got] == list(EXPECTED), got
assert made(list(RESPONSES), **{**columns, "ground_truth": ["5", None, "5"]})[1] is None
assert list(inspect.signature(ORM.__call__).parameters)[1:] == ["completions", "kwargs"]

# as ms-swift lowers a function's result: None is NaN, and a sum over functions leaves NaN out
lowered = torch.tensor([torch.nan if r is None else r for r in got], dtype=torch.float32)
assert torch.isfinite(lowered).all()
print("ran: a class in orms, called as its GRPO calls it")
