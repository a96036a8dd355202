"""`assay train` and `assay serve`: what they say where they are used wrongly."""

import subprocess
import sys

import pytest


def assay(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "assay", *words], capture_output=True, text=True, timeout=120, **options
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "length:target=3", "--host", "0.0.0.0"], "lets others in and needs a token"),
        (["serve", "lenght"], "Did you mean 'length'?"),
        (["serve", "length:target=3", "--token-env", "NOT_SET_ANYWHERE"], "names NOT_SET_ANYWHERE, which is not set"),
    ],
)
def test_serve(words, said):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    done = assay(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "serving" not in done.stderr.replace("serving on 0.0.0.0 lets", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["training.step=3"], "training has no 'step'; it has beta"),
        (["trainig.steps=3"], "Did you mean 'training'?"),
        (["training.steps=many"], "training.steps: "),
        (["training.reward_function=nope"], "there is no reward 'nope'"),
        (["training.reward_function=gone.py:mine"], "gone.py"),
        (["--config-dir", "nowhere"], "needed a folder with config.yaml"),
    ],
)
def test_train(words, said, tmp_path):
    pytest.importorskip("hydra", reason="hydra is not installed")
    pytest.importorskip("trl", reason="trl is not installed")
    done = assay("train", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
