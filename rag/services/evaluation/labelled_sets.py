"""Temporary data sources with golden questions, made from a folder of labelled evaluation sets.

The folder has `retrieval/NAME/` with corpus.jsonl {"id", "title", "text"}, queries.jsonl {"id", "text"} and qrels.tsv
(question id, document id, grade).
"""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from orgs.creation import create_organization
from orgs.models import Organization
from rag.errors import InvalidRequest
from rag.models import DataSource, EmbeddingModel, GoldenQuestion
from rag.services.ingestion import synchronous_ingestion
from rag.services.sources import deletion, purge
from rag.types import MAX_QUESTION_CHARACTERS, Submission

from .golden_questions import MAX_QUESTIONS

logger = structlog.get_logger(__name__)

_NAME = "Calibration (temporary)"
# How long to wait until the sources are removed. The sweep removes what is left after that.
_REMOVAL_TIMEOUT_SECONDS = 60


@contextmanager
def ingest_labelled_sets(folder: Path, model: EmbeddingModel) -> Iterator[list[DataSource]]:
    """Ingest each set into a data source of its own; the sources are removed when the block ends.

    They belong to a new organisation without members. Questions beyond MAX_QUESTIONS per set are ignored.

    Args:
        folder: A folder with the layout above.
        model: The embedding model of the sources.

    Raises:
        InvalidRequest: If the folder has another layout.
        EmbeddingFailed: If the embedding model does not answer.
    """
    set_folders = sorted(path for path in folder.glob("retrieval/*") if (path / "qrels.tsv").is_file())
    if not set_folders:
        raise InvalidRequest(f"{folder} has no sets: it must have retrieval/NAME/qrels.tsv.", field="sets")
    organization = create_organization(name=_NAME, slug=f"calibration-{secrets.token_hex(4)}")
    try:
        yield [_create_source(set_folder, organization, model) for set_folder in set_folders]
    finally:
        _remove(organization)


def _create_source(set_folder: Path, organization: Organization, model: EmbeddingModel) -> DataSource:
    """Create a source with the documents and the golden questions of one set."""
    slug = f"set-{secrets.token_hex(4)}"
    source = DataSource.objects.create(
        organization=organization, slug=slug, name=set_folder.name[:100], embedding_model=model
    )
    paths: dict[str, str] = {}
    for number, entry in enumerate(_read_entries(set_folder / "corpus.jsonl")):
        title, text = str(entry.get("title") or ""), str(entry["text"])
        paths[str(entry["id"])] = f"text-{number}"
        # A space as title: without one, the document would get its path as title.
        submission = Submission(path=f"text-{number}", title=title or " ", text=text or title)
        synchronous_ingestion.ingest_now(source=source, submission=submission)
    questions = {
        str(entry["id"]): str(entry["text"])[:MAX_QUESTION_CHARACTERS]
        for entry in _read_entries(set_folder / "queries.jsonl")
    }
    expected = {
        key: relevant
        for key, relevant in _read_relevant_paths(set_folder / "qrels.tsv", paths).items()
        if key in questions
    }
    GoldenQuestion.objects.bulk_create(
        GoldenQuestion(source=source, question=questions[key], path=path)
        for key in list(expected)[:MAX_QUESTIONS]
        for path in expected[key]
    )
    return source


def _read_relevant_paths(file: Path, paths: dict[str, str]) -> dict[str, list[str]]:
    """Return question id → paths of the relevant documents. Other lines, such as a header, are ignored."""
    relevant_paths: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        question, document, grade = (*line.split("\t"), "", "", "")[:3]
        if document in paths and grade.strip() not in ("", "0"):
            relevant_paths.setdefault(question, []).append(paths[document])
    return relevant_paths


def _read_entries(file: Path) -> Iterator[dict[str, object]]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line.replace("\\u0000", " "))
                yield {"id": entry["id"], "title": entry.get("title"), "text": entry["text"]}
            except (ValueError, KeyError, TypeError, AttributeError):
                message = f"{file}, line {number}: expected an object with id and text."
                raise InvalidRequest(message, field="sets") from None


def _remove(organization: Organization) -> None:
    """Delete the sources, wait until the purge has removed their rows and files, and remove the organisation."""
    for source in DataSource.objects.filter(organization=organization, deleted_at=None):
        deletion.delete_source(source)
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_SECONDS
    while DataSource.objects.filter(organization=organization).exists():
        if time.monotonic() > deadline:
            logger.warning("calibration_sets_not_removed", organization=organization.slug)
            return
        purge.purge_deleted()
    organization.delete()
