"""Rewards of form: the think/answer shape, sections, patterns, a template; tags counted; code in fences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.contract import Contract
from assay.errors import ConfigError
from assay.reward import RewardFunction
from assay.text import patterns
from assay.text.fences import code_blocks
from assay.text.sections import find_sections
from assay.text.tags import Outside, count_marks, read_tags
from assay.text.template import Fit, read_template
from assay.types import RewardOutput, Trajectory

SHAPE = ("think", "answer")
"""The tags that are asked for when nothing else is."""


@dataclass
class FormatReward(RewardFunction):
    """1 when all that is asked for is there and nothing forbidden is; 0 when none of it is, or the shape is broken.

    Asked for with no argument: `<think>...</think><answer>...</answer>`, each once, in this order, closed, not blank.
    Tags and templates are there or not; of sections and patterns the share that is there counts. Each forbidden
    pattern takes its share of the score. `strict=True`: all or nothing; `strict=False`: shares of tags too, and half
    for a template that fits in part.

    Example:
        >>> FormatReward()(["<think>2 and 2</think><answer>4</answer>", "<answer>4</answer>"])
        [1.0, 0.0]
        >>> FormatReward(required_sections=["Plan", "Code"])(["## Plan\\nadd them\\n## Code\\na + b", "**Plan** add"])
        [1.0, 0.5]

    Hacked by: the shape with nothing of worth in it. It is no more than a gate: weigh it low, or use it as one.
    """

    required_sections: Sequence[str] = ()
    """Headings, in any case: in Markdown, bold, or on a line of their own; each with something under it."""
    forbidden_patterns: Sequence[str] = ()
    """Literal texts in any case, or `re:` and a regular expression."""
    required_patterns: Sequence[str] = ()
    """The same, for what must be there."""
    tags: Sequence[str] = ()
    """The tags that the response consists of, in order, each once."""
    template: str = ""
    """How the response ends, as in `The answer is [NUM].`; slots are [NUM], [WORD], [LETTER] and [TEXT]."""
    strict: bool | None = None
    """True: all or nothing. False: graded. None: tags and template are there or not, the rest is graded."""
    opened: bool | None = None
    """Whether the chat template wrote the first opening tag. None: it did where the response lacks it and closes it."""
    outside: Outside = False
    """Whether text may stand around the tags; "after": the answer stands after them, as in `<think>...</think> 4`."""
    allow_blank: bool = False
    """Whether a tag or a section may be empty."""
    deadline: float = 0.5
    """Seconds that all `re:` patterns together may take on one response."""

    contract = Contract()

    def __post_init__(self) -> None:
        for what in ("required_sections", "forbidden_patterns", "required_patterns", "tags"):
            if isinstance(value := getattr(self, what), str):
                raise ConfigError(
                    f"reward 'format' needs a list for {what}; found the text {value!r}. Write [{value!r}]."
                )
            setattr(self, what, tuple(value))
        if not all(name.strip() for name in self.required_sections):
            raise ConfigError("reward 'format' needs names for its sections; found an empty one.")
        self.tags = _bare(self.tags, "format")
        patterns.check((*self.required_patterns, *self.forbidden_patterns))
        if self.template:
            read_template(self.template)
        if not (self.required_sections or self.forbidden_patterns or self.required_patterns or self.template):
            self.tags = self.tags or SHAPE

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        text = trajectory.response
        scores: dict[str, float] = {}
        metadata: dict[str, Any] = {"scores": scores}
        if self.tags:
            scores["tags"] = self._tags(trajectory, metadata)
        if self.template:
            scores["template"] = self._template(text, metadata)
        if self.required_sections:
            scores["sections"] = self._sections(text, metadata)
        if self.required_patterns:
            metadata["patterns"] = held = patterns.found_in(text, self.required_patterns, self.deadline)
            scores["patterns"] = len(held) / len(self.required_patterns)
        # an empty response breaks no rule, but has no form either
        score = sum(scores.values()) / len(scores) if scores else float(bool(text.strip()))
        if self.forbidden_patterns:
            metadata["forbidden"] = broken = patterns.found_in(text, self.forbidden_patterns, self.deadline)
            scores["clean"] = 1.0 - len(broken) / len(self.forbidden_patterns)
            score *= scores["clean"]
        return RewardOutput(float(score == 1.0) if self.strict else score, metadata=metadata)

    def _tags(self, trajectory: Trajectory, metadata: dict[str, Any]) -> float:
        opened = self.opened
        if opened is None and _opens(trajectory.prompt, self.tags[0]):
            opened = True
        read = read_tags(trajectory.response, self.tags, opened, self.outside)
        blank = [] if self.allow_blank else [tag for tag, said in read.contents.items() if not said or said.isspace()]
        faults = [*read.faults, *(f"<{tag}> is empty" for tag in blank)]
        if faults:
            metadata["faults"] = faults
        if read.opened:
            metadata["opened_by_template"] = True
        if self.strict is False:
            return (len(read.contents) - len(blank)) / len(self.tags)
        return 0.0 if faults else 1.0

    def _template(self, text: str, metadata: dict[str, Any]) -> float:
        fit = read_template(self.template).fit(text)
        metadata["template_fit"] = fit.name.lower()
        return fit / Fit.EXACT if self.strict is False else float(fit is Fit.EXACT)

    def _sections(self, text: str, metadata: dict[str, Any]) -> float:
        found = find_sections(text, self.required_sections)
        held = [name for name in self.required_sections if name in found and (found[name] or self.allow_blank)]
        metadata["sections"] = held
        if missing := [name for name in self.required_sections if name not in held]:
            metadata["missing_sections"] = missing
        return len(held) / len(self.required_sections)


def _bare(tags: Sequence[str], name: str) -> tuple[str, ...]:
    """The names of the tags, also where they are given as they stand in a response: `<think>`."""
    bare = tuple(tag.strip(" <>/") for tag in tags)
    if len(set(bare)) < len(bare) or not all(bare):
        raise ConfigError(f"reward {name!r} needs tags with names, each once; found {list(tags)}.")
    return bare


def _opens(prompt: str, tag: str) -> bool:
    """Whether the prompt ends with the opening tag: then the chat template wrote it."""
    return prompt[-len(tag) - 16 :].rstrip().endswith(f"<{tag}>")


def match_format_exactly(response: str, expected_format: str) -> float:
    """How a response fits a template: 1.0 when it ends with it, 0.5 when it fits in part, 0.0 when it does not.

    In part: the number (or letter) and what follows it end the response though the words before are others, or the
    words are there but not what should fill the slot.

    Example:
        >>> [match_format_exactly(r, "The answer is [NUM].") for r in ("The answer is 4.", "It equals 4.", "Four")]
        [1.0, 0.5, 0.0]
    """
    return read_template(expected_format).fit(response) / Fit.EXACT


@dataclass
class TagCountReward(RewardFunction):
    """1 when each opening and closing tag stands in the response exactly once, 0 when none does; shares between.

    The gentle sibling of FormatReward, for the first steps of a run: order and nesting do not count.

    Example:
        >>> TagCountReward()(["<think>hm</think><answer>4</answer>", "<think>hm", "4"])
        [1.0, 0.25, 0.0]

    Hacked by: the bare tags with nothing in them. Turn to FormatReward once they are there.
    """

    tags: Sequence[str] = SHAPE
    """The tags to count."""
    opened: bool | None = None
    """Whether the chat template wrote the first opening tag. None: it did where the prompt ends with it."""

    contract = Contract()

    def __post_init__(self) -> None:
        if isinstance(self.tags, str) or not self.tags:
            raise ConfigError(f"reward 'tag_count' needs a list of tags; found {self.tags!r}.")
        self.tags = _bare(self.tags, "tag_count")

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        counts = count_marks(trajectory.response, self.tags)
        first = f"<{self.tags[0]}>"
        opened = _opens(trajectory.prompt, self.tags[0]) if self.opened is None else self.opened
        if opened and trajectory.response.strip():
            counts[first] += 1
        right = sum(count == 1 for count in counts.values())
        return RewardOutput(right / len(counts), metadata={"counts": counts})


@dataclass
class CodeBlockReward(RewardFunction):
    """1 when the response holds a closed fenced code block with something in it (in the language asked for), else 0.

    Example:
        >>> CodeBlockReward("python")(["```python\\nprint(4)\\n```", "```\\nprint(4)\\n```", "```python\\nprint(4)"])
        [1.0, 0.0, 0.0]

    Hacked by: a block with any text in it. It does not read the code: use it beside a reward that runs it.
    """

    language: str = ""
    """The language that the fence must name; empty: any, or none."""
    blocks: int | None = None
    """How many such blocks there must be; None: at least one."""

    contract = Contract()

    def compute_reward(self, trajectory: Trajectory) -> RewardOutput:
        languages = [language for language, code in code_blocks(trajectory.response) if code.strip()]
        wanted = self.language.lower()
        held = sum(not wanted or language == wanted for language in languages)
        good = held > 0 if self.blocks is None else held == self.blocks
        return RewardOutput(float(good), metadata={"blocks": held, "languages": languages[:20]})
