"""Builds the wheel and the sdist, installs them into clean environments, and uses what is there: `make test-install`.

    python tests/installed.py              core, each extra alone, all
    python tests/installed.py core judge   only these
    python tests/installed.py --no-deps    builds both and looks into them, installs nothing

In each environment every feature is tried: those whose extra is installed must work, all others must end with the one
line that installs it. Needs a package index; nothing is left behind but dist/.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEATURES = ROOT / "tests" / "installed_features.py"


def extras() -> dict[str, list[str]]:
    """Extra -> the packages that it installs, as pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def build(to: Path, python: str = "") -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it (not from the tree), so that the sdist is known to be whole."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        python = python or environment(Path(scratch) / "build", ["hatchling"])
        subprocess.run([python, "-m", "hatchling", "build", "-t", "sdist", "-d", str(to)], cwd=ROOT, check=True)
        (sdist,) = to.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        (tree,) = (path for path in Path(scratch).iterdir() if (path / "pyproject.toml").is_file())
        subprocess.run([python, "-m", "hatchling", "build", "-t", "wheel", "-d", str(to)], cwd=tree, check=True)
    (wheel,) = to.glob("*.whl")
    return sdist, wheel


def look_into(sdist: Path, wheel: Path) -> None:
    """The wheel holds the package and nothing else; the sdist all that its tests and pages need."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    own = {
        f"assay/{p.relative_to(ROOT / 'src/assay').as_posix()}" for p in (ROOT / "src/assay").rglob("*") if tracked(p)
    }
    assert own <= inside, f"not in the wheel: {sorted(own - inside)}"
    strange = {name for name in inside if not name.startswith(("assay/", "assay-"))}
    assert not strange, f"in the wheel and not ours: {sorted(strange)}"
    assert "assay/train/conf/config.yaml" in inside
    assert "assay/py.typed" in inside
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("tests/test_docs.py", "docs/conf.py", "examples/rollouts.jsonl", "Makefile", "SECURITY.md", "LICENSE"):
        assert name in held, f"not in the sdist: {name}"


def tracked(path: Path) -> bool:
    """Whether a file is one of the package's own."""
    return path.is_file() and "__pycache__" not in path.parts


def environment(folder: Path, packages: list[str]) -> str:
    """A clean environment with these packages; gives its Python."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")]
    for some in ([p for p in packages if p.startswith("torch")], [p for p in packages if not p.startswith("torch")]):
        if some:  # torch first and alone, or pip may choose a build for another device beside it
            subprocess.run([*pip, *some], check=True)
    return python


def try_features(python: str, installed: str) -> dict[str, str]:
    """Each feature in this environment: "works", or the line that it ended with."""
    with tempfile.TemporaryDirectory() as empty:
        shutil.copy(FEATURES, empty)
        shutil.copy(ROOT / "examples" / "rollouts.jsonl", empty)
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        done = subprocess.run(
            [python, FEATURES.name, installed],
            cwd=empty,
            env={**env, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=1200,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def main(words: list[str]) -> None:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    sdist, wheel = build(dist)
    look_into(sdist, wheel)
    print(f"built {sdist.name} and, from it, {wheel.name}", flush=True)
    if words == ["--no-deps"]:
        return
    known = [name for name in extras() if name not in ("dev", "docs")]
    for name in words or ["core", *known]:
        heavy = name in ("model", "train", "all")
        with tempfile.TemporaryDirectory() as scratch:
            target = str(wheel) if name == "core" else f"{wheel}[{name}]"
            python = environment(Path(scratch) / "env", [*(["torch"] if heavy else []), target])
            found = try_features(python, name)
            uninstall = [python, "-m", "pip", "uninstall", "-q", "-y", "assay"]
            subprocess.run(uninstall, check=True)
            left = list((Path(scratch) / "env").rglob("*assay*"))
            assert not left, f"left behind after uninstalling: {left}"
        works = [feature for feature, said in found.items() if said == "works"]
        print(f"{name:7} works: {', '.join(works)}; the others say what to install", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
