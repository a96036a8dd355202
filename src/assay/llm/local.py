"""A transformers model in this process: found, checked, put on its device once, and made ready to score.

What goes wrong here is the model's, not a response's, and is raised as `InfraError` with what to do: no GPU, a score
head that was never trained, a tokenizer that does not fit the embedding.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.errors import ConfigError, InfraError, require
from assay.llm.kernels import use_onednn

Head = Literal["sequence", "token", "causal"]
_AUTO = {
    "sequence": "AutoModelForSequenceClassification",
    "token": "AutoModelForTokenClassification",
    "causal": "AutoModelForCausalLM",
}
_TYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Spec:
    """Which model, and where it runs."""

    path: str
    head: Head = "sequence"
    device: str = "auto"
    dtype: str = "auto"
    """auto (float32 on a CPU, the checkpoint's own type on a GPU), float32, bfloat16 or float16."""
    fast_linear: bool = True
    """On a CPU in float32 use oneDNN's kernels where they agree with torch's own."""

    def __post_init__(self) -> None:
        if self.dtype not in _TYPES:
            raise ConfigError(f"needed dtype as {', '.join(_TYPES)}; found {self.dtype!r}.")


@dataclass(slots=True)
class Local:
    """A loaded model with its tokenizer."""

    model: Any
    tokenizer: Any
    device: Any
    max_length: int
    pad: int
    causal: bool
    """It reads from left to right, so what answers have in common at their start can be computed once."""
    rows_of_embedding: int
    """How many token ids there are."""


def load(spec: Spec) -> Local:
    """Load a model and its tokenizer, and check that they can score."""
    torch: Any = require("torch", "model", f"the model {spec.path!r}")
    transformers: Any = require("transformers", "model", f"the model {spec.path!r}")
    device = device_of(torch, spec.device)
    with loading(spec.path):
        tokenizer = transformers.AutoTokenizer.from_pretrained(spec.path)
        auto = getattr(transformers, _AUTO[spec.head])
        model, info = auto.from_pretrained(spec.path, dtype=_dtype(torch, spec, device), output_loading_info=True)
    _check_head(spec, info)
    pad = _pad(tokenizer, model)
    model.eval().to(device)
    if spec.fast_linear and device.type == "cpu" and model.dtype is torch.float32:
        use_onednn(torch, model)
    forward = inspect.signature(model.forward).parameters
    causal = "past_key_values" in forward and not getattr(model.config, "is_encoder_decoder", False)
    rows = int(model.get_input_embeddings().weight.shape[0])
    return Local(model, tokenizer, device, max_length_of(tokenizer, model.config), pad, causal, rows)


@contextlib.contextmanager
def loading(path: str) -> Generator[None]:
    """What goes wrong while a model's files are read, in one line that says what to do."""
    written_as_folder = path.startswith(("/", "./", "../", "~")) or path.count("/") > 1 or "\\" in path
    if written_as_folder and not Path(path).is_dir():  # it must not be looked for on the hub
        raise InfraError(f"the model {path!r} cannot be loaded: there is no such folder (seen from {Path.cwd()}).")
    safetensors: Any = require("safetensors", "model", f"the model {path!r}")
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError, safetensors.SafetensorError) as error:
        first = str(error).strip().split("\n")[0][:300]
        raise InfraError(
            f"the model {path!r} cannot be loaded: {first} Give a folder of a transformers model, or the name "
            f"of one on the hub that this machine can reach."
        ) from error


def weights_on_disk(path: str) -> str:
    """What tells the weights in a folder from those that stood there before; empty for a model on the hub."""
    folder = Path(path)
    if not folder.is_dir():
        return ""
    files = sorted(file for file in folder.iterdir() if file.suffix in (".safetensors", ".bin", ".json"))
    return " ".join(f"{file.name}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def device_of(torch: Any, wanted: str) -> Any:
    """The device by name; `auto` is the GPU where there is one."""
    if wanted == "auto":
        mps = getattr(torch.backends, "mps", None)
        found = "cuda" if torch.cuda.is_available() else "mps" if mps is not None and mps.is_available() else "cpu"
        return torch.device(found)
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise InfraError(
            f"device={wanted!r} needs a GPU that torch can use; found none (torch {torch.__version__}). "
            f"Use device='auto' to run where it can, or install a CUDA build of torch."
        )
    try:
        return torch.device(wanted)
    except RuntimeError:
        raise InfraError(f"device={wanted!r} is no device; use 'auto', 'cpu', 'cuda' or 'cuda:1'.") from None


def _dtype(torch: Any, spec: Spec, device: Any) -> Any:
    if spec.dtype != "auto":
        return getattr(torch, spec.dtype)
    return torch.float32 if device.type == "cpu" else "auto"


def _check_head(spec: Spec, info: Any) -> None:
    missing = sorted(str(key) for key in info.get("missing_keys", ()) or ())
    heads = [
        key for key in missing if re.search(r"(?:^|\.)(?:score|classifier|classification_head|lm_head|out_proj)\b", key)
    ]
    if heads:
        raise InfraError(
            f"the model {spec.path!r} has no trained score head: {', '.join(heads)} would be random. It is a base "
            f"model; train a reward model from it (assay train-rm --base {spec.path}), or name one."
        )


def _pad(tokenizer: Any, model: Any) -> int:
    config = model.config.get_text_config()
    pad = next(
        (t for t in (config.pad_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id) if isinstance(t, int)), 0
    )
    if config.pad_token_id is None:
        config.pad_token_id = pad
        model.config.pad_token_id = pad
    return pad


def max_length_of(tokenizer: Any, config: Any) -> int:
    """How many tokens a model can take, by its tokenizer and its positions."""
    config = config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and config.model_type in ("roberta", "xlm-roberta", "camembert"):
        positions -= (config.pad_token_id or 0) + 1  # they count their positions from behind the padding id
    known = [n for n in (tokenizer.model_max_length, positions) if isinstance(n, int) and 0 < n < 10**7]
    return min(known) if known else 4096
