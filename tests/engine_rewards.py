"""Rewards for the tests of the engine: importable by name, as a user's own module is."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from assay import Contract, InfraError, RewardFunction, RewardOutput, Trajectory, declare


@declare(timeout=1.0)
def obedient(response: str) -> float:
    """What the response tells it to do; else its length in tenths."""
    act(response)
    return len(response) / 10


@declare(workers=True)
def unbounded(response: str) -> float:
    """The same, without a deadline."""
    act(response)
    return len(response) / 10


def act(told: str) -> None:  # noqa: C901  (a table of misdeeds)
    """Misbehave as told."""
    word, _, rest = told.partition(":")
    if word == "loop":
        while True:
            pass
    elif word == "sleep":
        time.sleep(float(rest))
    elif word == "exit":
        os._exit(int(rest))
    elif word == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "ignore-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(100)
    elif word == "fork":
        os.fork()
    elif word == "daemon":
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
    elif word == "child":
        if os.fork() == 0:
            time.sleep(1000)
    elif word == "print":
        for _ in range(int(rest)):
            os.write(1, b"x" * 999_999 + b"\n")
    elif word == "grab":
        hold = bytearray(int(rest) * 1_000_000)
        hold[::4096] = b"x" * len(hold[::4096])
        time.sleep(1.0)  # a busy machine looks at memory late
    elif word == "leak":
        block = bytearray(int(rest) * 1_000_000)
        block[::4096] = b"x" * len(block[::4096])
        LEAKED.append(block)
    elif word == "rmdir":
        shutil.rmtree(os.getcwd())
    elif word == "close-all":
        os.closerange(3, 256)
    elif word == "kill-parent":
        os.kill(os.getppid(), signal.SIGKILL)
    elif word == "thread":
        threading.Thread(target=time.sleep, args=(1000,), daemon=False).start()
    elif word == "exit-soon":
        threading.Timer(0.05, os._exit, (7,)).start()
    elif word == "import":
        import antigravity_of_the_tests  # noqa: F401  # pyright: ignore


LEAKED: list[Any] = []


@dataclass
class Noted(RewardFunction):
    """Scores 1, and notes each call as a line in a file."""

    path: str
    seconds: float = 0.0
    contract = Contract(workers=True, timeout=1.0)

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        with open(self.path, "a") as file:
            file.write(f"{trajectory.metadata['id']}\n")
        time.sleep(self.seconds)
        act(trajectory.response)
        return RewardOutput(1.0, metadata={"pid": os.getpid(), "id": trajectory.metadata["id"]})


@dataclass
class Burn(RewardFunction):
    """Scores the row's number after some milliseconds of work."""

    milliseconds: float = 1.0
    contract = Contract(workers=True, range=None)

    def compute_reward(self, trajectory: Trajectory) -> float:
        end = time.thread_time() + self.milliseconds / 1000
        while time.thread_time() < end:
            pass
        return float(trajectory.metadata["id"])


@dataclass
class WholeBatch(RewardFunction):
    """A batch reward in workers: loops for ever where one row says so."""

    contract = Contract(workers=True, timeout=0.2)

    def compute_rewards(self, trajectories: list[Trajectory]) -> list[float]:
        for t in trajectories:
            act(t.response)
        return [float(len(t.response)) / 10 for t in trajectories]


@dataclass
class GroupSize(RewardFunction):
    """A group reward in workers."""

    contract = Contract(workers=True, range=None, per="group")  # type: ignore[arg-type]

    def compute_rewards(self, trajectories: list[Trajectory]) -> list[float]:
        return [float(len(trajectories))] * len(trajectories)


@dataclass
class Flaky(RewardFunction):
    """Fails with an infra error until it was called `good_after` times for a row; counts in a file."""

    path: str
    good_after: int = 1
    contract = Contract(retries=2)

    def compute_reward(self, trajectory: Trajectory) -> float:
        with open(self.path, "a+") as file:
            file.write(trajectory.response + "\n")
            file.seek(0)
            times = file.read().split("\n").count(trajectory.response)
        if times <= self.good_after:
            raise InfraError("the server is not there")
        return 1.0


@declare(workers=True)
def worker_pid(response: str) -> dict[str, Any]:
    """Who scored it."""
    return {"score": 1.0, "pid": os.getpid(), "ppid": os.getppid()}


@dataclass
class Locked(RewardFunction):
    """Holds what no other process can use."""

    inner: dict[str, Any] = field(default_factory=lambda: {"client": {"lock": threading.Lock()}})
    contract = Contract(workers=True)

    def compute_reward(self, trajectory: Trajectory) -> float:
        return 1.0


@declare(workers=True)
async def slowly(response: str) -> float:
    """An async reward that asks for workers."""
    import asyncio

    await asyncio.sleep(0.01)
    return len(response) / 10


@declare(workers=True)
def odd_metadata(response: str) -> dict[str, Any]:
    """Metadata that is no plain data."""
    return {
        "score": True,
        "set": {1, 2},
        "object": threading.Lock,
        "tuple": (1, 2.5),
        "path": __import__("pathlib").Path("a"),
    }
