"""The reader's own process: `python -m rag.parsing.sandbox.child`. It takes one request a line and forks for each.

The fork has everything imported already, reads one document within its limits and ends; so no document sees another,
and what one takes is given back. Neither Django nor any setting or secret is known here.
"""

import json
import os
import resource
import select
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag.errors import ParseFailed, RagError
from rag.parsing import containers, formats
from rag.parsing.readers import get_reader, web
from rag.types import ParsedDocument

from .limits import Limits

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Of headings and pages; their text is bounded apart.
_MAX_ITEMS = 200_000


def main() -> None:
    web.warm_up()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        code = _in_fork(request)
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _in_fork(request: dict[str, Any]) -> int:
    """The exit code of the process that read the document; negative: the signal that ended it."""
    ended, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ended)
        _read_and_exit(request)
    os.close(held)
    # The pipe closes when the fork ends; standard input, when the one who asked is gone.
    ready, _, _ = select.select([ended, sys.stdin], [], [])
    if ended not in ready:
        shutil.rmtree(request["folder"], ignore_errors=True)
        os.killpg(0, signal.SIGKILL)
    os.close(ended)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read_and_exit(request: dict[str, Any]) -> None:
    code = 1
    try:
        limits = Limits(**request["limits"])
        folder = Path(request["folder"])
        _confine(limits, folder)
        _write(_answer(request, limits), folder)
        code = 0
    except MemoryError:
        code = 2
    finally:
        os._exit(code)


def _confine(limits: Limits, folder: Path) -> None:
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(folder)
    os.dup2(os.open("errors", os.O_WRONLY | os.O_CREAT), 2)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    idle = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE
    seconds = int(limits.seconds) + 1
    for what, most in {
        resource.RLIMIT_AS: idle + limits.memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: limits.text + 2**20,
        resource.RLIMIT_CORE: 0,
    }.items():
        resource.setrlimit(what, (most, most))


def _answer(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    try:
        return _document(request, limits)
    except RagError as error:
        return {"error": error.code, "message": error.message}
    except (RecursionError, Exception) as error:
        if isinstance(error, MemoryError):
            raise
        name = formats.display_name(request["media_type"])
        message = f"The {name} is damaged or cut off. Open it, save it again and send that."
        return {"error": ParseFailed.code, "message": message, "fault": type(error).__name__}


def _document(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    content = Path(request["file"]).read_bytes()
    media_type = containers.detect_container_type(content, request["media_type"])
    parsed = get_reader(media_type)(content, limits)
    return {**asdict(parsed), "text": _clean(parsed, limits), "media_type": media_type}


def _clean(parsed: ParsedDocument, limits: Limits) -> bytes:
    """As UTF-8, character for character: what cannot be stored is replaced, so that offsets hold."""
    if not parsed.text.strip():
        raise ParseFailed("The file holds no text.")
    text = parsed.text.replace("\x00", "\ufffd").encode("utf-8", "replace")
    if len(text) > limits.text:
        raise ParseFailed(f"The file holds more than {limits.text:,} bytes of text. Send it in parts.")
    return text


def _write(answer: dict[str, Any], folder: Path) -> None:
    if "text" in answer:
        (folder / "text").write_bytes(answer.pop("text"))
        answer["headings"] = answer["headings"][:_MAX_ITEMS]
        answer["pages"] = answer["pages"][:_MAX_ITEMS]
    (folder / "answer").write_text(json.dumps(answer))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
