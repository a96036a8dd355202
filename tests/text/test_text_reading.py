"""Reading text: properties that hold for any text, and the cases that the golden tables do not show."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import ConfigError
from assay.text.fences import code_blocks
from assay.text.jsons import NotJson, canonical, parse_json
from assay.text.keywords import Keywords
from assay.text.language import prose
from assay.text.measure import LONGEST_WORD, pieces_of, repeated_share, script_counts, sentences, words
from assay.text.normalize import common_subsequence, normalize, overlap
from assay.text.tags import read_tags
from assay.text.template import Fit, read_template

LETTERS = st.text(st.sampled_from("ab \n_因为-."), max_size=30)


@given(st.text(max_size=200))
def test_words_lose_no_letter(text: str) -> None:
    assert "".join(words(text)) == "".join(text.split())


@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 5))
def test_repeated_share_counts_what_stood_before(pieces: list[str], n: int) -> None:
    grams = [tuple(pieces[i : i + n]) for i in range(len(pieces) - n + 1)]
    again = sum(gram in grams[:i] for i, gram in enumerate(grams))
    assert repeated_share(pieces, n) == pytest.approx(again / len(grams) if grams else 0.0)


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([LONGEST_WORD, LONGEST_WORD + 1, 400]))
def test_a_run_too_long_for_a_word_is_taken_apart_wherever_it_stands(before: int, after: int, length: int) -> None:
    pieces = pieces_of("ab " * before + "x" * length + " cd" * after)
    assert len(pieces) == before + after + (1 if length <= LONGEST_WORD else length)


@given(LETTERS, st.lists(st.sampled_from(["a", "ab", "b a", "因为", "a因", "-", "b-", "_"]), min_size=1, max_size=5))
def test_keywords_are_found_as_a_regular_expression_finds_them(text: str, keywords: list[str]) -> None:
    def found(keyword: str) -> bool:
        han = "因为"
        left = r"(?<![ab_])" if keyword[0] not in han + "-" else ""
        right = r"(?![ab_])" if keyword[-1] not in han + "-" else ""
        return bool(re.search(left + re.escape(keyword) + right, re.sub(r"\s+", " ", text)))

    expected = [k for k in dict.fromkeys(keywords) if found(k)]
    assert Keywords(keywords).found_in(text) == expected
    padded = [*keywords, *(f"never{i}" for i in range(20))]  # the other way of looking, for many
    assert Keywords(padded).found_in(text) == expected


@given(st.text("abc", max_size=30), st.text("abc", max_size=30))
def test_the_common_subsequence_is_rapidfuzz_s(a: str, b: str) -> None:
    from rapidfuzz.distance import LCSseq

    assert common_subsequence(a, b) == LCSseq.similarity(a, b)


@given(st.text(max_size=100))
def test_normalizing_twice_changes_nothing_more_than_once(text: str) -> None:
    assert overlap(normalize(text), normalize(text))[2] == 1.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_tags_are_read_whatever_stands_in_them(think: str, answer: str) -> None:
    read = read_tags(f"<think>{think}</think><answer>{answer}</answer>", ["think", "answer"])
    if not re.search("</?(think|answer)>", think + answer):
        assert read.contents == {"think": think, "answer": answer}
        assert not read.faults


def test_sentences_of_several_scripts() -> None:
    assert len(sentences("एक वाक्य। दूसरा। A third? “A fourth.” 第五。第六！")) == 6
    assert sentences("...\n\n!!") == []


def test_scripts_are_told_apart() -> None:
    assert script_counts("a б γ 中 あ カ 한 ع א अ ก") == dict.fromkeys(
        (
            "latin",
            "cyrillic",
            "greek",
            "han",
            "hiragana",
            "katakana",
            "hangul",
            "arabic",
            "hebrew",
            "devanagari",
            "thai",
        ),
        1,
    )
    assert script_counts("ᚠ 42") == {"other": 1}


def test_prose_is_what_is_left_without_code_and_formulas() -> None:
    text = "Да `x = 1` $a_1$ \\(b\\) https://example.org/page <think> да\n```py\nlatin = 1\n```\nда"
    assert script_counts(prose(text)) == {"cyrillic": 6}


def test_code_blocks_follow_commonmark() -> None:
    assert code_blocks("~~~\n```\n~~~") == [("", "```\n")]
    assert code_blocks("```a\n1\n```\n    ```b\n2\n```") == [("a", "1\n")]
    assert code_blocks("```x `y`\n1\n```") == []


@pytest.mark.parametrize(
    ("template", "text", "fit"),
    [
        ("The answer is [NUM].", "The answer is -1,234.5.", Fit.EXACT),
        ("The answer is [NUM].", "The answer is 3/4.\n", Fit.EXACT),
        ("The answer is [NUM].", "The  answer\nis 4.", Fit.EXACT),
        ("The answer is [NUM].", "the answer is 4.", Fit.PARTIAL),
        ("The answer is [NUM].", "The answer is 4. Or is it?", Fit.PARTIAL),
        ("The answer is [NUM].", "The answer is unknown.", Fit.PARTIAL),
        ("The answer is [NUM].", "Breathe 4", Fit.NONE),
        ("The answer is [NUM].", "", Fit.NONE),
        ("The answer is [NUM]", "The answer is 4", Fit.EXACT),
        ("Answer: [LETTER]", "So\nAnswer: B", Fit.EXACT),
        ("Answer: [LETTER]", "Answer: Both", Fit.PARTIAL),
        ("Answer: [LETTER]", "It is (B", Fit.PARTIAL),
        ("Answer: [WORD]", "Answer: Zürich", Fit.EXACT),
        ("Answer: [WORD]", "It is Zürich", Fit.NONE),
        ("[TEXT] Therefore, [TEXT]!", "Because so.\nTherefore, yes!", Fit.EXACT),
        ("[TEXT] Therefore, [TEXT]!", "Therefore, yes!", Fit.PARTIAL),
        ("<a>[TEXT]</a>", "<a>\n</a>", Fit.PARTIAL),
        ("<a>[TEXT]</a>", "<a>x</a>", Fit.EXACT),
        ("[NUM] of [NUM]", "It was 3 of 4", Fit.EXACT),
        ("[NUM]", "2024", Fit.EXACT),
        ("[NUM]", "v2", Fit.NONE),
    ],
)
def test_templates(template: str, text: str, fit: Fit) -> None:
    assert read_template(template).fit(text) is fit


@pytest.mark.parametrize("template", ["", "  ", "The answer is [NUMBER].", "x" * 2000])
def test_a_template_that_is_none_is_refused(template: str) -> None:
    with pytest.raises(ConfigError):
        read_template(template)


@pytest.mark.parametrize("template", ["[TEXT]a[TEXT]a[TEXT]a[TEXT]b", "a [NUM] a [NUM]", "[WORD] [WORD] [WORD]."])
@pytest.mark.parametrize("text", ["a" * 500_000, "a 1 " * 100_000, "1" * 500_000, " " * 500_000 + "b"])
def test_no_template_is_slow(template: str, text: str) -> None:
    started = time.process_time()
    read_template(template).fit(text)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "NaN", "[Infinity]", "[" * 100_000, "1" * 10_000, "{", "", "[1,]"]
)
def test_what_is_no_json_is_said_in_words(text: str) -> None:
    with pytest.raises(NotJson, match=r"\w"):
        parse_json(text)


def test_canonical_json_is_one_for_equal_values() -> None:
    assert canonical({"b": [1.0, 2], "a": "é"}) == canonical({"a": "é", "b": [1, 2.0]})
    assert len({canonical(value) for value in (1, "1", True, None, [1], {"1": 1}, 1.5)}) == 7
