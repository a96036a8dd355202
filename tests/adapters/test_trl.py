"""The adapter against the recorded contract; test_trl_real.py runs TRL itself."""

import math
import pickle
import threading

import pytest

from assay.adapters.trl import reward_funcs
from assay.compose import CompositeReward, Gate, Linear, Normalize, Term
from assay.engine import score
from assay.errors import ConfigError, MissingColumn
from assay.reward import FunctionReward, RewardFunction
from assay.types import RewardOutput


def short(response):
    return float(len(response) < 4)


def right(response, answer):
    return None if answer is None else float(response == answer)


class Found(RewardFunction):
    def compute_reward(self, trajectory):
        return RewardOutput(0.5, metadata={"extracted": trajectory.response[:1]})


def call(funcs, answers=("5", "6", None), completions=("5", "5", "long one"), **more):
    columns = {"prompts": ["after 4?"] * len(completions), "completions": list(completions)}
    columns |= {"completion_ids": [[1]] * len(completions), "answer": list(answers), **more}
    return [f(**columns) for f in funcs]


def trl_sum(rows, weights):
    """What TRL makes of the functions' results: a weighted nansum, NaN where every function says None."""
    out = []
    for row in zip(*rows):
        known = [(w, r) for w, r in zip(weights, row) if r is not None]
        out.append(sum(w * r for w, r in known) if known else None)
    return out


def whole(reward, answers=("5", "6", None), completions=("5", "5", "long one")):
    rows = [{"prompt": "after 4?", "response": c, "answer": a} for c, a in zip(completions, answers)]
    return [o.reward for o in score(reward, rows)]


