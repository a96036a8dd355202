"""A name on the command line -> a reward.

math                     a built-in             length:target=200,unit=chars    with its parameters
rewards.py:short         a file's function      rewards.py:Short:most=200       a class or function with parameters
rewards.py               its only reward        pkg.module:name                 an installed one
reward.yaml              a configuration
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import assay
from assay.contract import name_of_class
from assay.errors import ConfigError, UnknownName, did_you_mean
from assay.reward import RewardFunction, as_reward, overrides


def builtins() -> dict[str, str]:
    """Every built-in reward: its short name -> its public name. Read from the package's own menu; imports nothing."""
    return {
        name_of_class(type(name, (), {})): name
        for home, names in assay._HOMES.items()
        if home.startswith("rewards.")
        for name in names
        if name[0].isupper()
    }


def load_reward(spec: Any, base: Path | None = None, parameters: Mapping[str, Any] | None = None) -> RewardFunction:
    """The reward that a spec names. Anything that is already a reward passes through.

    `base` is the folder that relative paths in the spec start from; by default the current one. `parameters` come on
    top of those in the spec.
    """
    if not isinstance(spec, str):
        return as_reward(spec)
    spec = spec.strip()
    name, _, rest = spec.partition(":")
    if name in builtins():
        return builtin(name, {**_parameters(rest, name), **(parameters or {})}, base)
    path = (base or Path()) / name
    if name.endswith((".yaml", ".yml")):
        from assay.config import load_config

        if parameters:
            raise ConfigError(f"{name} is a configuration: what it says is in the file; 'with' gives it nothing.")
        return load_config(path)
    attribute, _, text = rest.partition(":")
    given = {**_parameters(text, attribute), **(parameters or {})}
    if name.endswith(".py"):
        return _pick(_import_file(path), attribute, name, given)
    if path.is_file():
        raise ConfigError(
            f"{name} is a file, but no reward: needed a built-in's name (assay list), file.py:name, "
            f"package.module:name or a YAML file."
        )
    if "." in name or (attribute and "=" not in attribute):
        module, _, attribute = name.rpartition(".") if not rest else (name, "", attribute)
        return _pick(_import_module(module, name), attribute, module, given)
    raise UnknownName(
        f"there is no reward {name!r}.{did_you_mean(name, builtins())} Built in: {', '.join(sorted(builtins()))}; "
        f"or name one as file.py:name, package.module:name or a YAML file."
    )


def builtin(name: str, parameters: Mapping[str, Any], base: Path | None = None) -> RewardFunction:
    """Make a built-in reward with these parameters; where it is made of rewards, their names become them."""
    cls = builtin_class(name)
    made_of = {key: _loaded(parameters[key], base) for key in getattr(cls, "made_of", ()) if key in parameters}
    return _made(cls, name, {**parameters, **made_of})


def builtin_class(name: str) -> type:
    """The class of a built-in reward, by its short name."""
    return getattr(assay, builtins()[name])


def _loaded(value: Any, base: Path | None) -> Any:
    return [load_reward(one, base) for one in value] if isinstance(value, list | tuple) else load_reward(value, base)


def _parameters(text: str, name: str) -> dict[str, Any]:
    """`target=200,unit=chars` -> {"target": 200, "unit": "chars"}; values are read as YAML."""
    if not text:
        return {}
    import yaml

    found: dict[str, Any] = {}
    for part in _split(text):
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"reward {name!r}: needed parameter=value, found {part!r}.")
        try:
            found[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"reward {name!r}: the value of {key.strip()!r} cannot be read: {value!r}") from error
    return found


