"""`assay score` over a file: does memory stay flat and throughput steady as the file grows tenfold?

    python benchmarks/streaming.py [--quick]

The floor is what reading the same rows as JSON and writing them again costs with no reward at all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REWARD = "import assay\nreward = assay.CompositeReward([(assay.LengthReward(5), 0.5), (assay.FormatReward(), 0.5)])\n"

MEASURED = """
import resource, sys
from assay.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
print("PEAK", used.ru_maxrss // 1024, used.ru_utime)
"""


def make(path: Path, rows: int) -> None:
    """A file of short rows in groups of 8."""
    with path.open("w") as file:
        for n in range(rows):
            row = {"prompt": f"question {n // 8}", "response": f"an answer of some words {n}", "group": str(n // 8)}
            file.write(json.dumps(row) + "\n")


def measure(folder: Path, rows: int, suffix: str) -> tuple[float, float, int]:
    """Seconds of CPU and of wall, and peak memory in MB, of one `assay score`."""
    source, out = folder / f"{rows}.jsonl", folder / f"out{suffix}"
    if not source.exists():
        make(source, rows)
    (folder / "mine.py").write_text(REWARD)
    command = [
        sys.executable,
        "-c",
        MEASURED,
        "score",
        str(source),
        "-r",
        f"{folder}/mine.py:reward",
        "-o",
        str(out),
        "-q",
    ]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - started
    _, peak, cpu = next(line for line in done.stdout.splitlines() if line.startswith("PEAK")).split()
    return float(cpu), wall, int(peak)


def floor(folder: Path, rows: int) -> float:
    """Seconds of CPU to read the same rows as JSON and write them again."""
    started = time.process_time()
    with (folder / f"{rows}.jsonl").open() as file, (folder / "floor.jsonl").open("w") as out:
        for line in file:
            out.write(json.dumps(json.loads(line)) + "\n")
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    small, large = (20_000, 200_000) if parser.parse_args().quick else (100_000, 1_000_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for suffix in (".jsonl", ".parquet"):
            rates = {}
            for rows in (small, large):
                cpu, wall, peak = measure(folder, rows, suffix)
                rates[rows] = rows / cpu
                print(
                    f"streaming to {suffix[1:]:8} {rows:9,} rows  {cpu / rows * 1e6:6.1f} us CPU a row  "
                    f"{rows / wall:9,.0f} rows/s  peak {peak} MB"
                )
            ratio = rates[large] / rates[small]
            print(f"  throughput (CPU) at {large:,} over that at {small:,}: {ratio:.2f}  (goal: 0.90, under 400 MB)")
        print(f"  floor: read and write {large:,} rows as JSON: {floor(folder, large) / large * 1e6:.1f} us CPU a row")


if __name__ == "__main__":
    main()
