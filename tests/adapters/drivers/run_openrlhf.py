"""OpenRLHF's own reward client, against the served reward and against a reward file."""

import asyncio
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

import uvicorn
from common import EXPECTED, RESPONSES, reward

from assay.serve.app import ServeConfig, create_app

# openrlhf.utils pulls in deepspeed; only agent.py and what it needs are loaded from the installed package
base = next(Path(p) / "openrlhf" for p in sys.path if p.endswith("site-packages"))
for name in ("openrlhf", "openrlhf.utils"):
    stub = types.ModuleType(name)
    stub.__path__ = [str(base.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = stub
from openrlhf.utils.agent import SingleTurnAgentExecutor  # noqa: E402


class Tokenizer:
    def __call__(self, text, add_special_tokens=False, return_tensors=None):
        return {"input_ids": [types.SimpleNamespace(tolist=lambda: list(text.encode()))]}

    def decode(self, ids, skip_special_tokens=False):
        return bytes(ids).decode()


def engine(response):
    output = types.SimpleNamespace(
        token_ids=list(response.encode() + b"<|im_end|>"), finish_reason="stop", logprobs=None
    )

    async def generate(ids, params, multi_modal_data=None):
        return types.SimpleNamespace(outputs=[output])

    return types.SimpleNamespace(generate=generate)


async def ask(endpoint, response, label):
    executor = SingleTurnAgentExecutor(endpoint)
    params = types.SimpleNamespace(max_tokens=64, logprobs=None)
    return await executor.execute("after 4?", label, params, 256, Tokenizer(), engine(response))


def first(value):
    return float(value[0])


async def check(endpoint):
    for response, expected in zip(RESPONSES, EXPECTED, strict=True):
        said = await ask(endpoint, response, "5")
        assert abs(first(said["reward"]) - expected) < 1e-6, said
        assert abs(first(said["scores"]) - expected) < 1e-6
        assert said["extra_logs"]["scored"] == [1.0]
    said = await ask(endpoint, RESPONSES[0], None)
    assert (first(said["reward"]), said["extra_logs"]["scored"]) == (-1.0, [0.0]), said
    many = await asyncio.gather(*(ask(endpoint, RESPONSES[i % 3], "5") for i in range(200)))
    assert [round(first(m["reward"]), 6) for m in many] == [EXPECTED[i % 3] for i in range(200)]


config = uvicorn.Config(create_app(reward(), ServeConfig(unscored=-1.0)), port=0, log_level="error")
server = uvicorn.Server(config)
thread = threading.Thread(target=server.run, daemon=True)
thread.start()
while not server.started:
    time.sleep(0.02)
port = server.servers[0].sockets[0].getsockname()[1]
asyncio.run(check(f"http://127.0.0.1:{port}/get_reward"))
server.should_exit = True
thread.join()

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "reward.py"
    file.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from common import reward\nfrom assay.adapters.openrlhf import reward_func as adapt\n"
        "reward_func = adapt(reward(), unscored=-1.0)\n"
    )
    asyncio.run(check(str(file)))
print("ran: its client over HTTP and with a reward file")
