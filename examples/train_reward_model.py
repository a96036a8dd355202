"""A reward model from preferences: made, trained, evaluated, and used as a reward. About half a minute on a CPU.

    python examples/train_reward_model.py

With a real model it is `assay train-rm preferences.jsonl --base Qwen/Qwen3-0.6B --output my-rm`; the model here is made
on the spot, so that nothing is downloaded.
"""

import random
import tempfile
from pathlib import Path

from assay import RewardModel, score
from assay.train import toy
from assay.train.reward_model import Preference, Recipe, evaluate, train_reward_model

TOPICS = ["tea", "rice", "maps", "bees", "kites", "clocks", "rivers", "bread"]
KIND = ["Of course, gladly: {} can be lovely.", "Thank you for asking. Here is more on {}.", "Happy to help with {}."]
RUDE = ["Find out about {} yourself.", "I do not care about {}.", "What a dull question on {}."]


def preferences(count: int, seed: int) -> list[Preference]:
    rng = random.Random(seed)
    found = []
    for i in range(count):
        topic = rng.choice(TOPICS)
        kind, rude = rng.choice(KIND).format(topic), rng.choice(RUDE).format(topic)
        found.append(Preference(f"Tell me about {topic}. ({i})", kind, rude, category=topic))
    return found


def main(folder: str | None = None) -> tuple[float, list[float | None]]:
    where = Path(folder or tempfile.mkdtemp())
    tokenizer = toy.build_tokenizer()
    toy.build_model(tokenizer).save_pretrained(where / "base")
    tokenizer.save_pretrained(where / "base")

    recipe = Recipe(steps=30, learning_rate=2e-3, max_length=128, held_out=0.1)
    figures = train_reward_model(preferences(600, seed=0), where / "base", where / "model", recipe)
    print({name: round(value, 3) for name, value in figures.items()})

    reward = RewardModel(str(where / "model"), device="cpu", output="sigmoid")
    found = evaluate(reward, preferences(60, seed=1))  # prompts that it never saw
    print(f"pairwise accuracy {found.accuracy:.2f}; prefers the longer one {found.prefers_longer:.2f} of the time")

    rows = [{"prompt": "Tell me about tea.", "response": r} for r in ("Happy to help with tea.", "I do not care.")]
    rewards = [output.reward for output in score(reward, rows)]
    print(rewards)
    return found.accuracy, rewards


if __name__ == "__main__":
    main()
