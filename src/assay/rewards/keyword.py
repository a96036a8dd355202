"""The reward of words that should be there, would be good to have, or should not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.contract import Contract
from assay.errors import ConfigError
from assay.reward import RewardFunction
from assay.text.keywords import Keywords, Match
from assay.text.patterns import fold
from assay.types import RewardOutput, Trajectory


@dataclass
class KeywordReward(RewardFunction):
    """1 when every required and every bonus keyword is there and no penalty keyword is; 0 when none of them is.

    The required ones earn their share; where bonus keywords are given, those hold `bonus_weight` of the score. Each
    penalty keyword that is there takes `penalty_weight`. A keyword counts once however often it comes, and the score
    stays between 0 and 1.

    Example:
        >>> KeywordReward(required=["because", "so"])(["It is so because it is.", "Because!", "The cause, solely."])
        [1.0, 0.5, 0.0]

    Hacked by: a list of the keywords. It does not read the sentence around them: weigh it low.
    """

    required_keywords: Sequence[str] = ()
    """Each that is there earns its share."""
    bonus_keywords: Sequence[str] = ()
    """Good to have."""
    penalty_keywords: Sequence[str] = ()
    """Each that is there costs."""
    match: Match = "word"
    """word: a word of its own ('cause' is not in 'because'). substring: anywhere."""
    case_sensitive: bool = False
    """Whether case counts."""
    bonus_weight: float = 0.2
    """What all bonus keywords hold of the score, beside required ones."""
    penalty_weight: float = 0.25
    """What each penalty keyword takes."""
    required: Sequence[str] = ()
    """The same as required_keywords, for short."""
    _found: tuple[Keywords, Keywords, Keywords] = field(init=False, repr=False, compare=False)

    contract = Contract()

    def __post_init__(self) -> None:
        if self.required and self.required_keywords and tuple(self.required) != tuple(self.required_keywords):
            raise ConfigError(
                "reward 'keyword' needs one list of required keywords; found required and required_keywords."
            )
        self.required_keywords = self.required = self.required_keywords or self.required
        for what in ("required_keywords", "bonus_keywords", "penalty_keywords"):
            if isinstance(value := getattr(self, what), str):
                raise ConfigError(
                    f"reward 'keyword' needs a list for {what}; found the text {value!r}. Write [{value!r}]."
                )
        if not (self.required_keywords or self.bonus_keywords or self.penalty_keywords):
            raise ConfigError(
                "reward 'keyword' needs required_keywords, bonus_keywords or penalty_keywords; found none."
            )
        if not (0.0 <= self.bonus_weight <= 1.0 and 0.0 <= self.penalty_weight <= 1.0):
            raise ConfigError(
                f"reward 'keyword' needs weights from 0 to 1; found bonus_weight={self.bonus_weight}, "
                f"penalty_weight={self.penalty_weight}."
            )
        required, bonus, penalty = (
            Keywords(words, self.match, self.case_sensitive)
            for words in (self.required_keywords, self.bonus_keywords, self.penalty_keywords)
        )
        self._found = (required, bonus, penalty)

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        text = fold(trajectory.response, self.case_sensitive)
        required, bonus, _ = self._found
        held, extra, broken = (keywords.found_in_folded(text) for keywords in self._found)
        if required:
            score = len(held) / len(required)
            if bonus:
                score += self.bonus_weight * (len(extra) / len(bonus) - score)
        elif bonus:
            score = len(extra) / len(bonus)
        else:
            score = 1.0 if text.strip() else 0.0
        score = max(0.0, score - self.penalty_weight * len(broken))
        return RewardOutput(score, metadata={"required": held, "bonus": extra, "penalty": broken})
