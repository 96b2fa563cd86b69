"""Tesseract reads what the built-in models do not know. A small program stands in for it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.errors import ParseFailed
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.ocr import lines, recognize_picture
from rag.parsing.ocr.lines import Line
from rag.parsing.ocr.regions import Rectangle
from rag.parsing.ocr.tesseract import program
from rag.parsing.ocr.tesseract.languages import find_program, languages_of_document
from rag.parsing.sandbox.limits import Limits
from rag.services.ingestion.check_tesseract_setting import check_tesseract

from .conftest import Read
from .files import pictures

PAGE = pictures.page(["Bees are remarkable insects."])
PNG = pictures.encoded(PAGE, kind="PNG")
# A picture of 900 x 132 pixels: two lines of a paragraph, and another paragraph.
TABLE = r"""
printf 'level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n'
printf '4\t1\t1\t1\t1\t0\t0\t0\t900\t20\t-1\t\n'
printf '5\t1\t1\t1\t1\t1\t90\t33\t90\t33\t96\tПчёлы\n'
printf '5\t1\t1\t1\t1\t2\t360\t33\t90\t66\t90\tгу-\n'
printf '5\t1\t1\t1\t2\t1\t90\t66\t90\t33\t90\tдят.\n'
printf '5\t1\t1\t2\t1\t1\t0\t99\t900\t33\t90\tОсы\n'
printf '5\t1\t2\t1\t1\t1\t0\t99\t900\t33\t9\tspeck\n'
"""

StandIn = Callable[[str], Path]


@pytest.fixture
def stand_in(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Puts a program first in PATH that reads the picture and then runs these commands."""

    def stand_in(commands: str) -> Path:
        program = tmp_path / "programs" / "tesseract"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ncat > /dev/null\n{commands}\n")
        program.chmod(0o755)
        settings.RAG_OCR_TESSERACT_LANGUAGES = "rus+ara"
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return program

    return stand_in


def word(text: str) -> str:
    """The command that prints a word, which the shell expands."""
    return f"printf '5\\t1\\t1\\t1\\t1\\t1\\t0\\t0\\t9\\t9\\t96\\t%s\\n' \"{text}\""


def test_documents_in_its_languages_are_read_by_it(read: Read, stand_in: StandIn) -> None:
    stand_in(TABLE)
    parsed = read(PNG, "a.png", ocr=True, lang="ru-RU")
    assert parsed.text == "Пчёлы гудят.\n\nОсы"
    assert [recognition.engine for recognition in parsed.recognitions] == ["tesseract"]
    assert [parsed.text[box.start : box.end] for box in parsed.line_boxes] == ["Пчёлы гу", "дят.", "Осы"]
    first = parsed.line_boxes[0]
    assert (first.page, first.left, first.right) == (1, 0.1, 0.5)
    assert (first.top, first.bottom) == (33 / PAGE.height, 99 / PAGE.height)


def test_pages_of_a_pdf_are_read_by_it_too(read: Read, stand_in: StandIn) -> None:
    stand_in(TABLE)
    parsed = read(pictures.encoded(PAGE, PAGE, kind="PDF"), "a.pdf", ocr=True, lang="ar")
    assert [parsed.text[page.start :][:12] for page in parsed.pages] == ["Пчёлы гудят."] * 2
    assert [recognition.engine for recognition in parsed.recognitions] == ["tesseract"] * 2
    assert [box.page for box in parsed.line_boxes][::3] == [1, 2]


@pytest.mark.parametrize("lang", ["", "en", "el", "he"])
def test_pages_that_the_built_in_models_know_are_not_read_by_it(read: Read, stand_in: StandIn, lang: str) -> None:
    stand_in(TABLE)
    parsed = read(PNG, "a.png", ocr=True, lang=lang)
    assert parsed.text == "Bees are remarkable insects."
    assert [recognition.engine for recognition in parsed.recognitions] == ["built-in"]


@pytest.mark.parametrize("commands", ["exit 1", "kill -9 $$", "echo nonsense", word("x").replace("96", "nan"), "yes"])
def test_if_it_fails_the_built_in_models_read_the_page(read: Read, stand_in: StandIn, commands: str) -> None:
    stand_in(commands)
    assert read(PNG, "a.png", ocr=True, lang="ru").text == "Bees are remarkable insects."


def test_it_is_not_used_unless_it_is_switched_on_and_installed(read: Read, stand_in: StandIn, settings: Any) -> None:
    program = stand_in(TABLE)
    settings.RAG_OCR_TESSERACT_LANGUAGES = ""
    assert read(PNG, "a.png", ocr=True, lang="ru").text == "Bees are remarkable insects."
    settings.RAG_OCR_TESSERACT_LANGUAGES = "rus"
    program.write_text("no program")
    assert read(PNG, "a.png", ocr=True, lang="ru").text == "Bees are remarkable insects."


