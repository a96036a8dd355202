"""The Engine: the only place where a reward is called. See `engine.py`."""

from assay.engine.counts import Count, Counts
from assay.engine.engine import Engine, leaves
from assay.engine.plain import (
    call,
    check_columns,
    check_response,
    from_trl,
    needs_groups,
    needs_loop,
    needs_steps,
    required_columns,
    rescore,
    score,
    score_one,
)
from assay.engine.told import tell

__all__ = [
    "Count",
    "Counts",
    "Engine",
    "call",
    "check_columns",
    "check_response",
    "from_trl",
    "leaves",
    "needs_groups",
    "needs_loop",
    "needs_steps",
    "required_columns",
    "rescore",
    "score",
    "score_one",
    "tell",
]
