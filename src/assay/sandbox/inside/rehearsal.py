"""In the fork server, before the forks: what every child will do, done once on a program of our own.

What Python learns by doing (specialised instructions, caches of attributes and patterns, interned names) is then in the
memory that the children share. A child that learns it itself writes over that memory, and each page costs a copy.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from . import wire
from .candidate import Answers
from .channel import Channel
from .program import execute, make_calls, namespace
from .proxy import Link
from .tester import Tester

TIMES = 12  # an instruction is specialised after eight
PROGRAM = '''
import math
from collections import Counter, defaultdict
from typing import List

class Stack:
    """A class."""

    def __init__(self, items: List[int]):
        self.items = list(items)

    def push(self, item):
        self.items.append(item)
        return len(self.items)

def solve(numbers: List[int], word: str = "abc", *, factor=2):
    """A function."""
    total, seen = 0, {}
    for i, number in enumerate(sorted(numbers)):
        if number % 2 == 0 and number not in seen:
            seen[number] = i
        elif number < 0:
            continue
        total += number * factor // 2
    while total > 100:
        total -= max(numbers)
    try:
        first = numbers[0]
    except IndexError:
        first = None
    pairs = [(a, b) for a in numbers for b in word if a != b]
    return [total, first, len(pairs), f"{word.upper()}-{total:d}", {k: v for k, v in seen.items()}, math.gcd(4, 6)]
'''
READER = """
import sys
def main():
    words = sys.stdin.read().split()
    try:
        n = int(input())
    except EOFError:
        n = len(words)
    numbers = list(map(int, words))
    print(n, *numbers)
    print(" ".join(str(x) for x in numbers), f"{n:.2f}", sep="\\n")
    sys.stdout.write("\\n")
if __name__ == "__main__":
    main()
"""
TESTS = [
    "assert solve([1, 2, 3])[0] == 6",
    "assert isinstance(Stack([1]).push(2), int) and abs(solve([2], word='x')[1] - 2.0) < 1e-6",
    "def check(candidate):\n    assert candidate([4, 5, -1]) == candidate([4, 5, -1])\n\ncheck(solve)",
]


class _Within:
    """Both ends of a channel in one process: what is sent is answered before it is asked for."""

    def __init__(self) -> None:
        self.reads, self.writes = os.pipe()
        self.through = Channel(self.reads, self.writes)
        self.answers: Answers | None = None

    def send(self, message: Any) -> None:
        """As a channel's."""
        self.through.send(message)
        if self.answers is not None and "op" in message:
            answers, self.answers = self.answers, None
            answers.serve(self.through.receive())
            self.answers = answers

    def receive(self) -> Any:
        """As a channel's."""
        return self.through.receive()

    def close(self) -> None:
        os.close(self.reads)
        os.close(self.writes)


def rehearse(null: int) -> None:
    """Load and call a program, and test it, as the children do; what is written goes to `null`."""
    calls = {"sources": [PROGRAM], "entry": "solve", "start": 0, "in_place": False}
    inputs = [
        [wire.encode([[3, 1, 2], "ab"]), wire.encode({})],
        [[[5, 6]], {"$d": [["factor", 3]]}],
        [[[]], {"$d": []}],
    ]
    own = sys.modules["__main__"]
    for _ in range(TIMES):
        make_calls(wire.loads(wire.dumps(calls | {"inputs": inputs})), null, null)
        execute([READER], namespace("__main__"))
        _tested("asserts", null)
    sys.stdout.flush()
    for name in ("solution", "tests", "pytest"):
        sys.modules.pop(name, None)
    sys.modules["__main__"] = own


def _tested(form: str, null: int) -> None:
    channel: Any = _Within()
    names = namespace("solution")
    execute([PROGRAM], names)
    channel.answers = Answers(channel, names)
    job = {
        "form": form, "entry": "solve", "theirs": ["solve"], "classes": [], "prelude": [], "setup": [],
        "sources": TESTS, "stop_early": True, "start": 0,
    }  # fmt: skip
    link = Link(channel, _never)
    tester = Tester(wire.loads(wire.dumps(job)), link, null, null)
    tester.read()
    tester.run()
    channel.close()


def _never(reason: str) -> Any:
    raise ValueError(f"the rehearsal failed: {reason}")
