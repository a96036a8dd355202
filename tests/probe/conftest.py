"""The planted rewards are importable by name, also in worker processes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
