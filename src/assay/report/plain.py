"""A study as plain data: what `--json` prints and what the page embeds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from assay.analyze.study import Study


def study_as_data(study: Study) -> dict[str, Any]:
    """Everything that was found, as JSON-able data; rows count from 0."""
    return {
        "rows": study.table.rows,
        "name": study.table.header.get("name", ""),
        "findings": plain(study.findings),
        "distributions": plain(study.distributions),
        "steps": plain(study.steps),
        "groups": plain(study.groups),
        "attribution": plain(study.attribution),
        "agreement": plain(study.agreement),
        "kinds": plain(study.kinds),
        "clusters": plain(study.clusters),
        "failures": plain(study.failures),
        "reasons": dict(sorted(study.table.reasons.items(), key=lambda item: -item[1])[:12]),
    }


def plain(value: Any) -> Any:
    """Dataclasses as mappings, and no number that JSON cannot say."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in cast("Sequence[Any]", value)]
    if isinstance(value, float):
        return round(value, 9) if math.isfinite(value) else None
    return value
