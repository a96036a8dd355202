"""Each adapter against its trainer's recorded contract; test_real.py runs the trainers that are installed."""

import asyncio
import math
import pickle
import re
from collections import Counter
from types import SimpleNamespace

import pytest

from assay.adapters import nemo_gym, openai_rft, openrlhf, skyrl, swift, tunix, twinkle, verifiers, verl, verl_manager
from assay.compose import ByTask, CompositeReward, Curriculum, Gate, Linear, Normalize, Term
from assay.engine import needs_groups, score
from assay.errors import ConfigError, InputError, MissingColumn, RewardError, RewardTimeout
from assay.reward import FunctionReward, RewardFunction
from assay.types import RewardOutput, Tokens, Trajectory


def exact(response, ground_truth):
    return None if ground_truth is None else float(response == ground_truth)


def short(response):
    return float(len(response) < 3)


def best(group):
    return [float(len(t.response) == max(len(o.response) for o in group)) for t in group]


def wild(response):
    if response == "boom":
        raise RuntimeError("boom")
    return float("inf")


def composite():
    return CompositeReward({"exact": (exact, 0.5), "short": (short, 0.5)}, on_missing="skip")


def test_group_rewards_are_known():
    assert needs_groups(FunctionReward(best))
    assert needs_groups(CompositeReward({"a": short, "b": best}))
    assert needs_groups(Normalize(short, "group"))
    assert not needs_groups(composite())
    assert not needs_groups(Normalize(short, "running"))


@pytest.mark.parametrize("adapt", [verl.compute_score, openrlhf.reward_func])
def test_one_sample_at_a_time_refuses_group_rewards(adapt):
    with pytest.raises(ConfigError, match="looks at all responses to a prompt together"):
        adapt(best, unscored=0.0)


@pytest.mark.parametrize(
    "adapt",
    [
        verl.compute_score,
        verl.compute_score_batch,
        openrlhf.reward_func,
        tunix.reward_fn,
        twinkle.twinkle_reward,
        verifiers.rubric,
        lambda reward, unscored: verifiers.task_reward(reward),
    ],
)
def test_a_reward_that_follows_the_steps_is_refused_where_they_are_not_told(adapt):
    scheduled = CompositeReward([Term(short, Linear(0.0, 1.0, 100)), (exact, 1.0)])
    for reward in (scheduled, Gate(Curriculum([(0, short), (9, exact)]), require=short)):
        with pytest.raises(ConfigError, match=r"it would stay at step 0\. Give one stage"):
            adapt(reward, unscored=0.0)


def test_swift_tells_the_step():
    made = swift.orm(CompositeReward([Term(short, Linear(0.0, 1.0, 100))]))()
    assert made(["4"], trainer_state=SimpleNamespace(global_step=50)) == [0.5]


@pytest.mark.parametrize(
    "adapt", [verl.compute_score, openrlhf.reward_func, tunix.reward_fn, twinkle.twinkle_reward, swift.orm]
)
def test_the_stand_in_is_a_number(adapt):
    with pytest.raises(ConfigError, match="found nan"):
        adapt(short, unscored=math.nan)


# -- verl ------------------------------------------------------------------------------------------------------------


def test_verl_has_the_same_keys_for_every_sample():
    compute = verl.compute_score(ByTask({"a": composite(), "b": short}, key="data_source"), unscored=-1.0)
    said = [
        compute(data_source=source, solution_str="4", ground_truth=truth, extra_info=None)
        for source, truth in (("a", "4"), ("a", None), ("b", None), ("unknown", None))
    ]
    assert len({tuple(s) for s in said}) == 1
    assert said[0] == {"score": 1.0, "a": 1.0, "b": -1.0, "scored": 1.0}
    assert [s["score"] for s in said] == [1.0, -1.0, 1.0, -1.0]
    assert all(type(v) is float and math.isfinite(v) for s in said for v in s.values())


def test_verl_by_place_by_keyword_and_in_another_process():
    compute = pickle.loads(pickle.dumps(verl.compute_score(composite(), unscored=0.0)))
    assert compute("s", "4", "4", {"index": 1})["score"] == 1.0
    more = {"num_turns": None, "rollout_reward_scores": {}}
    assert compute(data_source="s", solution_str="4", ground_truth="5", extra_info=more, bonus=1)["exact"] == 0.0


def test_verl_lets_no_infinity_and_no_exception_out():
    compute = verl.compute_score(wild, unscored=0.25)
    for response in ("boom", "inf"):
        assert compute("s", response, "x") == {"score": 0.25, "scored": 0.0}


