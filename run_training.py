"""Train a policy against a reward: `python run_training.py +training.reward_function=custom_reward_function`.

The same as `assay train`; conf/ holds the configuration, and any of it can be overridden in Hydra's way.
"""

import hydra
from omegaconf import DictConfig, OmegaConf

from assay.cli.train import run


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(config: DictConfig) -> None:
    run(OmegaConf.to_container(config, resolve=True))


if __name__ == "__main__":
    main()
