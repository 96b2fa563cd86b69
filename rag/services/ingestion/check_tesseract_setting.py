"""A system check of the setting that names the languages of Tesseract."""

import re
import subprocess

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning

from rag.parsing.ocr.tesseract.languages import find_program

_LANGUAGES = re.compile(r"[A-Za-z]\w{1,30}(?:\+[A-Za-z]\w{1,30})*")
_TIMEOUT_SECONDS = 10


def check_tesseract() -> list[CheckMessage]:
    """Refuse languages that are no names, and warn if the program or one of its languages is missing."""
    languages = settings.RAG_OCR_TESSERACT_LANGUAGES
    if not languages:
        return []
    if not _LANGUAGES.fullmatch(languages):
        hint = "Join the names of Tesseract's languages with +, such as rus+ara."
        return [Error("RAG_OCR_TESSERACT_LANGUAGES is not a list of languages.", hint=hint, id="ragsite.E006")]
    missing = sorted({*languages.split("+")} - _installed_languages())
    if not missing:
        return []
    return [
        CheckWarning(
            f"Tesseract does not have these languages of RAG_OCR_TESSERACT_LANGUAGES: {', '.join(missing)}. Without "
            "one of them it reads nothing.",
            hint="Install them, on Debian as the packages tesseract-ocr-rus, tesseract-ocr-ara and so on.",
            id="ragsite.W008",
        )
    ]


def _installed_languages() -> set[str]:
    """Return the names of the languages that are installed; none without the program."""
    try:
        listed = subprocess.run(
            [find_program() or "tesseract", "--list-langs"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    return set(listed.stdout.split("\n")[1:])
