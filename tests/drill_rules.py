"""The rule rewards, listed for the drill."""

from __future__ import annotations

from typing import Any

from drill import Entry

from assay.rewards.format import CodeBlockReward, FormatReward, TagCountReward
from assay.rewards.instructions import InstructionReward
from assay.rewards.keyword import KeywordReward
from assay.rewards.language import LanguageReward
from assay.rewards.length import CosineLengthReward, GroupLengthReward, LengthReward, OverlongPenalty
from assay.rewards.match import ExactMatchReward, F1Reward, FuzzyMatchReward
from assay.rewards.repetition import RepetitionReward
from assay.rewards.schema import JsonSchemaReward
from assay.rewards.tools import ToolCallReward

ASKED = "Why does ice float on water?"
PLAIN = (
    "Ice floats because its crystals hold water molecules further apart than the liquid does. Therefore a block of it "
    "weighs less than the water it pushes aside, for example in a lake in winter, and so it stays on top."
)
SHAPED = "<think>Density decides, and ice is the lighter one.</think>\n<answer>Ice is less dense.</answer>"
SECTIONS = "## Reason\nIce is less dense.\n\n## Answer\nIt floats."
CALL = '<tool_call>{"name": "density", "arguments": {"of": "ice", "unit": "kg/m3"}}</tool_call>'
CALLS = [{"name": "density", "arguments": {"of": "ice", "unit": "kg/m3"}}]
SCHEMA = {
    "type": "object",
    "required": ["answer"],
    "properties": {"answer": {"type": "string", "minLength": 3}},
    "additionalProperties": False,
}


def _row(response: str, **columns: Any) -> dict[str, Any]:
    return {"prompt": ASKED, "response": response, **columns}


ENTRIES = [
    Entry(LengthReward(target=40, tolerance=10), _row(PLAIN)),
    Entry(LengthReward(target=40, tolerance=10, reward_type="linear"), _row(PLAIN), label="length, linear"),
    Entry(LengthReward(min_length=20, max_length=60), _row(PLAIN), label="length, bounds"),
    Entry(OverlongPenalty(max_length=80, cache=20, unit="words"), _row(PLAIN)),
    Entry(CosineLengthReward(max_length=400), _row("Less dense.", correct=True), wrong={"correct": False}),
    Entry(GroupLengthReward(), _row("Less dense.", correct=True), wrong={"correct": False}, at_least=0.5),
    Entry(
        FormatReward(),
        _row(SHAPED),
        hacks=["<think> </think><answer> </answer>", "<think><answer>x</answer></think>"],
    ),
    Entry(FormatReward(tags=["think", "answer"], strict=False), _row(SHAPED), label="format, graded tags"),
    Entry(
        FormatReward(required_sections=["Reason", "Answer"], forbidden_patterns=["As an AI"]),
        _row(SECTIONS),
        hacks=["## Reason\n## Answer", "Reason and Answer", "Reason\nAs an AI\nAnswer\nyes"],
        label="format, sections",
    ),
    Entry(
        FormatReward(required_patterns=[r"re:dens(e|ity)"], template="[TEXT] therefore [WORD]."),
        _row("It is the density, therefore floating."),
        hacks=["therefore x."],
        label="format, patterns",
    ),
    Entry(TagCountReward(), _row(SHAPED)),
    Entry(CodeBlockReward("python"), _row("So:\n```python\nprint(0.917)\n```"), hacks=["```python\n```", "```python"]),
    Entry(
        KeywordReward(required=["because", "therefore"], bonus_keywords=["example"], penalty_keywords=["maybe"]),
        _row(PLAIN),
        hacks=["because " * 50, "becausetherefore"],
    ),
    Entry(KeywordReward(required=["cause"], match="substring"), _row(PLAIN), label="keyword, substring"),
    Entry(RepetitionReward(), _row(PLAIN), hacks=["ha" * 5000, "好" * 300]),
    Entry(RepetitionReward(max_penalty=-1.0), _row(PLAIN), label="repetition, penalty"),
    Entry(LanguageReward(), _row(PLAIN), label="language of the prompt"),
    Entry(LanguageReward(script="latin"), _row(PLAIN), hacks=["лед легче воды"], label="language, script"),
    Entry(LanguageReward(language="en"), _row(PLAIN), hacks=["Das Eis schwimmt auf dem Wasser, denn es ist leichter."]),
    Entry(ExactMatchReward(), _row("Less dense.", ground_truth="less dense")),
    Entry(ExactMatchReward(tag="answer"), _row(SHAPED, ground_truth="Ice is less dense"), label="exact match in a tag"),
    Entry(FuzzyMatchReward(), _row("Less dense.", ground_truth="less dense")),
    Entry(F1Reward(), _row("Less dense.", ground_truth="less dense")),
    Entry(JsonSchemaReward(SCHEMA), _row('{"answer": "less dense"}'), hacks=['{"answer": ""}', "{}", "[]"]),
    Entry(
        InstructionReward([{"name": "punctuation:no_comma"}, {"name": "detectable_format:title"}]),
        _row("<<Ice>>\nIt is less dense than water."),
        hacks=["<<>>", "<< >>"],
    ),
    *(
        Entry(
            ToolCallReward(match=match),
            _row(CALL, ground_truth=CALLS),
            hacks=[CALL * 10, CALL.replace("ice", "lead"), CALL + "<tool_call>{", '<tool_call>"density"</tool_call>'],
            label=f"tool calls, {match}",
        )
        for match in ("exact", "arguments", "jaccard")
    ),
]
