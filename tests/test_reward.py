"""Everything an author may write becomes a reward, and what comes back is read strictly."""

from __future__ import annotations

import asyncio
import functools
import math
import pickle
from collections import namedtuple

import pytest

import assay
from assay import FunctionReward, RewardFunction, RewardOutput, Trajectory, as_reward, score
from assay.errors import ConfigError, MissingColumn, RewardError

ROWS = [
    {"prompt": f"q{i // 4}", "response": "hello" + "!" * (i % 4), "ground_truth": "hello", "word": "hell"}
    for i in range(8)
]
FIRST_OF_FOUR = [1.0, 0.0, 0.0, 0.0] * 2


def plain(response, prompt, metadata):
    return metadata["word"] in response


def with_default(response, limit=6):
    return len(response) < limit


def column_default(response, word="nothing"):
    return word in response


def trl(completions, word, **kwargs):
    return [float(w in c) for c, w in zip(completions, word, strict=True)]


def verl(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": float(solution_str == ground_truth), "acc": 1}


def openrlhf(queries, prompts, labels):
    return [float(q.removeprefix(p) == a) for q, p, a in zip(queries, prompts, labels, strict=True)]


def flux(trajectory):
    return 1.0 if trajectory.response == "hello" else 0.0


def annotated(anything: Trajectory):
    return anything.response == "hello"


def twinkle(trajectories, ground_truths):
    return [float(t.response == g) for t, g in zip(trajectories, ground_truths, strict=True)]


def shortest(group):
    least = min(len(t.response) for t in group)
    return [len(t.response) == least for t in group]


async def judged(prompt, response):
    await asyncio.sleep(0.001)
    return response == "hello"


async def judged_batch(prompts, responses):
    await asyncio.sleep(0.001)
    return [r == "hello" for r in responses]


class AsyncCallable:
    async def __call__(self, response):
        await asyncio.sleep(0.001)
        return response == "hello"


class Foreign:
    """Another library's class: no base of ours."""

    def compute_reward(self, trajectory):
        return namedtuple("Out", "reward metadata")(float(trajectory.response == "hello"), {"seen": True})


class TwinkleLike:
    def __call__(self, trajectories, ground_truths):
        return twinkle(trajectories, ground_truths)

    def method(self, response, ground_truth):
        return response == ground_truth


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (plain, [1.0] * 8),
        (with_default, FIRST_OF_FOUR),
        (column_default, [1.0] * 8),
        (trl, [1.0] * 8),
        (verl, FIRST_OF_FOUR),
        (openrlhf, FIRST_OF_FOUR),
        (flux, FIRST_OF_FOUR),
        (annotated, FIRST_OF_FOUR),
        (lambda t: t.response == "hello", FIRST_OF_FOUR),
        (twinkle, FIRST_OF_FOUR),
        (shortest, FIRST_OF_FOUR),
        (judged, FIRST_OF_FOUR),
        (judged_batch, FIRST_OF_FOUR),
        (AsyncCallable(), FIRST_OF_FOUR),
        (Foreign(), FIRST_OF_FOUR),
        (TwinkleLike(), FIRST_OF_FOUR),
        (TwinkleLike().method, FIRST_OF_FOUR),
        (functools.partial(with_default, limit=7), [1.0, 1.0, 0.0, 0.0] * 2),
        (functools.partial(judged, "given"), FIRST_OF_FOUR),
        (lambda response: judged("", response), FIRST_OF_FOUR),
    ],
)
def test_every_form_is_a_reward_as_it_stands(form, expected):
    reward = as_reward(form)
    assert as_reward(reward) is reward
    assert [o.reward for o in score(form, ROWS)] == expected
    assert reward.compute_reward(Trajectory.of(ROWS[0])).reward == expected[0]
    assert reward(ROWS) == expected


def test_the_function_itself_is_left_alone():
    marked = assay.declare(timeout=3.0)(with_default)
    assert marked is with_default
    assert as_reward(marked).contract.timeout == 3.0
    del with_default.__contract__


def test_an_unknown_declaration_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'timeout'"):
        assay.declare(timeot=3.0)


def test_what_is_no_reward_is_refused():
    with pytest.raises(ConfigError, match="needed a reward"):
        as_reward(3)
    with pytest.raises(ConfigError, match="Make one"):
        as_reward(Foreign)
    with pytest.raises(ConfigError, match="names no parameter"):
        as_reward(lambda *args: 1.0)


