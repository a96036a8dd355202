"""A reward on a group: what a response is worth beside the other responses to the same prompt.

    python examples/group_reward.py

A parameter `group` says so. In TRL the function gets its whole group, also where the trainer splits it over ranks.
"""

import assay


def novel(group):
    """1 for a right answer that nobody else in the group gave in the same words, less the more of them did."""
    said = [" ".join(t.response.split()).lower() for t in group]
    return [1.0 / said.count(words) for words in said]


class Brevity(assay.RewardFunction):
    """1 for the shortest response of its group, 0 for the longest, by rank between."""

    contract = assay.Contract(per="group", inputs=("prompt", "response"))

    def compute_rewards(self, trajectories):
        lengths = [len(t.response.split()) for t in trajectories]
        longer = [sum(other > own for other in lengths) for own in lengths]
        return [count / max(1, len(lengths) - 1) for count in longer]


def main() -> list[float | None]:
    reward = assay.CompositeReward(
        {"right": (assay.MathReward(), 0.8), "novel": (novel, 0.1), "brief": (Brevity(), 0.1)}
    )
    said = ["It is 4.", "It is 4.", "Two and two make 4.", "It is 5."]
    rows = [{"prompt": "2 + 2?", "response": r, "ground_truth": "4", "group": "q1"} for r in said]
    rows.append({"prompt": "3 + 3?", "response": "6", "ground_truth": "6", "group": "q2"})  # alone in its group
    outputs = assay.score(reward, rows)
    for row, output in zip(rows, outputs, strict=True):
        parts = {name: round(part.reward, 2) for name, part in output.components.items()}
        print(f"{output.reward:.3f}  {parts}  {row['response']}")
    return [round(output.reward, 9) for output in outputs]


if __name__ == "__main__":
    main()
