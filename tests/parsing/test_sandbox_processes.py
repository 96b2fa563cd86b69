"""The processes that parse files: their limits, their end, and what they can see."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from rag.parsing import parse
from rag.parsing.sandbox import parse_in_sandbox, parser_process

from .conftest import Read, error_message

pytestmark = pytest.mark.usefixtures("valid_files_are_parsed_afterwards")

SECRET = "nobody-may-read-this"
# Takes seconds and hundreds of megabytes to parse.
HEAVY = b"<html><body>" + b"<p>Bees make honey and hum.</p>\n" * 400_000


def test_time_limit(read: Read, settings: Any) -> None:
    read(b"<html><body><p>Bees.</p></body></html>", "a.html")  # an idle parser process exists now
    settings.RAG_PARSE_TIMEOUT_SECONDS = 0.5
    assert "more than 0.5 seconds" in error_message(read, HEAVY, "a.html")
    assert not children()


def test_memory_limit(read: Read, settings: Any) -> None:
    settings.RAG_PARSE_MAX_MEMORY_MB = 32
    assert "more than 32 MB of memory" in error_message(read, HEAVY, "a.html")


def test_a_file_with_more_text_than_the_limit_is_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (parse, parse_in_sandbox):
        monkeypatch.setattr(module, "MAX_TEXT_BYTES", 10_000)
    rows = b"Name,Town\n" + b"Ada,Lynn\n" * 1000
    for content, name in ((b"x" * 10_001, "a.txt"), (rows, "a.csv")):
        assert "10,000 bytes of text" in error_message(read, content, name)


def test_a_killed_parser_process_is_replaced(read: Read) -> None:
    read(b"Name,Town\nAda,Lynn\n", "a.csv")
    for child in children():
        child.kill()
    assert read(b"Name,Town\nAda,Lynn\n", "a.csv").text == "Name: Ada | Town: Lynn"


def test_threads_can_parse_concurrently(tmp_path: Path) -> None:
    texts: dict[int, str] = {}

    def read_one(number: int) -> None:
        file = tmp_path / str(number)
        file.write_bytes(f"Name,Town\nAda {number},Lynn\n".encode())
        texts[number] = parse.parse_file(file, content_type="text/csv", name="").text

    threads = [threading.Thread(target=read_one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {number: f"Name: Ada {number} | Town: Lynn" for number in range(6)}
    assert len(children()) <= 1


def test_parser_processes_have_no_secrets_and_leave_no_files(
    read: Read, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parse_in_sandbox.stop_parsers()
    settings.RAG_TEMP_FOLDER = tmp_path / "parsers"
    settings.RAG_TEMP_FOLDER.mkdir()
    monkeypatch.setenv("SECRET_KEY", SECRET)
    read(b"<html><body><p>Bees.</p></body></html>", "a.html")
    (child,) = children()
    assert SECRET not in "".join(child.environ().values())
    assert not list(settings.RAG_TEMP_FOLDER.iterdir())
    parse_in_sandbox.stop_parsers()
    assert not children()


def test_parser_processes_do_not_import_django() -> None:
    script = (
        "import rag.parsing.sandbox.child, sys; sys.exit(any(name.split('.')[0] == 'django' for name in sys.modules))"
    )
    environment = {**parser_process.child_environment(), "PATH": os.defpath}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == 0


def children() -> list[psutil.Process]:
    processes = psutil.Process().children(recursive=True)
    return [child for child in processes if "rag.parsing.sandbox.child" in " ".join(child.cmdline())]
