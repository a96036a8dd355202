"""The reward for answering in the right language, or in the right script."""

from __future__ import annotations

from dataclasses import dataclass

from assay.calling import missing_column
from assay.contract import Contract
from assay.errors import ConfigError
from assay.reward import RewardFunction
from assay.text.language import check_language, check_script, main_script, primary, prose, share_of_language
from assay.text.measure import script_counts, script_share
from assay.types import RewardOutput, Trajectory


@dataclass
class LanguageReward(RewardFunction):
    """1 when the whole response is in the language (or script) that is wanted, 0 when none of it is; its share between.

    Wanted is `language` (a code such as en), or `script` (such as latin), or what the row's `column` says, or with no
    argument the script that the prompt is written in. Code, formulas, links and tags do not count. A response without
    a letter is not scored: a number is in no language. Languages that share a script need the extra `text`.

    Example:
        >>> LanguageReward(script="cyrillic")(["ответ: четыре", "the answer is four"])
        [1.0, 0.0]

    Hacked by: short answers with few letters, and words of the right language that say nothing.
    """

    language: str = ""
    """The ISO 639-1 code of the language."""
    script: str = ""
    """The script: latin, cyrillic, han, arabic ..."""
    column: str = ""
    """The column that holds each row's language."""
    enough: float = 1.0
    """The share that scores 1: names and terms of other languages may stand in a good answer."""

    contract = Contract()

    def __post_init__(self) -> None:
        if sum(map(bool, (self.language, self.script, self.column))) > 1:
            raise ConfigError("reward 'language' needs one of language, script and column; found more than one.")
        if not 0.0 < self.enough <= 1.0:
            raise ConfigError(f"reward 'language' needs enough above 0 and at most 1; found {self.enough}.")
        if self.language:
            self.language = primary(self.language)
            check_language(self.language)
        if self.column:
            self.contract = Contract(columns=(self.column,))
        if self.script:
            self.script = self.script.lower()
            check_script(self.script)

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        text = prose(trajectory.response)
        counts = script_counts(text)
        if not counts:
            return RewardOutput(None, error="reward 'language': the response has no letter, so it is in no language")
        language, script = self.language, self.script
        if self.column:
            language = primary(str(trajectory.metadata.get(self.column) or ""))
            if not language:
                raise missing_column(self.name, self.column, trajectory)
            check_language(language)
        elif not language and not script and not (script := main_script(prose(trajectory.prompt))):
            return RewardOutput(None, error="reward 'language': the prompt has no letter, so it asks for no language")
        share = share_of_language(text, language) if language else script_share(text, _with_kin(script))
        metadata = {"wanted": language or script, "share": share, "scripts": counts}
        return RewardOutput(min(1.0, share / self.enough), metadata=metadata)


def _with_kin(script: str) -> tuple[str, ...]:
    """Japanese is written in three scripts: where one of them is wanted, none of the others is a fault."""
    return ("han", "hiragana", "katakana") if script in ("hiragana", "katakana") else (script,)
