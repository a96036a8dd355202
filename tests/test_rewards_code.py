"""CodeReward: what is scored, what is not, and where the program is found."""

from __future__ import annotations

import pytest

from assay import Outcome, Trajectory
from assay.errors import ConfigError
from assay.rewards.code import CodeReward
from assay.text.code import extract_code

TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 1, "weight": 3}, {"args": [2], "expected": 4}]}
SQUARE, SAME, WRONG = "def f(x):\n    return x * x", "def f(x):\n    return x", "def f(x):\n    return 0"


@pytest.fixture(scope="module")
def code():
    made = CodeReward(workers=1)
    yield made
    made.close()


def _row(program: str, tests=TESTS, **rest) -> Trajectory:
    return Trajectory(response=f"```python\n{program}\n```", metadata={"tests": tests}, **rest)


@pytest.mark.parametrize(
    ("score", "rewards"), [("all", [1.0, 0.0, 0.0]), ("fraction", [1.0, 0.5, 0.0]), ("weighted", [1.0, 0.75, 0.0])]
)
def test_scores(score, rewards):
    made = CodeReward(score=score, workers=1)
    try:
        assert [o.reward for o in made.compute_rewards([_row(p) for p in (SQUARE, SAME, WRONG)])] == rewards
    finally:
        made.close()


def test_the_verdict_is_said_in_words(code):
    outputs = code.compute_rewards([_row(SQUARE), _row(WRONG), Trajectory(response="4", metadata={"tests": TESTS})])
    passed, failed, none = (o.metadata["reason"] for o in outputs)
    assert passed == "2 of 2 tests pass"
    assert failed.startswith("0 of 2 tests pass; test 1: wrong_answer")
    assert none.startswith("no program: ")


def test_what_the_metadata_says(code):
    (output,) = code.compute_rewards([_row(SAME)])
    said = output.metadata
    assert (said["verdict"], said["passed"], said["total"], said["form"]) == ("fail", 1, 2, "cases")
    assert [t["outcome"] for t in said["tests"]] == ["pass", "wrong_answer"]
    assert said["tests"][1]["detail"] == "returned 2"
    assert said["flags"] == []
    assert said["hack_signal"] is False
    assert said["code_from"] == "block"
    assert said["isolation"]["tier"] in (1, 2, 3)


def test_no_tests_is_abstained_and_not_zero(code):
    for row in (Trajectory(response=SQUARE), Trajectory(response=SQUARE, metadata={"tests": []}, ground_truth="")):
        (output,) = code.compute_rewards([row])
        assert (output.reward, output.outcome) == (None, Outcome.ABSTAINED)
        assert "metadata['tests']" in output.error


def test_tests_may_be_the_ground_truth(code):
    (output,) = code.compute_rewards([Trajectory(response=f"```\n{SQUARE}\n```", ground_truth=["assert f(3) == 9"])])
    assert output.reward == 1.0


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ({"nothing": 1}, "the tests cannot be read"),
        ({"entry_point": "f", "asserts": ["assert f(1) =="]}, "the tests do not compile"),
        ({"entry_point": "f", "pytest": "def helper():\n    pass"}, "the tests hold no test"),
        ({"entry_point": "f", "check_test": "def other(candidate):\n    pass"}, "define no check"),
        ({"entry_point": "f", "asserts": ["import io\nassert f(io.StringIO()) == 1"]}, "cannot cross"),
        ({"entry_point": "f", "pytest": "import pytest\ndef test():\n    pytest.skip()"}, "every test skips"),
        ({"entry_point": "f", "pytest": "def test(nowhere):\n    assert f(1) == 1"}, "a fixture 'nowhere'"),
    ],
)
def test_tests_that_cannot_be_run_are_nobodys_failure(code, tests, said):
    (output,) = code.compute_rewards([_row(SQUARE, tests)])
    assert (output.reward, output.outcome) == (None, Outcome.GRADER_ERROR)
    assert said in output.error


def test_no_program_is_zero_and_says_why(code):
    (output,) = code.compute_rewards([Trajectory(response="I cannot do that.", metadata={"tests": TESTS})])
    assert output.reward == 0.0
    assert "no fenced block" in output.metadata["no_code"]


