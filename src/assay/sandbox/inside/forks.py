"""What a forked child has to do again, and no more.

Modules of the standard library ask to be called in each child: `threading` and `logging` to make their locks anew, in
case another thread held one, and `random` to draw a new seed. A fork server has one thread, which holds no lock while
it forks, so only the seed is of use; and what the others touch costs more than the fork itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

_usual = os.register_at_fork


def without_hooks() -> None:
    """From now on nobody is called after a fork."""
    os.register_at_fork = _forget


def _forget(**_: Any) -> None:
    """What a module asks for that is imported before the forks."""


def with_hooks() -> Callable[[], Any]:
    """After the imports: what a program asks for is granted again. What comes back of this, each child has to call."""
    os.register_at_fork = _usual
    drawn: Any = getattr(sys.modules.get("random"), "_inst", None)
    if drawn is None:
        return _forget
    compiled: Any = super(type(drawn), drawn)  # whose `seed` does not ask first what kind of seed it is given
    return compiled.seed
