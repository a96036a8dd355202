"""Every feature of an installed package, tried in the environment it stands in. Called by installed.py with the extra.

A feature of an extra that is installed must work. One of an extra that is not must end with MissingExtra, whose message
is the line that installs it; and the command must end with that line and without a traceback.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

EXTRAS = ("report", "text", "judge", "model", "train", "serve", "ray", "wasm")


def core() -> None:
    import assay

    reward = assay.CompositeReward({"right": (assay.MathReward(), 0.8), "form": (assay.FormatReward(), 0.2)})
    row = {"prompt": "1/2 + 1/4?", "response": "<think>.75</think><answer>3/4</answer>", "ground_truth": "0.75"}
    assert abs(assay.score(reward, [row])[0].reward - 1.0) < 1e-9
    slow = assay.declare(timeout=5.0)(exactly)
    assert [o.reward for o in assay.score(slow, ["4", "5"])] == [1.0, 0.0]
    tests = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}
    code = assay.CodeReward(workers=1)
    (output,) = assay.score(code, [{"response": "```python\ndef f(x):\n    return x + 1\n```", "tests": tests}])
    assert output.reward in (1.0, None), output
    code.close()
    judge = assay.LLMJudge("nobody", base_url="http://127.0.0.1:9/v1", api_key="none")
    (output,) = assay.score(judge, [{"prompt": "2 + 2?", "response": "It is 4."}])
    assert (output.reward, output.outcome) == (None, "infra_error"), output
    command("score", "rollouts.jsonl", "-r", "math", "-r", "format", "-o", "scored.jsonl")
    command("explain", "math")
    command("list")


def exactly(response: str) -> bool:
    return response == "4"


def report() -> None:
    command("score", "rollouts.jsonl", "-r", "math", "-o", "scored.parquet")
    command("inspect", "scored.parquet", "--fail-on", "never")
    command("report", "scored.parquet", "-o", "report.html")
    assert Path("report.html").stat().st_size > 10_000


def text() -> None:
    import assay

    assert assay.FormatReward(required_patterns=["re:^It"])(["It is."]) == [1.0]
    assert assay.LanguageReward(language="en")(["This is a whole sentence in the English language."])[0] > 0.5
    assert assay.JsonSchemaReward({"type": "object"})(["{}"]) == [1.0]


def judge() -> None:
    from assay.errors import InfraError
    from assay.train.sampler import vLLMSampler

    try:
        vLLMSampler("nobody", base_url="http://127.0.0.1:9/v1", retries=0).sample(["2 + 2?"])
    except InfraError:  # nobody is there: it got as far as asking
        return
    raise AssertionError("nobody answered")


def model() -> None:
    import assay

    if "torch" not in sys.modules and _absent("torch", "transformers"):
        (output,) = assay.score(assay.RewardModel("nowhere"), [{"prompt": "a", "response": "b"}])
        raise RuntimeError(output.error)
    import torch
    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"<pad>": 0, "a": 1, "b": 2, "c": 3, "<unk>": 4}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = t.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", unk_token="<unk>")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = t.Qwen2Config(vocab_size=5, num_key_value_heads=2, num_labels=1, pad_token_id=0, **sizes)
    t.Qwen2ForSequenceClassification(config).save_pretrained("rm")
    tokenizer.save_pretrained("rm")
    outputs = assay.score(assay.RewardModel("rm", device="cpu"), [{"prompt": "a", "response": r} for r in ("b", "c")])
    assert all(isinstance(o.reward, float) for o in outputs), outputs


def train() -> None:
    command("train", "training.steps=1", "training.prompts_per_step=2", "model.warm_up_steps=1", timeout=600)


def serve() -> None:
    from assay import MathReward
    from assay.serve.app import create_app
    from assay.serve.client import RewardClient

    app = create_app(MathReward())
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    (output,) = RewardClient(url).score([{"response": "4", "ground_truth": "4"}])
    server.should_exit = True
    thread.join()
    assert output.reward == 1.0


def ray() -> None:
    command("score", "rollouts.jsonl", "-r", "math", "--engine", "ray", "-o", "on_ray.jsonl", timeout=300)


def wasm() -> None:
    import assay
    from assay.sandbox.wasm import WasmSandbox

    tests = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}
    reward = assay.CodeReward(sandbox=WasmSandbox())
    (output,) = assay.score(reward, [{"response": "```python\ndef f(x):\n    return x + 1\n```", "tests": tests}])
    if "pip install" in output.error:
        raise RuntimeError(output.error)
    assert output.reward == 1.0, output


def command(*words: str, timeout: float = 120.0) -> None:
    """Run the installed command; what it says when it fails is the error."""
    assay = str(Path(sys.executable).with_name("assay"))
    done = subprocess.run([assay, *words], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1) or (done.returncode == 1 and "pip install" in done.stderr):
        raise RuntimeError(done.stderr)


def _absent(*modules: str) -> bool:
    from importlib.util import find_spec

    return any(find_spec(module) is None for module in modules)


def main(installed: str) -> None:
    core()
    found = {"core": "works"}
    for extra in EXTRAS:
        try:
            globals()[extra]()
            found[extra] = "works"
        except Exception as error:
            found[extra] = str(error).strip()
            if installed in (extra, "all"):
                raise
            lines = [line for line in found[extra].splitlines() if "pip install" in line]
            assert len(lines) == 1, f"{extra} without its extra: {found[extra]}"
            assert f"assay[{extra}]" in lines[0], f"{extra} without its extra: {found[extra]}"
            assert "Traceback" not in found[extra], found[extra]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
