"""What a trainer is told beside the rewards: outcomes, reasons and details for its table; rates and spread."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.types import RewardOutput

QUANTILES = {"min": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "max": 1.0}


def tell(name: str, outputs: Sequence[RewardOutput], context: Mapping[str, Any], parts: bool = False) -> None:
    """Tell TRL's `log_extra` and `log_metric`, where the call came with them, the same columns every batch.

    All stands under the reward's own name: TRL joins what two functions log under one. With `parts` the components are
    told too, for a reward that the trainer sees as one function.
    """
    extra, metric = context.get("log_extra"), context.get("log_metric")
    if extra:
        extra(f"{name}/outcome", [str(output.outcome) for output in outputs])
        extra(f"{name}/why", [output.error for output in outputs])
        extra(f"{name}/details", [details(output) for output in outputs])
    if metric and outputs:
        _figures(f"assay/{name}", outputs, metric)
    for part in outputs[0].components if outputs and (extra or metric) else ():
        rewards = [_reward(output.components.get(part)) for output in outputs]
        known = [r for r in rewards if r is not None]
        if extra and parts:
            extra(f"{name}/{part}", rewards)
        if metric and parts and known:
            metric(f"assay/{name}/{part}/mean", sum(known) / len(known))
        if metric:
            metric(f"assay/{name}/{part}/unscored", 1.0 - len(known) / len(outputs))


def _figures(place: str, outputs: Sequence[RewardOutput], metric: Any) -> None:
    known = sorted(output.reward for output in outputs if output.reward is not None)
    metric(f"{place}/unscored", 1.0 - len(known) / len(outputs))
    metric(f"{place}/seconds", sum(output.seconds for output in outputs))
    for quantile, share in QUANTILES.items() if known else ():
        metric(f"{place}/{quantile}", known[round((len(known) - 1) * share)])


def _reward(output: RewardOutput | None) -> float | None:
    return None if output is None else output.reward


def details(output: RewardOutput) -> str:
    """What was extracted and matched, as JSON: the output's own metadata and that of its components; or nothing."""
    found: dict[str, Any] = {key: value for key, value in output.metadata.items() if key != "weights"}
    for name, part in output.components.items():
        if part.metadata:
            found[name] = part.metadata
    return _json(found) if found else ""


_json = json.JSONEncoder(ensure_ascii=False, default=str).encode  # made once: json.dumps would make one each time