def test_it_has_the_limits_of_the_sandbox_and_no_secrets(
    read: Read, stand_in: StandIn, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    settings.RAG_PARSE_MAX_MEMORY_MB = 1000
    names = "$(env | cut -d= -f1 | grep -v -e PWD -e SHLVL -e '^_$' | sort | tr '\\n' ,)"
    stand_in("\n".join(word(text) for text in ("$(ulimit -v)", "$(ulimit -c)", "$*", names, "$(pwd)")))
    text = read(PNG, "a.png", ocr=True, lang="ar").text
    assert text.startswith("1024000 0 - - -l ara --dpi 200 tsv LANG,OMP_THREAD_LIMIT,PATH, ")
    assert str(settings.RAG_TEMP_FOLDER) in text


def test_it_ends_with_the_time_of_the_file(
    read: Read, stand_in: StandIn, settings: Any, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    stand_in(f"echo $$ > {tmp_path}/pid\nexec sleep 1000")
    settings.RAG_PARSE_TIMEOUT_SECONDS = settings.RAG_OCR_TIMEOUT_SECONDS = 5
    with pytest.raises(ParseFailed, match="more than 5 seconds"):
        read(PNG, "a.png", ocr=True, lang="ru")
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not _is_running(pid))


def _is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("built_in", "other", "words", "text"),
    [
        (0.9, 0.8, "Пчёлы", "Пчёлы"),
        (0.95, 0.7, "نحل", "نحل"),
        (0.9, 0.5, "Пчёлы", "Mueлbi"),
        (0.97, 0.99, "Пчёлы", "Mueлbi"),
        (0.9, 0.99, "Bees", "Mueлbi"),
        (0.9, 0.99, "1234", "Mueлbi"),
        (0.0, 0.8, "Пчёлы", "Пчёлы"),
        (0.0, 0.5, "Пчёлы", ""),
    ],
)
def test_doubtful_pages_with_a_script_that_only_it_knows_are_read_by_it(
    monkeypatch: pytest.MonkeyPatch, built_in: float, other: float, words: str, text: str
) -> None:
    box = Rectangle(50, 10, 100, 20, 0.0)
    monkeypatch.setattr(lines, "read_lines", lambda _: [Line("Mueлbi" if built_in else "", built_in, box)])
    monkeypatch.setattr(program, "read_paragraphs", lambda *_: [[Line(words, other, box)]])
    builder, limits = MarkdownBuilder(), Limits(1, 1, 1, tesseract_program="/bin/true")
    recognize_picture.recognize_picture(PAGE, builder, limits)
    assert builder.build().text == text


@pytest.mark.parametrize(
    ("built_in", "other", "text"),
    [(0.99, 0.4, "Bees"), (0.9, 0.4, "Пчёлы"), (0.99, 0.9, "Пчёлы"), (0.9, None, "Bees")],
)
def test_other_pages_of_a_document_in_its_language_are_not_read_by_it(
    monkeypatch: pytest.MonkeyPatch, built_in: float, other: float | None, text: str
) -> None:
    box = Rectangle(50, 10, 100, 20, 0.0)
    paragraphs = [[Line("Пчёлы", other, box)]] if other else []
    monkeypatch.setattr(lines, "read_lines", lambda _: [Line("Bees", built_in, box)])
    monkeypatch.setattr(program, "read_paragraphs", lambda *_: paragraphs)
    builder, limits = MarkdownBuilder(), Limits(1, 1, 1, tesseract_program="/bin/true", has_tesseract_language=True)
    recognize_picture.recognize_picture(PAGE, builder, limits)
    assert builder.build().text == text


def test_languages_with_other_scripts_need_it() -> None:
    assert languages_of_document("ar_EG", "rus+ara+eng") == "ara+eng"
    assert languages_of_document("RU", "eng+rus+ara") == "rus+eng"
    assert not any(languages_of_document(lang, "rus+ara+eng") for lang in ("", "uk", "de", "en", "rus"))
    assert languages_of_document("ru", "") == ""


def test_the_start_reports_what_is_missing(stand_in: StandIn, settings: Any) -> None:
    program = stand_in("printf 'List of available languages (2):\\nara\\nosd\\n'")
    assert find_program() == str(program)
    (warning,) = check_tesseract()
    assert (warning.id, "RAG_OCR_TESSERACT_LANGUAGES: rus." in warning.msg) == ("ragsite.W008", True)
    settings.RAG_OCR_TESSERACT_LANGUAGES = "ara"
    assert check_tesseract() == []
    program.write_text("no program")
    assert [message.id for message in check_tesseract()] == ["ragsite.W008"]
    for wrong in ("-l", "rus+", "../rus", "rus ara"):
        settings.RAG_OCR_TESSERACT_LANGUAGES = wrong
        assert [message.id for message in check_tesseract()] == ["ragsite.E006"]
    settings.RAG_OCR_TESSERACT_LANGUAGES = ""
    assert check_tesseract() == []
