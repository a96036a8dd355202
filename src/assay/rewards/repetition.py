"""The reward against loops: how much of a response has been said before in it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.contract import Contract
from assay.errors import ConfigError
from assay.reward import RewardFunction
from assay.text.measure import pieces_of, repeated_share
from assay.types import RewardOutput, Trajectory


@dataclass
class RepetitionReward(RewardFunction):
    """1 where no n-gram comes twice, falling to 0 with the share of repeated ones; an empty response scores 0.

    n-grams are of words, or of characters where a script has no spaces or a run is too long to be a word, so a loop
    shows in any language. With `max_penalty` it is TRL's and open-r1's penalty instead: `max_penalty` times the share.

    Example:
        >>> RepetitionReward(n=2)(["one two three four", "go on go on go on"])
        [1.0, 0.4]

    Hacked by: short responses, which have little room to repeat: use it beside a reward of substance.
    """

    n: int = 3
    """How many words make one n-gram."""
    allowed: float = 0.0
    """The share of repeats that costs nothing: text of any length repeats a little."""
    max_penalty: float | None = None
    """At most 0. Given: the reward is this times the share of repeats, from max_penalty up to 0."""

    contract = Contract()

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or self.n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"reward 'repetition' needs a whole n of 1 or more; found {self.n!r}.")
        if not 0.0 <= self.allowed < 1.0:
            raise ConfigError(f"reward 'repetition' needs allowed from 0 to below 1; found {self.allowed}.")
        if self.max_penalty is not None:
            if self.max_penalty > 0:
                raise ConfigError(f"reward 'repetition' needs max_penalty of 0 or less; found {self.max_penalty}.")
            self.contract = Contract(range=(self.max_penalty, 0.0))

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        pieces = pieces_of(trajectory.response)
        share = repeated_share(pieces, self.n)
        excess = max(0.0, share - self.allowed) / (1.0 - self.allowed) if self.allowed else share
        metadata = {"repeated_share": share, "words": len(pieces)}
        if self.max_penalty is not None:
            return RewardOutput(self.max_penalty * excess + 0.0, metadata=metadata)  # 0.0, and not -0.0
        return RewardOutput(1.0 - excess if pieces else 0.0, metadata=metadata)
