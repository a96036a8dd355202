"""Fork servers come, go, are killed, are forked away from, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from programs import fenced, function, grade, stdio

from assay import Trajectory, score
from assay.errors import ConfigError
from assay.rewards.code import CodeReward

RIGHT = "def f(x):\n    return 2 * x"
TESTS = function(([2], 4), ([5], 10))


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def _gone(pids: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while any(_alive(p) for p in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(entry.name), *_descendants(int(entry.name))]
    return found


def _servers() -> set[int]:
    """The fork servers below this process: other tests have theirs, and other processes besides."""
    return {pid for pid in _descendants(os.getpid()) if b"boot.py" in _command(Path(f"/proc/{pid}"))}


@pytest.fixture
def own():
    """A reward of this test's own."""
    made = CodeReward(workers=2, time_limit_s=2.0)
    yield made
    made.close()


def test_close_leaves_no_process_and_it_can_be_used_again(own):
    others = _servers()
    assert grade(own, RIGHT, TESTS).reward == 1.0
    servers = _servers() - others
    assert servers
    own.close()
    assert _gone(list(servers))
    assert grade(own, RIGHT, TESTS).reward == 1.0


def test_a_server_killed_in_the_middle_of_a_job_costs_one_retry(own):
    others = _servers()
    grade(own, RIGHT, TESTS)
    before = list(_servers() - others)
    slow = "import time\ndef f(x):\n    time.sleep(0.5)\n    return 2 * x"

    def kill() -> None:
        time.sleep(0.25)
        for pid in before:
            if _alive(pid):
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    output = grade(own, slow, TESTS)
    killer.join()
    assert output.reward == 1.0
    assert _gone(before)


def test_servers_that_always_die_are_an_infra_error_and_never_zero(own, monkeypatch):
    others = _servers()
    grade(own, RIGHT, TESTS)
    monkeypatch.setattr("assay.sandbox.forkserver.BOOT", "/nonexistent/boot.py")
    for pid in _servers() - others:
        os.kill(pid, signal.SIGKILL)
    output = grade(own, RIGHT, TESTS)
    assert output.reward is None
    assert output.outcome == "infra_error"
    assert "fork server" in output.error


def test_a_python_that_cannot_be_started_is_said_and_not_raised(own, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(ConfigError, match=r"did not start: .*nonexistent"):
        grade(own, RIGHT, TESTS)


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from programs import *
from assay.rewards.code import CodeReward
reward = CodeReward(workers=2)
print(grade(reward, {code!r}, {case!r}).reward, flush=True)
{then}
"""


def _script(then: str, code: str = RIGHT) -> subprocess.Popen[str]:
    text = SCRIPT.format(tests=str(Path(__file__).parent), code=code, case=TESTS, then=textwrap.dedent(then))
    command = [sys.executable, "-W", "error", "-c", text]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_nothing_is_left_when_the_interpreter_ends_without_close():
    with _script("input()") as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline().strip() == "1.0"
        below = _descendants(process.pid)
        assert below
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(10) == 0
    assert _gone(below, 0.5)


def test_nothing_is_left_when_the_trainer_is_killed():
    slow = "import time\ndef f(x):\n    time.sleep(0.9)\n    return 2 * x"
    then = f"grade(reward, {slow!r}, {TESTS!r})"
    with _script(then) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "1.0"
        time.sleep(0.3)
        below = _descendants(process.pid)
        assert len(below) >= 2  # the server, and the candidate that sleeps
        process.kill()
    assert _gone(below)


def test_nothing_is_left_when_a_fork_of_the_trainer_outlives_it():
    then = """
    import os, time
    if os.fork() == 0:
        time.sleep(3)  # holds a copy of the sockets
        os._exit(0)
    print("forked", flush=True)
    time.sleep(30)
    """
    with _script(then) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "1.0"
        assert process.stdout.readline().strip() == "forked"
        servers = [p for p in _descendants(process.pid) if b"boot.py" in _command(Path(f"/proc/{p}"))]
        assert servers
        process.kill()
        assert _gone(servers, 2.0)


def test_a_forked_child_of_the_trainer_makes_servers_of_its_own(own):
    grade(own, RIGHT, TESTS)
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writes, str(grade(own, RIGHT, TESTS).reward).encode())
            own.close()
        finally:
            os._exit(0)
    os.close(writes)
    assert os.read(reads, 100) == b"1.0"
    os.close(reads)
    os.waitpid(child, 0)
    assert grade(own, RIGHT, TESTS).reward == 1.0


def test_it_pickles_without_its_servers(own):
    grade(own, RIGHT, TESTS)
    copied = pickle.loads(pickle.dumps(own))
    assert copied == own
    assert grade(copied, RIGHT, TESTS).reward == 1.0
    copied.close()


def test_from_many_threads_at_once(own):
    results: list[float | None] = []

    def work() -> None:
        for _ in range(5):
            results.append(grade(own, RIGHT, TESTS).reward)  # noqa: PERF401  one after the other, as they come

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1.0] * 30


def test_under_an_event_loop(own):
    async def main() -> list[float | None]:
        direct = grade(own, RIGHT, TESTS).reward
        there = await asyncio.gather(*(asyncio.to_thread(grade, own, RIGHT, TESTS) for _ in range(4)))
        return [direct, *(output.reward for output in there)]

    assert asyncio.run(main()) == [1.0] * 5


def test_through_the_engine_and_by_hand(own):
    row = Trajectory(response=fenced(RIGHT), metadata={"tests": TESTS})
    assert [o.reward for o in score(own, [row, row])] == [1.0, 1.0]
    assert own.compute_reward(row).reward == 1.0


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("count", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_many_programs_leak_nothing(own, count):
    rows = []
    wrong = "import threading\ndef f(x):\n    threading.Thread(target=print).start()\n    raise ValueError"
    for i in range(count // 4):
        rows.append(Trajectory(response=fenced(f"{RIGHT}  # {i}"), metadata={"tests": TESTS}))
        rows.append(Trajectory(response=fenced("import os\nos._exit(0)"), metadata={"tests": TESTS}))
        rows.append(Trajectory(response=fenced("print(int(input()) * 2)"), metadata={"tests": stdio(("2", "4"))}))
        rows.append(Trajectory(response=fenced(wrong), metadata={"tests": {"asserts": ["assert f(2) == 4"]}}))
    own.compute_rewards(rows[:40])
    files, below, mounts = _open_files(), len(_servers()), Path("/proc/self/mounts").read_text()
    memory = _server_memory()
    rewards = [o.reward for o in own.compute_rewards(rows)]
    assert rewards == [1.0, 0.0, 1.0, 0.0] * (count // 4)
    assert (_open_files(), len(_servers())) == (files, below)
    assert Path("/proc/self/mounts").read_text() == mounts
    assert _server_memory() < memory + 2000


def _server_memory() -> int:
    """The kilobytes of the largest of the fork servers."""
    below = (Path(f"/proc/{pid}/status").read_text() for pid in _servers())
    return max(int(size) for text in below for size in re.findall(r"VmRSS:\s*(\d+)", text))
