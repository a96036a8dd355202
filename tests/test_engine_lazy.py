"""Dear components are called only where they can matter, and what was saved is counted."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import CompositeReward, ConfigError, Engine, Gate, Term, Trajectory, declare, score


def dear(cost: float = 1.0, scale: float = 1.0) -> tuple[Callable[..., Any], list[int]]:
    called: list[int] = []

    @declare(name=f"dear_{cost:g}", cost=cost)
    def judge(number: int, judged: float) -> float:
        called.append(number)
        return judged * scale

    return judge, called


def cheap(base: float | None) -> float | None:
    if base is not None and base < 0:
        raise ValueError("no base")
    return base


def batch(*groups: list[tuple[float, float]]) -> list[Trajectory]:
    rows = [(g, base, judged) for g, group in enumerate(groups) for base, judged in group]
    return [
        Trajectory(response="r", group=str(g), metadata={"base": base, "judged": judged, "number": i})
        for i, (g, base, judged) in enumerate(rows)
    ]


def test_a_row_that_is_lost_anyway_is_not_judged() -> None:
    judge, called = dear()
    rows = batch([(0.5, 1.0), (-1.0, 1.0)], [(0.2, 0.3), (0.1, 0.0)])
    engine = Engine()
    lazy = CompositeReward([Term(cheap, 0.5, on_missing="skip"), (judge, 0.5)], lazy=True)
    plain = CompositeReward([Term(cheap, 0.5, on_missing="skip"), (judge, 0.5)])
    saved = [o.reward for o in score(lazy, rows, engine=engine)]
    assert called == [0, 2, 3]
    assert saved == [o.reward for o in score(plain, rows)]
    assert engine.counts["dear_1"].saved == {"lazy": 1}
    assert any("1 calls saved (lazy)" in line for line in engine.counts.lines())


def test_a_group_that_is_dropped_is_not_judged() -> None:
    judge, called = dear()
    rows = batch([(0.5, 1.0), (-1.0, 1.0)], [(0.2, 0.3), (0.1, 0.0)])
    reward = CompositeReward([Term(cheap, 0.5, on_missing="drop_group"), (judge, 0.5)], lazy=True)
    assert [o.reward for o in score(reward, rows)] == [None, None, 0.25, 0.05]
    assert called == [2, 3]


def test_cheap_components_go_first_and_the_dearest_last() -> None:
    order: list[str] = []

    def noting(name: str, cost: float) -> Any:
        @declare(name=name, cost=cost)
        def one(response: str) -> float:
            order.append(name)
            return 1.0

        return one

    score(CompositeReward([noting("c", 9.0), noting("a", 0.0), noting("b", 2.0)], lazy=True), ["x"])
    assert order == ["a", "b", "c"]


def test_the_order_in_every_group_is_the_same() -> None:
    rng = random.Random(3)
    groups = [[(round(rng.random(), 2), round(rng.random(), 2)) for _ in range(8)] for _ in range(40)]
    rows = batch(*groups)
    (one, called), (other, called_too) = dear(1.0), dear(5.0)
    terms = [(cheap, 0.7), (one, 0.2), (other, 0.1)]
    lazy = score(CompositeReward(terms, lazy="group"), rows)
    saved = 2 * len(rows) - len(called) - len(called_too)
    full = score(CompositeReward(terms), rows)
    for g in range(40):
        mine = range(g * 8, g * 8 + 8)
        for i in mine:
            for k in mine:
                before, after = full[i].reward - full[k].reward, lazy[i].reward - lazy[k].reward  # type: ignore
                assert before * after > 0 or (abs(before) < 1e-12 and abs(after) < 1e-12)
    assert saved > 30
    skipped = next(o for o in lazy if "lazy" in o.components["dear_5"].metadata)
    assert "cannot change the order" in skipped.metadata["missing"]["dear_5"]
    assert skipped.components["dear_5"].reward is None


def test_without_a_range_nothing_is_skipped() -> None:
    judge, called = dear()
    judge.__contract__ = type(judge.__contract__)(cost=1.0, range=None)  # type: ignore
    score(CompositeReward([(cheap, 1.0), (judge, 0.01)], lazy="group"), batch([(0.1, 0.5), (0.9, 0.5)]))
    assert called == [0, 1]


def test_a_gated_reward_is_counted() -> None:
    judge, called = dear()
    engine = Engine()
    score(Gate(judge, cheap, at_least=0.5), batch([(0.1, 1.0), (0.9, 0.5)]), engine=engine)
    assert called == [1]
    assert engine.counts["dear_1"].saved == {"gate": 1}


def test_lazy_is_true_false_or_group() -> None:
    with pytest.raises(ConfigError, match="'group'"):
        CompositeReward([cheap], lazy="row")  # type: ignore


def test_a_yaml_reward_may_be_lazy(tmp_path: Path) -> None:
    from assay.load import load_reward

    (tmp_path / "reward.yaml").write_text(
        "lazy: group\nterms:\n  a: {reward: 'length:target=3', weight: 0.9}\n  b: {reward: format, weight: 0.1}\n"
    )
    reward = load_reward(str(tmp_path / "reward.yaml"))
    assert isinstance(reward, CompositeReward)
    assert reward.lazy == "group"
