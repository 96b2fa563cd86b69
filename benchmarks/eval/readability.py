"""The rule of readability: what an answer must not look like. It judges the text alone, not whether it is right."""

import re
from collections.abc import Iterator

from rag.text.sentences.dependent_sentences import depends_on_predecessor
from rag.text.words import is_function_word

_MARKER = re.compile(r"[ \n]*\[\d+\]|[ \n]*\([^()\n]*\)$")
_CODE = re.compile(r"```[^\n]*\n(.*?)\n```", re.DOTALL)
_ROW = re.compile(r"^\s*\|.*\|\s*$|^[-|:\s]{3,}$", re.MULTILINE)
_UNDERLINE = re.compile(r"^\s*[=~-]{3,}\s*$", re.MULTILINE)
_HEADING = re.compile(r"^\s*#{1,6} ", re.MULTILINE)
_END = re.compile(r"[.!?:。！？…]['\"”’»)\]*_`]*$")


def faults(answer: str) -> list[str]:
    """Return what makes an answer hard to read, each as a few words; empty if it is readable."""
    return list(dict.fromkeys(_faults(answer.strip())))


def _faults(answer: str) -> Iterator[str]:
    if not answer:
        yield "empty"
        return
    for code in _CODE.findall(answer):
        if code.rstrip().endswith(("\\", "|", "&&")) or code.count("'") % 2 or code.lstrip().startswith("-"):
            yield "partial command"
    text = _CODE.sub("```", answer)
    if text.count("```") % 2 and not _CODE.search(answer):
        yield "partial code block"
    if _ROW.search(_MARKER.sub("", text)):
        yield "table row without the names of its columns"
    if _UNDERLINE.search(text) or _HEADING.search(text):
        yield "heading"
    lines = [line for line in _MARKER.sub("", text).splitlines() if line.strip()]
    if lines:
        yield from _faults_of_lines(lines)


def _faults_of_lines(lines: list[str]) -> Iterator[str]:
    first, last = lines[0].strip(), lines[-1].strip()
    if depends_on_predecessor(first):
        yield "subject not shown"
    first_word = first.split()[0]
    if first[0] in ",;)]}" or (first[0].islower() and is_function_word(first_word)):
        yield "begins within a sentence"
    if last.endswith((":", "：")):
        yield "introduction without what it introduces"
    is_listed = last.startswith(("- ", "* ", "• ", "```")) or re.match(r"\(?\w{1,3}[.)] ", last)
    if not is_listed and not _END.search(last):
        yield "ends within a sentence"
