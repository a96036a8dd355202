"""An audit as JSON, SARIF or GitHub annotations, and the baseline that tells new findings from known ones."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay import __version__
from assay.errors import InputError
from assay.probe.audit import Audit
from assay.probe.rule import RULES, Finding, Severity
from assay.reward import FunctionReward, RewardFunction

SHOWN = 2_000
"""Characters of a response that are written out; a case of a megabyte is told by its beginning."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reward's source stands, for annotations."""

    path: str
    line: int


def place_of(reward: RewardFunction, spec: str) -> Place:
    """The file and line of a reward's source, as seen from here; of its spec where there is no source file."""
    thing = reward.fn if isinstance(reward, FunctionReward) else type(reward)
    try:
        path, line = inspect.getsourcefile(inspect.unwrap(thing)) or "", inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        path, line = "", 1
    name = spec.partition(":")[0]
    if name.endswith((".yaml", ".yml")):
        return Place(name, 1)
    inside = os.path.relpath(path) if path else ""
    return Place(inside, line) if inside and not inside.startswith("..") else Place(name, 1)


def as_json(audit: Audit) -> str:
    """The whole audit as one JSON object."""
    data = {
        "assay": __version__,
        "reward": audit.reward,
        "reads": audit.sense.name.lower(),
        "examples": audit.examples,
        "honest": audit.honest,
        "cases": sum(audit.tried.values()),
        "counts": {severity.value: audit.count(severity) for severity in Severity},
        "findings": [_plain(f) for f in audit.findings],
    }
    return json.dumps(data, ensure_ascii=False, indent=1)


def _plain(found: Finding) -> dict[str, Any]:
    return {**asdict(found), "severity": found.severity.value, "response": _sayable(found.response)}


def _sayable(text: str) -> str:
    # half of a surrogate pair cannot be written as UTF-8
    return text[:SHOWN].encode("utf-8", "replace").decode()


def sarif(audit: Audit, place: Place) -> str:
    """The audit as SARIF 2.1.0, for code scanning."""
    names = list(dict.fromkeys(f.rule for f in audit.findings))
    rules = [{"id": name, "shortDescription": {"text": RULES[name].title if name in RULES else name}} for name in names]
    location = {
        "physicalLocation": {"artifactLocation": {"uri": quote(place.path)}, "region": {"startLine": place.line}}
    }
    results = [
        {
            "ruleId": f.rule,
            "ruleIndex": names.index(f.rule),
            "level": f.severity.value,
            "message": {"text": _told(f)},
            "locations": [location],
            "partialFingerprints": {"assay/v1": f.id},
        }
        for f in audit.findings
    ]
    driver = {"name": "assay", "version": __version__, "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps(
        {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    )


def github(audit: Audit, place: Place) -> str:
    """The audit as GitHub workflow commands: one annotation a rule, for GitHub shows no more than ten of each kind."""
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    lines: list[str] = []
    for several in by_rule(audit.findings):
        first = several[0]
        count = f" ({len(several)} cases)" if len(several) > 1 else ""
        where = f"file={_property(place.path)},line={place.line},title={_property(first.rule + count)}"
        lines.append(f"::{words[first.severity]} {where}::{_message(_told(first))}")
    return "\n".join(lines)


def _told(found: Finding) -> str:
    parts = [found.message]
    if found.response:
        parts.append(f"response: {_sayable(found.response)[:300]!r}")
    if found.fix:
        parts.append(f"fix: {found.fix}")
    return "\n".join(parts)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def by_rule(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings of one rule and severity together, in the order that they come in."""
    groups: dict[tuple[str, Severity], list[Finding]] = {}
    for f in findings:
        groups.setdefault((f.rule, f.severity), []).append(f)
    return list(groups.values())


# -- the baseline ----------------------------------------------------------------------------------------------------


def read_baseline(path: Path, reward: str) -> frozenset[str]:
    """The ids of a reward's known findings; none where there is no file yet."""
    return frozenset(entry["id"] for entry in _entries(path) if entry.get("reward", reward) == reward)


def _entries(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    try:
        entries: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["findings"]
        return [{**entry, "id": entry["id"]} for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no baseline: needed JSON with 'findings', each with an 'id'; found {error}. "
            f"Write one: assay check SPEC --baseline {path} --update-baseline"
        ) from error


def write_baseline(path: Path, reward: str, findings: Sequence[Finding]) -> None:
    """Keep these findings of a reward as known, beside those of others. Sorted, a line each, so that a diff tells."""
    others = [entry for entry in _entries(path) if entry.get("reward", reward) != reward]
    mine = [{"reward": reward, "id": f.id, "rule": f.rule, "message": f.message[:200]} for f in findings]
    known = {(entry.get("reward", ""), entry.get("rule", ""), entry["id"]): entry for entry in (*others, *mine)}
    lines = ",\n  ".join(json.dumps(entry, ensure_ascii=True) for _, entry in sorted(known.items()))
    path.write_text(f'{{"schema": 1, "findings": [\n  {lines}\n]}}\n', encoding="utf-8")
