"""Is this answer that answer? Two steps, both visible: `extract` finds the final answer, `equivalent` decides."""

from assay.math.grade import Grade, correct, extract, grade
from assay.math.verdict import Options, Verdict, equivalent

__all__ = ["Grade", "Options", "Verdict", "correct", "equivalent", "extract", "grade"]
