"""C++ and JavaScript, where there are namespaces and the tools."""

from __future__ import annotations

import shutil

import pytest
from programs import outcomes, stdio

from assay import Trajectory
from assay.rewards.code import CodeReward

SUM = stdio(("1 2\n", "3\n"), ("5 5\n", "10\n"), time_limit_s=2.0)
CPP = "#include <iostream>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }"
HEAD = "#include <unistd.h>\n#include <signal.h>\n#include <cstdio>\n#include <vector>\n"


@pytest.fixture(scope="module", params=["cpp", "javascript"])
def native(request):
    tool = {"cpp": "g++", "javascript": "node"}[request.param]
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    made = CodeReward(language=request.param, workers=1, score="fraction")
    made._sandbox()._ready()
    if not made._sandbox().isolation.namespaces:
        made.close()
        pytest.skip("no namespaces here")
    yield made
    made.close()


def _grade(reward, code, tests=SUM):
    tag = reward.language
    (output,) = reward.compute_rewards([Trajectory(response=f"```{tag}\n{code}\n```", metadata={"tests": tests})])
    return output


RIGHT = {
    "cpp": [CPP],
    "javascript": [
        "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\nconsole.log(a + b)",
        "const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number);\nconsole.log(a + b)",
        "require('readline').createInterface({input: process.stdin}).on('line', l => {\n"
        "  const [a, b] = l.split(' ').map(Number); console.log(a + b) })",
    ],
}
ENDS = {
    "cpp": {
        "load_error": "int main() {",
        "timeout_cpu": "int main() { for (;;); }",
        "crash": "#include <vector>\nint main() { std::vector<char> v(8ll << 30, 1); return v[5]; }",
        "sandbox_violation": HEAD + "int main() { kill(getppid(), 9); }",
        "wrong_answer": HEAD + 'int main() { printf("%d", fork()); execl("/bin/sh", "sh", "-c", "echo 3", 0); }',
    },
    "javascript": {
        "exception": "console.log(require('child_process').execSync('echo 3').toString())",
        "sandbox_violation": "process.kill(process.ppid, 9)",
        "timeout_cpu": "for (;;);",
        "wrong_answer": "console.log(-1)",
    },
}


def test_right_programs_pass(native):
    for code in RIGHT[native.language]:
        output = _grade(native, code)
        assert output.reward == 1.0, output
        assert output.metadata["isolation"]["tier"] == 1


def test_how_others_end(native):
    for outcome, code in ENDS[native.language].items():
        output = _grade(native, code)
        assert outcomes(output)[0] == outcome, (outcome, output)
        assert output.reward == 0.0
    assert _grade(native, RIGHT[native.language][0]).reward == 1.0


def test_one_program_leaves_nothing_to_the_next(native):
    if native.language != "cpp":
        pytest.skip("an interpreter is given no folder to write in")
    peek = '#include <fstream>\n#include <iostream>\nint main() { std::ifstream f("/tmp/main.cpp"); std::cout << f.good(); }'
    assert _grade(native, peek, stdio(("", "0"))).reward == 1.0
    steal = '#include "/etc/passwd"\nint main() {}'
    assert outcomes(_grade(native, steal))[0] == "load_error"


def test_what_cannot_be_run_says_so():
    made = CodeReward(language="cpp", workers=1, tier=2)
    try:
        output = _grade(made, CPP)
        assert (output.reward, output.outcome) == (None, "grader_error")
        assert "namespaces" in output.error
    finally:
        made.close()
    other = CodeReward(language="cobol", workers=1)
    try:
        assert "no cobol here" in _grade(other, "x").error
    finally:
        other.close()
