"""The rewards that the drivers hand to their trainers."""

import re

from assay.compose import CompositeReward

ANSWER = re.compile(r"<answer>(\d)</answer>")


def shape(response):
    return float(ANSWER.fullmatch(response.strip()) is not None)


def right(response, ground_truth):
    if ground_truth is None:
        return None
    found = ANSWER.fullmatch(response.strip())
    return float(found is not None and found.group(1) == str(ground_truth))


def reward():
    return CompositeReward({"shape": (shape, 0.1), "right": (right, 0.9)}, on_missing="skip", name="toy")


def longest(group):
    most = max(len(t.response) for t in group)
    return [float(len(t.response) == most) for t in group]


RESPONSES = ("<answer>5</answer>", "<answer>6</answer>", "5")
EXPECTED = (1.0, 0.1, 0.0)