def _split(text: str) -> Iterator[str]:
    """At commas that are in no bracket and no quotes."""
    start, depth, quote = 0, 0, ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        elif c == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.py")]) if path.parent.is_dir() else ""
        raise UnknownName(f"there is no reward file {path}.{near}")
    path = path.resolve()
    name = f"assay_file_{path.stem}_{abs(hash(str(path))):x}"
    changed = path.stat().st_mtime_ns
    if getattr(known := sys.modules.get(name), "__changed__", None) == changed:
        return cast("ModuleType", known)  # two rewards of one file are of one module, and so can be pickled
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} cannot be imported as Python.")
    module = importlib.util.module_from_spec(spec)
    vars(module)["__changed__"] = changed
    sys.modules[name] = module
    folder = str(path.parent)
    sys.path.insert(0, folder)  # its own neighbours are importable, as they are for a script
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a stranger's file may raise anything at import
        del sys.modules[name]
        raise ConfigError(f"{path} failed to import{_line_in(error, path)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.append(folder)  # for what is imported at its first use, and in workers
    return module


def _line_in(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.lineno:
        return f" at line {error.lineno}"
    lines: list[int] = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" at line {lines[-1]}" if lines else ""


def _import_module(module: str, name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # a project's own modules, as `python -m` would find them
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and not (module + ".").startswith(error.name + "."):
            raise ConfigError(f"module {module!r} failed to import: {error}") from error
        near = did_you_mean(name, builtins())
        raise UnknownName(f"there is no module {module!r} for the reward {name!r}.{near}") from error


def _pick(module: ModuleType, name: str, where: str, parameters: Mapping[str, Any]) -> RewardFunction:
    candidates = _rewards_in(module)
    if not name:
        if len(candidates) == 1:
            ((name, value),) = candidates.items()
            return _made(value, name, parameters)
        raise UnknownName(f"{where} has {len(candidates)} rewards ({', '.join(candidates)}); name one: {where}:NAME")
    if not hasattr(module, name):
        have = ", ".join(candidates) or "nothing callable"
        raise UnknownName(f"there is no {name!r} in {where}; it has {have}.{did_you_mean(name, candidates)}")
    return _made(getattr(module, name), name, parameters)


def _rewards_in(module: ModuleType) -> dict[str, Any]:
    def own(value: Any) -> bool:
        if isinstance(value, RewardFunction):
            return True
        if inspect.isclass(value):
            return issubclass(value, RewardFunction) and value.__module__ == module.__name__
        return inspect.isfunction(value) and value.__module__ == module.__name__

    return {name: value for name, value in vars(module).items() if not name.startswith("_") and own(value)}


def needed_parameters(cls: type) -> list[str]:
    """The parameters that an instance cannot be made without."""
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in inspect.signature(cls).parameters.values() if p.kind in plain and p.default is p.empty]


def _made(value: Any, name: str, parameters: Mapping[str, Any]) -> RewardFunction:
    """The reward: an instance of a class, a function with some of its parameters fixed, or what it is already."""
    is_class = inspect.isclass(value)
    if not parameters and not is_class:
        return as_reward(value)
    if not is_class and not inspect.isfunction(value):
        raise ConfigError(f"reward {name!r} is made already ({type(value).__name__}); it takes no parameters.")
    known = [
        p.name for p in inspect.signature(value).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    for key in parameters:
        if key not in known:
            raise ConfigError(
                f"reward {name!r} has no parameter {key!r}; it takes {', '.join(known) or 'none'}."
                f"{did_you_mean(key, known)}"
            )
    if not is_class:
        return as_reward(functools.partial(value, **parameters))
    if missing := [name for name in needed_parameters(value) if name not in parameters]:
        raise ConfigError(
            f"reward {name!r} needs {' and '.join(missing)}; found {', '.join(parameters) or 'none'}. "
            f"Give it: {name}:{','.join(f'{one}=...' for one in missing)}"
        )
    try:
        return as_reward(value(**parameters))
    except TypeError as error:
        if issubclass(value, RewardFunction) and not overrides(value):
            raise ConfigError(f"reward {name!r}: {error}") from error
        given = ", ".join(f"{key}={value!r}" for key, value in parameters.items()) or "no parameters"
        raise ConfigError(f"reward {name!r} cannot be made with {given}: {error}") from error
