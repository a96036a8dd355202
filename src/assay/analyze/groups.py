"""What a GRPO policy can learn from: groups with signal, groups without, and the prompts they belong to."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.analyze.stats import compact, extremes, sizes, strata
from assay.analyze.table import Array, Table, numpy

FLAT = 1e-9
"""A group whose rewards differ by no more than this has no gradient."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt whose group says nothing."""

    name: str
    rows: tuple[int, ...]
    reward: float


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a Run."""

    count: int
    size: float
    """The mean number of responses to a prompt."""
    flat: float
    """The share of groups of several whose rewards are all equal: no gradient."""
    short: float
    """The share of groups in which some rows were not scored, so that fewer than all of them count."""
    effective_size: float
    """How many responses of a group differ in reward, as the exponential of the entropy of their values, on average."""
    within: float
    """The mean variance inside a group: what the policy is taught by."""
    between: float
    """The variance of the groups' means: how much prompts differ in difficulty."""
    pass_at: dict[int, float]
    """The chance that one of k responses passes, estimated without bias; empty where nothing says what passing is."""
    passing: str
    """What pass@k counts: which component, and from where it passes."""
    dead: tuple[Prompt, ...]
    """Prompts on which every response has the lowest reward; the first fifty."""
    saturated: tuple[Prompt, ...]
    """Prompts on which every response has the highest reward; the first fifty."""
    dead_share: float
    saturated_share: float


def groups(table: Table, correctness: str | None = None) -> Groups:
    """Describe the groups. `correctness` names the component that says what is right; by default it is guessed."""
    np = numpy()
    low, high = extremes(table.group, table.reward)
    counts = sizes(table.group, table.reward)
    all_rows = np.bincount(table.group, minlength=len(counts))
    several = counts > 1
    flat = several & (high - low <= FLAT)
    mean, variance = moments(table.group, table.reward, len(counts))
    floor, ceiling = (float(low.min()), float(high[counts > 0].max())) if counts.any() else (0.0, 0.0)
    dead, saturated = flat & (high <= floor + FLAT), flat & (low >= ceiling - FLAT)
    if ceiling - floor <= FLAT:  # one number everywhere is the lowest and the highest: by its sign it is one of them
        dead, saturated = (flat & (ceiling <= 0), flat & (ceiling > 0))
    passed, passing = _passed(table, correctness)
    known = mean[counts > 0]
    return Groups(
        count=len(counts),
        size=float(all_rows.mean()) if len(all_rows) else 0.0,
        flat=_share(flat, several),
        short=_share(counts < all_rows, all_rows > 0),
        effective_size=_effective(table),
        within=float(variance[several].mean()) if several.any() else 0.0,
        between=float(known.var()) if len(known) else 0.0,
        pass_at=_pass_at(table, passed) if passed is not None else {},
        passing=passing,
        dead=_prompts(table, dead, mean),
        saturated=_prompts(table, saturated, mean),
        dead_share=_share(dead, several),
        saturated_share=_share(saturated, several),
    )


def moments(group: Array, values: Array, count: int) -> tuple[Array, Array]:
    """Each group's mean and variance over what is known; NaN for a group with nothing known."""
    np = numpy()
    known = values == values
    filled = np.where(known, values, 0.0)
    n = np.bincount(group, weights=known, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, weights=filled, minlength=count) / n
        distance = np.where(known, values - mean[group], 0.0)
        variance = np.bincount(group, weights=distance**2, minlength=count) / n
    return mean, variance


_CORRECT = ("math", "match", "correct", "accuracy", "exact", "answer", "code", "verif", "solution", "right", "acc")


def guess_correctness(table: Table, named: str | None = None) -> str | None:
    """The component that says what is right: the one named, or one whose name says so, the heaviest first."""
    if named is not None:
        by_end = {name.rpartition("/")[2]: name for name in table.parts}
        return named if named in table.parts else by_end.get(named)
    weights = table.weights()
    fitting = [n for n in table.parts if any(word in n.rpartition("/")[2].lower() for word in _CORRECT)]
    return max(fitting, key=lambda n: abs(weights.get(n, 0.0)), default=None)


def _passed(table: Table, named: str | None) -> tuple[Array | None, str]:
    np = numpy()
    name = guess_correctness(table, named)
    values = table.parts[name].value if name else table.reward
    known = values[values == values]
    if not len(known):
        return None, ""
    if name is None and not np.isin(known, (0.0, 1.0)).all():
        return None, ""
    top = float(known.max())
    bar = 1.0 if top <= 1.0 else top
    return np.where(values == values, values >= bar - 1e-9, np.nan), f"{name or 'reward'} ≥ {bar:g}"


def _pass_at(table: Table, passed: Array) -> dict[int, float]:
    """1 - C(n - c, k) / C(n, k) for each group, as Chen et al. (2021) estimate it."""
    np = numpy()
    total = len(table.groups)
    n = np.bincount(table.group, weights=passed == passed, minlength=total).astype(int)
    c = np.bincount(table.group, weights=np.where(passed == 1, 1, 0), minlength=total).astype(int)
    most = int(np.median(n[n > 0])) if (n > 0).any() else 0
    found: dict[int, float] = {}
    pairs, counts = np.unique(np.stack([n, c], axis=1), axis=0, return_counts=True)
    for k in (1, 2, 4, 8, 16, 32, 64):
        if k > most:
            break
        enough = [(int(a), int(b), int(w)) for (a, b), w in zip(pairs, counts, strict=True) if a >= k]
        chances = [(1.0 - math.comb(a - b, k) / math.comb(a, k), w) for a, b, w in enough]
        found[k] = sum(p * w for p, w in chances) / max(1, sum(w for _, w in chances))
    return found


def _effective(table: Table) -> float:
    np = numpy()
    known = table.scored
    if not known.any():
        return 0.0
    codes = strata(table.group[known], np.round(table.reward[known], 6))
    counts = np.bincount(codes)
    group = np.zeros(len(counts), dtype=np.int64)
    group[codes] = compact(table.group[known])
    share = counts / np.bincount(group, weights=counts)[group]
    entropy = np.bincount(group, weights=-share * np.log(share))
    return float(np.exp(entropy).mean())


def _prompts(table: Table, chosen: Array, mean: Array, most: int = 50) -> tuple[Prompt, ...]:
    np = numpy()
    names = np.flatnonzero(chosen)[:most]
    return tuple(
        Prompt(table.groups[int(g)], tuple(map(int, np.flatnonzero(table.group == g))), float(mean[g])) for g in names
    )


def _share(some: Array, of: Array) -> float:
    whole = int(of.sum())
    return float(some.sum()) / whole if whole else 0.0
