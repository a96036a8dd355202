import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import tokens as tk
from assay.types import RewardOutput, Tokens, Trajectory


def pieces(*parts: str, mask: tuple[bool, ...] = ()) -> Tokens:
    """Tokens that spell the parts, one after another."""
    offsets, at = [], 0
    for part in parts:
        offsets.append((at, at + len(part)))
        at += len(part)
    return Tokens(ids=list(range(len(parts))), offsets=offsets, mask=mask)


def cut(text, spans):
    return [text[a:b] for a, b in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n ", []),
        ("One. Two!  Three", ["One.", "Two!", "Three"]),
        ("Pi is 3.14, no? Yes.", ["Pi is 3.14, no?", "Yes."]),
        ("What?! Wait... so.", ["What?!", "Wait...", "so."]),
        ("一。二！三", ["一。", "二！", "三"]),
        ("line one\nline two", ["line one", "line two"]),
        ("😀. ...", ["😀.", "..."]),
    ],
)
def test_sentences(text, expected):
    assert cut(text, tk.sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a\n\nb\n \n\n c", ["a", "b", "c"]),
        ("Step 1: x\nmore\nStep 2: y", ["Step 1: x\nmore", "Step 2: y"]),
        ("Plan\n1. x\n2) y\n- z", ["Plan", "1. x", "2) y", "- z"]),
        ("3.5 is\n4.5 not a list", ["3.5 is\n4.5 not a list"]),
    ],
)
def test_steps(text, expected):
    assert cut(text, tk.steps(text)) == expected


def test_long_text_is_no_trap():
    for text in ("." * 200_000 + "a", "\n" * 200_000, " " * 200_000 + "x", "?! " * 70_000):
        tk.sentences(text)
        tk.steps(text)


def test_place_on_the_last_token_or_evenly():
    tokens = pieces("He", "llo", " wor", "ld")
    assert tk.place([(0, 5), (6, 11)], [1.0, -2.0], tokens) == [0.0, 1.0, 0.0, -2.0]
    assert tk.place([(0, 5), (6, 11)], [1.0, -2.0], tokens, spread="even") == [0.5, 0.5, -1.0, -1.0]
    with pytest.raises(ValueError, match="'last' or 'even'"):
        tk.place([(0, 1)], [1.0], tokens, spread="first")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="each of 1 spans; found 2"):
        tk.place([(0, 1)], [1.0, 2.0], tokens)
    with pytest.raises(ValueError, match="finite"):
        tk.place([(0, 1)], [math.inf], tokens)
    with pytest.raises(ValueError, match="offsets of 2 tokens; found 0"):
        tk.place([(0, 1)], [1.0], Tokens(ids=[1, 2]))


def test_a_span_that_was_cut_off_goes_to_the_last_token():
    assert tk.place([(0, 2), (10, 20)], [1.0, 1.0], pieces("ab", "cd")) == [1.0, 1.0]
    assert tk.place([], [], Tokens(ids=[])) == []
    with pytest.raises(ValueError, match="has no token to go to"):
        tk.place([(0, 1)], [1.0], Tokens(ids=[]))
    assert tk.place([(0, 1)], [0.0], Tokens(ids=[])) == []


def test_tool_output_gets_nothing():
    tokens = pieces("call ", "RESULT", " so 5", mask=(True, False, True))
    text = "call RESULT so 5"
    assert tk.place([(5, 11)], [1.0], tokens) == [1.0, 0.0, 0.0], "a tool's span is credited to what led to it"
    assert tk.place(tk.words(text), [1.0, 1.0, 1.0, 1.0], tokens) == [2.0, 0.0, 2.0]
    assert tk.turns(tokens) == [[0], [2]]
    assert tk.place_turns([0.5, 1.0], tokens) == [0.5, 0.0, 1.0]
    assert tk.place_turns([0.5, 1.0], pieces("a", "b", "c", "d", mask=(True, True, False, True)), "even") == [
        0.25,
        0.25,
        0.0,
        1.0,
    ]
    with pytest.raises(ValueError, match="each of 2 turns"):
        tk.place_turns([1.0], tokens)
    with pytest.raises(ValueError, match="each of 3 tokens; found 1"):
        tk.turns(pieces("a", "b", "c", mask=(True,)))


