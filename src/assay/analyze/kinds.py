"""Which kinds of response are paid, and which are not; and what goes wrong most often."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from assay.analyze.features import KINDS, MARKS, NUMBERS
from assay.analyze.stats import mean_of
from assay.analyze.table import Array, Table, numpy
from assay.errors import require

CLUSTERS = 6
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of response, and what it was paid."""

    name: str
    count: int
    share: float
    mean: float
    """The mean reward of these."""
    others: float
    """The mean reward of all others."""
    within: float
    """How much more these get than the others of their own group: what the policy is told of them."""
    rows: tuple[int, ...]
    """Examples: the best paid, then the worst paid."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One common way to lose."""

    name: str
    count: int
    share: float
    rows: tuple[int, ...]


def kinds(table: Table) -> list[Kind]:
    """Every kind that occurs, the one that moves the reward most first."""
    masks = {name: table.bit(name) for name in (*KINDS, *MARKS)}
    masks |= _length_bands(table.numbers["length"])
    centred = _centred(table)
    found = [_kind(table, centred, name, mask) for name, mask in masks.items() if 0 < mask.sum() < table.rows]
    return sorted(found, key=lambda k: -abs(k.within) * k.share**0.5)


def clusters(table: Table, count: int = CLUSTERS) -> list[Kind]:
    """Kinds that nobody named: responses grouped by their measures, each called by what sets it apart."""
    np = numpy()
    if table.rows < 20 * count:
        return []
    vq = require("scipy.cluster.vq", "report", "clustering responses")
    space, names = _space(table)
    if not names:
        return []  # no measure differs
    some = space[np.random.default_rng(0).permutation(table.rows)[:20_000]]
    if len(np.unique(some[:2_000], axis=0)) <= count:
        return []  # as good as all alike
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster may end up empty: it is left out below
        centres, _ = vq.kmeans2(some, count, minit="++", seed=0, missing="warn", iter=20)
    member, _ = vq.vq(space, centres)
    centred = _centred(table)
    found: list[Kind] = []
    for k in range(count):
        mask = member == k
        if 0 < mask.sum() < table.rows:
            found.append(_kind(table, centred, _called(space[mask].mean(axis=0), names), mask))
    return sorted(found, key=lambda k: -k.mean)


def failures(table: Table, most: int = 12) -> list[Failure]:
    """What components complained of, the most frequent first."""
    worst = sorted(table.complaints.values(), key=lambda c: -c.count)[:most]
    return [Failure(f"{c.part}: {c.reason}", c.count, c.count / max(1, table.rows), tuple(c.rows)) for c in worst]


def _length_bands(length: Array) -> dict[str, Array]:
    np = numpy()
    low, middle, high = (float(q) for q in np.percentile(length, (25, 50, 75))) if len(length) else (0, 0, 0)
    if low == high:
        return {}
    return {
        f"length up to {low:.0f}": length <= low,
        f"length {low:.0f} to {middle:.0f}": (length > low) & (length <= middle),
        f"length {middle:.0f} to {high:.0f}": (length > middle) & (length <= high),
        f"length over {high:.0f}": length > high,
    }


def _centred(table: Table) -> Array:
    from assay.analyze.groups import moments

    mean, _ = moments(table.group, table.reward, len(table.groups))
    return table.reward - mean[table.group]


def _kind(table: Table, centred: Array, name: str, mask: Array) -> Kind:
    np = numpy()
    rows = np.flatnonzero(mask & table.scored)
    order = rows[np.argsort(-table.reward[rows], kind="stable")]
    examples = dict.fromkeys([*order[: EXAMPLES - 2].tolist(), *order[-2:].tolist()])
    return Kind(
        name=name,
        count=int(mask.sum()),
        share=float(mask.mean()),
        mean=mean_of(table.reward[mask]),
        others=mean_of(table.reward[~mask]),
        within=mean_of(centred[mask]),
        rows=tuple(examples),
    )


_SAID = {
    "length": ("long", "short"),
    "words": ("wordy", "few words"),
    "repetition": ("repetitive", ""),
    "echo": ("echoes the prompt", ""),
    "stuffing": ("keyword list", ""),
    "substance": ("", "little content"),
    "variety": ("varied words", "same words"),
}


def _space(table: Table) -> tuple[Array, list[tuple[str, str]]]:
    np = numpy()
    columns: list[Array] = []
    names: list[tuple[str, str]] = []
    for name in NUMBERS:
        raw = table.numbers[name].astype(np.float64)
        if name in ("length", "words", "substance"):
            raw = np.log1p(raw)
        if raw.std() > 1e-6 and name != "words":
            columns.append(np.clip((raw - raw.mean()) / raw.std(), -4, 4))
            names.append(_SAID[name])
    for name in KINDS:
        raw = table.bit(name).astype(np.float64)
        if 0.005 < raw.mean() < 0.995:
            columns.append((raw - raw.mean()) / raw.std() * 0.7)
            spoken = name.replace("_", " ")
            names.append((spoken, f"no {spoken.removeprefix('has ')}"))
    return np.stack(columns, axis=1) if columns else np.zeros((table.rows, 0)), names


def _called(centre: Array, names: list[tuple[str, str]]) -> str:
    order = sorted(range(len(names)), key=lambda k: -abs(float(centre[k])))
    told = [names[k][0 if centre[k] > 0 else 1] for k in order if abs(float(centre[k])) > 0.4]
    return ", ".join([t for t in told if t][:3]) or "ordinary"
