"""Every figure of the project in one run, side by side with the peers: writes benchmarks/RESULTS.md.

    python benchmarks/run.py [--quick] [NAME ...]

Each file beside this one is a benchmark of one room and prints its own table; alone it runs as `python
benchmarks/NAME.py`. Figures are CPU time and ratios within one run, for the machine may be busy with other things.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = {"answers": HERE.parent / ".venvs" / "math-verify" / "bin" / "python"}
"""Benchmarks whose peer lives in an environment of its own (`make bench` makes it)."""
PEERS = ("trl", "torch", "transformers", "polars", "ray", "aiohttp", "openai", "fastapi")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="smaller inputs: to see that it runs, not to quote")
    parser.add_argument("names", nargs="*", help="only these")
    chosen = parser.parse_args()
    known = sorted(p.stem for p in HERE.glob("*.py") if p.stem != "run" and not p.stem.startswith("_"))
    names = chosen.names or known
    if unknown := set(names) - set(known):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there is {', '.join(known)}")
    results = HERE / "RESULTS.md"
    sections = _sections(results)
    for name in names:
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        own = ENVIRONMENTS.get(name)
        python = str(own) if own is not None and own.exists() else sys.executable
        command = [python, str(HERE / f"{name}.py"), *(["--quick"] if chosen.quick else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.perf_counter() - started
        print(f"{done.stdout}\n   {seconds:.0f} s", flush=True)
        ended = "" if done.returncode == 0 else f"\n(ended with exit code {done.returncode})"
        sections[name] = f"{_when(seconds)}\n\n```text\n{done.stdout.rstrip()}{ended}\n```\n"
        if not chosen.quick:  # after each: a run that is stopped keeps what it has measured
            told = [f"## {name}\n\n{sections[name]}" for name in known if name in sections]
            results.write_text("\n".join([_about(), *told]), encoding="utf-8")


def _sections(results: Path) -> dict[str, str]:
    """What was measured before, by benchmark: a run of some of them leaves the others as they are."""
    if not results.exists():
        return {}
    parts = results.read_text(encoding="utf-8").split("\n## ")[1:]
    return {name: text.strip("\n") + "\n" for name, _, text in (part.partition("\n") for part in parts)}


def _when(seconds: float) -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {seconds:.0f} s; {_machine()}"


def _machine() -> str:
    load = os.getloadavg()[2]
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} over the last 15 minutes"


def _about() -> str:
    packages = []
    for name in ("assay", *PEERS):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} (absent)")
    return (
        "# Figures\n\n"
        "Made by `make bench`. In each table the peers are measured beside us, in one run on one machine. Ratios carry "
        "over; absolute times do not.\n\n"
        f"- {platform.platform()}\n"
        f"- {', '.join(packages)}\n"
    )


if __name__ == "__main__":
    main()