@st.composite
def placed(draw):
    parts = draw(st.lists(st.text(min_size=0, max_size=4), min_size=1, max_size=12))
    mask = draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    mask[draw(st.integers(0, len(parts) - 1))] = True
    size = sum(map(len, parts))
    span = st.tuples(st.integers(0, size + 3), st.integers(0, size + 3)).map(lambda ab: (min(ab), max(ab)))
    spans = draw(st.lists(span, max_size=8))
    values = draw(st.lists(st.floats(-10, 10), min_size=len(spans), max_size=len(spans)))
    return spans, values, pieces(*parts, mask=tuple(mask)), draw(st.sampled_from(["last", "even"]))


@given(placed())
def test_the_sum_is_kept_whatever_the_spans(case):
    spans, values, tokens, spread = case
    row = tk.place(spans, values, tokens, spread)
    assert math.fsum(row) == pytest.approx(math.fsum(values), abs=1e-9)
    assert all(r == 0.0 for r, own in zip(row, tokens.mask) if not own)


def lowered(token_rewards, reward, tokens, response="it is because so", **options):
    output = RewardOutput(reward, token_rewards=token_rewards)
    return tk.lower(output, Trajectory(response=response, tokens=tokens), **options)


def test_lower_understands_words_tokens_and_none():
    tokens = pieces("it", " is be", "cause", " so", "")  # the last one is an end-of-sequence token
    assert lowered([0.0, 0.0, 0.1, 0.0], 0.1, tokens) == [0.0, 0.0, 0.1, 0.0, 0.0]
    assert lowered([0.0, 0.0, 0.1, 0.0, 0.2], 0.3, tokens) == [0.0, 0.0, 0.1, 0.0, 0.2]
    assert lowered([], 0.7, tokens) == [0.0, 0.0, 0.0, 0.0, 0.7]
    assert lowered([0.1], None, tokens) == [0.0] * 5
    with pytest.raises(ValueError, match="5 sampled tokens or for 4 whitespace words; found 2"):
        lowered([0.1, 0.2], 0.3, tokens)
    with pytest.raises(ValueError, match="needed the sampled tokens"):
        lowered([], 1.0, None)


def test_lower_checks_that_nothing_is_lost():
    tokens = pieces("a", " b")
    with pytest.raises(ValueError, match=r"sum to 0\.2, the reward is 1"):
        lowered([0.1, 0.1], 1.0, tokens, "a b")
    assert lowered([0.1, 0.1], 1.0, tokens, "a b", remainder="last") == pytest.approx([0.1, 0.9])
    with pytest.raises(ValueError, match=r"token 0 has a reward of 0\.5, but the policy did not write it"):
        lowered([0.5, 0.5], 1.0, pieces("a", " b", mask=(False, True)), "a b")


