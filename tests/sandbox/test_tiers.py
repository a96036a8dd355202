"""Right programs pass in every tier, and every result says which tier held."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile

import pytest
from programs import fenced, function, grade, outcomes, stdio, tasks

import assay.sandbox.local as local
from assay import Trajectory
from assay.errors import ConfigError
from assay.rewards.code import CodeReward


def _rows():
    for task in tasks():
        if task["shape"] != "humaneval":
            yield task["task_id"], Trajectory(response=fenced(task["code"]), metadata={"tests": task})
            continue
        checked = {k: v for k, v in task.items() if k != "cases"}
        body, whole = task["canonical_solution"], fenced(task["prompt"] + task["canonical_solution"])
        yield task["task_id"] + " completed", Trajectory(response=body, metadata={"tests": checked})
        yield task["task_id"], Trajectory(response=whole, metadata={"tests": checked})
        if "cases" in task:
            yield task["task_id"] + " cases", Trajectory(response=whole, metadata={"tests": task})


def test_every_reference_solution_passes(tiered):
    named = list(_rows())
    outputs = tiered.compute_rewards([row for _, row in named])
    refused = {
        name: (o.error, [(t["outcome"], t["detail"]) for t in o.metadata.get("tests", [])])
        for (name, _), o in zip(named, outputs, strict=True)
        if o.reward != 1.0 or o.metadata["flags"]
    }
    assert not refused
    assert len(tasks()) >= 60


def test_no_reference_solution_passes_another_tasks_tests(reward):
    rows = [t for t in tasks() if t["shape"] == "humaneval" and "cases" in t]
    swapped = [
        Trajectory(response=fenced(f"def {a['entry_point']}(*args):\n    return 'no'"), metadata={"tests": a})
        for a in rows
    ]
    assert {o.reward for o in reward.compute_rewards(swapped)} == {0.0}


def test_each_result_says_what_held(tiered):
    isolation = grade(tiered, "def f(x):\n    return x", function(([1], 1))).metadata["isolation"]
    assert isolation["tier"] == tiered.tier
    assert isolation["seccomp"] is True
    assert isolation["namespaces"] is (tiered.tier == 1)
    assert bool(isolation["landlock"]) is (tiered.tier < 3)


HOSTILE = {
    "socket": "import socket\ndef f(x):\n    socket.socket()\n    return x",
    "read": "def f(x):\n    open('/etc/passwd').read()\n    return x",
    "write": "def f(x):\n    open('/tmp/assay-test', 'w')\n    return x",
    "fork": "import os\ndef f(x):\n    os.fork()\n    return x",
    "exec": "import os\ndef f(x):\n    os.execv('/bin/true', ['/bin/true'])\n    return x",
    "list processes": "import os\ndef f(x):\n    assert os.listdir('/proc')\n    return x",
    "installed packages": "def f(x):\n    import yaml\n    return x",
}
LETHAL = {
    "kill the parent": "import os\ndef f(x):\n    os.kill(os.getppid(), 9)\n    return x",
    "kill all": "import os\ndef f(x):\n    os.kill(-1, 9)\n    return x",
    "trace": "import ctypes\ndef f(x):\n    ctypes.CDLL(None).ptrace(16, 1, 0, 0)\n    return x",
    "unshare": "import ctypes\ndef f(x):\n    ctypes.CDLL(None).unshare(0x10000000)\n    return x",
    "mount": "import ctypes\ndef f(x):\n    ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, 0)\n    return x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_refused(tiered, name):
    output = grade(tiered, HOSTILE[name], function(([1], 1)))
    assert output.reward == 0.0
    assert outcomes(output) == ["exception"]


@pytest.mark.parametrize("name", LETHAL)
def test_what_is_stopped_by_the_kernel_is_evidence(tiered, name):
    output = grade(tiered, LETHAL[name], function(([1], 1)))
    assert output.reward == 0.0
    assert outcomes(output) == ["sandbox_violation"]
    assert output.metadata["flags"] == ["sandbox_violation"]
    assert output.metadata["hack_signal"] is True


def test_no_datagram_reaches_a_socket_of_the_machine(tiered):
    folder = tempfile.mkdtemp(prefix="assay-test-")  # pytest's own are too long for the path of a socket
    try:
        os.chmod(folder, 0o777)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
            listening.bind(f"{folder}/log")
            os.chmod(f"{folder}/log", 0o777)
            code = (
                "import socket\ndef f(x):\n    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                f"    a.sendto(b'x', '{folder}/log')\n    return x"
            )
            assert grade(tiered, code, function(([1], 1))).reward == 0.0
            listening.setblocking(False)
            with pytest.raises(BlockingIOError):
                listening.recv(10)
    finally:
        shutil.rmtree(folder)


def test_other_modules_of_the_standard_library_can_be_imported(tiered):
    code = "def f(x):\n    import colorsys, csv, hashlib, zoneinfo\n    return hashlib.md5(b'').hexdigest()[:4]"
    assert grade(tiered, code, function(([1], "d41d"))).reward == 1.0


def test_numpy_where_it_is_installed(tiered):
    pytest.importorskip("numpy")
    code = "import numpy as np\ndef f(xs):\n    return np.mean(np.abs(np.array(xs) - np.mean(xs)))"
    assert grade(tiered, code, function(([[1.0, 2.0, 6.0]], 2.0), atol=1e-9)).reward == 1.0
    array = "import numpy as np\ndef f(n):\n    return np.arange(n).reshape(2, -1)"
    assert grade(tiered, array, function(([4], [[0, 1], [2, 3]]))).reward == 1.0
    asserts = {"entry_point": "f", "asserts": ["import numpy as np\nassert np.allclose(f(4), [[0, 1], [2, 3]])"]}
    assert grade(tiered, array, asserts).reward == 1.0
    fake = "class A:\n    def __array__(self, *a, **k):\n        raise SystemExit\ndef f(n):\n    return A()"
    assert grade(tiered, fake, asserts).reward == 0.0


def test_a_machine_where_nothing_holds_is_refused_with_what_is_missing(monkeypatch):
    monkeypatch.setattr(local, "TIERS", {})
    with pytest.raises(ConfigError, match="no sandbox holds on this machine"):
        grade(CodeReward(workers=1), "def f(x):\n    return x", function(([1], 1)))


def test_a_tier_through_which_attacks_go_is_refused(monkeypatch):
    open_door = ("an open door", dict(local.UNCONFINED[1]))
    monkeypatch.setattr(local, "TIERS", {1: open_door})
    with pytest.raises(ConfigError, match=r"a confined process could still .*fork"):
        grade(CodeReward(workers=1), "def f(x):\n    return x", function(([1], 1)))


def test_unconfined_must_be_asked_for_and_is_recorded(monkeypatch):
    monkeypatch.setattr(local, "TIERS", {})
    made = CodeReward(workers=1, allow_unconfined=True)
    try:
        output = grade(made, "def f(x):\n    return x", function(([1], 1)))
        assert output.reward == 1.0
        assert output.metadata["isolation"]["name"] == "unconfined"
        assert output.metadata["isolation"]["tier"] == 0
        assert grade(made, "import sys\ndef f(x):\n    sys.exit(0)", function(([1], 1))).reward == 0.0
    finally:
        made.close()


def test_stdio_in_every_tier(tiered):
    assert grade(tiered, "print(sum(map(int, open(0).read().split())))", stdio(("1 2", "3"), ("", "0"))).reward == 1.0
