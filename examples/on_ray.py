"""The same Engine on Ray: a file is cut into pieces, actors score them, and they come back in order.

    python examples/on_ray.py [ADDRESS]

Without an address Ray is started on this machine. On the command line: `assay score ... --engine ray --address auto`.
"""

import sys
from pathlib import Path

from assay.distributed import Cluster, score_file
from assay.rollouts import Rollouts

HERE = Path(__file__).parent


def main(address: str | None = None) -> list[float | None]:
    rollouts = Rollouts(str(HERE / "rollouts.jsonl"))
    rewards: list[float | None] = []
    for rows, outputs in score_file("math", rollouts, Cluster(address, 1)):
        rewards += [output.reward for output in outputs]
        print(f"{len(rows)} rows came back; {sum(r == 1.0 for r in rewards)} of {len(rewards)} are right")
    return rewards


if __name__ == "__main__":
    main(*sys.argv[1:])
