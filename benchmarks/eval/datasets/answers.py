"""Reads sets of the kind *answers*: documents, questions about them, and what an answer must and must not state.

`documents/` has one file per document; or `documents.txt` has glob patterns of files of the project, one a line.
`questions.jsonl` has lines `{"question", "documents", "must", "must_not"}`. Every item of `must` is a fact that the
answer has to state: a text, or a list of texts of which one is enough. A question without facts cannot be answered.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from rag.parsing import formats, parse

from .sets import Text

KIND = "answers"
_PROJECT = Path(__file__).parents[3]


@dataclass(frozen=True)
class AskedQuestion:
    """A question. Each fact has the texts of which the answer must contain one."""

    text: str
    facts: tuple[tuple[str, ...], ...]
    forbidden: tuple[str, ...]

    @property
    def is_answerable(self) -> bool:
        return bool(self.facts)

    def is_right(self, answer: str) -> bool:
        """Return whether an answer states all facts, and nothing that is forbidden."""
        plain = normalized(answer)
        has_facts = all(any(normalized(text) in plain for text in texts) for texts in self.facts)
        return has_facts and not any(normalized(text) in plain for text in self.forbidden)


@dataclass(frozen=True)
class AnswersSet:
    name: str
    texts: list[Text]
    questions: list[AskedQuestion]


def normalized(text: str) -> str:
    return " ".join(text.lower().split())


def read(folder: Path, name: str) -> AnswersSet:
    place = folder / KIND / name
    patterns = place / "documents.txt"
    if patterns.exists():
        files = [file for pattern in patterns.read_text().split() for file in sorted(_PROJECT.glob(pattern))]
    else:
        files = sorted((place / "documents").iterdir())
    texts = [_text(file) for file in files]
    rows = [json.loads(line) for line in (place / "questions.jsonl").read_text().splitlines() if line.strip()]
    return AnswersSet(name, texts, [_question(row) for row in rows])


def _text(file: Path) -> Text:
    """Return a document as the product reads it: such as web pages and tables."""
    if formats.type_from_name(file.name) in formats.BINARY | formats.CONTAINERS | formats.CONVERTED:
        parsed = parse.parse_file(file, content_type="", name=file.name)
        content_type = formats.MARKDOWN if parsed.is_markdown else formats.PLAIN
        return Text(f"{file.parent.name}/{file.name}", parsed.title or file.name, parsed.text, content_type)
    content = file.read_text()
    title = content.strip().partition("\n")[0].lstrip("# ").strip()
    return Text(f"{file.parent.name}/{file.name}", title, content)


def _question(row: dict[str, object]) -> AskedQuestion:
    must, must_not = row.get("must") or [], row.get("must_not") or []
    assert isinstance(must, list)
    assert isinstance(must_not, list)
    facts = tuple((fact,) if isinstance(fact, str) else tuple(fact) for fact in must)
    return AskedQuestion(str(row["question"]), facts, tuple(map(str, must_not)))