def test_a_batch_keeps_its_order_and_its_input(code):
    programs = [SQUARE, WRONG, SAME, SQUARE, WRONG] * 3
    rows = [_row(p) if i % 4 else Trajectory(response=p) for i, p in enumerate(programs)]
    before = [(r.response, repr(r.metadata)) for r in rows]
    outputs = code.compute_rewards(rows)
    expected = [None if i % 4 == 0 else float(p == SQUARE) for i, p in enumerate(programs)]
    assert [o.reward for o in outputs] == expected
    assert [(r.response, repr(r.metadata)) for r in rows] == before
    assert code.compute_rewards([]) == []


def test_a_solution_class_is_found(code):
    assert code.compute_rewards([_row("class Solution:\n    def f(self, x):\n        return x * x")])[0].reward == 1.0


def test_in_place_functions(code):
    tests = {"entry_point": "f", "in_place": True, "cases": [{"args": [[3, 1]], "expected": [1, 3]}]}
    assert code.compute_rewards([_row("def f(xs):\n    xs.sort()", tests)])[0].reward == 1.0
    plain = {"entry_point": "f", "cases": [{"args": [[3, 1]], "expected": [1, 3]}]}
    assert code.compute_rewards([_row("def f(xs):\n    xs.sort()", plain)])[0].reward == 0.0


def test_the_prompts_helpers_are_there_and_cannot_be_replaced(code):
    prompt = "from math import sqrt\n\ndef poly(x):\n    return x - 3\n\ndef root():\n    '''Where poly is zero.'''\n"
    tests = {
        "entry_point": "root",
        "prompt": prompt,
        "check_test": "def check(candidate):\n    assert abs(poly(candidate())) < 1e-6",
    }
    assert code.compute_rewards([_row("def root():\n    return sqrt(9.0)", tests)])[0].reward == 1.0
    cheat = "def poly(x):\n    return 0\ndef root():\n    return 17"
    assert code.compute_rewards([_row(cheat, tests)])[0].reward == 0.0


def test_comparisons_that_tests_do_not_import_are_not_the_candidates(code):
    tests = {"entry_point": "f", "asserts": ["assert isclose(f(1), 2.0)", "assert math.isclose(f(2), 4.0)"]}
    assert code.compute_rewards([_row("def f(x):\n    return 2.0 * x", tests)])[0].reward == 1.0
    cheat = "class math:\n    isclose = lambda *a: True\nisclose = lambda *a: True\ndef f(x):\n    return -1"
    assert code.compute_rewards([_row(cheat, tests)])[0].reward == 0.0


PYTEST = """
import pytest
from your_module import f, Odd

@pytest.fixture
def two():
    yield 2

@pytest.mark.parametrize("x, y", [(1, 1), (2, 4)])
@pytest.mark.parametrize("twice", [False, True])
def test_squares(x, y, twice):
    assert f(x) == y

class TestMore:
    def test_fixture(self, two):
        assert f(two) == pytest.approx(4.0)

    def test_error(self):
        with pytest.raises(Odd, match="no"):
            f("text")

    @pytest.mark.skip
    def test_never(self):
        assert False
"""


def test_a_pytest_file_with_what_data_sets_use(code):
    program = (
        "class Odd(ValueError):\n    pass\ndef f(x):\n    if x == 'text':\n        raise Odd('no')\n    return x * x"
    )
    (output,) = code.compute_rewards([_row(program, {"pytest": PYTEST})])
    assert output.reward == 1.0, output
    assert output.metadata["total"] == 7
    (wrong,) = code.compute_rewards([_row(program.replace("x * x", "x + 1"), {"pytest": PYTEST})])
    assert wrong.reward == 0.0


@pytest.mark.parametrize("rest", [{"score": "some"}, {"time_limit_s": 0}, {"memory_mb": 1}, {"tier": 7}])
def test_parameters_that_cannot_be(rest):
    with pytest.raises(ConfigError, match="found"):
        CodeReward(**rest)


