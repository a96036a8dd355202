"""`assay eval-rm`: how often a reward model (or any reward) gives the better answer more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.errors import ConfigError


def eval_rm(
    preferences: Annotated[
        Path, typer.Argument(metavar="PREFERENCES", help="JSONL with prompt, chosen, rejected; perhaps category.")
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="A reward model: a folder, or a name on the hub.")] = "",
    reward: Annotated[
        str, typer.Option("--reward", "-r", metavar="SPEC", help="Or any other reward, as for `assay score`.")
    ] = "",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda ...")] = "auto",
) -> None:
    """Pairwise accuracy by category, and what length has to do with it. Exits with 1 where a pair got no score."""
    from assay.load import load_reward
    from assay.rewards.model import RewardModel
    from assay.train.reward_model import evaluate, read_preferences

    if bool(model) == bool(reward):
        raise ConfigError("needed one of --model PATH and --reward SPEC.")
    chosen = RewardModel(model, device) if model else load_reward(reward)
    found = evaluate(chosen, read_preferences(preferences))
    if not found.pairs:
        print(f"none of the {found.unscored:,} pairs got a score: {found.why_unscored}", file=sys.stderr)
        raise typer.Exit(1)
    print(f"{'category':24} {'pairs':>7} {'accuracy':>9}")
    for part in found.categories:
        print(f"{part.name[:24]:24} {part.pairs:7,} {part.accuracy:9.1%}")
    print(f"{'all':24} {found.pairs:7,} {found.accuracy:9.1%}   ties {found.ties}, margin {found.margin:+.2f} sd\n")
    print("length")
    for part in (found.when_better_is_longer, found.when_better_is_shorter):
        print(f"{part.name:24} {part.pairs:7,} {part.accuracy:9.1%}")
    print(f"the longer answer wins in {found.prefers_longer:.1%}; people preferred it in {found.longer_is_better:.1%}")
    print(f"correlation of the differences in length and in score: {found.length_correlation:+.2f}")
    if found.unscored:
        print(f"{found.unscored:,} pairs are not counted, for an answer got no score: {found.why_unscored}")
        raise typer.Exit(1)
