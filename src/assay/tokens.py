"""Rewards that are finer than a response: on spans, words, sentences, steps or turns, mapped to the sampled tokens.

    >>> text = "2 + 2 = 4. So 5."
    >>> tokens = Tokens(ids=[1, 2, 3], offsets=[(0, 8), (8, 10), (10, 16)])
    >>> place(sentences(text), [1.0, -1.0], tokens)
    [0.0, 1.0, -1.0]

`lower` does it for what a reward returned, and checks that nothing is lost on the way: the token rewards sum to the
reward. A list with one number a token for each trajectory is what SkyRL takes; `padded` makes the rectangle that verl
takes. Tokens that the policy did not write (`mask` False: a tool's output) never get any.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from assay.advantage import GRPOAdvantage
from assay.types import RewardOutput, Tokens, Trajectory

Span: TypeAlias = tuple[int, int]
"""The characters `[start, end)` of a response."""

Spread: TypeAlias = Literal["last", "even"]
"""Which tokens of a span get its reward: the last one (as with process reward models), or all in equal parts."""

TOLERANCE = 1e-6
"""How far the token rewards' sum may be from the reward, relative to it."""

# -- what a response consists of -------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"\S.*?(?:[.!?।؟](?=\s|$)|[。！？](?![。！？])|(?=\n)|$)", re.DOTALL)
_BETWEEN_STEPS = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]*(?:step\s\d|\d{1,3}[.)]\s|[-*•]\s))", re.IGNORECASE)


def words(text: str) -> list[Span]:
    """The whitespace words, as `str.split` finds them."""
    return [m.span() for m in re.finditer(r"\S+", text)]


def sentences(text: str) -> list[Span]:
    """The sentences: up to a full stop before white space, a CJK full stop anywhere, or a line's end."""
    return [m.span() for m in _SENTENCE.finditer(text)]


def steps(text: str) -> list[Span]:
    """The steps of a solution: parted by blank lines, and by lines that begin a list item or say `Step 3`."""
    cuts = [0]
    for m in _BETWEEN_STEPS.finditer(text):
        cuts += m.span()
    cuts.append(len(text))
    return [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=True) if text[a:b].strip()]


def turns(tokens: Tokens) -> list[list[int]]:
    """The policy's turns: for each run of tokens that it wrote, their positions. Tool output parts them."""
    runs: list[list[int]] = []
    previous = -2
    for i in _own(tokens):
        if i != previous + 1:
            runs.append([])
        runs[-1].append(i)
        previous = i
    return runs


# -- where the tokens are --------------------------------------------------------------------------------------------


_INCOMPLETE = "\ufffd"  # how a decoder shows bytes that are no character, or none yet
_LONGEST_PENDING = 64
_CONTEXT = 8
_PLAIN: dict[str, Any] = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}


def align(tokenizer: Any, ids: Sequence[int], text: str, mask: Sequence[bool] = ()) -> Tokens:
    """Find the characters that each sampled token stands for, with any tokenizer that can `decode`.

    The sampled ids are decoded, not the text encoded anew: a policy may write a word in other pieces than the
    tokenizer would. Pieces of one character (bytes of an emoji) all stand for that character; special tokens, and
    those past the text, stand for nothing.
    """
    offsets: list[Span] = []
    pending: list[int] = []
    held = ""  # what the pending tokens but the last decode to
    start = 0
    for i, token in enumerate(ids):
        pending.append(int(token))
        piece: str = tokenizer.decode(pending, **_PLAIN)
        if piece.endswith(_INCOMPLETE) and i + 1 < len(ids) and len(pending) < _LONGEST_PENDING:
            held = piece
            continue
        if not piece or not text.startswith(piece, start):
            # some pieces read otherwise when they are decoded alone: a space is dropped, "##s" is no "s"
            piece = _in_context(tokenizer, ids, slice(i + 1 - len(pending), i + 1), piece, (text, start))
        found = _spans(text, start, piece, held, len(pending))
        if not found and start < len(text):
            raise ValueError(
                f"the sampled tokens do not spell the response: token {i} is {piece!r}, and the response goes on with "
                f"{text[start : start + 20]!r}. Give align() the text that these ids decode to."
            )
        offsets += found or [(start, start)] * len(pending)
        start = offsets[-1][1]
        pending, held = [], ""
    return Tokens(ids=list(ids), offsets=offsets, mask=mask)


