"""What users write as patterns: found where it is, and stopped where it would not end."""

from __future__ import annotations

import contextlib
import time

import pytest

from assay import ConfigError, MissingExtra, Outcome, RewardTimeout, score
from assay.rewards.format import FormatReward
from assay.text import patterns

CATASTROPHIC = [
    ("re:^(a+)+$", "a" * 40 + "!"),
    ("re:(x+x+)+y", "x" * 40),
    (r"re:^(\w+\s?)*$", "word " * 20 + "!"),
    (r"re:(.*)*\1z", "b" * 40),
    ("re:(?=(a+))a*b\\1", "a" * 100_000),
]


@pytest.mark.parametrize(("pattern", "text"), CATASTROPHIC)
def test_a_catastrophic_pattern_ends_in_time(pattern: str, text: str) -> None:
    started = time.process_time()
    with contextlib.suppress(RewardTimeout):  # or it finds its answer before
        patterns.found_in(text, [pattern], deadline=0.2)
    assert time.process_time() - started < 2.0


def test_what_is_stopped_is_a_stated_outcome_and_no_zero() -> None:
    reward = FormatReward(forbidden_patterns=["re:^(a|a)*$"], deadline=0.2)
    stopped, fine = score(reward, ["a" * 60 + "!", "b"])
    assert stopped.reward is None
    assert stopped.outcome is Outcome.TIMEOUT
    assert "(a|a)*" in stopped.error
    assert fine.reward == 1.0


def test_by_hand_it_is_raised() -> None:
    with pytest.raises(RewardTimeout):
        patterns.found_in("a" * 60 + "!", ["re:^(a|a)*$"], deadline=0.1)


def test_the_deadline_is_for_all_patterns_together() -> None:
    # each of them alone ends well before the deadline; the fortieth part of it is more than enough
    seconds, length = 0.0, 12
    while seconds < 0.02:
        length += 1
        started = time.perf_counter()
        patterns.found_in("a" * length + "!", ["re:^(a|a)*$"], deadline=60.0)
        seconds = time.perf_counter() - started
    many = [f"re:^(a|a)*(?:{i})?$" for i in range(1000)]
    with pytest.raises(RewardTimeout):
        patterns.found_in("a" * length + "!", many, deadline=40 * seconds)


def test_which_are_found() -> None:
    assert patterns.found_in("Total: 12 €", ["total", r"re:\d+ €", "re:^12", "x"], 1.0) == ["total", r"re:\d+ €"]
    assert patterns.found_in("TOTAL", ["total", "re:total"], 1.0, case_sensitive=True) == []


@pytest.mark.parametrize("pattern", ["re:(", "re:", "", "  ", "re:a{2,1}", "re:" + "a" * 20_000])
def test_a_pattern_that_is_none_is_refused_when_the_reward_is_made(pattern: str) -> None:
    with pytest.raises(ConfigError, match="needed a"):
        FormatReward(forbidden_patterns=[pattern])


def test_without_regex_installed_the_message_says_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "regex", None)
    with pytest.raises(MissingExtra, match=r"pip install 'assay\[text\]'"):
        FormatReward(required_patterns=["re:not compiled before"])
    FormatReward(required_patterns=["literal"])  # needs nothing
