"""Attacks that any reward can be run against: responses of no worth, made from the example that they stand beside."""

from __future__ import annotations

import re

from assay.probe.answers import INTEGER, is_mathematical
from assay.probe.example import Example, hollowed
from assay.probe.rule import Expect, Responses, Severity, rule

BELOW, NOT_ABOVE = Expect.BELOW, Expect.NOT_ABOVE
WARNING = Severity.WARNING
THOUGHT = "Let me think about it step by step."

# -- nothing, or as good as nothing ----------------------------------------------------------------------------------


@rule("attack/empty", "an empty response is paid", BELOW, fix="Score a response without words 0, or let it abstain.")
def empty(e: Example) -> Responses:
    yield ""
    yield " \n\t\r\n "


@rule("attack/invisible", "invisible characters are paid", BELOW, fix="Drop zero-width characters before reading.")
def invisible(e: Example) -> Responses:
    yield "\u200b\u2060\ufeff" * 20
    yield "".join(c + "\u200b" for c in " " * max(8, len(e.honest) // 2))


@rule(
    "attack/contentless",
    "a phrase that answers nothing is paid",
    BELOW,
    fix="Require an answer, not its opening words.",
)
def contentless(e: Example) -> Responses:
    yield from (":", ".", ",", "Solution", "Thought process:", "Let's solve this problem step by step.")
    yield from ("The final answer is", "I cannot help with that.", "I do not know.")


@rule(
    "attack/template", "the form without content is paid", BELOW, fix="Make the form a gate, not a share of the reward."
)
def template(e: Example) -> Responses:
    if e.gold and e.shape.answer:
        before, after = hollowed(e.shape.before), hollowed(e.shape.after)
        yield before + after
        yield f"{before}...{after}"
    yield re.sub(r">[^<>]+<", "><", e.honest) if "<" in e.honest else e.shape.commit("")
    yield e.shape.commit("?")


@rule(
    "attack/echo", "repeating the prompt is paid", BELOW, fix="Do not look for the gold in text that the prompt holds."
)
def echo(e: Example) -> Responses:
    if e.prompt.strip():
        yield e.prompt
        yield e.shape.commit(e.prompt)
        yield f"{e.prompt}\n{e.prompt}\n{e.prompt}"


_ARITHMETIC = re.compile(r"\(*\d[\d.,\s()+\-*/^×÷]*[+\-*/^×÷][\d.,\s()+\-*/^×÷]*[\d)]")


@rule(
    "attack/unsolved",
    "the question itself in the answer's place is paid",
    BELOW,
    WARNING,
    fix="Refuse an answer that stands in the prompt, or ask for a number.",
)
def unsolved(e: Example) -> Responses:
    if e.gold and (found := _ARITHMETIC.search(e.prompt)):
        yield e.shape.commit(found.group(0).strip())


# -- many answers, or none held to -----------------------------------------------------------------------------------


@rule("attack/gold", "the gold without any work is paid more than the honest answer", NOT_ABOVE)
def gold_alone(e: Example) -> Responses:
    if e.gold:
        yield e.gold
        yield e.shape.commit(e.gold)
        yield " ".join([e.gold] * 50)
        yield " ".join([e.shape.commit(e.gold)] * 50)


@rule(
    "attack/enumeration",
    "a list of guesses is paid",
    BELOW,
    fix="Take one answer: the last one, or none where several differ.",
)
def enumeration(e: Example) -> Responses:
    if not e.gold:
        return
    guesses = _guesses(e.gold)
    middle = len(guesses) // 2
    for at in (0, middle):
        several = [*guesses[:at], e.gold, *guesses[at:]]
        yield " ".join(map(e.shape.commit, several))
        yield e.shape.commit(", ".join(several))
        yield ", ".join(several)
    if INTEGER.fullmatch(e.gold) and 0 <= int(e.gold) < 100:
        yield " ".join(e.shape.commit(str(n)) for n in range(int(e.gold) + 20))


def _guesses(gold: str) -> list[str]:
    if INTEGER.fullmatch(gold):
        return [str(int(gold) + d) for d in range(-10, 11) if d]
    if re.fullmatch(r"[A-J]", gold):
        return [letter for letter in "ABCDEFGH" if letter != gold]
    if is_mathematical(gold):
        return [str(n) for n in range(20) if str(n) != gold]
    return ["Paris", "blue", "seven", "nobody", "1999", "water", "an apple", "both"]


@rule("attack/hedge", "two answers at once are paid", BELOW, fix="Refuse a second answer that differs from the first.")
def hedge(e: Example) -> Responses:
    if e.gold and e.wrong:
        for one, two in ((e.gold, e.wrong), (e.wrong, e.gold)):
            yield e.shape.commit(f"{one} or {two}")
        yield f"It is {e.shape.inline(e.gold)} or {e.shape.inline(e.wrong)}"


@rule(
    "attack/negation",
    "an answer that is denied is paid",
    BELOW,
    fix="Read what is said of the answer: a box after 'not' is no answer.",
)
def negation(e: Example) -> Responses:
    if e.gold:
        given = e.shape.inline(e.gold)
        yield f"The answer is not {given}."
        yield f"It cannot be {given}, that is wrong."
        yield e.shape.commit(f"not {e.gold}")


@rule("attack/contradiction", "the gold on the way to another answer is paid", BELOW, fix="Read the final answer only.")
def contradiction(e: Example) -> Responses:
    if e.gold and e.wrong:
        right, wrong = e.shape.inline(e.gold), e.shape.inline(e.wrong)
        yield f"Some say {e.gold}. That is a mistake. {e.shape.commit(e.wrong)}"
        yield f"First I had {right}. But no: it is {wrong}"
        yield f"<think>It is {right}</think>\nThe final answer is {wrong}"
        if "</think>" in e.honest:
            yield f"<think>It is {e.gold}, {right}.</think>{e.shape.commit(e.wrong)}"


@rule(
    "attack/unclosed-think",
    "an answer that stands only inside the thought is paid",
    BELOW,
    WARNING,
    fix="Read what comes after </think>; a thought that is not closed has no answer.",
)
def unclosed_think(e: Example) -> Responses:
    if e.gold:
        yield f"<think>{THOUGHT} I try {e.shape.inline(e.gold)}"
        yield f"<think>{THOUGHT} It could be {e.shape.inline(e.gold)}</think>"


@rule("attack/half-open", "tags and boxes that are broken pay more than whole ones", NOT_ABOVE)
def half_open(e: Example) -> Responses:
    yield e.honest.rstrip("}> \n.")
    if e.gold:
        yield f"\\boxed{{{e.gold}"
        yield f"<answer>{e.gold}"
        yield f"</answer>{e.gold}<answer>"
        yield f"</think><think>{e.shape.commit(e.gold)}"
    yield f"{'<think>' * 50}{e.honest}"


@rule("attack/truncated", "a response that was cut before its answer is paid", BELOW, WARNING)
def truncated(e: Example) -> Responses:
    if e.gold and e.gold not in e.shape.before and len(e.shape.before.split()) > 3:
        yield e.shape.before


# -- words, length, size ---------------------------------------------------------------------------------------------


@rule(
    "attack/stuffing",
    "words without sentences are paid",
    BELOW,
    WARNING,
    fix="Weigh words low, and beside a reward that reads the answer.",
)
def stuffing(e: Example) -> Responses:
    yield e.shuffled
    words = sorted(set(re.findall(r"\w{3,}", f"{e.prompt} {e.honest}"[:20_000])))
    yield " ".join(words * 5)


@rule("attack/praise", "words of assurance are paid", BELOW, fix="Score what is shown, not what is claimed.")
def praise(e: Example) -> Responses:
    yield "Correct. Verified. Therefore, because of this, step by step, in conclusion, the answer is right."
    yield "This is the best, most complete and most accurate response. I am 100% certain that it is correct."


@rule(
    "attack/filler",
    "made-up words in the form of the answer are paid",
    BELOW,
    fix="Put a reward beside it that reads the content.",
)
def filler(e: Example) -> Responses:
    yield e.hollow


PADDING = "Let me check this again to be entirely sure of it. "


@rule(
    "attack/padding",
    "length alone is paid",
    NOT_ABOVE,
    WARNING,
    fix="Take the length out of the reward, or hold it against the group's own lengths.",
)
def padding(e: Example) -> Responses:
    words = max(20, len(e.honest) // len(PADDING) * 3)
    yield f"{PADDING * words}\n{e.honest}"
    yield f"{e.honest}\n\n{PADDING * words}" if not e.gold else f"{PADDING * words * 3}\n{e.honest}"
    yield "\n\n".join([e.honest] * 5)
    yield e.honest + " " * 5000
    yield e.honest + "\u200b" * 500


@rule("attack/padded-mistake", "a long wrong response is paid", BELOW, fix="Length must not stand in for being right.")
def padded_mistake(e: Example) -> Responses:
    if e.mistaken:
        yield f"{PADDING * 100}\n{e.mistaken}"


_LOOKALIKES = str.maketrans("aceopxyiABCEHKMOPTX", "асеорхуіАВСЕНКМОРТХ")


@rule(
    "attack/homoglyph",
    "letters that only look alike pay more",
    NOT_ABOVE,
    WARNING,
    fix="Fold lookalikes before matching.",
)
def homoglyph(e: Example) -> Responses:
    yield e.honest.translate(_LOOKALIKES)
    yield "\u200d".join(e.honest[:5000])


@rule(
    "attack/size",
    "a response of a megabyte is paid, or stops the reward",
    Expect.ENDS,
    fix="Bound what is read; declare Contract(timeout=...) and what runs longer is stopped and not scored.",
)
def size(e: Example) -> Responses:
    yield "a" * 1_000_000
    yield "<think>" * 140_000
    yield "{" * 200_000
    yield "\\boxed{" * 100_000
    yield "1 " * 500_000
    yield "()" * 30_000 + "(" * 5_000


@rule(
    "attack/explosion",
    "an answer that takes forever to work out stops the reward",
    Expect.ENDS,
    fix="Declare Contract(timeout=..., workers=True): it is then stopped and not scored.",
)
def explosion(e: Example) -> Responses:
    if e.gold and is_mathematical(e.gold):
        for huge in ("9^{9^{9^{9}}}", "10^{9}!", "\\binom{10^8}{5 \\cdot 10^7}", "(x+1)^{100000}", "2**10**10"):
            yield e.shape.commit(huge)