def _spans(text: str, start: int, piece: str, held: str, count: int) -> list[Span]:
    """The characters of each of `count` tokens that spell `piece`; nothing where the text goes on otherwise."""
    if text.startswith(piece, start):
        middle, end = start + len(held), start + len(piece)
        if held and piece.startswith(held):  # the text really has that sign, and the last token is behind it
            return [(start, middle)] * (count - 1) + [(middle, end)]
        return [(start, end)] * count
    signs = next((i for i in range(count) if text[start + i : start + i + 1] != _INCOMPLETE), count)
    # bytes that are a character alone are none in a run of bytes that is broken: each shows as a sign of its own
    return [(start + min(i, signs), start + min(i + 1, signs)) for i in range(count)] if signs else []


def _in_context(tokenizer: Any, ids: Sequence[int], place: slice, alone: str, at: tuple[str, int]) -> str:
    """What the tokens of a place spell behind those before them, where the text goes on so; else as it was."""
    before = [int(i) for i in ids[max(0, place.start - _CONTEXT) : place.start]]
    head: str = tokenizer.decode(before, **_PLAIN)
    whole: str = tokenizer.decode([*before, *(int(i) for i in ids[place])], **_PLAIN)
    behind = whole[len(head) :] if before and whole.startswith(head) else alone
    return next(
        (piece for piece in (behind, " " + alone) if piece.strip(" ") and at[0].startswith(piece, at[1])), behind
    )


def _own(tokens: Tokens) -> list[int]:
    """The positions of the tokens that the policy wrote."""
    if not tokens.mask:
        return list(range(len(tokens.ids)))
    if len(tokens.mask) != len(tokens.ids):
        raise ValueError(f"needed a mask entry for each of {len(tokens.ids)} tokens; found {len(tokens.mask)}.")
    return [i for i, own in enumerate(tokens.mask) if own]


# -- rewards on tokens -----------------------------------------------------------------------------------------------


def place(spans: Sequence[Span], values: Sequence[float], tokens: Tokens, spread: Spread = "last") -> list[float]:
    """Give each span's reward to the tokens that stand for it: one number a token, and the sum is kept."""
    if len(spans) != len(values):
        raise ValueError(f"needed a reward for each of {len(spans)} spans; found {len(values)}.")
    return _share(covering(spans, tokens), values, len(tokens.ids), spread)


def covering(spans: Sequence[Span], tokens: Tokens) -> list[list[int]]:
    """For each span the positions of the policy's tokens that stand for it.

    A span that none stands for (cut off, or a tool's) has the last token before it, or the first one; it has none only
    where the policy wrote nothing at all.
    """
    if len(tokens.offsets) != len(tokens.ids):
        raise ValueError(
            f"needed the offsets of {len(tokens.ids)} tokens; found {len(tokens.offsets)}. "
            f"assay.tokens.align(tokenizer, ids, text) finds them."
        )
    own = [i for i in _own(tokens) if tokens.offsets[i][1] > tokens.offsets[i][0]]
    ends = [tokens.offsets[i][1] for i in own]
    if any(a > b for a, b in itertools.pairwise(ends)):
        raise ValueError("needed offsets in the order of the text; found some that go back.")
    found: list[list[int]] = []
    for start, end in spans:
        first = after = bisect.bisect_right(ends, start)
        while after < len(own) and tokens.offsets[own[after]][0] < end:
            after += 1
        found.append(own[first:after] or own[max(0, first - 1) : max(1, first)] or _own(tokens)[-1:])
    return found


def place_turns(values: Sequence[float], tokens: Tokens, spread: Spread = "last") -> list[float]:
    """Give each turn's reward to the tokens that the policy wrote in it."""
    runs = turns(tokens)
    if len(runs) != len(values):
        raise ValueError(f"needed a reward for each of {len(runs)} turns of the policy; found {len(values)}.")
    return _share(runs, values, len(tokens.ids), spread)


def _share(chosen: Sequence[Sequence[int]], values: Sequence[float], size: int, spread: Spread) -> list[float]:
    if spread not in ("last", "even"):
        raise ValueError(f"needed spread='last' or 'even'; found {spread!r}.")
    row = [0.0] * size
    for positions, value in zip(chosen, values, strict=True):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"needed finite rewards; found {number}.")
        if not positions and number:
            raise ValueError(f"a reward of {number} has no token to go to: the response has none of the policy's.")
        if spread == "last":
            positions = positions[-1:]
        for i in positions:
            row[i] += number / len(positions)
    return row