def test_verl_extra_info_is_columns():
    def level(response, level, extra_info, data_source):
        return float(level == extra_info["level"] and data_source == "s")

    assert verl.compute_score(level, unscored=0.0)("s", "x", None, {"level": 3})["score"] == 1.0


def test_verl_batch_manager_knows_groups_by_index():
    compute = verl.compute_score_batch(best, unscored=0.0)
    given = {"data_sources": ["s"] * 4, "solution_strs": ["a", "bb", "ccc", "c"], "ground_truths": [None] * 4}
    said = compute(**given, extra_infos=[{"index": i} for i in (0, 0, 1, 1)])
    assert [s["score"] for s in said] == [0.0, 1.0, 1.0, 0.0]
    with pytest.raises(InputError, match="its prompt's 'index'"):
        compute(**given, extra_infos=[None] * 4)


def test_verl_waits_for_a_whole_group():
    async def groups(sent):
        waiting = verl_manager.Groups(FunctionReward(best), 2, timeout=0.1)
        rows = [Trajectory(response=r, group=g) for r, g in sent]
        return await asyncio.gather(*(waiting.score(row) for row in rows))

    outputs = asyncio.run(groups([("a", "p"), ("x", "q"), ("bb", "p"), ("xx", "q")]))
    assert [o.reward for o in outputs] == [0.0, 0.0, 1.0, 1.0]
    with pytest.raises(RewardTimeout, match=r"the 2 responses to a prompt together; 1 came"):
        asyncio.run(groups([("a", "p"), ("bb", "p"), ("x", "q")]))


def test_verl_a_group_that_cannot_be_scored_keeps_nobody_waiting():
    async def group():
        waiting = verl_manager.Groups(FunctionReward(best), 2, timeout=30.0)
        waiting.reward = None  # stands for whatever fails outside of a reward
        rows = [Trajectory(response=r, group="p") for r in ("a", "b")]
        async with asyncio.timeout(10):
            return await asyncio.gather(*(waiting.score(row) for row in rows), return_exceptions=True)

    assert [type(error) for error in asyncio.run(group())] == [ConfigError, ConfigError]


def test_verl_a_sample_that_comes_too_late_does_not_complete_a_group_that_was_given_up():
    async def late():
        waiting = verl_manager.Groups(FunctionReward(best), 2, timeout=0.05)
        with pytest.raises(RewardTimeout):
            await waiting.score(Trajectory(response="a", group="p"))
        with pytest.raises(RewardTimeout, match="1 came"):
            await waiting.score(Trajectory(response="bb", group="p"))
        assert not waiting.open

    asyncio.run(late())


# -- OpenRLHF --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "prompt", "response"),
    [
        ("2+2? 4", "2+2? ", "4"),
        ("<s>2+2? 4</s>", "2+2? ", "4"),
        ("<|im_start|>user\n2+2?<|im_end|>\n4<|im_end|>\n<|endoftext|>", "<|im_start|>user\n2+2?<|im_end|>\n", "4"),
        ("p<answer>4</answer>", "p", "<answer>4</answer>"),
        ("p", "p", ""),
    ],
)
def test_openrlhf_finds_the_response(query, prompt, response):
    assert openrlhf.rows([query], [prompt], [""])[0].response == response


def test_openrlhf_refuses_a_query_without_its_prompt():
    with pytest.raises(InputError, match="contains its prompt"):
        openrlhf.rows(["else"], ["prompt"], [""])


def test_openrlhf_says_what_its_trainer_reads():
    adapted = openrlhf.reward_func(composite(), unscored=-1.0)
    said = adapted(["p4", "p5", "p6"], ["p"] * 3, ["4", "4", None])
    said = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in said.items()}
    assert said == {
        "rewards": [1.0, 0.5, -1.0],
        "scores": [1.0, 0.5, 0.0],
        "extra_logs": {"exact": [1.0, 0.0, -1.0], "short": [1.0, 1.0, 1.0], "scored": [1.0, 1.0, 0.0]},
    }


# -- ms-swift --------------------------------------------------------------------------------------------------------


def test_swift():
    made = swift.orm(composite())(args=None)
    assert made.__class__.__name__.startswith("composite")
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "2+2?"}]
    messages = [[*chat, {"role": "assistant", "content": "4"}], chat]
    columns = {"ground_truth": ["4", None], "messages": messages, "request_id": ["a", "b"], "trainer_state": None}
    assert made(["4", "5"], **columns, finish_reason=["stop", "stop"]) == [1.0, None]
    assert swift.orm(composite(), unscored=0.0)()(["4", "5"], **columns) == [1.0, 0.0]
    rows = swift.rows(FunctionReward(short), ["4", "5"], columns)
    assert [r.prompt for r in rows] == ["2+2?", "2+2?"]
    assert [len(r.messages) for r in rows] == [3, 3]


