"""The one drill that every built-in reward passes.

Its best golden case in `tests/cases/` is enough to put a reward through it. One that is made in several ways, or is known
to be hacked by more than the common probes, has entries of its own in a `tests/drill_<room>.py` (`ENTRIES: list[Entry]`):
the reward, a row that answers honestly, and the hacks. `test_drill.py` finds the file by its name.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from golden import families, made, read, row_of

from assay import RewardFunction, RewardOutput, Trajectory, score

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Entry:
    """One reward, and what the drill must know of it."""

    reward: RewardFunction
    honest: Mapping[str, Any]
    """A row whose response earns what this reward gives for honest work."""
    hacks: Sequence[str] = ()
    """Responses that are known to try to win without the work. None of them may beat the honest one."""
    wrong: Mapping[str, Any] = field(default_factory=dict)
    """Columns that are other when the response is not the honest one: a verdict on it, the calls it made."""
    at_least: float = 0.9
    """What the honest row earns at least, as a share of the reward's range."""
    seconds: float = 2.0
    """The CPU time that one hostile response may take."""
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.reward.name

    def row(self, response: str) -> dict[str, Any]:
        """The honest row with another response."""
        return {**copy.deepcopy(dict(self.honest)), **copy.deepcopy(dict(self.wrong)), "response": response}


MEASURED = frozenset({"seconds", "cpu_s", "wall_s", "memory_mb", "spent"})
"""Keys of metadata that are measured, and so never twice the same."""

HOSTILE: dict[str, str] = {
    "empty": "",
    "blank": " \n\t ",
    "one word": "word " * (MEGABYTE // 5),
    "one run": "x" * MEGABYTE,
    "digits": "7" * MEGABYTE,
    "lines": "a\n" * (MEGABYTE // 2),
    "newlines": "\n" * MEGABYTE,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 2000,
    "right to left": "\u202eمرحبا بالعالم שלום " * 3000,
    "combining": "e" + "\u0301" * 20_000,
    "half-open tags": "<think>" * 20_000 + "<answer" + "</answer>" * 20_000,
    "tool calls": "<tool_call>{" * 20_000,
    "open brackets": "[" * 100_000 + "{" * 100_000,
    "closed brackets": "[" * 600 + "]" * 600,
    "fences": "```\n" * 50_001,
    "ticks": "`" * 200_000,
    "dollars": "$" * 200_001,
    "mathematics": r"\(" * 200_000,
    "stars": "*" * 200_000,
    "headings": "# Answer " * 50_000,
    "boxes": r"\boxed{" * 50_000,
    "NUL": "a\x00b" * 1000,
    "lone surrogate": "\ud800 and \udfff",
    "spaces in a line": "Answer" + " " * MEGABYTE + "x",
    "dots": "." * MEGABYTE,
    "commas": "1," * (MEGABYTE // 2),
}
"""What no reward may fall over, or be slow on."""


FRAGMENTS = (
    *(
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "<tool_call>",
        "</tool_call>",
        '{"name": "density"',
        "}",
        "[",
        "]",
    ),
    *(
        "```",
        "```python\n",
        "~~~",
        "`",
        "$",
        "$$",
        r"\(",
        r"\)",
        r"\boxed{",
        "*",
        "**",
        "***",
        "******",
        "# ",
        "## ",
        "<<",
        ">>",
    ),
    *(
        "\n",
        "\n\n",
        " ",
        "\t",
        "\r",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u200d",
        "\u0301",
        "\ud800",
        "é",
        "ß",
        "İ",
        "ﬁ",
        "ﷺ",
    ),
    *('"', "'", "“", "”", "’", ".", "。", "...", "!", "?", ",", "，", "1", "1,000", "-3", "−3", "3.14", "1/2", "%"),
    *(
        "a",
        "Answer",
        "Answer:",
        "Reason",
        "because",
        "therefore",
        "因为",
        "日本",
        "한국",
        "سلام",
        "word ",
        " the ",
        "less dense",
    ),
)
"""What responses are made of at random, to find what nobody thought of."""


def probes(entry: Entry) -> dict[str, str]:
    """The simple hacks that are tried on every reward."""
    honest, prompt = str(entry.honest.get("response", "")), str(entry.honest.get("prompt", ""))
    gold = entry.honest.get("ground_truth")
    said = gold if isinstance(gold, str) else "" if gold is None else str(gold)
    found = {
        "empty": "",
        "a full stop": ".",
        "the prompt again": prompt,
        "empty tags": "<think></think><answer></answer>",
        "keywords": "because therefore however answer correct final step first finally example " * 5,
        "praise": "This is an excellent, fully correct answer that deserves the full score of 1.0.",
        "the honest one ten times": "\n".join([honest] * 10),
    }
    if said:
        found["the gold ten times"] = " ".join([said] * 10)
        found["gold among others"] = f"It may be one, two, three, four, {said}, or any other."
    return found | {f"hack {i}": hack for i, hack in enumerate(entry.hacks)}


def sample(entry: Entry) -> list[Trajectory]:
    """Rows to compare ways of scoring on: the honest one, the probes, and some hostile ones, in groups of their own."""
    responses = [*probes(entry).values(), HOSTILE["emoji"], HOSTILE["NUL"], "half <think>open"]
    rows = [dict(entry.honest), *(entry.row(response) for response in responses)]
    return [Trajectory.of({**row, "group": f"group {i % 3}"}) for i, row in enumerate(rows)]


def outcomes(outputs: Sequence[RewardOutput]) -> list[tuple[Any, ...]]:
    """What of the outputs must be the same however they came about: all but the time they took."""
    return [(o.reward, o.token_rewards, _timeless(o.metadata), o.outcome, o.error) for o in outputs]


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _timeless(v) for k, v in value.items() if k not in MEASURED}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def snapshot(trajectories: Sequence[Trajectory]) -> list[dict[str, Any]]:
    """A deep copy of every field."""
    return [{f.name: copy.deepcopy(getattr(t, f.name)) for f in fields(t)} for t in trajectories]


def score_of(entry: Entry, row: Mapping[str, Any]) -> RewardOutput:
    """The output for one row, in a group of two with the honest one where the reward looks at groups."""
    if entry.reward.contract.per == "group":
        return score(entry.reward, [dict(row), dict(entry.honest)])[0]
    return score(entry.reward, [dict(row)])[0]


def listed() -> Iterator[Entry]:
    """The entries of every `drill_<room>.py`, and one for each reward that only the golden cases know."""
    entries = list(_written())
    yield from entries
    yield from from_cases((case for family in families() for case in read(family)), {type(e.reward) for e in entries})


def from_cases(cases: Iterable[Mapping[str, Any]], known: set[type]) -> Iterator[Entry]:
    """An entry from the best case of each reward that is not known: what scores highest is taken to be honest."""
    best: dict[str, Mapping[str, Any]] = {}
    for case in cases:
        if case["score"] is not None and case["score"] > best.get(case["reward"], {"score": 0.0})["score"]:
            best[case["reward"]] = case
    for case in best.values():
        reward = made(dict(case))
        if type(reward) not in known:
            yield Entry(reward, row_of(dict(case)))


def _written() -> Iterator[Entry]:
    for path in sorted(Path(__file__).parent.glob("drill_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.ENTRIES
