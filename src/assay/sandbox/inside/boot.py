"""The first lines of a fork server: make this folder importable as `inside`, and forget where it is."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from inside.server import main  # noqa: E402

del sys.path[0]
main()
