"""What the fork server saves its children, and that they do not miss it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from programs import function, grade, outcomes, stdio

import assay.sandbox
from assay.sandbox.inside import wire

RANDOM = "import random\ndef f(x):\n    return random.random()"
PROGRAMS = {
    "nothing of the rehearsal is left": (
        'import sys\nprint([n for n in ("solution", "tests", "py" "test") if n in sys.modules], sys.argv)',
        "[] ['solution.py']",
    ),
    "only its own descriptors are open": (
        "import os\ndef is_open(fd):\n    try:\n        return bool(os.fstat(fd))\n    except OSError:\n"
        "        return False\nprint([fd for fd in range(200) if is_open(fd)])",
        "[0, 1, 2]",
    ),
    "threads are waited for": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()\n"
        "print(threading.current_thread() is threading.main_thread())",
        "True\nlate",
    ),
    "pools of threads are waited for": (
        "from concurrent.futures import ThreadPoolExecutor\nimport time\npool = ThreadPoolExecutor(2)\n"
        "for i in range(3):\n    pool.submit(lambda i=i: (time.sleep(0.02 * i), print(i)))",
        "0\n1\n2",
    ),
    "what is to be done at exit is done": ("import atexit\natexit.register(print, 'bye')\nprint('hello')", "hello\nbye"),
    "locks and logging work": (
        "import logging, sys, threading\nlogging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
        "with threading.RLock(), threading.Condition():\n    logging.warning('said')",
        "said",
    ),
    "hooks may be asked for": ("import os\nos.register_at_fork(before=print)\nprint(os.register_at_fork.__name__)",
                               "register_at_fork"),
    "all of its input is there": ("import sys\nprint(len(sys.stdin.read()))", "5"),
}  # fmt: skip


def test_random_numbers_differ_from_program_to_program(tiered):
    said = {grade(tiered, RANDOM, function(([1], "no"))).metadata["tests"][0]["detail"] for _ in range(3)}
    assert len(said) == 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_what_it_would_find_elsewhere(tiered, name):
    code, printed = PROGRAMS[name]
    output = grade(tiered, code, stdio(("1\n2 3", printed + "\n")))
    assert outcomes(output) == ["pass"], output.metadata["tests"]


SETTLED = """
import sys
sys.path.insert(0, sys.argv[1])
from inside import memory
memory.make_room()
kept = [[str(i), {i: bytes(i % 600)}] for i in range(60_000)]
places = memory.heap()
made = memory.settle(places)
assert all(text == str(i) and held == {i: bytes(i % 600)} for i, (text, held) in enumerate(kept))
print(made, len(places))
"""


def test_a_heap_of_huge_pages_holds_what_it_held():
    folder = str(Path(assay.sandbox.__file__).parent)
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SETTLED, folder], capture_output=True, text=True, check=True
    )
    made, places = map(int, ran.stdout.split())
    assert made >= 0
    assert places > 0


@pytest.mark.parametrize("text", [b"", b"1 2", b'{"i":1}{"i":2}', b"[1,", b"nan", b"\xef\xbb\xbf1", b"{'a':1}"])
def test_what_is_no_message_is_refused(text):
    with pytest.raises(ValueError):
        wire.loads(text)


def test_spaces_around_a_message_are_none_of_it():
    assert wire.loads(b' {"i": [1, 2.5, null]}\n') == {"i": [1, 2.5, None]}
