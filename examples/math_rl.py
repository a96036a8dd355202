"""Reinforcement learning by hand: sample, score, compare within the group, step. Learns in a minute on a CPU.

    python examples/math_rl.py

TransformersSampler(model_id="Qwen/Qwen3-0.6B") loads a real model; vLLMSampler(model_id=...) asks a vLLM server.
"""

import torch

from assay import MathReward
from assay.advantage import GRPOAdvantage, scored
from assay.train import toy
from assay.train.sampler import Batch, TransformersSampler

STEPS, NUM_SAMPLES = 80, 16


def log_probabilities(model, tokenizer, trajectories):
    """Of each sampled token, and a mask of which places hold one."""
    texts = [toy.chat_text(tokenizer, t.messages[:-1]) for t in trajectories]
    asked = tokenizer(texts, add_special_tokens=False)["input_ids"]
    rows = [prompt + list(t.tokens.ids) for prompt, t in zip(asked, trajectories, strict=True)]
    width = max(map(len, rows))
    ids = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows])
    mask = torch.tensor([[len(p) <= i < len(r) for i in range(width)] for p, r in zip(asked, rows, strict=True)])
    logits = model(input_ids=ids[:, :-1], attention_mask=(ids != tokenizer.pad_token_id).long()[:, :-1]).logits
    return torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0], mask[:, 1:].float()


def main(seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    task = toy.ToyTask(before="\\boxed{", after="}")
    tokenizer = toy.build_tokenizer(task)
    model = toy.build_model(tokenizer)
    toy.warm_up(model, tokenizer, seed, task=task)
    sampler = TransformersSampler(model=model, tokenizer=tokenizer, max_tokens=8)
    reward_fn, advantage_fn = MathReward(), GRPOAdvantage()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    means: list[float] = []
    for step in range(STEPS):
        batch = Batch.of(task.rows(10, seed=seed * STEPS + step))
        response = sampler.sample(batch, num_samples=NUM_SAMPLES)
        rewards = reward_fn(response.trajectories, batch.ground_truths)
        advantages = torch.tensor(advantage_fn(rewards, num_generations=NUM_SAMPLES))
        counts = torch.tensor(scored(rewards)).float()  # what was not scored is not learnt from
        logps, mask = log_probabilities(model, tokenizer, response.trajectories)
        mask = mask * counts[:, None]
        optimizer.zero_grad()
        (-(advantages[:, None] * logps * mask).sum() / mask.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        means.append((torch.tensor(rewards).nan_to_num() * counts).sum().item() / counts.sum().item())
        print(f"step {step:3d}  mean reward {means[-1]:.3f}")
    return means


if __name__ == "__main__":
    main()