def test_padded():
    assert tk.padded([[1.0], [], [2.0, 3.0]]) == [[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]]
    assert tk.padded([[1.0]], width=3) == [[1.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match="row 0 has 2 tokens; the rectangle is 1 wide"):
        tk.padded([[1.0, 2.0]], width=1)


def test_advantages_on_tokens():
    tokens = pieces("a", "b", "c", mask=(True, False, True))
    assert tk.broadcast([0.5, -0.5], [tokens, pieces("x")]) == [[0.5, 0.0, 0.5], [-0.5]]
    assert tk.reward_to_go([1.0, 0.0, 2.0]) == [3.0, 2.0, 2.0]
    assert tk.reward_to_go([1.0, 7.0, 2.0], mask=[True, False, True], gamma=0.5) == [2.0, 0.0, 2.0]


def test_process_advantages_count_wrong_steps_too():
    tokens = pieces("ab", "cd")
    spans = [(0, 2), (2, 4)]
    rows = tk.process_advantages([[1.0, 0.0], [1.0, 1.0]], [spans, spans], [tokens, tokens], num_generations=2)
    assert rows[0][1] < 0 < rows[1][1]
    assert rows[0][0] < rows[1][0]
    with pytest.raises(ValueError, match="1 trajectories do not divide into groups of 2"):
        tk.process_advantages([[1.0]], [spans[:1]], [tokens], num_generations=2)


# -- a real tokenizer ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def byte_level():
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)}
    vocab |= {"th": len(vocab), "the": len(vocab) + 1}
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=[("t", "h"), ("th", "e")]))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    inner.add_special_tokens(["<|end|>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>")


@pytest.mark.parametrize("text", ["the other", "x = 😀 + é", "שלום", "", "a\ufffdb", "日本語。"])
def test_align_finds_the_tokenizers_own_offsets(byte_level, text):
    encoded = byte_level(text, return_offsets_mapping=True, add_special_tokens=False)
    tokens = tk.align(byte_level, [*encoded["input_ids"], byte_level.eos_token_id], text)
    assert list(tokens.offsets[:-1]) == [tuple(o) for o in encoded["offset_mapping"]]
    assert tokens.offsets[-1] == (len(text), len(text))


def test_align_takes_the_sampled_pieces_and_not_the_tokenizers(byte_level):
    ids = byte_level.convert_tokens_to_ids(["t", "h", "e"])  # the tokenizer itself would write one token
    assert tk.align(byte_level, ids, "the").offsets == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(ValueError, match=r"token 1 is 'h', and the response goes on with 'o'"):
        tk.align(byte_level, ids, "to")


def test_a_character_of_four_tokens_gets_its_reward_once(byte_level):
    text = "a 😀 b"
    ids = byte_level(text, add_special_tokens=False)["input_ids"]
    tokens = tk.align(byte_level, ids, text)
    row = tk.lower(RewardOutput(1.0, token_rewards=[0.0, 1.0, 0.0]), Trajectory(response=text, tokens=tokens))
    assert sum(row) == 1.0
    assert row.index(1.0) == len(ids) - 3


CORPUS = [
    "the quick brown fox. So we have 2 + 2 = 4.",
    "שלום עולם",
    "日本語のテキスト。",
    "naïve café",
    "x = 😀\n\tdef f(x):",
] * 20


def bytes_of_gpt(tk):
    made = tk.Tokenizer(tk.models.BPE())
    made.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tk.decoders.ByteLevel()
    alphabet = tk.pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(CORPUS, tk.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    return made


def pieces_of_llama(tk):
    """Spaces as a sign before the word, and bytes for what has no piece."""
    learnt = tk.Tokenizer(tk.models.Unigram())
    learnt.pre_tokenizer = tk.pre_tokenizers.Metaspace()
    learnt.train_from_iterator(CORPUS, tk.trainers.UnigramTrainer(vocab_size=150, unk_token="<unk>"))
    bytes_ = [(f"<0x{i:02X}>", -10.0) for i in range(256)]
    vocab = [("<unk>", 0.0), *bytes_, *((p, -5.0) for p in sorted(learnt.get_vocab()) if p != "<unk>")]
    made = tk.Tokenizer(tk.models.Unigram(vocab, unk_id=0, byte_fallback=True))
    made.pre_tokenizer = tk.pre_tokenizers.Metaspace()
    d = tk.decoders
    made.decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    return made


def pieces_of_bert(tk):
    made = tk.Tokenizer(tk.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tk.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    made.decoder = tk.decoders.WordPiece()
    made.train_from_iterator(CORPUS, tk.trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]"]))
    return made


@pytest.mark.parametrize("make", [bytes_of_gpt, pieces_of_llama, pieces_of_bert])
def test_whatever_is_sampled_has_its_place_in_the_text(make):
    """Any ids that a policy may sample, broken bytes too: offsets in order, the whole text covered, the sum kept."""
    import random

    library = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=make(library), eos_token="<|end|>")
    rng = random.Random(0)
    parts = [
        "the ",
        "  ",
        "\n\n",
        "😀",
        "👩‍👧",
        "é",
        "日本",
        "。",
        "שלום",
        " 2 + 2 = 4. ",
        "\ufffd",
        "\t",
        "x",
        " n't",
        " ,",
    ]
    for i in range(300):
        said = "".join(rng.choices(parts, k=rng.randint(0, 8)))
        wild = [rng.randrange(len(tokenizer)) for _ in range(rng.randint(0, 12))]
        ids = [*(tokenizer(said, add_special_tokens=False)["input_ids"] if i % 2 else wild), tokenizer.eos_token_id]
        text = tokenizer.decode(ids, skip_special_tokens=True)
        tokens = tk.align(tokenizer, ids, text)
        ends = [end for _, end in tokens.offsets]
        assert len(ends) == len(ids)
        assert ends == sorted(ends)
        assert ends[-1] == len(text), (ids, text, tokens.offsets)
        values = [rng.choice([0.0, 1.0, -0.5]) for _ in text.split()]
        assert sum(tk.place(tk.words(text), values, tokens)) == pytest.approx(sum(values))
