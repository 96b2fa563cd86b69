"""python -m benchmarks.ingestion.parsing [FOLDER]: time and memory of parsing each format, over a folder of files.

The default folder is shared/datasets/documents beside the checkout. Memory is the peak of the process that parsed the
file, which includes the memory of an idle parser process.
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

DOCUMENTS = Path(__file__).parents[3] / "shared" / "datasets" / "documents"
ROUNDS = 5


def main(folder: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    from rag.parsing import parse
    from rag.parsing.sandbox import parse_in_sandbox

    files = [file for file in sorted(folder.iterdir()) if file.suffix != ".jsonl" and file.name != "SOURCE.md"]
    started = time.perf_counter()
    parse.parse_file(files[0], content_type="", name=files[0].name)
    print(f"the first file, including the start of a parser process: {time.perf_counter() - started:.2f} s\n")
    seconds: dict[str, list[float]] = defaultdict(list)
    slowest: dict[str, tuple[float, str]] = {}
    for file in files:
        durations = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            parse.parse_file(file, content_type="", name=file.name)
            durations.append(time.perf_counter() - started)
        median = statistics.median(durations)
        seconds[file.suffix].append(median)
        slowest[file.suffix] = max(slowest.get(file.suffix, (0.0, "")), (median, file.name))
    parse_in_sandbox.stop_parsers()
    print("| format | files | median ms | slowest | its ms | peak MB |\n| --- | --- | --- | --- | --- | --- |")
    for suffix, medians in seconds.items():
        slowest_seconds, name = slowest[suffix]
        milliseconds, peak = statistics.median(medians) * 1000, _peak(folder / name)
        cells = [suffix, len(medians), f"{milliseconds:.0f}", name, f"{slowest_seconds * 1000:.0f}", f"{peak:.0f}"]
        print(f"| {' | '.join(map(str, cells))} |")


def _peak(file: Path) -> float:
    """Peak memory of a process that parses only this file, in MB."""
    command = [sys.executable, "-m", "benchmarks.ingestion.parsing", "--single", str(file)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _parse_single(file: Path) -> None:
    """Parse like a parser process, without its limits, and print the peak memory."""
    from rag.parsing import container_formats, detection
    from rag.parsing.readers.registry import get_reader
    from rag.parsing.readers.web import read_web
    from rag.parsing.sandbox.limits import Limits

    read_web.warm_up()
    content = file.read_bytes()
    media_type = container_formats.detect_container_type(
        content, detection.detect_type(content[:16_384], content_type="", name=file.name)
    )
    get_reader(media_type)(content, Limits(timeout_seconds=120, memory_bytes=2**30, text_bytes=200 * 2**20))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--single"]:
        _parse_single(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]) if sys.argv[1:] else DOCUMENTS)
