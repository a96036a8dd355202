"""Trajectory and RewardOutput."""

from __future__ import annotations

import copy
import pickle

import pytest

from assay import Outcome, RewardOutput, Trajectory
from assay.types import trajectories_of

SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": "{}"}}]},
    {"role": "tool", "content": "4"},
    {"role": "assistant", "content": "It is 4."},
]


def test_a_response_alone_is_enough():
    t = Trajectory(response="4")
    assert (t.prompt, t.response, t.ground_truth, t.metadata, t.group_id) == ("", "4", None, {}, "")
    assert t.conversation == [{"role": "assistant", "content": "4"}]


def test_messages_give_prompt_response_and_completion():
    t = Trajectory(messages=SAID)
    assert (t.prompt, t.response) == ("2+2?", "It is 4.")
    assert t.completion == SAID[2:]


def test_a_response_to_an_earlier_question_is_none_to_the_last():
    asked_again = [*SAID, {"role": "user", "content": "and 3+3?"}]
    assert Trajectory(messages=asked_again).response == ""


def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    assert Trajectory(messages=[{"role": "assistant", "content": parts}]).response == "ab"


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "q", "response": "a", "ground_truth": "g", "extra": 1, "group": 7},
        {"prompt": "q", "completion": "a", "ground_truth": "g", "metadata": {"extra": 1}, "group": "7"},
        {
            "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            "ground_truth": "g",
            "extra": 1,
            "group": "7",
        },
        {
            "prompt": [{"role": "user", "content": "q"}],
            "completion": [{"role": "assistant", "content": "a"}],
            "ground_truth": "g",
            "extra": 1,
            "group": "7",
        },
    ],
)
def test_rows_of_every_shape_read_the_same(row):
    before = copy.deepcopy(row)
    t = Trajectory.of(row)
    assert (t.prompt, t.response, t.ground_truth, t.metadata, t.group) == ("q", "a", "g", {"extra": 1}, "7")
    assert t["extra"] == 1
    assert t["messages"][-1]["content"] == "a"
    assert row == before


def test_what_is_no_row_is_refused_with_what_was_needed():
    with pytest.raises(TypeError, match=r"needed a row.*found int"):
        Trajectory.of(3)


def test_it_reads_like_a_mapping():
    t = Trajectory(prompt="q", response="a", metadata={"solution": 4})
    assert t["solution"] == 4
    assert t.get("nothing", "default") == "default"
    assert "solution" in t
    assert "nothing" not in t
    assert dict(t)["response"] == "a"
    with pytest.raises(KeyError):
        t["nothing"]


def test_equal_means_the_same_was_asked_and_the_same_came_back():
    row = {"messages": [{"role": "assistant", "content": "a"}]}
    assert Trajectory.of(row) == row
    assert Trajectory(response="a", ground_truth="x") == Trajectory(response="a", ground_truth="y")
    assert Trajectory(response="a") == Trajectory.of(row)
    assert Trajectory(response="a") != Trajectory(response="b")
    assert Trajectory(response="a") != "a"


def test_outputs_share_nothing_and_pickle():
    one, two = RewardOutput(0.5), RewardOutput(0.5)
    one.metadata["x"] = 1
    assert two.metadata == {}
    assert pickle.loads(pickle.dumps(one)) == one


def test_no_number_is_an_abstention_and_never_a_zero():
    assert RewardOutput().outcome is Outcome.ABSTAINED
    assert RewardOutput().reward is None
    assert RewardOutput(0.0).outcome is Outcome.SCORED
    assert RewardOutput.failed(Outcome.TIMEOUT, "late").reward is None


class Array:
    """As numpy, and so pandas, has the lists of a Parquet file."""

    def __init__(self, *values):
        self.values = values

    def tolist(self):
        return list(self.values)


ASKED, ANSWERED = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": Array(ASKED), "response": "a"},
        {"prompt": (ASKED,), "completion": Array(ANSWERED)},
        {"prompt": "q", "response": [ANSWERED], "group": float("nan")},
        {"messages": Array(ASKED, ANSWERED), "response": None},
        {"prompt": "q", "completion": "a", "response": float("nan")},
    ],
)
def test_rows_of_data_frames_are_read_whole(row):
    (t,) = trajectories_of([row])
    assert (t.prompt, t.response, t.group) == ("q", "a", "")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"response": "a"}, {"prompt": "q"}], "row 1: needed a row with a response"),
        ([{"prompt": "q", "response": None}], "row 0: needed a row with a response"),
        ([[ASKED]], "row 0: needed a row with a response"),
        ([{"prompt": "q", "response": 12}], "'response' as text or as a list of messages; found int 12"),
        ([{"prompt": b"q", "response": "a"}], "'prompt' as text"),
        (type("DataFrame", (), {"columns": ["response"]})(), "a DataFrame, which is iterated by its columns"),
    ],
)
def test_what_holds_no_response_is_refused_and_not_scored_as_an_empty_one(rows, said):
    with pytest.raises(TypeError, match=said):
        trajectories_of(rows)


def test_an_empty_response_is_one():
    tool_call = [ASKED, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}]
    assert [t.response for t in trajectories_of([{"response": ""}, "", Trajectory(prompt="q"), tool_call])] == [""] * 4
    assert trajectories_of([{"prompt": [ASKED], "response": ""}])[0].response == ""
