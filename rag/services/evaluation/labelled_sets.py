"""Labelled questions from a folder of evaluation sets, as data sources with golden questions, for as long as needed.

The folder has `retrieval/NAME/` with corpus.jsonl {"id", "title", "text"}, queries.jsonl {"id", "text"} and qrels.tsv
(question's id, document's id, grade).
"""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from orgs.models import Organization
from orgs.services import create_organization
from rag.errors import InvalidRequest
from rag.models import DataSource, EmbeddingModel, GoldenQuestion
from rag.models.evaluation.golden_questions import MAX_QUESTION_CHARACTERS
from rag.services.ingestion import synchronous
from rag.services.sources import deletion
from rag.types import Submission

from .quality import MAX_QUESTIONS

logger = structlog.get_logger(__name__)

_NAME = "Calibration (temporary)"
# Seconds that removing the sets is waited for; what is left then is removed by the sweep.
_PATIENCE = 60


@contextmanager
def ingest_labelled_sets(folder: Path, model: EmbeddingModel) -> Iterator[list[DataSource]]:
    """A source of each set, in an organisation of their own that nobody belongs to; removed at the end.

    Of each set's questions as many are taken as a source may have. Raises InvalidRequest for a folder that is none of
    this layout, and what ingestion raises.
    """
    places = sorted(each for each in folder.glob("retrieval/*") if (each / "qrels.tsv").is_file())
    if not places:
        raise InvalidRequest(f"{folder} has no sets: it must have retrieval/NAME/qrels.tsv.", field="sets")
    organization = create_organization(name=_NAME, slug=f"calibration-{secrets.token_hex(4)}")
    try:
        yield [_source(place, organization, model) for place in places]
    finally:
        _remove(organization)


def _source(place: Path, organization: Organization, model: EmbeddingModel) -> DataSource:
    slug = f"set-{secrets.token_hex(4)}"
    source = DataSource.objects.create(
        organization=organization, slug=slug, name=place.name[:100], embedding_model=model
    )
    paths: dict[str, str] = {}
    for number, row in enumerate(_rows(place / "corpus.jsonl")):
        title, text = str(row.get("title") or ""), str(row["text"])
        paths[str(row["id"])] = f"text-{number}"
        # A document without a title is otherwise called by its path.
        submission = Submission(path=f"text-{number}", title=title or " ", text=text or title)
        synchronous.ingest_now(source=source, submission=submission)
    questions = {str(row["id"]): str(row["text"])[:MAX_QUESTION_CHARACTERS] for row in _rows(place / "queries.jsonl")}
    expected = {key: found for key, found in _relevant(place / "qrels.tsv", paths).items() if key in questions}
    GoldenQuestion.objects.bulk_create(
        GoldenQuestion(source=source, question=questions[key], path=path)
        for key in list(expected)[:MAX_QUESTIONS]
        for path in expected[key]
    )
    return source


def _relevant(file: Path, paths: dict[str, str]) -> dict[str, list[str]]:
    """Question's id → the paths of what answers it. Lines that are none, a heading among them, are passed over."""
    found: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        question, document, grade = (*line.split("\t"), "", "", "")[:3]
        if document in paths and grade.strip() not in ("", "0"):
            found.setdefault(question, []).append(paths[document])
    return found


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line.replace("\\u0000", " "))
                yield {"id": row["id"], "title": row.get("title"), "text": row["text"]}
            except (ValueError, KeyError, TypeError, AttributeError):
                wrong = f"{file}, line {number}: an object with id and text is wanted."
                raise InvalidRequest(wrong, field="sets") from None


def _remove(organization: Organization) -> None:
    """As users' sources are removed: statistics and files, too."""
    for source in DataSource.objects.filter(organization=organization, deleted_at=None):
        deletion.delete_source(source)
    end = time.monotonic() + _PATIENCE
    while DataSource.objects.filter(organization=organization).exists():
        if time.monotonic() > end:
            logger.warning("calibration_sets_left", organization=organization.slug)
            return
        deletion.purge_deleted()
    organization.delete()
