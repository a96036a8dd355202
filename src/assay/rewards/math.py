r"""Rewards for answers that are mathematics: right or wrong, how near a number is, and multiple choice.

One real row: `{"prompt": "What is 1/2 + 1/4?", "response": "So \\boxed{0.75}.", "ground_truth": "\\frac{3}{4}"}`
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import Any, cast

from assay.contract import Contract
from assay.described import described
from assay.errors import ConfigError
from assay.math.forms import unwrap
from assay.math.grade import grade_answer, stated_answer
from assay.math.prompt import Prompt
from assay.math.reading import Reading
from assay.math.relations import value_of
from assay.math.scalars import number
from assay.math.tree import Quantity, Relation, variables
from assay.math.verdict import Form, Options, read_gold
from assay.math.words import led_choice, normal_words, only_number
from assay.reward import RewardFunction
from assay.text.extract import FinalAnswer, after_thinking, final_answer
from assay.types import RewardOutput, Trajectory

# -- the gold --------------------------------------------------------------------------------------------------------


def gold_answers(truth: Any) -> tuple[str, ...]:
    """The acceptable answers that a ground truth states: one, several, or those at the end of worked solutions."""
    if truth is None:
        return ()
    if isinstance(truth, str):
        answer = stated_answer(truth)
        return (answer,) if answer else ()
    if isinstance(truth, Mapping):
        row = Trajectory.of(cast("Mapping[str, Any]", truth))
        if row.response.strip():
            return gold_answers(row.response)
        columns = {"ground_truth": row.ground_truth, **dict(row.metadata.get("user_data") or ()), **row.metadata}
        return gold_answers(next((columns[name] for name in _GOLD_NAMES if columns.get(name) is not None), None))
    if isinstance(truth, list | tuple):
        return tuple(answer for item in cast("Sequence[Any]", truth) for answer in gold_answers(item))
    if isinstance(truth, bytes):
        return gold_answers(truth.decode("utf-8", "replace"))
    return () if truth != truth else (str(truth),)  # not a number


_GOLD_NAMES = ("ground_truth", "answer", "final_answer", "solution", "target")
"""What a row calls its ground truth, the surest name first."""


def _unreadable(golds: Sequence[str]) -> str:
    """Why none of the gold answers can be compared with anything; empty where one can."""
    if not golds:
        return "there is no ground truth"
    problems: list[str] = []
    for text in golds:
        gold = read_gold(text)
        if gold.node is not None or (_IN_WORDS.search(gold.words) and "\\" not in gold.words):
            return ""
        problems.append(f"{text[:60]!r}: {gold.problem or 'nothing is written'}")
    return "the ground truth cannot be read: " + "; ".join(problems[:3])


_IN_WORDS = re.compile(r"[^\W\d_]")


# -- right or wrong --------------------------------------------------------------------------------------------------


@dataclass
class MathReward(RewardFunction):
    r"""1 when the final answer of the response is the ground truth (or one of several), 0 when it is not.

    Equal is meant mathematically: `\frac{\sqrt2}{2}`, `1/√2` and `2^{-1/2}` are one answer. Not scored where the ground
    truth cannot be read. A ground truth may also be a worked solution, a row or a list of acceptable answers.

    Example:
        >>> MathReward()([{"response": r"So \boxed{0.75}", "ground_truth": r"\frac34"}])
        [1.0]

    Hacked by: handing back the question: where 5050 is asked for, `\sum_{k=1}^{100} k` is equal to it (`form="same"`
    refuses that); guessing, where few answers are possible.
    """

    tolerance: float = 0.0
    """Relative distance within which a real number is right as well; 0: exact."""
    strict: bool = True
    """Two different final answers in one breath are no answer; otherwise the last of them counts."""
    form: Form = "any"
    """`same`: the form counts too: where the ground truth is factored, so must the answer be."""
    rounding: bool = True
    """An exact answer that rounds to a decimal ground truth is right, and so are nine digits of an exact one."""

    contract = Contract(columns=("ground_truth",))

    def __post_init__(self) -> None:
        if not 0.0 <= self.tolerance < 1.0:
            raise ConfigError(f"reward 'math' needs a tolerance from 0 to below 1; found {self.tolerance}.")
        if self.form not in ("any", "same"):
            raise ConfigError(f"reward 'math' needs form 'any' or 'same'; found {self.form!r}.")

    def compute_rewards(self, trajectories: Sequence[Trajectory]) -> list[RewardOutput]:
        options, clock = Options(self.tolerance, self.form, self.rounding), time.perf_counter
        prompts: dict[Any, Prompt] = {}
        outputs: list[RewardOutput] = []
        began = clock()
        # First what all of them say, then what is to be said of it: what is done again at once is done faster.
        answers = [final_answer(t.response) for t in trajectories]
        share = ((then := clock()) - began) / max(1, len(answers))
        for t, found in zip(trajectories, answers, strict=True):
            truth = t.ground_truth
            key = truth if isinstance(truth, str) else (repr(truth),)
            prompt = prompts.get(key)
            if prompt is None:  # a ground truth is read once
                golds = gold_answers(truth)
                prompt = prompts[key] = Prompt(golds, options, self.strict, _unreadable(golds))
            output = _scored(found, prompt)
            now = clock()
            output.seconds, then = share + now - then, now
            outputs.append(output)
        return outputs


def _scored(found: FinalAnswer | None, prompt: Prompt) -> RewardOutput:
    if not prompt.golds:
        return RewardOutput(
            None, metadata={"extracted": found.text if found else None}, error=_abstained(prompt.problem)
        )
    judged = prompt.judge(found)
    if prompt.problem and not judged.grade.correct:
        output = RewardOutput(None, error=_abstained(prompt.problem))
    else:
        output = RewardOutput(1.0 if judged.grade.correct else 0.0)
    return described(output, partial(judged.describe, found))


def _abstained(problem: str) -> str:
    return f"reward 'math' needs a ground_truth that is an answer; {problem}. Give the answer, or a list of answers."


_SHOWN = 200


# -- how near --------------------------------------------------------------------------------------------------------


@dataclass
class NumericReward(RewardFunction):
    """1 when the final answer is the ground truth's number, or within the tolerance of it; 0 when it is not a number.

    With `max_error` the reward falls in between as 1 - error / max_error; without it, outside the tolerance is 0.

    Example:
        >>> NumericReward(max_error=100)([{"response": "The answer is 75.", "ground_truth": 100}])
        [0.75]

    Hacked by: with `max_error`, the middle of the usual answers, always.
    """

    tolerance: float = 0.0
    """Distance within which an answer is fully right."""
    relative: bool = False
    """Whether the tolerance and `max_error` are shares of the ground truth."""
    max_error: float | None = None
    """The distance at which the reward has fallen to 0."""

    contract = Contract(columns=("ground_truth",))

    def __post_init__(self) -> None:
        if self.tolerance < 0 or (self.max_error is not None and self.max_error <= self.tolerance):
            raise ConfigError(
                f"reward 'numeric' needs a tolerance of 0 or more and a larger max_error; found tolerance "
                f"{self.tolerance} and max_error {self.max_error}."
            )

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        golds = [n for text in gold_answers(trajectory.ground_truth) if (n := _number(text)) is not None]
        if not golds:
            return RewardOutput(
                None,
                error=f"reward 'numeric' needs a ground_truth that is a number; found {trajectory.ground_truth!r:.80}.",
            )
        found = final_answer(trajectory.response)
        said = _number(found.text) if found else None
        if found is None or said is None:
            return RewardOutput(0.0, metadata={"extracted": found.text[:_SHOWN] if found else None, "value": None})
        score, gold, error = max(self._score(gold, said) for gold in golds)
        metadata = {
            "extracted": found.text[:_SHOWN],
            "value": _shown(said),
            "gold": _shown(gold),
            "error": _shown(error),
        }
        return RewardOutput(score, metadata=metadata)

    def _score(self, gold: Fraction, said: Fraction) -> tuple[float, Fraction, Fraction]:
        error = abs(said - gold)
        unit = abs(gold) if self.relative else Fraction(1)
        if error <= Fraction(self.tolerance) * unit:
            return 1.0, gold, error
        if self.max_error is None or not unit:
            return 0.0, gold, error
        return float(max(Fraction(0), 1 - error / (Fraction(self.max_error) * unit))), gold, error


def _number(text: str) -> Fraction | None:
    """The number that an answer states, exactly where it is rational, with or without its unit."""
    node = Reading(text.strip()).node
    while isinstance(node, Quantity):
        node = node.value
    if node is None:
        return only_number(text)
    node = unwrap(node)
    if isinstance(node, Relation):
        node = value_of(node)
    while isinstance(node, Quantity):
        node = node.value
    if node is None or variables(node):
        return None
    value = number(node, degrees=False)
    if isinstance(value, Decimal) and (not value.is_finite() or abs(value.adjusted()) > 300):
        return None
    return None if value is None else Fraction(value)


def _shown(value: Fraction) -> float | int | str:
    try:
        return int(value) if value.denominator == 1 and abs(value) < 10**15 else float(value)
    except OverflowError:
        return "more than a float holds"


# -- multiple choice -------------------------------------------------------------------------------------------------


@dataclass
class ChoiceReward(RewardFunction):
    """1 when the letter that the response settles on is the ground truth's, 0 when it is another or none.

    `B`, `(B)`, `Option B` and `(B) 42` all say B. Where the row has a column `choices`, a list of texts, an answer in
    the words of one of them says its letter, and the ground truth may be its text or its index.

    Example:
        >>> ChoiceReward()([{"response": r, "ground_truth": "B"} for r in ("The answer is (B).", "B or C")])
        [1.0, 0.0]

    Hacked by: guessing: one in four is right by chance.
    """

    column: str = "choices"
    """The column with the texts of the choices, where the rows have one."""

    contract = Contract(columns=("ground_truth",))

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        texts = [normal_words(str(text)) for text in _texts(trajectory.metadata.get(self.column))]
        wanted = _letter_of(trajectory.ground_truth, texts)
        if not wanted:
            return RewardOutput(
                None,
                error=f"reward 'choice' needs a ground_truth that is a letter, or one of the column {self.column!r}; "
                f"found {trajectory.ground_truth!r:.80}.",
            )
        found = final_answer(trajectory.response)
        said = _letter_of(found.text, texts) if found else ""
        if not said:
            said = _closing_letter(after_thinking(trajectory.response))
        hedged = found is not None and any(_letter_of(rival, texts) not in ("", said) for rival in found.rivals)
        metadata = {"extracted": found.text[:_SHOWN] if found else None, "choice": said or None, "gold": wanted}
        return RewardOutput(float(said == wanted and not hedged), metadata=metadata)


def _texts(choices: Any) -> list[Any]:
    if isinstance(choices, Mapping):
        row = cast("Mapping[str, Any]", choices)
        return list(row.get("text") or row.values())
    return list(cast("Sequence[Any]", choices)) if isinstance(choices, list | tuple) else []


def _letter_of(answer: Any, texts: Sequence[str]) -> str:
    if isinstance(answer, int) and not isinstance(answer, bool):
        return chr(65 + answer) if 0 <= answer < max(len(texts), 1) else ""
    if isinstance(answer, list | tuple):
        items = cast("Sequence[Any]", answer)
        return _letter_of(items[0], texts) if len(items) == 1 else ""
    text = str(answer or "")
    words = normal_words(text[:2000])
    if words and words in texts and texts.count(words) == 1:
        return chr(65 + texts.index(words))
    letter = led_choice(text[:2000])
    return letter if not texts or not letter or ord(letter) - 65 < len(texts) else ""


_CLOSING_LETTER = re.compile(r"(?:^|\n)\s*(?:\*\*)?\(?([A-J])[).:]?(?:\*\*)?[^\n]{0,200}\s*$")


def _closing_letter(text: str) -> str:
    m = _CLOSING_LETTER.search(text[-400:])
    return m.group(1) if m and re.match(r"[\s*(]*[A-J][).:*]", m.group().lstrip("\n")) else ""


# -- the functions of the second seed --------------------------------------------------------------------------------


def check_answer(response: str, ground_truth: Any) -> float:
    """1.0 for a stated answer that is right; 0.5 for one that is right but not stated as the answer, or for a value
    within 10 % of the right one; 0.0 for anything else.

    >>> [check_answer(r, "40") for r in ("The answer is 40.", "5 times 8 equals 40.", "The answer is 41.", "50")]
    [1.0, 0.5, 0.5, 0.0]
    """
    golds, found = gold_answers(ground_truth), final_answer(response)
    if not golds or found is None:
        return 0.0
    if grade_answer(found, golds).correct:
        return 1.0 if found.stated else 0.5
    said = _number(found.text)
    wanted = [n for gold in golds if (n := _number(gold)) is not None]
    if said is not None and not found.rivals and any(abs(said - n) <= abs(n) / 10 for n in wanted):
        return 0.5
    return 0.0


_VALUE = re.compile(
    r"(?<![A-Za-z0-9_.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d{1,4})?|(?<![\w.])[-+−]?\.\d+", re.I
)
_STATED_VALUE = re.compile(rf"=\s*\$?\s*({_VALUE.pattern})(?![\d.]*\s*[-+*/^=×÷])", re.I)
_MOST_NUMBERS = 1000


def check_numbers(response: str, expected_numbers: Sequence[float | str] | float | str) -> dict[str, Any]:
    """The numbers that a response states, and which of the expected ones (one or several) are among them.

    Those of the final answer where one is stated; else those behind an equals sign; else all of them.

    >>> check_numbers("x = 3 and y = 5", [3, 4])
    {'extracted': [3, 5], 'matches': [True, False], 'score': 0.5}
    """
    extracted = _stated_numbers(response)
    rest = list(extracted)
    matches: list[bool] = []
    for wanted in _expected(expected_numbers):
        near = next((n for n in rest if abs(n - wanted) <= 1e-9 * max(1.0, abs(wanted))), None)
        matches.append(near is not None)
        if near is not None:
            rest.remove(near)
    score = sum(matches) / len(matches) if matches else float(not extracted)
    return {"extracted": extracted, "matches": matches, "score": score}


def _expected(numbers: Sequence[float | str] | float | str) -> list[float]:
    listed = [numbers] if isinstance(numbers, str) or not isinstance(numbers, Sequence) else list(numbers)
    try:
        return [float(number.replace(",", "") if isinstance(number, str) else number) for number in listed]
    except (TypeError, ValueError):
        raise TypeError(f"check_numbers needs the expected numbers, as [3, 4]; found {numbers!r:.80}.") from None


def _stated_numbers(response: str) -> list[int | float]:
    found = final_answer(response)
    text = after_thinking(response)[-20_000:]
    if found is not None and found.stated:
        values = _VALUE.findall(found.text)
    else:
        values = _STATED_VALUE.findall(text) or _VALUE.findall(text)
    numbers: list[int | float] = []
    for value in values[:_MOST_NUMBERS]:
        try:
            exact = Decimal(value.replace(",", "").replace("−", "-"))
        except InvalidOperation:
            continue
        if abs(exact.adjusted()) < 300:
            numbers.append(int(exact) if exact == exact.to_integral_value() else float(exact))
    return numbers
