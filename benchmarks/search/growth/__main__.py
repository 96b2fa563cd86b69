"""How searches grow: python -m benchmarks.search.growth

Writes 10,000, 100,000 and 1,000,000 synthetic chunks in 5,000 sources of two organisations, each number into a database
of its own below var/growth, which stays for a second run. Measures times of load and index builds, bytes by table and
index, times of searches in process and over HTTP, and recall within scopes of 0.02 to 100 % of the chunks. BENCH_CHUNKS
lists other numbers. 1,000,000 chunks need 12 GB of disk and, with RAG_INDEX_BUILD_MEMORY_MB=2500, 6 GB of memory.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def measure(counts: Sequence[int], environment: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """Measure each number of chunks in a process with this environment, and return what it has written."""
    folders = {count: Path("var/growth", str(count)) for count in counts}
    for count, folder in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "ragsite.embedded", str(folder), "--"]
        command += [sys.executable, "-m", "benchmarks.search.growth.size"]
        subprocess.run(command, env={**environment, "BENCH_CHUNKS": str(count)}, check=True)
    return {count: json.loads((folder / "growth.json").read_text()) for count, folder in folders.items()}


def main() -> None:
    counts = [int(count) for count in os.environ.get("BENCH_CHUNKS", "10000,100000,1000000").split(",")]
    results = measure(counts, os.environ)
    first, last = results[counts[0]], results[counts[-1]]
    if "http" not in first or "http" not in last:
        return
    print(f"\np50 with {counts[-1]:,} chunks, and its ratio to that with {counts[0]:,}")
    for name, (p50, _) in {**last["http"], **last["process"]}.items():
        print(f"{name:40} {p50:6.1f} ms  {p50 / {**first['http'], **first['process']}[name][0]:.2f}")
    for count, result in results.items():
        if cells := result.get("cells"):
            worst = min(cells, key=lambda cell: cell["recall"])
            print(f"{count:,} chunks: lowest recall {worst['recall']:.3f} ({worst['label']}, {worst['topic']})")
            for topic in dict.fromkeys(cell["topic"] for cell in cells):
                of_topic = [cell for cell in cells if cell["topic"] == topic]
                slowest = max(of_topic, key=lambda cell: cell["p95"] / cell["everything_p95"])
                print(
                    f"{topic}: largest p95 {slowest['p95'] / slowest['everything_p95']:.1f} times that of the same "
                    f"questions in everything, {slowest['p95']:.1f} ms ({slowest['label']})"
                )


if __name__ == "__main__":
    main()