def lower(
    output: RewardOutput,
    trajectory: Trajectory,
    *,
    spread: Spread = "last",
    remainder: Literal["refuse", "last"] = "refuse",
) -> list[float]:
    """What a reward said of a trajectory, as one number for each sampled token; they sum to the reward.

    `token_rewards` may be one a token or one a whitespace word of the response. Without them the reward goes to the
    policy's last token. Where they do not sum to the reward this is refused, or the rest goes to the last token too.
    What was not scored is all zeros: mask it (`output.scored`).
    """
    tokens = trajectory.tokens
    if tokens is None:
        raise ValueError("needed the sampled tokens: Trajectory(..., tokens=Tokens(ids, offsets)), or align() them.")
    last = _own(tokens)[-1:]
    size = len(tokens.ids)
    if output.reward is None:
        return [0.0] * size
    if not output.token_rewards:
        return _share([last], [output.reward], size, "last")
    row = _per_token(output.token_rewards, trajectory.response, tokens, spread)
    if remainder == "last":
        rest = output.reward - math.fsum(row)
        return [a + b for a, b in zip(row, _share([last], [rest], size, "last"), strict=True)]
    check_sum(row, output.reward)
    return row


def _per_token(given: Sequence[float], text: str, tokens: Tokens, spread: Spread) -> list[float]:
    if len(given) == len(tokens.ids):
        own = set(_own(tokens))
        stray = next((i for i, r in enumerate(given) if r and i not in own), None)
        if stray is not None:
            raise ValueError(f"token {stray} has a reward of {given[stray]}, but the policy did not write it.")
        return [float(r) for r in given]
    spans = words(text)
    if len(given) != len(spans):
        raise ValueError(
            f"needed token_rewards for {len(tokens.ids)} sampled tokens or for {len(spans)} whitespace words; "
            f"found {len(given)}."
        )
    return place(spans, given, tokens, spread)


def check_sum(token_rewards: Sequence[float], reward: float, tolerance: float = TOLERANCE) -> None:
    """Refuse token rewards that do not sum to the sequence's reward: something was lost, or counted twice."""
    total = math.fsum(token_rewards)
    if not math.isclose(total, reward, rel_tol=tolerance, abs_tol=tolerance):
        raise ValueError(
            f"the token rewards sum to {total:.6g}, the reward is {reward:.6g}. Make the reward their sum, or give "
            f"the rest to the last token: remainder='last'."
        )


def padded(rows: Sequence[Sequence[float]], width: int | None = None) -> list[list[float]]:
    """A rectangle, filled with zeros to the right, as verl's `token_level_scores`; `torch.tensor` takes it as it is."""
    width = max(map(len, rows), default=0) if width is None else width
    long = next((i for i, row in enumerate(rows) if len(row) > width), None)
    if long is not None:
        raise ValueError(f"row {long} has {len(rows[long])} tokens; the rectangle is {width} wide.")
    return [[*row, *[0.0] * (width - len(row))] for row in rows]


# -- advantages on tokens --------------------------------------------------------------------------------------------


def broadcast(advantages: Sequence[float], tokens: Sequence[Tokens]) -> list[list[float]]:
    """A sequence's advantage on each token that the policy wrote, 0 on the others."""
    rows: list[list[float]] = []
    for advantage, sampled in zip(advantages, tokens, strict=True):
        own = set(_own(sampled))
        rows.append([float(advantage) if i in own else 0.0 for i in range(len(sampled.ids))])
    return rows


def reward_to_go(token_rewards: Sequence[float], mask: Sequence[bool] = (), gamma: float = 1.0) -> list[float]:
    """For each token the rewards that come with it and after it; tokens outside the mask get 0 and cost no discount."""
    out = [0.0] * len(token_rewards)
    running = 0.0
    for i in range(len(token_rewards) - 1, -1, -1):
        if not mask or mask[i]:
            running = float(token_rewards[i]) + gamma * running
            out[i] = running
    return out


def process_advantages(
    values: Sequence[Sequence[float]], spans: Sequence[Sequence[Span]], tokens: Sequence[Tokens], num_generations: int
) -> list[list[float]]:
    """GRPO with process supervision: a token's advantage is the sum of the normalised rewards of the steps that end
    with it or after it. The steps of a group's responses are normalised together.

    >>> sampled = Tokens(ids=[1, 2], offsets=[(0, 4), (4, 8)])
    >>> rows = process_advantages([[1.0, 1.0], [0.0, 0.0]], [[(0, 4), (4, 8)]] * 2, [sampled] * 2, num_generations=2)
    >>> [[round(a, 2) for a in row] for row in rows]
    [[1.73, 0.87], [-1.73, -0.87]]
    """
    flat = [float(v) for row in values for v in row]
    groups = [i // num_generations for i, row in enumerate(values) for _ in row] if num_generations > 0 else []
    if num_generations < 1 or len(values) % num_generations:
        raise ValueError(f"{len(values)} trajectories do not divide into groups of {num_generations}.")
    normalised = iter(GRPOAdvantage()(flat, groups=groups))
    out: list[list[float]] = []
    for row, steps_of, sampled in zip(values, spans, tokens, strict=True):
        placed = place(steps_of, [next(normalised) for _ in row], sampled)
        out.append(reward_to_go(placed, sampled.mask))
    return out
