"""See what a reward pays for before it is trained on: attacks, equivalences, lints, and each trainer's own way to call.

from assay.probe import cases

@pytest.mark.parametrize("case", cases("rewards.py:my_reward", "examples.jsonl"), ids=str)
def test_my_reward(case):
    case.check()
"""

from __future__ import annotations

from assay.probe import attacks as attacks  # these four fill RULES
from assay.probe import equivalences as equivalences
from assay.probe import judged as judged
from assay.probe import programs as programs
from assay.probe.audit import Audit, audit, cases
from assay.probe.example import Example
from assay.probe.rule import RULES, Case, Expect, Finding, Rule, Severity, rule

__all__ = ["RULES", "Audit", "Case", "Example", "Expect", "Finding", "Rule", "Severity", "audit", "cases", "rule"]