def test_messages_reach_a_trl_function_in_trls_shape():
    seen = {}

    def probe(prompts, completions, tests, **kwargs):
        seen.update(prompts=prompts, completions=completions, tests=tests, rest=kwargs)
        return [0.0] * len(prompts)

    asked, said = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
    score(probe, [{"messages": [asked, said], "tests": [1], "level": 3}])
    assert seen == {"prompts": [[asked]], "completions": [[said]], "tests": [[1]], "rest": {"level": [3]}}


# -- subclasses ------------------------------------------------------------------------------------------------------


class NoInit(RewardFunction):
    def __init__(self, good):
        self.good = good  # and no super().__init__()

    def compute_reward(self, trajectory):
        return RewardOutput(float(trajectory.response in self.good))


class InBatch(RewardFunction):
    def compute_rewards(self, trajectories):
        return [len(t.response) / 10 for t in trajectories]


class InCall(RewardFunction):
    def __call__(self, trajectories, ground_truths):
        return [float(t["messages"][-1]["content"] == g) for t, g in zip(trajectories, ground_truths, strict=True)]


class InCallByPlace(RewardFunction):
    def __call__(self, rows, golds):
        return [float(t["response"] == g) for t, g in zip(rows, golds, strict=True)]


class InCallAlone(RewardFunction):
    def __call__(self, trajectories):
        return [len(t.response) / 10 for t in trajectories]


class InCallAsTrl(RewardFunction):
    def __call__(self, prompts, completions, **columns):
        return [len(c) / 10 + len(p) for p, c in zip(prompts, completions, strict=True)]


class AwaitsOne(RewardFunction):
    async def compute_reward(self, trajectory):
        await asyncio.sleep(0.001)
        return 0.5


class AwaitsMany(RewardFunction):
    async def compute_rewards(self, trajectories):
        await asyncio.sleep(0.001)
        return [0.5 for _ in trajectories]


@pytest.mark.parametrize(
    "reward",
    [
        NoInit({"hello"}),
        InBatch(),
        InCall(),
        InCallByPlace(),
        InCallAlone(),
        InCallAsTrl(),
        AwaitsOne(),
        AwaitsMany(),
    ],
)
def test_a_subclass_works_whichever_method_it_overrides(reward):
    outputs = score(reward, ROWS)
    assert [o.reward for o in outputs[:4]] == [o.reward for o in outputs[4:]]
    assert all(o.scored for o in outputs)
    assert pickle.loads(pickle.dumps(reward)).name == reward.name
    both = assay.CompositeReward([(reward, 0.5), (reward, 0.5)])
    assert [o.reward for o in score(both, ROWS)] == [o.reward for o in outputs]


def test_names_come_from_the_class_unless_given():
    assert NoInit(()).name == "no_init"
    assert FunctionReward(fn=plain).name == "plain"
    assert FunctionReward(fn=plain, name="mine").name == "mine"
    assert as_reward(lambda t: 1.0).name == "function"


def test_a_class_that_overrides_nothing_cannot_be_made():
    class Nothing(RewardFunction):
        pass

    for cls in (Nothing, RewardFunction):
        with pytest.raises(TypeError, match="overrides compute_reward"):
            cls()


# -- what comes back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["1.0", float("nan"), float("inf"), [1.0], {"acc": 1.0}, object(), b"1"])
def test_what_is_no_reward_is_an_error_and_not_a_zero(bad):
    reward = as_reward(lambda response: bad)
    (output,) = score(reward, ["x"])
    assert output.reward is None
    assert output.outcome == "grader_error"
    assert "'function'" in output.error
    with pytest.raises(RewardError):
        reward.compute_reward(Trajectory(response="x"))


def test_parts_of_parts_are_read_as_strictly():
    nan, cycle = RewardOutput(float("nan")), RewardOutput(1.0)
    cycle.components["me"] = cycle
    for whole in (RewardOutput(1.0, components={"a": RewardOutput(1.0, components={"b": nan})}), cycle):
        (output,) = score(lambda response, whole=whole: whole, ["x"])
        assert (output.reward, output.outcome, output.components) == (None, "grader_error", {})
    fine = RewardOutput(1, components={"a": RewardOutput(True)})
    assert score(lambda response: fine, ["x"])[0].components["a"].reward == 1.0


