"""A reward over HTTP: served in this process, asked by a client, as a trainer on another machine would.

    python examples/reward_server.py

On the command line it is `assay serve math --port 8000`; OpenRLHF then takes
`--reward.remote_url http://127.0.0.1:8000/get_reward`, NeMo Gym its `/verify`.
"""

import threading
import time

import uvicorn

from assay import CompositeReward, FormatReward, MathReward
from assay.serve.app import create_app
from assay.serve.client import RewardClient


def main() -> list[float | None]:
    reward = CompositeReward({"right": (MathReward(), 0.9), "format": (FormatReward(), 0.1)})
    server = uvicorn.Server(uvicorn.Config(create_app(reward), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]

    client = RewardClient(f"http://127.0.0.1:{port}")
    responses = ("<think>two and two</think><answer>4</answer>", "4", "<think>hm</think><answer>5</answer>")
    outputs = client.score([{"prompt": "2 + 2?", "response": r, "ground_truth": "4"} for r in responses])
    for response, output in zip(responses, outputs, strict=True):
        parts = {name: part.reward for name, part in output.components.items()}
        print(f"{output.reward}  {parts}  {response}")

    server.should_exit = True
    thread.join()
    return [output.reward for output in outputs]


if __name__ == "__main__":
    main()
