"""`assay train-rm`: a reward model from preferences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from assay.cli.choices import pairs


def train_rm(
    preferences: Annotated[
        Path, typer.Argument(metavar="PREFERENCES", help="JSONL with prompt, chosen, rejected; perhaps category.")
    ],
    base: Annotated[str, typer.Option("--base", help="The model to start from: a folder, or a name on the hub.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the reward model is saved.")],
    epochs: Annotated[float, typer.Option(help="Times through the preferences.")] = 1.0,
    steps: Annotated[int, typer.Option(help="Steps; 0 is what the epochs take.", min=0)] = 0,
    batch: Annotated[int, typer.Option(help="Preferences a step and device.", min=1)] = 16,
    learning_rate: Annotated[float, typer.Option(help="A model from scratch wants a hundred times more.")] = 1e-5,
    held_out: Annotated[
        float, typer.Option(help="The share of prompts that is kept to evaluate.", min=0, max=0.9)
    ] = 0.1,
    max_length: Annotated[int, typer.Option(help="Tokens; longer pairs are left out.", min=8)] = 1024,
    seed: Annotated[int, typer.Option()] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any argument of TRL's RewardConfig: name=value."),
    ] = None,
) -> None:
    """Train a reward model with TRL's RewardTrainer, and say what it is worth on prompts it never saw."""
    from assay.train.reward_model import Recipe, read_preferences, train_reward_model

    more: dict[str, Any] = {name: yaml.safe_load(value) for name, value in pairs(set_ or [], "--set").items()}
    recipe = Recipe(epochs, steps, batch, learning_rate, held_out, max_length, seed=seed, trl=more)
    figures = train_reward_model(read_preferences(preferences), base, output, recipe)
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):20} {value:.4g}")
    print(f"saved in {output}. Use it: assay score ROLLOUTS --reward reward_model:model_path={output}")
