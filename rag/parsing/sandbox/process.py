"""Reads files in a separate process with limits on time, memory and output (docs/decisions/0014-parser-sandbox.md)."""

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings

from rag.errors import ParseFailed, RagError, UnsupportedFormat
from rag.parsing import formats
from rag.types import Heading, Page, ParsedDocument

from .limits import Limits

logger = structlog.get_logger(__name__)

_ROOT = Path(__file__).parents[3]
_START_SECONDS = 60
# Longer texts are refused.
MAX_TEXT_BYTES = 200 * 1024 * 1024
_LATE = "Reading the file takes more than {seconds:g} seconds. Send it in parts."
# Readers that a process keeps ready; each holds about 80 MB.
_READY = 1
# Documents that one process has read at the same time; others wait.
_AT_ONCE = 4

_turns = threading.BoundedSemaphore(_AT_ONCE)
_lock = threading.Lock()
_idle: list["_Reader"] = []
_inherited: list["_Reader"] = []
_ERRORS: dict[str, type[RagError]] = {error.code: error for error in (ParseFailed, UnsupportedFormat)}


class _Lost(Exception):
    """The reader's process is gone, or answers what it never should."""


class _Late(Exception):
    pass


def parse_file(file: Path, *, media_type: str) -> ParsedDocument:
    """Raises ParseFailed, UnsupportedFormat. Takes no longer and no more than the settings allow."""
    limits = Limits(
        seconds=settings.RAG_PARSE_TIMEOUT_SECONDS,
        memory=settings.RAG_PARSE_MAX_MEMORY_MB * 2**20,
        text=MAX_TEXT_BYTES,
    )
    folder = Path(tempfile.mkdtemp(prefix="ragsite-parse-", dir=settings.RAG_TEMP_FOLDER))
    try:
        with _turns:
            code = _read(file, media_type, limits, folder)
        return _result(folder, code, media_type, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parse_text(text: str, *, media_type: str) -> ParsedDocument:
    """The same for a text that is no file yet."""
    folder = Path(tempfile.mkdtemp(prefix="ragsite-text-", dir=settings.RAG_TEMP_FOLDER))
    try:
        file = folder / "text"
        file.write_bytes(text.encode("utf-8", "replace"))
        return parse_file(file, media_type=media_type)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stop_readers() -> None:
    """End the readers that wait for work."""
    with _lock:
        readers = _idle[:]
        _idle.clear()
    for reader in readers:
        reader.end()


def _read(file: Path, media_type: str, limits: Limits, folder: Path) -> int:
    request = {
        "file": str(file.absolute()),
        "media_type": media_type,
        "folder": str(folder),
        "limits": asdict(limits),
    }
    # A reader that waited for work may have been killed meanwhile: that is no fault of the file.
    for reader in (_taken(), None):
        with suppress(_Lost):
            return _asked(reader or _Reader(), request, limits)
    raise ParseFailed("The process that read the file was ended. Send it again.")


def _asked(reader: "_Reader", request: dict[str, Any], limits: Limits) -> int:
    try:
        code = reader.ask(request, seconds=limits.seconds)
    except _Late:
        reader.end()
        raise ParseFailed(_LATE.format(seconds=limits.seconds)) from None
    except BaseException:
        reader.end()
        raise
    _put_back(reader)
    return code


def _taken() -> "_Reader":
    with _lock:
        while _idle:
            reader = _idle.pop()
            if reader.is_alive():
                return reader
            reader.end()
    return _Reader()


def _put_back(reader: "_Reader") -> None:
    with _lock:
        if len(_idle) < _READY:
            _idle.append(reader)
            return
    reader.end()


class _Reader:
    """A process of rag.parsing.sandbox.child, which forks for each document."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rag.parsing.sandbox.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env=_environment(),
            start_new_session=True,
        )
        try:
            if self._line(time.monotonic() + _START_SECONDS) != "ready":
                raise _Lost
        except (_Late, _Lost):
            self.end()
            raise ParseFailed("The process that reads files does not start. Try again later.") from None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], *, seconds: float) -> int:
        """The exit code of the process that read the document. Raises _Late, _Lost."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            return int(self._line(time.monotonic() + seconds))
        except (OSError, ValueError):
            raise _Lost from None

    def end(self) -> None:
        """With all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()

    def _line(self, deadline: float) -> str:
        assert self._process.stdout
        line = b""
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        while not line.endswith(b"\n") and len(line) < 100:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise _Late
            piece = os.read(self._process.stdout.fileno(), 100)
            if not piece:
                raise _Lost
            line += piece
        return line.decode("ascii", "replace").strip()


def _environment() -> dict[str, str]:
    """Nothing of ours: no secret can be read out of it."""
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONUTF8": "1",
        # One thread: what is forked must be whole. Few arenas: each reserves 64 MB of the memory that is bounded.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "RAYON_NUM_THREADS": "1",
        "TOKIO_WORKER_THREADS": "1",
    }


def _result(folder: Path, code: int, media_type: str, limits: Limits) -> ParsedDocument:
    if code != 0:
        raise _ended(folder, code, media_type, limits)
    answer = json.loads(_bounded(folder / "answer", limits))
    if "error" in answer:
        if "fault" in answer:
            logger.warning("parser_failed", media_type=media_type, fault=answer["fault"])
        raise _ERRORS.get(answer["error"], ParseFailed)(str(answer["message"]))
    text = _bounded(folder / "text", limits).decode("utf-8")
    return ParsedDocument(
        text,
        bool(answer["is_markdown"]),
        tuple(Heading(int(one["start"]), int(one["level"]), str(one["title"])) for one in answer["headings"]),
        tuple(Page(int(one["start"]), int(one["number"])) for one in answer["pages"]),
        str(answer["title"])[:1000],
        str(answer["media_type"]),
    )


def _bounded(file: Path, limits: Limits) -> bytes:
    with file.open("rb") as opened:
        return opened.read(limits.text + 2**20)


def _ended(folder: Path, code: int, media_type: str, limits: Limits) -> ParseFailed:
    """Why the process came to no result, as far as it can be told."""
    with suppress(OSError):
        last_words = (folder / "errors").read_bytes()[-4096:]
        if code == 2 or b"memory allocation" in last_words or b"MemoryError" in last_words:
            most = limits.memory // 2**20
            return ParseFailed(f"Reading the file needs more than {most:,} MB of memory. Send it in parts.")
    if code == -signal.SIGXCPU or code == -signal.SIGKILL:
        return ParseFailed(_LATE.format(seconds=limits.seconds))
    logger.warning("parser_ended", media_type=media_type, code=code)
    name = formats.display_name(media_type)
    return ParseFailed(f"The {name} is damaged or too deeply nested: reading it came to no end. Save it again.")


def _forget() -> None:
    """A forked process must not use its parent's readers, nor wait for its threads."""
    global _lock, _turns, _idle, _inherited
    _lock, _turns = threading.Lock(), threading.BoundedSemaphore(_AT_ONCE)
    _inherited, _idle = _idle, []


atexit.register(stop_readers)
os.register_at_fork(after_in_child=_forget)