@pytest.mark.parametrize(
    ("value", "reward"),
    [(1, 1.0), (True, 1.0), ({"reward": 0.25}, 0.25), ((0.5, {"why": "so"}), 0.5), (RewardOutput(1), 1.0)],
)
def test_numbers_of_every_kind_are_floats(value, reward):
    (output,) = score(lambda response: value, ["x"])
    assert output.reward == reward
    assert type(output.reward) is float


def test_numpy_scalars_and_arrays():
    numpy = pytest.importorskip("numpy")
    assert score(lambda response: numpy.float32(0.5), ["x"])[0].reward == 0.5
    assert [o.reward for o in score(lambda responses: numpy.arange(3), ["a", "b", "c"])] == [0.0, 1.0, 2.0]


def test_none_abstains():
    (output,) = score(lambda response: None, ["x"])
    assert (output.reward, output.outcome) == (None, "abstained")


def test_a_wrong_count_names_reward_and_numbers():
    outputs = score(lambda responses: [1.0, 2.0], ["a", "b", "c"])
    assert all(o.outcome == "grader_error" and "2 values for 3 trajectories" in o.error for o in outputs)


def test_one_bad_row_does_not_cost_its_neighbours():
    def batch(responses):
        return [1.0 / len(r) for r in responses]

    outputs = score(batch, ["ab", "", "a", "abcd"] * 4)
    assert [o.reward for o in outputs[:4]] == [0.5, None, 1.0, 0.25]
    assert "ZeroDivisionError" in outputs[1].error


def test_a_batch_in_which_all_fail_is_not_split_for_ever():
    calls = []

    def batch(responses):
        calls.append(len(responses))
        raise ValueError("always")

    outputs = score(batch, ["x"] * 1000)
    assert all(o.outcome == "grader_error" for o in outputs)
    assert len(calls) <= 130


def test_exit_in_a_reward_does_not_end_the_run():
    def quits(response):
        raise SystemExit(0)

    assert score(quits, ["x"])[0].outcome == "grader_error"


def test_ctrl_c_passes_through():
    def stopped(response):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(stopped, ["x"])


def test_a_missing_column_says_what_to_rename():
    reward = as_reward(lambda response, ground_truth: response == ground_truth)
    with pytest.raises(MissingColumn, match=r"needs 'level'; the row has .* Did you mean 'levle'"):
        as_reward(lambda level: 1.0).compute_reward(Trajectory(response="x", metadata={"levle": 1}))
    with pytest.raises(MissingColumn, match="--rename solution=ground_truth"):
        reward(prompts=["q"], completions=["a"], solution=["a"])


# -- the trainers' face ----------------------------------------------------------------------------------------------


def test_called_with_trls_keywords_it_returns_none_where_not_scored():
    reward = as_reward(lambda response, word: None if word is None else word in response)
    assert reward(prompts=["q"] * 3, completions=["a", "b", "c"], word=["a", "x", None]) == [1.0, 0.0, None]


def test_called_with_trls_messages_and_state():
    class State:
        global_step = 7

    reward = as_reward(lambda response, step: step if response == "a" else 0)
    said = [[{"role": "assistant", "content": "a"}]]
    asked = [[{"role": "user", "content": "q"}]]
    assert reward(prompts=asked, completions=said, completion_ids=[[1]], trainer_state=State()) == [7.0]


def test_called_with_trajectories_it_returns_nan_where_not_scored():
    values = as_reward(lambda response: None if response == "" else 1.0)(["a", ""])
    assert values[0] == 1.0
    assert math.isnan(values[1])
    assert all(type(v) is float for v in values)


def test_columns_of_another_length_or_kind_are_told():
    reward = as_reward(lambda response, word="": 1.0)
    for word, found in (("a", "str 'a'"), (3, "int 3"), (["a"], "1 values"), ({"a": 1}, "dict")):
        with pytest.raises(
            TypeError, match=f"'word' as a list with one value for each of 2 completions; found {found}"
        ):
            reward(prompts=["q"] * 2, completions=["a", "b"], word=word)
    with pytest.raises(TypeError, match="no columns; found \\['word'\\]"):
        reward(["a", "b"], word=["a", "b"])
    with pytest.raises(TypeError, match="a ground truth for each of 2 trajectories; found 3"):
        reward(["a", "b"], ["1", "2", "3"])


