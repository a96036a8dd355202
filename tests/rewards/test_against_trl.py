"""The same numbers as TRL's own reward functions, where TRL is installed."""

from __future__ import annotations

import random

import pytest

from assay import CosineLengthReward, FormatReward, OverlongPenalty, RepetitionReward, Tokens, Trajectory, score


@pytest.fixture(scope="module")
def trl() -> object:
    return pytest.importorskip("trl.rewards", reason="TRL is not installed", exc_type=ImportError)


def _texts() -> list[str]:
    rng = random.Random(5)
    return [" ".join(rng.choices("abcdefgh", k=rng.randint(0, 60))) for _ in range(60)]


def test_repetition_is_trl_s_on_the_same_pieces(trl: object) -> None:
    texts = _texts()
    theirs = trl.get_repetition_penalty_reward(ngram_size=3, max_penalty=-1.0)(  # type: ignore[attr-defined]
        [[ord(word) for word in text.split()] for text in texts]
    )
    ours = RepetitionReward(n=3, max_penalty=-1.0)(texts)
    assert ours == pytest.approx(theirs)


def test_overlong_is_trl_s(trl: object) -> None:
    ids = [list(range(n)) for n in range(0, 120, 7)]
    theirs = trl.get_soft_overlong_punishment(max_completion_len=100, soft_punish_cache=20)(ids)  # type: ignore[attr-defined]
    rows = [Trajectory(response="x", tokens=Tokens(ids=one)) for one in ids]
    assert [o.reward for o in score(OverlongPenalty(max_length=100, cache=20), rows)] == pytest.approx(theirs)


def test_cosine_is_trl_s(trl: object) -> None:
    pytest.importorskip("math_verify", reason="TRL judges correctness with math-verify")
    texts = [r"\boxed{4}", r"\boxed{5}"] * 14
    ids = [list(range(n)) for n in range(0, 140, 5)]
    theirs = trl.get_cosine_scaled_reward(max_len=100)(  # type: ignore[attr-defined]
        completions=[[{"role": "assistant", "content": text}] for text in texts],
        solution=["$4$"] * len(texts),
        completion_ids=ids,
    )
    rows = [
        Trajectory(response=text, tokens=Tokens(ids=one), metadata={"correct": "4" in text})
        for text, one in zip(texts, ids, strict=True)
    ]
    ours = score(CosineLengthReward(max_length=100, unit="tokens"), rows)
    assert [o.reward for o in ours] == pytest.approx(theirs)


def test_think_shape_is_trl_s_where_both_have_a_say(trl: object) -> None:
    texts = [
        "<think>a</think> 4",
        "<think>a</think>\n4",
        "a 4",
        "<think>a 4",
        "<think><think>a</think> 4",
        "x <think>a</think> 4",
    ]
    theirs = trl.think_format_reward([[{"content": text}] for text in texts])  # type: ignore[attr-defined]
    assert FormatReward(tags=["think"], outside="after")(texts) == theirs