def test_one_function_a_component_with_its_weight():
    funcs, weights = reward_funcs(CompositeReward({"short": (short, 0.25), "right": (right, 0.75)}))
    assert [f.__name__ for f in funcs] == ["short", "right"]
    assert weights == [0.25, 0.75]
    assert call(funcs, answers=("5", "6", "7")) == [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("policy", ["reweight", "skip", "impute", 0.5])
def test_what_trl_sums_is_what_the_composite_says(policy):
    reward = CompositeReward({"short": (short, 0.25), "right": (right, 0.5), "found": (Found(), 0.25)}, policy)
    funcs, weights = reward_funcs(reward)
    assert trl_sum(call(funcs), weights) == pytest.approx(whole(reward))


def test_gdpo_keeps_none():
    reward = CompositeReward({"short": (short, 0.25), "right": (right, 0.75)})
    funcs, _ = reward_funcs(reward, aggregation="normalize_then_sum")
    assert call(funcs)[1] == [1.0, 0.0, None]


def test_what_is_no_plain_sum_is_one_function_and_its_parts_to_look_at():
    for reward in (Gate(right, require=short), CompositeReward([Term(short, Linear(0.0, 1.0, 100)), (right, 1.0)])):
        funcs, weights = reward_funcs(reward)
        assert weights == [1.0, 0.0, 0.0]
        assert len({f.__name__ for f in funcs}) == 3
        state = type("State", (), {"global_step": 50})()
        rows = call(funcs, answers=("5", "6", "7"), trainer_state=state)
        expected = [1.0, 0.0, 0.0] if isinstance(reward, Gate) else [1.5, 0.5, 0.0]
        assert rows[0] == expected
    with pytest.raises(ConfigError, match="needs fixed weights"):
        reward_funcs(CompositeReward([Term(short, Linear(0, 1, 9))]), aggregation="normalize_then_sum")


def test_a_row_that_is_not_scored_is_none_everywhere():
    funcs, weights = reward_funcs(Gate(right, require=short))
    rows = call(funcs, answers=("5", None, "7"), completions=("5", "5", "5"))
    assert trl_sum(rows, weights) == [1.0, None, 0.0]
    assert [r[1] for r in rows] == [None, 1.0, None] or all(r[1] is None for r in rows)


def test_a_batch_is_scored_once_between_them():
    calls = []

    def counted(completions):
        calls.append(len(completions))
        return [1.0] * len(completions)

    funcs, _ = reward_funcs(CompositeReward({"a": counted, "b": short}))
    completions = ["x", "y"]
    for f in funcs:
        f(prompts=["p", "p"], completions=completions)
    assert calls == [2]
    for f in funcs:  # the same list again is a new batch: asked anew, scored anew
        f(prompts=["p", "p"], completions=completions)
    assert calls == [2, 2]
    other = ["z"]
    for f in funcs:
        f(prompts=["p"], completions=other)
    assert calls == [2, 2, 1]
    assert funcs[0].shared.batches == []


def test_batches_in_flight_in_many_threads_are_not_mixed():
    funcs, _ = reward_funcs(CompositeReward({"size": lambda response: len(response), "one": lambda response: 1.0}))
    wrong = []

    def work(size):
        for _ in range(50):
            completions = ["x" * size] * 3
            threads = [threading.Thread(target=lambda f=f: got.append(f(completions=completions))) for f in funcs]
            got = []
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            if sorted(got) != sorted([[float(size)] * 3, [1.0] * 3]):
                wrong.append((size, got))

    workers = [threading.Thread(target=work, args=(size,)) for size in range(2, 6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_pickles_into_a_spawned_worker():
    funcs, _ = reward_funcs(CompositeReward({"short": (short, 0.5), "right": (right, 0.5)}))
    call(funcs)
    again = pickle.loads(pickle.dumps(funcs))
    assert again[0].shared is again[1].shared
    assert call(again) == call(funcs)
    assert [f.__name__ for f in again] == ["short", "right"]


def test_a_reward_is_a_trl_function_as_it_stands():
    reward = FunctionReward(right)
    state = type("State", (), {"global_step": 3})()
    got = call([reward], trainer_state=state, log_extra=lambda *_: None, log_metric=lambda *_: None)
    assert got == [[1.0, 0.0, None]]
    messages = [[{"role": "assistant", "content": "5"}]] * 2
    prompts = [[{"role": "user", "content": "after 4?"}]] * 2
    assert reward(prompts=prompts, completions=messages, answer=["5", "6"]) == [1.0, 0.0]
    assert pickle.loads(pickle.dumps(reward)).name == "right"


def test_names_are_stable_and_distinct():
    first, second = Found(), Found()
    assert first.__name__ != second.__name__
    assert (first.__name__, second.__name__) == (first.__name__, second.__name__)
    assert pickle.loads(pickle.dumps(second)).__name__ == second.__name__
    assert Found.__name__ == "Found"
    first.__name__ = "my/reward.v1"
    assert first.__name__ == "my/reward.v1"


def test_token_ids_come_along():
    def tokens_of(trajectory):
        return len(trajectory.tokens.ids)

    got = FunctionReward(tokens_of)(prompts=["p"], completions=["abc"], completion_ids=[[7, 8, 9]])
    assert got == [3.0]


def test_what_is_logged_is_the_same_columns_every_batch():
    reward = CompositeReward({"found": Found(), "right": right}, name="logged")
    extras, metrics = {}, {}
    funcs, _ = reward_funcs(reward)
    for answers in (("5", "6", None), ("1", "2", "3")):
        extras.clear()
        call(funcs, answers, log_extra=extras.__setitem__, log_metric=metrics.__setitem__)
        assert list(extras) == ["logged/outcome", "logged/why", "logged/details"]
        assert all(len(v) == 3 and all(isinstance(x, str) for x in v) for v in extras.values())
    assert '"extracted": "5"' in extras["logged/details"][0]
    assert metrics["assay/logged/right/unscored"] == 0.0
    figures = {"min", "p25", "p50", "p75", "max", "unscored", "seconds", "right/unscored", "found/unscored"}
    assert metrics.keys() == {f"assay/logged/{figure}" for figure in figures}
    assert metrics["assay/logged/min"] <= metrics["assay/logged/p50"] <= metrics["assay/logged/max"]


def test_a_reward_as_it_stands_logs_its_components_under_its_own_name():
    rewards = [CompositeReward({"found": Found(), "right": right}, name="both"), Found()]
    extras, metrics = [], {}
    call(
        rewards,
        log_extra=lambda column, values: extras.append((column, values)),
        log_metric=metrics.__setitem__,
    )
    columns = dict(extras)
    assert len(columns) == len(extras), "TRL would join what two functions log under one name"
    assert columns["both/right"] == [1.0, 0.0, None]
    assert columns["both/outcome"] == ["scored"] * 3
    assert '"extracted": "5"' in columns["both/details"][0]
    assert columns[f"{rewards[1].__name__}/details"] == [
        '{"extracted": "5"}',
        '{"extracted": "5"}',
        '{"extracted": "l"}',
    ]
    assert metrics["assay/both/right/mean"] == 0.5
    assert metrics["assay/both/right/unscored"] == pytest.approx(1 / 3)


def test_a_trainer_that_only_adds_up_gets_weighted_parts():
    """AsyncGRPO: a plain nansum, no weights, no training step."""
    for policy in ("reweight", "skip", "impute", 0.5):
        reward = CompositeReward({"short": (short, 0.25), "right": (right, 0.75)}, policy)
        funcs, weights = reward_funcs(reward, aggregation="sum")
        assert weights == [1.0, 1.0]
        assert trl_sum(call(funcs), weights) == pytest.approx(whole(reward))
    gate = reward_funcs(Gate(right, require=short), aggregation="sum")
    assert (len(gate.funcs), gate.weights) == (1, [1.0])
    assert call(gate.funcs, answers=("5", "6", "7")) == [[1.0, 0.0, 0.0]]
    with pytest.raises(ConfigError, match="changes with the training step, which AsyncGRPO does not tell"):
        reward_funcs(CompositeReward([Term(short, Linear(0.0, 1.0, 100))]), aggregation="sum")


def test_a_step_that_is_not_told_is_said(caplog):
    reward = CompositeReward([Term(short, Linear(0.0, 1.0, 100)), (short, 1.0)], name="growing")
    call([reward], trainer_state=type("State", (), {"global_step": 50})())
    assert not caplog.records
    call([reward])
    assert "'growing' changes with the training step; the call has no trainer_state" in caplog.text


def test_infinities_do_not_get_out():
    funcs, _ = reward_funcs(FunctionReward(lambda response: math.inf, name="wild"))
    assert call(funcs) == [[None, None, None]]


def test_a_column_that_is_missing_is_said_at_once():
    funcs, _ = reward_funcs(FunctionReward(right))
    with pytest.raises(MissingColumn, match="'answer'"):
        funcs[0](prompts=["p"], completions=["c"])


def test_groups_by_place():
    def best(group):
        return [float(len(t.response) == max(len(o.response) for o in group)) for t in group]

    funcs, _ = reward_funcs(best, num_generations=2)
    assert funcs[0](prompts=["p"] * 4, completions=["a", "bb", "ccc", "c"]) == [0.0, 1.0, 1.0, 0.0]
    funcs, _ = reward_funcs(Normalize(short, "group"), num_generations=2)
    with pytest.raises(ConfigError, match=r"whole groups of 2 responses; the batch has 3"):
        funcs[0](prompts=["p"] * 3, completions=["a", "bb", "ccc"])
    with pytest.raises(ConfigError, match=r"rows 2 to 3 answer several prompts"):
        funcs[0](prompts=["p", "p", "q", "r"], completions=["a", "bb", "ccc", "c"])
    funcs, _ = reward_funcs(best)  # a group is a prompt, where no number is known
    assert funcs[0](prompts=["p", "p", "q"], completions=["a", "bb", "c"]) == [0.0, 1.0, 1.0]


def test_a_group_is_a_prompt_and_not_its_last_turn():
    def size(group):
        return [float(len(group)) for _ in group]

    def asked(*turns):
        return [{"role": role, "content": said} for role, said in zip(("user", "assistant", "user"), turns)]

    def said(*turns):  # a tool loop: the completion is several messages, another number of them each time
        return [{"role": role, "content": turn} for role, turn in zip(("assistant", "tool", "assistant"), turns)]

    prompts = [asked("a", "b", "go on"), asked("a", "b", "go on"), asked("c", "d", "go on")]
    completions = [said("x"), said("y", "z", "w"), said("v")]
    for fn in (FunctionReward(size), reward_funcs(size).funcs[0]):
        assert fn(prompts=prompts, completions=completions) == [2.0, 2.0, 1.0]
    fn = reward_funcs(size, num_generations=2).funcs[0]
    assert fn(prompts=prompts[:2], completions=completions[:2]) == [2.0, 2.0]


RANKS = """
import json, sys, torch.distributed as dist
from assay.adapters.trl import reward_funcs
rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
def size_of_group(group):
    return [float(len(group)) for _ in group]
funcs, _ = reward_funcs(size_of_group, num_generations=4)
mine = [["a", "b", "c"], ["d", "e", "f", "g", "h"]][rank]
print(json.dumps(funcs[0](prompts=["p"] * len(mine), completions=mine)))
from assay.adapters import swift
asked = [[{"role": "user", "content": "p"}]] * len(mine)
assert swift.orm(size_of_group)()(mine, messages=asked) == [8.0] * len(mine), "ms-swift splits groups too"
from assay.errors import ConfigError
from assay.reward import FunctionReward
try:
    FunctionReward(size_of_group)(prompts=["p"] * len(mine), completions=mine)
except ConfigError as error:
    assert "on 2 ranks" in str(error), error
else:
    raise AssertionError("a part of a group must be refused")
dist.destroy_process_group()
"""


def test_a_group_that_is_split_over_ranks_is_whole(tmp_path):
    pytest.importorskip("torch.distributed", reason="torch is not installed")
    import json
    import subprocess
    import sys

    script = tmp_path / "rank.py"
    script.write_text(RANKS)
    ranks = [
        subprocess.Popen([sys.executable, script, str(rank), tmp_path / "store"], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    said = [json.loads(p.communicate(timeout=120)[0]) for p in ranks]
    assert [p.returncode for p in ranks] == [0, 0]
    assert said == [[4.0] * 3, [4.0] * 5]