def test_called_with_neither_it_says_how():
    with pytest.raises(TypeError, match="called with trajectories"):
        as_reward(flux)(prompts=["q"])


def test_ground_truths_given_beside_do_not_change_the_rows():
    row = Trajectory(response="a", ground_truth="kept")
    assert InCall()([row], ["a"]) == [1.0]
    assert as_reward(twinkle)([row], ["a"]) == [1.0]
    assert row.ground_truth == "kept"


def test_inside_a_running_loop():
    async def notebook():
        return (
            as_reward(judged)(ROWS),
            as_reward(flux)(ROWS),
            # nothing says of a lambda that what it returns is to be awaited
            as_reward(lambda prompt, response: judged(prompt, response))(ROWS),
            await assay.Engine().score(judged, list(map(Trajectory.of, ROWS))),
        )

    *called, awaited = asyncio.run(notebook())
    assert called == [FIRST_OF_FOUR] * 3
    assert [o.reward for o in awaited] == FIRST_OF_FOUR


def test_a_slow_async_reward_is_stopped_at_its_deadline():
    @assay.declare(timeout=0.05)
    async def hangs(response):
        await asyncio.sleep(60 if response == "slow" else 0)
        return 1.0

    outputs = score(hangs, ["fast", "slow", "fast"])
    assert [o.reward for o in outputs] == [1.0, None, 1.0]
    assert outputs[1].outcome == "timeout"


def test_an_infra_error_is_retried_and_a_grader_error_is_not():
    tries = {"infra": 0, "grader": 0}

    @assay.declare(retries=2)
    async def flaky(response):
        tries[response] += 1
        if response == "grader":
            raise ValueError("mine")
        if tries[response] < 2:
            raise assay.InfraError("the server is away")
        return 1.0

    infra, grader = score(flaky, ["infra", "grader"])
    assert (infra.reward, grader.outcome) == (1.0, "grader_error")
    assert tries == {"infra": 2, "grader": 1}


def test_on_failure_raise_names_the_row():
    with pytest.raises(RewardError, match=r"row 1: .*boom"):
        score(
            lambda response: 1.0 if response else 1 / 0 if response == "boom" else {}["boom"],
            ["a", ""],
            on_failure="raise",
        )


@pytest.mark.parametrize("one", ["a response", {"response": "x"}, Trajectory(response="x")])
def test_one_row_in_place_of_a_list_is_refused(one):
    # iterated, a string would be its letters and a row its column names: numbers for what nobody wrote
    reward = as_reward(lambda response: 1.0)
    for call in (lambda: score(reward, one), lambda: reward(one), lambda: reward.compute_rewards(one)):
        with pytest.raises(TypeError, match=r"needed a list of rows; found one"):
            call()


def test_a_parameter_that_nothing_fills_says_which_names_there_are():
    with pytest.raises(assay.MissingColumn, match="No row fills a parameter of that name: call it response"):
        as_reward(lambda x: 1.0).compute_reward(Trajectory(response="x"))


def _writes_fields(trajectory):
    trajectory.response = ""
    trajectory.metadata.clear()
    return 1.0


def _writes_columns(metadata):
    metadata["word"] = "other"
    return 1.0


def _writes_messages(completions):
    for turns in completions:
        turns[-1]["content"] = ""
    return [1.0] * len(completions)


async def _writes_and_waits(trajectory):
    trajectory.response = ""
    return 1.0


@pytest.mark.parametrize("vandal", [_writes_fields, _writes_columns, _writes_messages, _writes_and_waits])
def test_what_a_reward_writes_into_a_row_stays_with_it(vandal):
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "four"}]
    rows = [{"messages": turns, "word": "hell"}]

    def seen(response, word, messages):
        return (response, word, messages[-1]["content"]) == ("four", "hell", "four")

    (output,) = score(assay.CompositeReward({"vandal": vandal, "seen": seen}), rows)
    assert output.components["vandal"].reward == 1.0
    assert output.components["seen"].reward == 1.0
    assert rows == [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "four"}], "word": "hell"}
    ]
