"""Rewards of one's own, in the forms that people write them. Used as

python run_training.py +training.reward_function=custom_reward_function
python run_training.py training.reward_function=examples/custom_rewards.py:graduated_reward
"""

import re

ANSWER = re.compile(r"<answer>(.*?)</answer>")


def custom_reward_function(response: str, prompt: str, metadata: dict) -> float:
    """0.3 for an answer in its tags and nothing around it, 0.7 for the right one."""
    expected = metadata.get("answer", "")
    found = ANSWER.fullmatch(response.strip())
    format_score = 1.0 if found else 0.0
    correctness_score = 1.0 if found and found.group(1) == expected else 0.0
    return 0.3 * format_score + 0.7 * correctness_score


def graduated_reward(response: str, answer: str) -> float:
    """1 for the right digit, 0.5 for one that is off by one, 0.1 for any other, 0 without an answer."""
    found = ANSWER.fullmatch(response.strip())
    if not found or not found.group(1).isdigit():
        return 0.0
    off = abs(int(found.group(1)) - int(answer))
    return 1.0 if off == 0 else 0.5 if off == 1 else 0.1
