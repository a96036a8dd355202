"""How components make a reward, as plain data: what the page needs to fold stored values again under other weights.

    {"kind": "composite", "weights": {"format": 0.3, "match": 0.7}, "on_missing": {...}, "children": {"format": {...}}}

`shape_of` reads it off a reward, exactly, and the header of a Run keeps it. For a Run without one, `inferred_shape`
reads it from what the folding left in each row's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.compose import ByTask, Clip, CompositeReward, Curriculum, Gate, Normalize, Schedule, Shaped
from assay.compose.flow import Composition
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
            scheduled = any(isinstance(t.weight, Schedule) for t in reward.terms)
            weights = reward.weights(0)
            rule: Shape = {"kind": "composite", "weights": weights, "on_missing": reward.on_missing}
            return {**rule, "policies": policies, "scheduled": scheduled}
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


def leaves(shape: Mapping[str, Any], path: str = "", weight: float = 1.0) -> dict[str, float]:
    """The components that are added up, by path, each with its weight in the whole.

    What only lets through (a gate's requirement, a normalised reward's raw value) has no weight and is not among them.
    """
    children: Mapping[str, Any] = shape.get("children", {})
    if not children:
        return {path: weight} if path else {}
    found: dict[str, float] = {}
    for name, share in _shares(shape, children):
        found |= leaves(children[name], f"{path}/{name}" if path else name, weight * share)
    return found


def _shares(shape: Mapping[str, Any], children: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    kind = shape.get("kind")
    if kind == "composite":
        yield from ((name, float(w)) for name, w in shape["weights"].items() if name in children)
    elif kind == "gate":
        yield from ((name, 1.0) for name in list(children)[1:])
    elif kind != "stored":
        yield from ((name, 1.0) for name in children)


def short_names(paths: list[str]) -> dict[str, str]:
    """Each path's last part, where no other path ends the same; else the whole path."""
    last = [path.rpartition("/")[2] for path in paths]
    return {path: end if last.count(end) == 1 else path for path, end in zip(paths, last, strict=True)}
