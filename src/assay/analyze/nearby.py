"""Near-duplicates by MinHash: which responses say nearly the same, without comparing all of them."""

from __future__ import annotations

import functools
from typing import Any

from assay.errors import require

WIDTH = 16
"""Numbers in a signature. Two texts agree in about as many of them as they share of their pieces."""

BANDS = 4
"""Texts are compared where four neighbouring numbers agree: near-certain at 90 % alike, rare below half."""

SEEN = 2_000
"""Characters that a signature is made of."""


@functools.cache
def _numpy() -> Any:
    return require("numpy", "report", "analysing a Run")


@functools.cache
def _multipliers() -> Any:
    return _numpy().random.default_rng(20).integers(1, 2**63, size=(WIDTH, 1), dtype="u8") * 2 + 1


def signature(text: str) -> bytes:
    """The MinHash of a text's pieces of eight bytes, digits left out, so that only the numbers may differ."""
    raw = " ".join(text[:SEEN].translate(_NO_DIGITS).split()).encode("utf-8", "replace")
    if len(raw) < 16:
        return raw.ljust(WIDTH, b"\0") * 4
    np, multipliers = _numpy(), _multipliers()
    # every window of eight bytes as one number: a view of the bytes that moves on by one byte at a time
    windows = np.ndarray((len(raw) - 7,), dtype="<u8", buffer=raw, strides=(1,))
    return ((windows * multipliers).min(axis=1) >> 32).astype("<u4").tobytes()


_NO_DIGITS = {ord(c): None for c in "0123456789"}


def clusters(signatures: Any, members: Any, alike: float = 0.75) -> Any:
    """For each row of `members`, a number that near-duplicates share; -1 where a row is like no other.

    Two rows are near-duplicates when one of their bands is equal, and of all numbers at least the share `alike` agrees
    with those of the first row of that band.
    """
    np = _numpy()
    mine = np.ascontiguousarray(signatures[members])
    found = np.full(len(members), -1, dtype=np.int64)
    rows = WIDTH // BANDS
    for band in range(BANDS):
        keys = _mixed(mine[:, band * rows : (band + 1) * rows])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        heads = first[inverse.ravel()]
        near = (mine == mine[heads]).sum(axis=1) >= alike * WIDTH
        other = near & (heads != np.arange(len(members)))
        fresh = other & (found < 0)
        found[fresh] = np.where(found[heads[fresh]] >= 0, found[heads[fresh]], heads[fresh])
        lonely = np.unique(heads[other])
        found[lonely] = np.where(found[lonely] < 0, lonely, found[lonely])
    return found


def _mixed(columns: Any) -> Any:
    """Several numbers a row as one: equal rows stay equal, others differ but for one chance in 2**64."""
    np = _numpy()
    key = np.zeros(len(columns), dtype=np.uint64)
    for k in range(columns.shape[1]):
        key = (key ^ columns[:, k]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key
