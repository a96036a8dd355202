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
    sections = [_about(chosen.quick)]
    for name in names:
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        own = ENVIRONMENTS.get(name)
        python = str(own) if own is not None and own.exists() else sys.executable
        command = [python, str(HERE / f"{name}.py"), *(["--quick"] if chosen.quick else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout, flush=True)
        ended = "" if done.returncode == 0 else f"\n(ended with exit code {done.returncode})"
        sections.append(f"## {name}\n\n```text\n{done.stdout.rstrip()}{ended}\n```\n")
        print(f"   {time.perf_counter() - started:.0f} s", flush=True)
    if not chosen.names:
        (HERE / "RESULTS.md").write_text("\n".join(sections), encoding="utf-8")
        print(f"wrote {HERE / 'RESULTS.md'}")


def _about(quick: bool) -> str:
    packages = []
    for name in ("assay", *PEERS):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} (absent)")
    return (
        "# Figures\n\n"
        "Made by `make bench`, everything in one run on one machine. Ratios carry over; absolute times do not.\n\n"
        f"- {platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n"
        f"- {', '.join(packages)}\n"
        f"- {time.strftime('%Y-%m-%d', time.gmtime())}{', quick run: not to be quoted' if quick else ''}\n"
    )


if __name__ == "__main__":
    main()
