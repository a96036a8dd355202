"""Rewards made of rewards."""

from assay.compose.choose import ByTask, Curriculum
from assay.compose.composite import CompositeReward, Policy, Term
from assay.compose.flow import Ask, Batch, Composition, Flow, refold
from assay.compose.normalize import Normalize
from assay.compose.rules import Clip, Gate, Shaped
from assay.compose.schedule import Cosine, Linear, Schedule, Steps

__all__ = [
    "Ask",
    "Batch",
    "ByTask",
    "Clip",
    "CompositeReward",
    "Composition",
    "Cosine",
    "Curriculum",
    "Flow",
    "Gate",
    "Linear",
    "Normalize",
    "Policy",
    "Schedule",
    "Shaped",
    "Steps",
    "Term",
    "refold",
]
