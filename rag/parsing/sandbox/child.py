"""The parser process: `python -m rag.parsing.sandbox.child`.

Reads one JSON request per line from standard input and forks for each. The fork has all libraries imported already; it
parses one document within its limits and exits. So documents do not affect each other and all memory is released.
Django, settings and secrets are not available here.
"""

import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rag.errors import ParseFailed, RagError
from rag.parsing import container_formats, formats
from rag.parsing.encodings.symbol_letters import with_letters
from rag.parsing.readers.registry import get_reader
from rag.parsing.readers.web import read_web
from rag.types import LineBox, ParsedDocument

from .draw_cited_page import draw_cited_page, draw_cited_picture
from .limits import EXIT_OUT_OF_MEMORY, MAX_HEADINGS, RESPONSE_MARGIN_BYTES, STDERR_FILE, Limits, ParseRequest

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Serve requests until standard input is closed."""
    read_web.warm_up()
    gc.freeze()  # forks share what is loaded: collecting garbage would write to it, and so copy it
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in iter(sys.stdin.readline, ""):
        exit_code = _parse_in_fork(json.loads(line))
        sys.stdout.write(f"{exit_code}\n")
        sys.stdout.flush()


def _parse_in_fork(request: ParseRequest) -> int:
    """Parse the document of a request in a fork, and return its exit code; negative if a signal ended it."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _parse_and_exit(request)
    os.close(write_end)
    # The pipe closes when the fork ends; standard input closes when the parent process is gone.
    ready, _, _ = select.select([read_end, sys.stdin], [], [])
    if read_end not in ready:
        shutil.rmtree(request["folder"], ignore_errors=True)
        os.killpg(0, signal.SIGKILL)  # the fork and this process, which are one group
    os.close(read_end)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _parse_and_exit(request: ParseRequest) -> None:
    exit_code = 1
    try:
        limits = Limits(**request["limits"])
        folder = Path(request["folder"])
        _confine(limits, folder)
        _write_response(_build_response(request, limits), folder)
        exit_code = 0
    except MemoryError:
        exit_code = EXIT_OUT_OF_MEMORY
    finally:
        # A fork must not continue in the code of its parent, so no exception may leave this function. Those of parsing
        # are in the response; after another one, parse_in_sandbox._exit_error logs the exit code 1.
        os._exit(exit_code)


def _confine(limits: Limits, folder: Path) -> None:
    """Apply the resource limits, and redirect standard streams and temporary files."""
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(folder)
    os.dup2(os.open(STDERR_FILE, os.O_WRONLY | os.O_CREAT), 2)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    initial_address_space_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE_BYTES
    resource.setrlimit(resource.RLIMIT_CPU, (int(limits.timeout_seconds) + 1, int(limits.max_seconds) + 1))
    for resource_limit, value in {
        resource.RLIMIT_AS: initial_address_space_bytes + limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.text_bytes + RESPONSE_MARGIN_BYTES,
        resource.RLIMIT_CORE: 0,
    }.items():
        resource.setrlimit(resource_limit, (value, value))


@dataclass(frozen=True, slots=True)
class _Response:
    """What the fork writes: a file with JSON values, and other files by their names."""

    values: dict[str, object]
    files: dict[str, bytes] = field(default_factory=dict)


def _build_response(request: ParseRequest, limits: Limits) -> _Response:
    """Parse the file of a request, and return what `_parse` returns, or why that failed."""
    try:
        return _parse(request, limits)
    except RagError as error:
        return _Response({"error": error.code, "message": error.message})
    except (RecursionError, Exception) as error:
        if isinstance(error, MemoryError):
            raise
        name = formats.display_name(request["media_type"])
        message = f"The {name} is damaged or cut off. Open it, save it again and send that."
        return _Response({"error": ParseFailed.code, "message": message, "exception": type(error).__name__})


def _parse(request: ParseRequest, limits: Limits) -> _Response:
    """Parse the file of a request.

    Returns:
        The fields of the ParsedDocument as JSON values, and its text in UTF-8 as a file. If a page is drawn, the file
        is its picture, and there are no values.
    """
    content = Path(request["file"]).read_bytes()
    if picture := request["picture"]:
        boxes = [LineBox(**box) for box in picture["line_boxes"]]
        if request["media_type"] in formats.PICTURES:
            return _Response({}, {"picture": draw_cited_picture(content, picture["pages"], boxes)})
        return _Response({}, {"picture": draw_cited_page(content, picture["pages"], picture["passage"], boxes)})
    media_type = container_formats.detect_container_type(content, request["media_type"])
    parsed = get_reader(media_type)(content, limits)
    if media_type in formats.CONVERTED | formats.BINARY:
        parsed = with_letters(parsed)
    values = asdict(
        replace(parsed, text="", headings=parsed.headings[:MAX_HEADINGS], pages=parsed.pages[:MAX_HEADINGS])
    )
    del values["text"]
    return _Response({**values, "media_type": media_type}, {"text": _encode_text(parsed, limits)})


def _encode_text(parsed: ParsedDocument, limits: Limits) -> bytes:
    """Encode the text as UTF-8. Each invalid character is replaced by one other, so that offsets stay the same."""
    if not parsed.text.strip():
        raise ParseFailed("The file contains no text.")
    text = parsed.text.replace("\x00", "\ufffd").encode("utf-8", "replace")
    if len(text) > limits.text_bytes:
        raise ParseFailed(f"The file contains more than {limits.text_bytes:,} bytes of text. Send it in parts.")
    return text


def _write_response(response: _Response, folder: Path) -> None:
    for name, content in response.files.items():
        (folder / name).write_bytes(content)
    (folder / "response").write_text(json.dumps(response.values))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