def test_swift_awaits_a_reward_that_waits():
    async def judged(response):
        await asyncio.sleep(0)
        return None if response == "?" else float(len(response))

    made = swift.orm(judged, unscored=-1.0)()
    assert asyncio.iscoroutinefunction(made.__call__), "by this ms-swift knows an AsyncORM"
    assert asyncio.run(made(["a", "bb", "?"])) == [1.0, 2.0, -1.0]


def test_swift_keeps_groups():
    prompts = [[{"role": "user", "content": q}] for q in ("p", "p", "q", "q")]
    assert swift.orm(best)()(["a", "bb", "ccc", "c"], messages=prompts) == [0.0, 1.0, 1.0, 0.0]


# -- tunix -----------------------------------------------------------------------------------------------------------


def test_tunix():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    fn = tunix.reward_fn(composite(), unscored=-1.0)
    assert fn.__name__.startswith("composite")
    truths = numpy.array(["4", "4", None], dtype=object)
    got = fn(["p"] * 3, ["4", "5", "6"], ground_truth=truths, trajectory_ids=numpy.arange(3), mode="train", beta=0.1)
    assert got == [1.0, 0.5, -1.0]
    with pytest.raises(MissingColumn, match="'ground_truth'"):
        fn(["p"], ["4"])
    with pytest.raises(ValueError, match="argument 2 is longer"):
        fn(["p"], ["4", "5"])


# -- Twinkle ---------------------------------------------------------------------------------------------------------


def said(text, truth=None):
    messages = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": text}]
    return {"messages": messages, "user_data": [("ground_truth", truth)] if truth else []}


def test_twinkle():
    fn = twinkle.twinkle_reward(composite(), unscored=0.0)
    assert fn([said("4", "4"), said("5", "4"), said("5")]) == [1.0, 0.5, 0.0]
    assert fn([said("4"), said("4")], ["4", {"messages": [{"role": "assistant", "content": "4"}]}]) == [1.0, 1.0]
    assert fn([said("4")], [said("", "4")], extra=1) == [1.0]


# -- SkyRL -----------------------------------------------------------------------------------------------------------


def test_skyrl_rewards_are_numbers_or_numbers_a_token():
    tokens = Tokens(ids=[1, 2], offsets=[(0, 1), (1, 3)])
    rows = [Trajectory(response="a b", tokens=tokens)] * 3
    outputs = [RewardOutput(1.0), RewardOutput(None)]
    assert skyrl.rewards(outputs, rows[:2], unscored=-1.0) == [1.0, -1.0]
    outputs.append(RewardOutput(0.5, token_rewards=[0.2, 0.3]))
    assert skyrl.rewards(outputs, rows, unscored=-1.0) == [[0.0, 1.0], [0.0, -1.0], [0.2, 0.3]]


# -- NeMo Gym --------------------------------------------------------------------------------------------------------


def test_nemo_gym_reads_tools_and_reasoning():
    body = {
        "responses_create_params": {"input": "weather?"},
        "response": {
            "output": [
                {"type": "reasoning", "summary": [{"text": "hm"}]},
                {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c"},
                {"type": "function_call_output", "call_id": "c", "output": "sun"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "sun"}]},
            ]
        },
        "verifier_metadata": {"ground_truth": "sun"},
        "level": 3,
    }
    row = nemo_gym.row(body)
    assert (row.prompt, row.response, row.ground_truth, row["level"]) == ("weather?", "sun", "sun", 3)
    assert [m["role"] for m in row.messages] == ["user", "reasoning", "assistant", "tool", "assistant"]
    assert row.messages[2]["tool_calls"][0]["function"]["name"] == "look"
    said = nemo_gym.answer(body, score(composite(), [row])[0], unscored=0.0)
    assert said["reward"] == 0.5
    assert said["reward_components"] == {"exact": 1.0, "short": 0.0}
    assert said["level"] == 3
    with pytest.raises(InputError, match="needed 'responses_create_params' and 'response'"):
        nemo_gym.row({"response": {}})


# -- verifiers -------------------------------------------------------------------------------------------------------


class Task(SimpleNamespace):
    def model_dump(self, exclude=()):
        return {k: v for k, v in self.__dict__.items() if k not in exclude}


class Trace:
    def __init__(self, reply):
        self.messages = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": reply}]
        self.metrics = {}

    def record_metric(self, name, value):
        self.metrics[name] = value


