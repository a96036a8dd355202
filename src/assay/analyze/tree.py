"""How components make a reward, as plain data: what the page needs to fold stored values again under other weights.

    {"kind": "composite", "weights": {"format": 0.3, "match": 0.7}, "on_missing": {...}, "children": {"format": {...}}}

`shape_of` reads it off a reward, exactly, and the header of a Run keeps it. For a Run without one, `inferred_shape`
reads it from what the folding left in each row's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.compose import (
    ByTask,
    Clip,
    CompositeReward,
    Cosine,
    Curriculum,
    Gate,
    Linear,
    Normalize,
    Schedule,
    Shaped,
    Steps,
)
from assay.compose.flow import Composition
from assay.compose.lazy import stages
from assay.reward import RewardFunction
from assay.types import Outcome

Shape = dict[str, Any]

GATED = len(Outcome)
"""The state of a component that was not asked because a gate was shut."""
ABSENT = GATED + 1
"""The state of a component that is not stored for the row."""
NOT_ASKED = GATED + 2
"""The state of a component that a lazy composite had no need to ask."""

_CODES = {str(outcome): code for code, outcome in enumerate(Outcome)}
_SHUT = re.compile(r"shut: .* < ([-\d.e]+)$")


def shape_of(reward: RewardFunction) -> Shape:
    """How this reward is made, as plain data.

    Example:
        >>> shape_of(CompositeReward({"short": (lambda response: 1.0, 0.5)}))["weights"]
        {'short': 0.5}
    """
    if not isinstance(reward, Composition):
        return {"kind": "leaf"}
    return {**_rule(reward), "children": {name: shape_of(child) for name, child in reward.children.items()}}


def _rule(reward: Composition) -> Shape:
    match reward:
        case CompositeReward():
            policies = {t.name: t.on_missing for t in reward.terms if t.on_missing is not None}
            rule: Shape = {"kind": "composite", "weights": reward.weights(0), "on_missing": reward.on_missing}
            return {**rule, "policies": policies, **_schedules(reward), **_laziness(reward)}
        case Gate():
            return {"kind": "gate", "at_least": reward.at_least, "otherwise": reward.otherwise}
        case Clip():
            return {"kind": "clip", "low": reward.low, "high": reward.high}
        case Shaped():
            return {"kind": "shaped", "limit": reward.limit}
        case Normalize():
            return {"kind": "normalize", "how": reward.kind, "low": reward.low, "high": reward.high}
        case ByTask() | Curriculum():
            return {"kind": "choice"}
        case _:
            return {"kind": "stored"}  # somebody's own composition: its stored value stands


_SCHEDULES: dict[str, type[Schedule]] = {"linear": Linear, "cosine": Cosine, "steps": Steps}


def _schedules(reward: CompositeReward) -> Shape:
    found = {
        term.name: {"kind": kind, **vars(term.weight)}
        for term in reward.terms
        for kind, made in _SCHEDULES.items()
        if type(term.weight) is made
    }
    return {"schedules": found} if found else {}


def schedule_of(data: Mapping[str, Any]) -> Schedule:
    """The schedule that a shape describes.

    Example:
        >>> schedule_of({"kind": "linear", "start": 0.0, "end": 1.0, "steps": 10, "after": 0}).at(5)
        0.5
    """
    return _SCHEDULES[data["kind"]](**{key: value for key, value in data.items() if key != "kind"})


def _laziness(reward: CompositeReward) -> Shape:
    """What decides which calls a lazy composite spares: the same call is spared when it is folded again."""
    if reward.lazy != "group":
        return {}
    ranges = {name: child.contract.range for name, child in reward.children.items()}
    return {"lazy": "group", "ranges": ranges, "stages": stages(reward.children)}


def node_values(detail: Mapping[str, Any]) -> dict[str, tuple[float | None, int]]:
    """Every component of an output, as the record keeps it, by its path: (value, state)."""
    values: dict[str, tuple[float | None, int]] = {}
    _walk(detail, "", values)
    return values


def _walk(detail: Mapping[str, Any], above: str, values: dict[str, tuple[float | None, int]]) -> None:
    for name, part in detail.get("components", {}).items():
        reward = part["reward"]
        if reward is None:
            said = part.get("metadata", {})
            state = GATED if said.get("gated") is True else NOT_ASKED if "lazy" in said else _CODES[part["outcome"]]
            values[above + name] = (None, state)
        else:
            values[above + name] = (reward, 0)
        if "components" in part:
            _walk(part, f"{above}{name}/", values)


def inferred_shape(detail: Mapping[str, Any]) -> Shape:
    """The shape of a reward, as far as one row's output shows it."""
    if "components" not in detail:
        return {"kind": "leaf"}
    children = {name: inferred_shape(part) for name, part in detail["components"].items()}
    return {**_inferred(detail.get("metadata", {})), "children": children}


def _inferred(said: Mapping[str, Any]) -> Shape:
    if isinstance(weights := said.get("weights"), Mapping):
        return {"kind": "composite", "weights": dict(weights), "on_missing": "reweight", "policies": {}}
    if isinstance(gate := said.get("gate"), str):
        shut = _SHUT.search(gate)
        return {"kind": "gate", "at_least": float(shut[1]) if shut else 1.0, "otherwise": 0.0}
    return {"kind": "choice" if "chosen" in said else "stored"}


WeightAt = Callable[[Mapping[str, Any], str], Any]
"""The weight of a composite's component: a number, or an array with one for each row where it is scheduled."""


def _constant(shape: Mapping[str, Any], name: str) -> float:
    return float(shape["weights"][name])


def leaves(
    shape: Mapping[str, Any], weight_at: WeightAt = _constant, path: str = "", weight: Any = 1.0
) -> dict[str, Any]:
    """The components that are added up, by path, each with its weight in the whole.

    What only lets through (a gate's requirement, a normalised reward's raw value) has no weight and is not among them.
    """
    children: Mapping[str, Any] = shape.get("children", {})
    if not children:
        return {path: weight} if path else {}
    found: dict[str, float] = {}
    for name, share in _shares(shape, children, weight_at):
        found |= leaves(children[name], weight_at, f"{path}/{name}" if path else name, weight * share)
    return found


def _shares(shape: Mapping[str, Any], children: Mapping[str, Any], weight_at: WeightAt) -> Iterator[tuple[str, Any]]:
    kind = shape.get("kind")
    if kind == "composite":
        yield from ((name, weight_at(shape, name)) for name in shape["weights"] if name in children)
    elif kind == "gate":
        yield from ((name, 1.0) for name in list(children)[1:])
    elif kind != "stored":
        yield from ((name, 1.0) for name in children)


def short_names(paths: list[str]) -> dict[str, str]:
    """Each path's last part, where no other path ends the same; else the whole path."""
    last = [path.rpartition("/")[2] for path in paths]
    return {path: end if last.count(end) == 1 else path for path, end in zip(paths, last, strict=True)}
