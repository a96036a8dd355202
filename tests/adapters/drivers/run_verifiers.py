"""verifiers v1: a task scores traces with the adapted reward, plugged in as configuration does."""

import asyncio
import tempfile
from pathlib import Path

import verifiers.v1 as vf
from common import EXPECTED, RESPONSES
from verifiers.v1.trace import TraceTask
from verifiers.v1.types import UserMessage


class Data(vf.TaskData):
    answer: str | None


class Task(vf.Task[Data]):
    pass


def trace_of(task, reply):
    said = vf.MessageNode(parent=0, message=vf.AssistantMessage(content=reply), sampled=True)
    nodes = [vf.MessageNode(message=UserMessage(content=task.data.prompt)), said]
    return vf.Trace(task=TraceTask.model_construct(data=task.data), agent=vf.AgentInfo.model_construct(), nodes=nodes)


async def main(file):
    config = vf.TaskConfig(rewards={"toy": vf.RewardFunctionConfig(fn=f"{file}:toy", weight=0.5)})
    for reply, expected in zip(RESPONSES, EXPECTED, strict=True):
        task = Task(Data(prompt="after 4?", answer="5"), config)
        trace = trace_of(task, reply)
        await task.score(trace)
        assert abs(trace.reward - 0.5 * expected) < 1e-6, trace.reward
        assert trace.rewards["toy"].score == expected or abs(trace.rewards["toy"].score - expected) < 1e-6
        assert set(trace.metrics) == {"toy/shape", "toy/right"}, trace.metrics
    task = Task(Data(prompt="after 4?", answer=None), config)
    trace = trace_of(task, RESPONSES[0])
    refused = False
    try:
        await task.score(trace)
    except vf.TaskError:
        refused = True
    assert refused, "what is not scored must not become a number"
    assert trace.rewards["toy"] is None


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "rewards.py"
    file.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from common import reward\nfrom assay.adapters.verifiers import task_reward\ntoy = task_reward(reward())\n"
    )
    asyncio.run(main(file))
print("ran: a v1 task's score()")
