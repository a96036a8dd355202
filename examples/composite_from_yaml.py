"""A composite from YAML: scored, looked into, and weighed again without a call.

    python examples/composite_from_yaml.py

On the command line:

    assay score examples/rollouts.jsonl --reward examples/demo_reward.yaml --output scored.jsonl
    assay reweigh scored.jsonl --set weight.right=0.9 --output other.jsonl
"""

import json
from pathlib import Path

import assay
from assay.compose import refold
from assay.compose.flow import Batch
from assay.config import reweighted

HERE = Path(__file__).parent


def main() -> tuple[float, float]:
    reward = assay.load_reward(str(HERE / "demo_reward.yaml"))
    rows = [json.loads(line) for line in (HERE / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()]
    trajectories = [assay.Trajectory.of(row) for row in rows]
    outputs = assay.score(reward, trajectories)
    for name in reward.children:
        values = [o.components[name].reward for o in outputs]
        print(f"{name:10} mean {sum(values) / len(values):.3f}")

    heavier = reweighted(reward, {"right": 0.9})
    folded = refold(heavier, Batch(trajectories), outputs)  # no reward is called: the parts are stored
    before, after = (sum(o.reward for o in some) / len(some) for some in (outputs, folded))
    print(f"mean {before:.3f}; with 'right' at 0.9: {after:.3f}")
    return before, after


if __name__ == "__main__":
    main()
