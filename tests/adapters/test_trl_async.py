"""AsyncGRPO's rollout worker in its own spawned process, scoring with adapted rewards; a small model stands for vLLM."""

import queue
import threading
import time

import pytest

pytest.importorskip("trl", reason="trl is not installed: pip install 'assay[train]'")
pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'assay[serve]'")

from assay.adapters.trl import reward_funcs
from assay.train import toy

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture
def completions_server():
    """What vLLM answers at /v1/completions, from a model that is built and sampled here."""
    import torch
    import uvicorn
    from accelerate.state import PartialState
    from fastapi import FastAPI

    PartialState(cpu=True)  # the worker logs through it
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = toy.build_tokenizer()
    tokenizer.response_template = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {"content": {"close_pattern": r"<\|im_end\|>", "content": "text"}},
    }
    model = toy.build_model(tokenizer, hidden=32, layers=1)
    toy.warm_up(model, tokenizer, 0, steps=20)
    app, one_at_a_time = FastAPI(), threading.Lock()

    @app.post("/v1/completions")
    def complete(body: dict):
        ids, said, logprobs = torch.tensor([body["prompt"]]), [], []
        with one_at_a_time, torch.no_grad():
            while len(said) < body["max_tokens"] and (not said or said[-1] != tokenizer.eos_token_id):
                logits = torch.log_softmax(model(input_ids=ids).logits[0, -1], -1)
                token = torch.multinomial(logits.exp(), 1)
                said.append(int(token))
                logprobs.append(float(logits[token]))
                ids = torch.cat([ids, token[None]], 1)
        return {"choices": [{"token_ids": said, "logprobs": {"token_logprobs": logprobs}}]}

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield tokenizer, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


def test_the_spawned_worker_scores_with_the_weighted_parts(completions_server, monkeypatch):
    from datasets import Dataset
    from trl.experimental.async_grpo import async_rollout_worker

    tokenizer, url = completions_server
    monkeypatch.setattr(async_rollout_worker, "is_vllm_available", lambda: True)  # it answers at `url`
    funcs, weights = reward_funcs(toy.toy_reward(), aggregation="sum")
    assert weights == [1.0, 1.0]
    worker = async_rollout_worker.AsyncRolloutWorker(
        model_name="toy",
        dataset=Dataset.from_list(toy.ToyTask().rows(8, 0)),
        reward_funcs=funcs,
        processing_class=tokenizer,
        eos_token_ids=[tokenizer.eos_token_id],
        num_generations=4,
        max_inflight_tasks=8,
        queue_maxsize=64,
        vllm_server_url=url,
        max_tokens=8,
    )
    try:
        worker.start()
        samples = [_next(worker) for _ in range(32)]
    finally:
        worker.stop()
    score = toy.toy_reward()
    for sample in samples:
        said = sample.completion[-1]["content"]
        (output,) = score.compute_rewards(
            [{"prompt": sample.prompt, "response": said, "answer": _answer(sample.prompt[-1]["content"])}]
        )
        parts = {name: part.reward for name, part in output.components.items()}
        assert sample.metrics["reward"] == pytest.approx(output.reward)
        assert sample.metrics["rewards/format"] == pytest.approx(0.1 * parts["format"])
        assert sample.metrics["rewards/correct"] == pytest.approx(0.9 * parts["correct"])
    assert len({sample.metrics["reward"] for sample in samples}) > 1, "a policy that is sometimes right"


def _next(worker):
    """The next scored sample, or what went wrong in the worker."""
    for _ in range(120):
        worker.check_health(60)
        try:
            return worker.rollout_buffer.get(timeout=0.5)
        except queue.Empty:
            continue
    raise AssertionError("the worker sent nothing in a minute")


def _answer(prompt):
    return str((int(prompt.removeprefix("after ").removesuffix("?")) + 1) % 10)


def test_what_cannot_be_pickled_is_said_before_anything_is_spawned(completions_server, monkeypatch):
    from datasets import Dataset
    from trl.experimental.async_grpo import async_rollout_worker

    tokenizer, url = completions_server
    monkeypatch.setattr(async_rollout_worker, "is_vllm_available", lambda: True)
    worker = async_rollout_worker.AsyncRolloutWorker(
        model_name="toy",
        dataset=Dataset.from_list(toy.ToyTask().rows(8, 0)),
        reward_funcs=reward_funcs(lambda response: 1.0, aggregation="sum").funcs,
        processing_class=tokenizer,
        eos_token_ids=[tokenizer.eos_token_id],
        vllm_server_url=url,
    )
    with pytest.raises(TypeError, match="must be picklable"):
        worker.start()
