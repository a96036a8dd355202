"""Who meets whom, and what the results come to."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence

Pair = tuple[int, int]


def seed_of(texts: Sequence[str]) -> int:
    """A seed that depends on what is compared and not on its order."""
    return int.from_bytes(hashlib.blake2b("\0".join(sorted(texts)).encode("utf-8", "replace"), digest_size=8).digest())


def pairings(count: int, opponents: int, seed: int) -> list[Pair]:
    """All pairs where nobody gets more than so many opponents; else a shuffled ring, where each gets that many.

    >>> pairings(3, 4, 0)
    [(0, 1), (0, 2), (1, 2)]
    >>> sorted(sum(i in pair for pair in pairings(9, 4, 0)) for i in range(9))
    [4, 4, 4, 4, 4, 4, 4, 4, 4]
    """
    if count - 1 <= opponents:
        return [(i, j) for i in range(count) for j in range(i + 1, count)]
    ring = list(range(count))
    random.Random(seed).shuffle(ring)
    met = {tuple(sorted((ring[k], ring[(k + d) % count]))) for d in range(1, opponents // 2 + 1) for k in range(count)}
    return [(i, j) for i, j in sorted(met)]


def standings(count: int, results: Mapping[Pair, float]) -> list[float | None]:
    """For each the chance to beat another of the field, by Bradley and Terry's model; None where it met nobody.

    `results[i, j]` is how surely i beat j, 0 to 1. Where all met all, this is the order of the mean result.

    >>> [round(s, 2) for s in standings(2, {(0, 1): 1.0})]
    [0.82, 0.18]
    """
    won, met = [0.5] * count, [dict[int, float]() for _ in range(count)]
    for (i, j), result in results.items():
        won[i] += result
        won[j] += 1.0 - result
        met[i][j] = met[i].get(j, 0.0) + 1.0
        met[j][i] = met[j].get(i, 0.0) + 1.0
    strength = [1.0] * count
    for _ in range(200):
        # half a win and half a loss against an average opponent keep everyone's strength finite
        now = [
            won[i] / (1.0 / (strength[i] + 1.0) + sum(n / (strength[i] + strength[j]) for j, n in met[i].items()))
            for i in range(count)
        ]
        moved = max(abs(a - b) / b for a, b in zip(now, strength, strict=True)) if count else 0.0
        strength = now
        if moved < 1e-9:
            break
    return [_chance(strength, i) if met[i] else None for i in range(count)]


def _chance(strength: Sequence[float], i: int) -> float:
    others = [s for j, s in enumerate(strength) if j != i]
    return sum(strength[i] / (strength[i] + other) for other in others) / len(others)
