"""The rule rewards: their papers' formulas, what they refuse, and what they say beside the number."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import CompositeReward, ConfigError, MissingColumn, MissingExtra, Outcome, Tokens, Trajectory, score
from assay.rewards.format import FormatReward, TagCountReward, match_format_exactly
from assay.rewards.instructions import InstructionReward
from assay.rewards.keyword import KeywordReward
from assay.rewards.language import LanguageReward
from assay.rewards.length import CosineLengthReward, GroupLengthReward, LengthReward, OverlongPenalty
from assay.rewards.match import FuzzyMatchReward
from assay.rewards.repetition import RepetitionReward
from assay.rewards.schema import JsonSchemaReward
from assay.rewards.tools import ToolCallReward


def _tokens(count: int, mask: list[bool] | None = None) -> Trajectory:
    return Trajectory(response="x", tokens=Tokens(ids=list(range(count)), mask=mask or ()))


# -- the papers' formulas --------------------------------------------------------------------------------------------


@given(st.integers(0, 300), st.integers(1, 100))
def test_overlong_is_dapo_equation_13(length: int, cache: int) -> None:
    longest = 200
    (output,) = score(OverlongPenalty(max_length=longest, cache=cache), [_tokens(length)])
    if length <= longest - cache:
        expected = 0.0
    elif length <= longest:
        expected = ((longest - cache) - length) / cache
    else:
        expected = -1.0
    assert output.reward == pytest.approx(expected)


@given(st.integers(0, 1000), st.booleans())
def test_cosine_is_the_published_function_up_to_max_length(length: int, correct: bool) -> None:
    (output,) = score(CosineLengthReward(), [{"response": "x" * length, "correct": correct}])
    low, high = (0.5, 1.0) if correct else (-0.5, -1.0)
    assert output.reward == pytest.approx(low + 0.5 * (high - low) * (1.0 + math.cos(length / 1000 * math.pi)))


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=8))
def test_group_length_is_kimi_s(group: list[tuple[int, bool]]) -> None:
    rows = [{"prompt": "q", "response": "x" * length, "correct": correct} for length, correct in group]
    shortest, longest = min(n for n, _ in group), max(n for n, _ in group)
    for output, (length, correct) in zip(score(GroupLengthReward(), rows), group, strict=True):
        share = 0.5 - (length - shortest) / (longest - shortest) if longest > shortest else 0.0
        assert output.reward == pytest.approx(share if correct else min(0.0, share))


def test_group_length_looks_at_each_group_by_itself() -> None:
    rows = [{"prompt": p, "response": "x" * n, "correct": True} for p in "ab" for n in (1, 3)]
    assert GroupLengthReward()(rows) == [0.5, -0.5, 0.5, -0.5]


# -- who says what is right ------------------------------------------------------------------------------------------


def test_correctness_may_come_from_a_reward_or_a_function() -> None:
    def is_four(response: str) -> bool:
        return response == "4"

    assert CosineLengthReward(correct=is_four, max_length=1000)(["4", "5"]) == pytest.approx([1.0, -1.0], abs=1e-4)
    assert GroupLengthReward(correct=KeywordReward(required=["4"]))(["4", "four 4"]) == [0.5, -0.5]


def test_correctness_may_come_from_an_async_function() -> None:
    async def is_four(response: str) -> bool:
        return response == "4"

    assert CosineLengthReward(correct=is_four)(["4"]) == pytest.approx([1.0], abs=1e-4)


def test_where_correctness_is_not_known_nothing_is_scored() -> None:
    def abstains(response: str) -> None:
        return None

    def fails(response: str) -> float:
        raise RuntimeError("no verdict today")

    rows = [{"prompt": "q", "response": "4"}]
    for reward in (CosineLengthReward, GroupLengthReward):
        assert score(reward(correct=abstains), rows)[0].outcome is Outcome.ABSTAINED
        (failed,) = score(reward(correct=fails), rows)
        assert failed.outcome is Outcome.GRADER_ERROR
        assert "no verdict today" in failed.error
        (lacking,) = score(reward(), rows)
        assert lacking.outcome is Outcome.GRADER_ERROR
        assert "'correct'" in lacking.error


def test_a_row_that_lacks_something_does_not_cost_its_neighbours() -> None:
    whole = {"prompt": "q", "response": "4", "correct": True}
    for reward in (CosineLengthReward(), GroupLengthReward()):
        fine, lacking, poisoned = score(
            reward, [whole, {"prompt": "q", "response": "5"}, {**whole, "correct": math.nan}]
        )
        assert fine.reward is not None
        assert lacking.outcome is poisoned.outcome is Outcome.GRADER_ERROR


# -- lengths ---------------------------------------------------------------------------------------------------------


def test_tokens_are_those_of_the_policy() -> None:
    assert LengthReward(target=3, unit="tokens").compute_reward(_tokens(3)).reward == 1.0
    masked = _tokens(3, [True, False, True])
    assert LengthReward(target=2, unit="tokens").compute_reward(masked).metadata["length"] == 2


def test_without_tokens_the_message_says_what_to_do() -> None:
    with pytest.raises(MissingColumn, match=r"Tokens\(ids=\.\.\.\)"):
        OverlongPenalty(max_length=10).compute_reward(Trajectory(response="x"))


def test_both_spellings_of_target_are_one() -> None:
    assert LengthReward(target=200).target_length == LengthReward(target_length=200).target == 200
    assert KeywordReward(required=["a"]).required_keywords == KeywordReward(required_keywords=["a"]).required


# -- what is refused -------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (LengthReward, {}, "needs target_length, min_length or max_length"),
    (LengthReward, {"target": 5, "reward_type": "cubic"}, "'gaussian' or 'linear'; found 'cubic'"),
    (LengthReward, {"target": 5, "reward_type": "gausian"}, "Did you mean 'gaussian'"),
    (LengthReward, {"target": 5, "unit": "word"}, "Did you mean 'words'"),
    (LengthReward, {"target": 5, "target_length": 6}, "needs one target"),
    (LengthReward, {"target": -5}, "of 0 or more; found -5"),
    (LengthReward, {"target": math.nan}, "of 0 or more; found nan"),
    (LengthReward, {"target": 5, "tolerance": -1}, "tolerance of 0 or more"),
    (LengthReward, {"min_length": 9, "max_length": 3}, "min_length <= max_length; found 9 and 3"),
    (OverlongPenalty, {"max_length": 5, "cache": 6}, "cache <= max_length"),
    (CosineLengthReward, {"max_length": 0}, "max_length above 0"),
    (GroupLengthReward, {"unit": "lines"}, "needs unit"),
    (FormatReward, {"tags": "think"}, "needs a list for tags"),
    (FormatReward, {"required_sections": [" "]}, "found an empty one"),
    (FormatReward, {"template": "is [NUMBER]"}, "found [NUMBER]"),
    (TagCountReward, {"tags": []}, "needs a list of tags"),
    (KeywordReward, {}, "needs required_keywords, bonus_keywords or penalty_keywords"),
    (KeywordReward, {"required": "because"}, "Write ['because']"),
    (KeywordReward, {"required": ["a", ""]}, "Leave it out"),
    (KeywordReward, {"required": ["a"], "match": "words"}, "Did you mean 'word'"),
    (KeywordReward, {"required": ["a"], "required_keywords": ["b"]}, "needs one list"),
    (KeywordReward, {"required": ["a"], "bonus_weight": 2}, "weights from 0 to 1"),
    (RepetitionReward, {"n": 0}, "n of 1 or more"),
    (RepetitionReward, {"allowed": 1.0}, "from 0 to below 1"),
    (RepetitionReward, {"max_penalty": 1.0}, "max_penalty of 0 or less"),
    (LanguageReward, {"script": "latn"}, "Did you mean 'latin'"),
    (LanguageReward, {"language": "english"}, "ISO 639-1"),
    (LanguageReward, {"language": "en", "script": "latin"}, "needs one of"),
    (LanguageReward, {"enough": 0}, "enough above 0"),
    (FuzzyMatchReward, {"threshold": 2}, "threshold from 0 to 1"),
    (JsonSchemaReward, {"schema": {"type": "objekt"}}, "needed a JSON schema"),
    (JsonSchemaReward, {"schema": "{"}, "needed a JSON schema"),
    (JsonSchemaReward, {"schema": True, "partial": 2}, "partial from 0 to 1"),
    (InstructionReward, {"instructions": [{"name": "punctuation:no_coma"}]}, "Did you mean 'punctuation:no_comma'"),
    (ToolCallReward, {"match": "jacard"}, "Did you mean 'jaccard'"),
    (ToolCallReward, {"turns": "last"}, "needs turns"),
]


@pytest.mark.parametrize(("reward", "parameters", "says"), REFUSED)
def test_parameters_that_cannot_be_are_refused_with_what_to_do(
    reward: Any, parameters: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        reward(**parameters)
    assert says in str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_each_part_of_a_text_counts_for_its_language() -> None:
    english = "The answer to this question is quite simple, and it is the one that everybody expects it to be here.\n"
    german = "Die Antwort auf diese Frage ist ganz einfach, und sie ist genau die, die hier auch alle erwarten.\n"
    reward = LanguageReward(language="en")
    assert reward([english * 5, german * 5]) == [1.0, 0.0]
    (mixed,) = score(reward, [english * 10 + german * 10])
    assert mixed.reward is not None
    assert 0.3 < mixed.reward < 0.7
    (long,) = score(reward, [english * 1000 + german * 1000])
    assert long.reward is not None
    assert 0.4 < long.reward < 0.6


def test_a_schema_fetches_nothing() -> None:
    with pytest.raises(ConfigError, match="may not fetch"):
        JsonSchemaReward({"$ref": "http://127.0.0.1:9/schema.json"})


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("jsonschema_rs", lambda: JsonSchemaReward({"type": "object", "title": "not compiled before"})),
        ("py3langid", lambda: LanguageReward(language="en")),
    ],
)
def test_a_missing_extra_names_its_line(module: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.text import language

    language._languages.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtra, match=r"pip install 'assay\[text\]'"):
        make()


def test_fuzzy_match_is_the_same_without_rapidfuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.rewards import match

    rows = [{"response": "The colours, of autumn!", "ground_truth": "color of fall"}]
    with_it = score(FuzzyMatchReward(), rows)[0].reward
    monkeypatch.setattr(match, "_subsequence", lambda: match.common_subsequence)
    assert score(FuzzyMatchReward(), rows)[0].reward == with_it


# -- the second seed's own function ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("The answer is 4.", 1.0),
        ("2 + 2 = 4. The answer is 4.", 1.0),
        ("2 plus 2 equals 4.", 0.5),
        ("The answer is four.", 0.5),
        ("I like turtles", 0.0),
        ("", 0.0),
    ],
)
def test_match_format_exactly(response: str, expected: float) -> None:
    assert match_format_exactly(response, "The answer is [NUM].") == expected


# -- together --------------------------------------------------------------------------------------------------------


def test_the_three_weigh_up() -> None:
    reward = CompositeReward(
        [
            (LengthReward(target=150), 0.3),
            (KeywordReward(required=["because"]), 0.4),
            (FormatReward(required_sections=["Answer"]), 0.3),
        ]
    )
    text = "Answer\nbecause " + "word " * 148
    with_it, without = score(reward, [text, text.replace("because", "cause")])
    assert with_it.reward == pytest.approx(1.0)
    assert without.reward == pytest.approx(0.6)
    assert without.components["keyword"].metadata == {"required": [], "bonus": [], "penalty": []}


def test_the_metadata_says_what_was_found() -> None:
    (output,) = score(FormatReward(required_sections=["A"], tags=["x"], outside=True), ["<x>1</x>\nA\n<x>2</x>"])
    assert output.metadata == {
        "scores": {"tags": 0.0, "sections": 1.0},
        "faults": ["<x> stands more than once"],
        "sections": ["A"],
    }
