"""The first lines of a fork server: make this folder importable as `inside`, and forget where it is."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from inside.server import main

    del sys.path[0]
    main()
