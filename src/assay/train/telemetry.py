"""A training run tells nobody of itself."""

from __future__ import annotations

import os
from typing import Any

from assay.errors import require

SWITCH = "HF_HUB_DISABLE_TELEMETRY"


def no_telemetry() -> None:
    """Keep TRL from reporting a run to Hugging Face, which it does by default; whoever set the switch keeps it."""
    os.environ.setdefault(SWITCH, "1")
    constants: Any = require("huggingface_hub.constants", "train", "training")
    if os.environ[SWITCH].strip().upper() in ("1", "ON", "YES", "TRUE"):
        constants.HF_HUB_DISABLE_TELEMETRY = True  # it reads the environment once, when it is imported
