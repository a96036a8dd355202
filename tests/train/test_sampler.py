import threading
import time

import pytest

from assay.errors import InfraError, InputError
from assay.train.sampler import Batch, TransformersSampler, vLLMSampler
from assay.types import Trajectory


@pytest.fixture
def chat_server():
    """A server that speaks the chat API: says the last user turn back, and which sample it is."""
    fastapi = pytest.importorskip("fastapi", reason="fastapi is not installed")
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    app, seen = fastapi.FastAPI(), []

    @app.post("/v1/chat/completions")
    async def complete(body: dict):
        seen.append(body)
        if len(seen) == 1:
            raise fastapi.HTTPException(503, "warming up")
        asked = body["messages"][-1]["content"]
        if asked == "refuse":
            raise fastapi.HTTPException(400, "no such model")
        said = [{"index": i, "message": {"content": f"{asked} {i}"}} for i in range(body["n"])]
        return {"choices": said[::-1]}

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1", seen
    server.should_exit = True
    thread.join(10)


def test_vllm_sampler(chat_server):
    url, seen = chat_server
    sampler = vLLMSampler(model_id="ms://Qwen/Qwen3.5-4B", base_url=url, max_tokens=7)
    batch = Batch(["a", [{"role": "system", "content": "s"}, {"role": "user", "content": "b"}]], ["1", "2"])
    response = sampler.sample(batch, num_samples=3)
    assert [t.response for t in response.trajectories] == ["a 0", "a 1", "a 2", "b 0", "b 1", "b 2"]
    assert [t.ground_truth for t in response.trajectories] == ["1"] * 3 + ["2"] * 3
    assert [t.group_id for t in response.trajectories] == ["0"] * 3 + ["1"] * 3
    assert len(response.trajectories[3].messages) == 3
    assert (seen[-1]["model"], seen[-1]["n"], seen[-1]["max_tokens"]) == ("Qwen/Qwen3.5-4B", 3, 7)
    with pytest.raises(InfraError, match="no such model"):
        sampler.sample(["refuse"])


def test_no_server():
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    sampler = vLLMSampler(model_id="m", base_url="http://127.0.0.1:9/v1", retries=0, api_key="secret")
    with pytest.raises(InfraError, match="Start one: vllm serve m"):
        sampler.sample(["a"])
    assert "secret" not in repr(sampler)


@pytest.mark.filterwarnings("ignore")
def test_transformers_sampler():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    from assay.train import toy

    torch.manual_seed(0)
    tokenizer = toy.build_tokenizer()
    sampler = TransformersSampler(model=toy.build_model(tokenizer, 32, 1), tokenizer=tokenizer, max_tokens=5)
    rows = [{"prompt": "after 4?", "ground_truth": "5"}, Trajectory(prompt="after 5?", ground_truth="6")]
    trajectories = sampler.sample(rows, num_samples=4).trajectories
    assert [t.ground_truth for t in trajectories] == ["5"] * 4 + ["6"] * 4
    assert {t.group_id for t in trajectories} == {"0", "1"}
    for t in trajectories:
        assert tokenizer.decode(t.tokens.ids, skip_special_tokens=True) == t.response
        assert len(t.tokens.ids) <= 5
    assert [t.prompt for t in trajectories] == ["after 4?"] * 4 + ["after 5?"] * 4


def test_what_is_no_prompt_is_refused():
    with pytest.raises(InputError, match="needed prompts"):
        vLLMSampler(model_id="m").sample([3])


def test_ground_truths_one_a_prompt_are_enough():
    """As the loop of Twinkle's users has it: reward_fn(response.trajectories, batch.ground_truths)."""
    from assay.reward import FunctionReward

    reward = FunctionReward(lambda response, ground_truth: float(response == ground_truth))
    rows = [Trajectory(response=r, group=g) for r, g in (("4", "a"), ("5", "a"), ("7", "b"), ("6", "b"))]
    assert reward(rows, ["4", "6"]) == [1.0, 0.0, 0.0, 1.0]
    mixed = [Trajectory(response=r, group=g) for r, g in (("4", "a"), ("5", "b"))]
    with pytest.raises(TypeError, match="a ground truth for each of 2 trajectories; found 1"):
        reward(mixed, ["4"])
