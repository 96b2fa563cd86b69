"""python -m benchmarks.parsing [FOLDER]: seconds and memory of reading each format, over a folder of files.

The folder is the one beside the checkout unless another is named. Memory is the peak of the process that read the
file, which begins with what an idle reader has.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import django

DOCUMENTS = Path(__file__).parents[2] / "shared" / "datasets" / "documents"
ROUNDS = 5


def main(folder: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    from rag.parsing import parse
    from rag.parsing.sandbox import process

    files = [file for file in sorted(folder.iterdir()) if file.suffix != ".jsonl" and file.name != "SOURCE.md"]
    began = time.perf_counter()
    parse.parse_file(files[0], content_type="", name=files[0].name)
    print(f"the first file, with the start of a reader: {time.perf_counter() - began:.2f} s\n")
    seconds: dict[str, list[float]] = defaultdict(list)
    slowest: dict[str, tuple[float, str]] = {}
    for file in files:
        took = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            parse.parse_file(file, content_type="", name=file.name)
            took.append(time.perf_counter() - began)
        median = statistics.median(took)
        seconds[file.suffix].append(median)
        slowest[file.suffix] = max(slowest.get(file.suffix, (0.0, "")), (median, file.name))
    process.stop_parsers()
    print("| format | files | median ms | slowest | its ms | peak MB |\n| --- | --- | --- | --- | --- | --- |")
    for suffix, took in seconds.items():
        slowest_seconds, name = slowest[suffix]
        middle, peak = statistics.median(took) * 1000, _peak(folder / name)
        print(f"| {suffix} | {len(took)} | {middle:.0f} | {name} | {slowest_seconds * 1000:.0f} | {peak:.0f} |")


def _peak(file: Path) -> float:
    """Of a process that reads this file alone, in MB."""
    command = [sys.executable, "-m", "benchmarks.parsing", "--alone", str(file)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _alone(file: Path) -> None:
    """As the reader's process does it, without its limits."""
    from rag.parsing import containers, detection
    from rag.parsing.readers import get_reader, web
    from rag.parsing.sandbox.limits import Limits

    web.warm_up()
    content = file.read_bytes()
    media_type = containers.detect_container_type(
        content, detection.detect_type(content[:16_384], content_type="", name=file.name)
    )
    get_reader(media_type)(content, Limits(timeout_seconds=120, memory_bytes=2**30, text_bytes=200 * 2**20))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        _alone(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]) if sys.argv[1:] else DOCUMENTS)
