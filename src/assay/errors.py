"""Every error that Assay raises on purpose.

    AssayError
    ├── UsageError              what was asked for cannot be: the command exits with 2
    │   ├── UnknownName         no such reward, parameter, file or function (with the nearest one that there is)
    │   ├── ConfigError         a configuration or a reward's parameters say what cannot be (a ValueError too)
    │   ├── InputError          the rollouts cannot be read
    │   └── MissingExtra        an optional part is not installed (also an ImportError)
    └── RewardError             a reward did not keep its contract on a row
        ├── MissingColumn       it names a column that the row does not have (a UsageError too)
        ├── WrongOutput         it returned what is no reward, or not one for each row
        ├── RewardTimeout       it was stopped at its deadline
        └── InfraError          what it depends on failed; rewards raise this one themselves

Messages say what was needed, what was found, and what to do. A `RewardError` is raised where one trajectory is scored
by hand, and carried as the outcome of a row where a batch is.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType

from assay.types import Outcome


class AssayError(Exception):
    """The root: `except AssayError` catches all of them."""


class UsageError(AssayError):
    """What was asked for cannot be done as asked."""


class UnknownName(UsageError):
    """No such reward, parameter, file or function."""


class ConfigError(UsageError, ValueError):
    """A configuration, or a reward's own parameters, say what cannot be."""


class InputError(UsageError):
    """The rollouts cannot be read."""


class MissingExtra(UsageError, ImportError):
    """An optional part is not installed; the message is the line that installs it."""


class RewardError(AssayError):
    """A reward did not keep its contract. `outcome` is what a batch carries for it."""

    outcome = Outcome.GRADER_ERROR


class MissingColumn(RewardError, UsageError):
    """The reward names a column that the row does not have."""


class WrongOutput(RewardError):
    """The reward returned what is no reward, or not one for each row."""


class RewardTimeout(RewardError):
    """The reward was stopped at its deadline."""

    outcome = Outcome.TIMEOUT


class InfraError(RewardError):
    """What the reward depends on failed: a server, a worker, a model. Raised by rewards; retried by the engine."""

    outcome = Outcome.INFRA_ERROR


OUTCOME_ERRORS: dict[Outcome, type[RewardError]] = {
    Outcome.TIMEOUT: RewardTimeout,
    Outcome.INFRA_ERROR: InfraError,
    Outcome.GRADER_ERROR: RewardError,
}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'length'?`, or nothing where no known name is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def require(module: str, extra: str, what: str) -> ModuleType:
    """Import a module of an optional extra, or say the line that installs it.

    Example: `polars = require("polars", "report", "writing Parquet")`.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"{what} needs {module.split('.')[0]!r}, which is not installed. Install it: pip install 'assay[{extra}]'",
            name=module,
        ) from error
