"""The Engine: the only place where a reward is called. See `engine.py`."""

from assay.engine.counts import Count, Counts
from assay.engine.engine import Engine, leaves, reads_response, rows_for
from assay.engine.plain import (
    call,
    check_columns,
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
    "from_trl",
    "leaves",
    "needs_groups",
    "needs_loop",
    "needs_steps",
    "reads_response",
    "required_columns",
    "rescore",
    "rows_for",
    "score",
    "score_one",
    "tell",
]
