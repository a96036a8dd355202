"""The first lines of a fork server: make this folder importable as `inside`, and forget where it is."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from inside import forks, memory

    forks.without_hooks()  # before anything is imported that asks for one
    memory.make_room()
    from inside.server import main

    del sys.path[0]
    main()
