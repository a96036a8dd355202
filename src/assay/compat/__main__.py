"""`python -m assay.compat SCRIPT [ARGUMENTS]`: run a script in which the names of `assay.compat` can be imported."""

from __future__ import annotations

import os
import runpy
import sys

from assay.compat import install


def main() -> None:
    """Run the script that the command line names, as Python itself would."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m assay.compat SCRIPT [ARGUMENTS]")
    script = sys.argv[1]
    if not os.path.exists(script):
        sys.exit(f"python -m assay.compat: there is no file {script!r}")
    install()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