@pytest.mark.parametrize(
    ("response", "code_text", "source"),
    [
        ("```python\nx = 1\n```", "x = 1\n", "block"),
        ("a\n```py\nx = 1\n```\nb\n```python\nx = 2\n```\nc", "x = 2\n", "block"),
        ("```\nx = 1\n```", "x = 1\n", "block"),
        ("```python\nx = 1\n```\n```bash\nls\n```", "x = 1\n", "block"),
        ("```python\nx = 1\n```\n```\noutput\n```", "x = 1\n", "block"),
        ("~~~python\nx = 1\n~~~", "x = 1\n", "block"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''\n", "block"),
        ("```python\nx = 1", "x = 1", "open block"),
        ("def f():\n    return 1", "def f():\n    return 1", "plain"),
        ("yes", "", ""),
        ("It is 42.", "", ""),
        ("", "", ""),
        ("```bash\nls\n```", "", ""),
        ("```Python\nx = 1\n```", "x = 1\n", "block"),
    ],
)
def test_where_the_program_is(response, code_text, source):
    found = extract_code(response)
    assert (found.code, found.source) == (code_text, source)
    assert bool(found.missing) is not bool(source)


TWICE = "def f(x):\n    return 2 * x\n"
INDENTED = TWICE.replace("def", "    def").replace("\n    ", "\n        ")
CHATTY = {
    "in a list": f"1. Do this:\n\n    ```python\n{INDENTED}    ```\n",
    "after thinking": f"<think>\n```python\ndef f(x):\n    return 0\n```\n</think>\n```python\n{TWICE}```",
    "a fence that thinking left open": f"<think>try\n```python\ndef f(x): pass\n</think>\nSo:\n```python\n{TWICE}```",
    "thinking that the template opened": f"hm ```python\nno\n```\n</think>\n```python\n{TWICE}```",
    "at the end of a sentence": f"Here it is: ```python\n{TWICE}```\nDone.",
    "closed on the last line": "```python\ndef f(x):\n    return 2 * x```",
    "on one line": "```python def f(x): return 2 * x```",
    "with attributes": f'```{{.python title="a.py"}}\n{TWICE}```',
    "python3": f"~~~python3\n{TWICE}~~~",
    "no tag, and its result after it": f"```\n{TWICE}```\nOutput:\n```\n4\n```",
    "an example of use after it": f"```python\n{TWICE}```\nUse it so:\n```python\nprint(f(3))\n```",
    "an empty block after it": f"```python\n{TWICE}```\n```python\n```",
    "another language after it": f"```python\n{TWICE}```\n```javascript\nf(1)\n```",
    "fences in a docstring": "```python\ndef f(x):\n    '''\n    ```python\n    f(1)\n    ```\n    '''\n    return 2 * x\n```",
    "a fence in a string": f"```python\nS = '''\n```\nhello\n```\n'''\n{TWICE}```\nDone",
    "open, after a closed one": f"```python\ndef f(x): pass\n```\nBetter:\n```python\n{TWICE}",
    "a stop token at the fence": f"```python\n{TWICE}```<|im_end|>",
    "a stop token after a program": f"{TWICE}</s>",
    "a program after thinking": f"<think>hm</think>\n{TWICE}",
    "answer tags": f"<think>hm</think><answer>\n{TWICE}</answer>",
    "quoted": "> ```python\n> def f(x):\n>     return 2 * x\n> ```",
    "in markdown": f"````markdown\n# F\n```python\n{TWICE}```\n````",
    "carriage returns": "```python\r\ndef f(x):\r\n    return 2 * x\r\n```\r\n",
    "a byte order mark": f"\ufeff```python\n{TWICE}```",
}


@pytest.mark.parametrize("how", CHATTY)
def test_a_program_in_chatter(how):
    found = extract_code(CHATTY[how], entry_point="f")
    names = {}
    exec(found.code, names)
    assert names["f"](4) == 8


SORTED = "def f(x):\n    return sorted(x)\n"
PROMPT = 'def f(x: list) -> list:\n    """The values of x in their order."""\n'
AS_IT_STANDS = {
    "a lambda": "f = lambda x: sorted(x)\n",
    "with a type": "from typing import Callable\nf: Callable = lambda x: sorted(x)\n",
    "one of two": "a, f = 1, sorted\n",
    "an alias": f"{SORTED.replace('def f', 'def go')}f = go\n",
    "a partial": "from functools import partial\nf = partial(sorted, reverse=False)\n",
    "imported": "from builtins import sorted as f\n",
    "a walrus": "(f := lambda x: sorted(x))\n",
    "under try": f"try:\n    import nowhere\n    f = nowhere.f\nexcept ImportError:\n    {INDENTED.lstrip()}".replace(
        "2 * x", "sorted(x)"
    ),
    "in a loop": "for _ in range(1):\n    def f(x):\n        return sorted(x)\n",
    "by exec": f"exec({SORTED!r})\n",
    "by globals": "globals()['f'] = lambda x: sorted(x)\n",
    "a class": "class f:\n    def __new__(cls, x):\n        return sorted(x)\n",
    "indented as a whole": "    def f(x):\n        return sorted(x)\n",
    "a key named code": "T = {1: sorted}\ncode = 1\ndef f(x):\n    return T[code](x)\n",
    "an index named answer": "answer = 0\ndef f(x):\n    return [sorted(x)][answer]\n",
    "tags in a docstring": 'def f(x):\n    """<code>sorted</code> <think>of course</think>"""\n    return sorted(x)\n',
    "a tag in a comment": "def f(x):\n    # </think>\n    return sorted(x)\n",
    "fences in a docstring": f'"""\n```python\nf([2, 1])\n```\n"""\n{SORTED}',
    "fences in comments": f"# ```python\n# f([2, 1])\n# ```\n{SORTED}",
    "a long table": f"T = {list(range(9000))}\n{SORTED}",
}


MARKS = [how for how in AS_IT_STANDS if "tag" in how or "fences" in how]  # inside a fence these are what they look like


@pytest.mark.parametrize(
    ("how", "fence"), [(how, "") for how in AS_IT_STANDS] + [(h, "```python\n") for h in AS_IT_STANDS if h not in MARKS]
)
def test_a_program_that_binds_its_name_in_any_way_is_no_body_of_the_prompts_function(how, fence):
    found = extract_code(f"{fence}{AS_IT_STANDS[how]}{fence[:3]}", prompt=PROMPT, entry_point="f")
    assert found.source == ("block" if fence else "plain")
    names = {}
    exec(found.code, names)
    assert names["f"]([2, 1]) == [1, 2]


def test_a_body_with_a_helper_of_another_name_is_completed():
    body = "    def helper(y):\n        return sorted(y)\n    return helper(x)\n"
    for rest in (body, f"```python\n{body}```"):
        found = extract_code(rest, prompt=PROMPT, entry_point="f")
        assert found.source == "completion"
        names = {}
        exec(found.code, names)
        assert names["f"]([2, 1]) == [1, 2]


@pytest.mark.parametrize(
    "response",
    [
        "<think>\n```python\nx = 1\n```\n</think>\nI give up.",
        "<think>It may be\n```python\nx = 1\n```",
        "```pycon\n>>> f(1)\n```",
    ],
)
def test_what_is_no_answer(response):
    found = extract_code(response)
    assert not found.code
    assert found.missing


def test_the_last_of_two_answers_counts():
    first, last = "```python\ndef f(x):\n    return 0\n```\n", f"```python\n{TWICE}```\n"
    assert extract_code(first + last, entry_point="f").code == TWICE
    assert extract_code(last + first, entry_point="f").code == "def f(x):\n    return 0\n"


def test_a_method_is_completed():
    prompt = "class Solution:\n    def twice(self, x: int) -> int:\n"
    found = extract_code("        return 2 * x\n", prompt=prompt, entry_point="Solution().twice")
    assert found.source == "completion"
    names = {}
    exec(found.code, names)
    assert names["Solution"]().twice(4) == 8


def test_blocks_are_joined_where_asked():
    response = "```python\nx = 1\n```\nthen\n```python\ny = x\n```"
    assert extract_code(response, join=True).code == "x = 1\n\ny = x\n"


def test_a_completion_of_the_prompt():
    prompt = 'def f(x):\n    """Twice x."""\n'
    for rest in (
        "    return 2 * x\n",
        "return 2 * x",
        "```python\n    return 2 * x\n```",
        "    return 2 * x\n\nThat's it!",
    ):
        found = extract_code(rest, prompt=prompt, entry_point="f")
        assert found.source == "completion", rest
        names = {}
        exec(found.code, names)
        assert names["f"](4) == 8


@pytest.mark.parametrize(
    "text",
    [
        "`" * 100_000,
        "```python\n" * 50_000,
        "a ```python\n" * 20_000,
        "> " * 99_999,
        "<answer>" * 9999,
        "\x00" * 1000,
        "🙂" * 100_000,
        "~~~\n" * 9999,
    ],
)
def test_extraction_is_bounded(text):
    extract_code(text, prompt="def f():\n", entry_point="f")