def test_verifiers_v1():
    fn = verifiers.task_reward(composite())
    trace = Trace("4")
    assert asyncio.run(fn(Task(prompt="2+2?", answer="4"), trace)) == 1.0
    assert trace.metrics == {"composite/exact": 1.0, "composite/short": 1.0}
    with pytest.raises(RewardError):
        asyncio.run(fn(Task(prompt="2+2?"), Trace("4")))
    with pytest.raises(ConfigError, match="looks at all responses"):
        verifiers.task_reward(best)


def test_a_reward_from_a_rubric():
    async def right(completion, answer, **kwargs):
        return float(completion[-1]["content"] == answer)

    def broken(state):
        raise KeyError(state["missing"])

    def longest(completions) -> list[float]:
        sizes = [len(c[-1]["content"]) for c in completions]
        return [float(size == max(sizes)) for size in sizes]

    rubric = SimpleNamespace(funcs=[right, broken, longest], weights=[1.0, 0.5, 0.25], class_objects={"parser": None})
    reward = verifiers.from_rubric(rubric)
    rows = [{"prompt": "q", "response": r, "answer": "4"} for r in ("4", "55")]
    outputs = score(reward, rows)
    assert [o.components["right"].reward for o in outputs] == [1.0, 0.0]
    assert [o.components["longest"].reward for o in outputs] == [0.0, 1.0]
    assert outputs[0].components["broken"].reward is None, "an error is no 0 here"


# -- OpenAI ----------------------------------------------------------------------------------------------------------


def graded(response: str, ground_truth: str, level: int = 2) -> "SomethingThatIsNotThere":  # noqa: F821
    """Right, and how."""
    import re

    found = re.findall(r"\d+", response)
    return {"score": float(bool(found) and found[-1] == ground_truth) / level}


def abstains(response):
    return None if "?" in response else 1.0


LIMIT = 3
WEIGHTS = {"exact": 0.5, "short": 0.5}
DIGITS = re.compile(r"(?i)ANSWER: (\d+)")
OPEN = open(__file__)  # noqa: SIM115 (something that cannot travel)
OPEN.close()


def last_number(text):
    found = DIGITS.findall(text)
    return found[-1] if found else even(len(text))


def even(n):
    return "even" if n == 0 else last_number("x" * (n - n))  # the two call each other


def with_all_around(response, ground_truth):
    parts = {"exact": last_number(response) == ground_truth, "short": len(response) < 10**LIMIT}
    return math.fsum(WEIGHTS[name] * value for name, value in parts.items()) + 0 * len(Counter(response))


def uses_a_file(response):
    return float(OPEN.closed)


def uses_assay(response):
    return exact(response, score)


def test_what_a_function_uses_travels_with_it():
    source = openai_rft.python_grader(with_all_around)["source"]
    space = {}
    exec(source, space)
    for response, truth in (("Answer: 4", "4"), ("answer: 5", "4"), ("nothing", "even")):
        here = score(with_all_around, [{"response": response, "ground_truth": truth}])[0].reward
        assert space["grade"]({"output_text": response}, {"ground_truth": truth}) == here
    assert "assay" not in source


def test_a_grader_says_the_same_as_the_reward():
    grader = openai_rft.python_grader(graded)
    assert (grader["type"], grader["name"]) == ("python", "graded")
    space = {}
    exec(grader["source"], space)
    for response in ("it is 4", "5", ""):
        row = {"response": response, "ground_truth": "4"}
        assert space["grade"]({"output_text": response}, {"ground_truth": "4"}) == score(graded, [row])[0].reward
    assert space["grade"]({"output_text": "4"}, {"ground_truth": "4", "level": 4}) == 0.25


def test_a_grader_does_not_make_a_zero_of_what_is_not_scored():
    space = {}
    exec(openai_rft.python_grader(abstains)["source"], space)
    with pytest.raises(ValueError, match="not scored"):
        space["grade"]({"output_text": "?"}, {})


class NoFunction(RewardFunction):
    def compute_reward(self, trajectory):
        return 1.0


def closure():
    inner = 3
    return lambda response: float(len(response) < inner)


async def waits(response):
    return 1.0


def asks_for_messages(response, messages):
    return 1.0


@pytest.mark.parametrize(
    ("reward", "why"),
    [
        (NoFunction(), "needed a plain function"),
        (composite(), "found CompositeReward"),
        (uses_a_file, r"uses OPEN from around it \(a TextIOWrapper\), which does not travel"),
        (uses_assay, "uses score from around it"),
        (closure(), "a lambda has no source"),
        (waits, "is async"),
        (asks_for_messages, "asks for 'messages'"),
    ],
)
def test_what_cannot_be_a_grader_is_refused_with_the_reason(reward, why):
    with pytest.raises(ConfigError, match=why):
        openai_rft.python_grader(reward)
