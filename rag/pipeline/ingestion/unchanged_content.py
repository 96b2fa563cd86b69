"""Step: submissions whose content is stored already -> new metadata of the documents. Nothing is embedded."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.models import DataSource, Document
from rag.models.content.documents import content_hash
from rag.parsing import formats, parse
from rag.providers import provider_factory
from rag.providers.stores.store_writes import MetadataUpdate
from rag.types import FILTER_FIELDS, ChunkingOptions, IndexOutcome, Submission
from ragsite.postgres.statements.update_rows import update_rows

from .stored_documents import lock_documents

# The fields of a document that a submission of the same content may change.
_METADATA_FIELDS = ("title", "uri", "content_type", "source_type", "lang", "tags", "metadata", "date")
_REVISION_FIELDS = ("revision", "updated_at")
# What is compared with submissions. Django would compose a condition for each path.
_LIVE = (
    f"SELECT id, path, revision, content_hash, chunk_size, chunk_overlap, chunk_count, {', '.join(_METADATA_FIELDS)} "
    f"FROM {Document._meta.db_table} WHERE source_id = %s AND path = ANY(%s) AND deleted_at IS NULL"
)
# How many documents of a new job are compared by one statement.
_MAX_COMPARED = 500


@dataclass(frozen=True, slots=True)
class UnchangedDocument:
    """A document whose stored content stays.

    Attributes:
        outcome: The outcome of its submission.
        document: The document with its new metadata, to be saved; None if a later submission was written already.
        update: What the chunk store has to know; None if nothing that it stores has changed.
    """

    outcome: IndexOutcome
    document: Document | None = None
    update: MetadataUpdate | None = None


def update_unchanged(
    submissions: Mapping[uuid.UUID, tuple[Submission, ChunkingOptions]], *, source: DataSource
) -> dict[uuid.UUID, IndexOutcome]:
    """Save the new metadata of the documents whose stored content is the submitted one.

    It takes the same number of statements for any number of documents. Other writers of these paths wait until the
    current transaction ends. Call it once per transaction.

    Args:
        submissions: New revision → the submission that has it, and its chunking options. Their paths differ.
        source: The data source of all of them.

    Returns:
        Revision → outcome, without the submissions whose content must be written. These have changed nothing.

    Raises:
        UnknownSource: If the source has been deleted.
        ModelChanged: If the source was switched to another embedding model.
    """
    revisions = {submission.path: revision for revision, (submission, _) in submissions.items()}
    stored, deleted = lock_documents(source, revisions)
    outcomes = {revisions[path]: outcome for path, outcome in deleted.items()}
    unchanged: dict[uuid.UUID, UnchangedDocument] = {}
    for revision, (submission, options) in submissions.items():
        if document := stored.get(submission.path):
            kept = keep_content(document, submission, source=source, options=options, revision=revision)
            unchanged |= {revision: kept} if kept else {}
    save_metadata([*unchanged.values()])
    return {**outcomes, **{revision: kept.outcome for revision, kept in unchanged.items()}}


def keep_identical(
    submissions: Mapping[uuid.UUID, Submission], *, source: DataSource, options: ChunkingOptions
) -> dict[uuid.UUID, IndexOutcome]:
    """Give the new revision to documents that are stored exactly as submitted, metadata included.

    It never waits. If another transaction is writing to the source, all are left to workers; otherwise the others wait
    until the current transaction ends.

    Args:
        submissions: New revision → the submission that has it.
        source: The data source of all of them.
        options: Their chunking options.

    Returns:
        Revision → outcome, without the submissions that change something, or whose path several of them have.
    """
    counts = Counter(submission.path for submission in submissions.values())
    compared = {
        submission.path: (revision, submission)
        for revision, submission in submissions.items()
        if counts[submission.path] == 1 and not (submission.force_reparse or submission.parse_error)
    }
    outcomes: dict[uuid.UUID, IndexOutcome] = {}
    paths = list(compared) if compared and source.try_lock_alone() else []
    for start in range(0, len(paths), _MAX_COMPARED):
        live = Document.objects.raw(_LIVE, [source.pk, paths[start : start + _MAX_COMPARED]])
        identical = []
        for document in live:
            revision, submission = compared[document.path]
            stored = [getattr(document, name) for name in _METADATA_FIELDS]
            kept = keep_content(document, submission, source=source, options=options, revision=revision)
            if kept and kept.document and stored == [getattr(document, name) for name in _METADATA_FIELDS]:
                identical.append(document)
                outcomes[revision] = kept.outcome
        update_rows(identical, _REVISION_FIELDS)
    return outcomes


def keep_content(
    document: Document, submission: Submission, *, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> UnchangedDocument | None:
    """Set the new metadata of a locked document whose stored content can stay. `save_metadata` saves it.

    Returns:
        The document; None if its content must be written again: it has changed, a reparse is forced (`force_reparse`),
        or the chunking options or the parser differ from those of the stored version. Nothing is set then.
    """
    outcome = IndexOutcome("unchanged", document.pk, document.chunk_count)
    if document.revision > revision:  # a later submission has been written already
        return UnchangedDocument(outcome)
    if submission.force_reparse:
        return None
    has_same_options = (document.chunk_size, document.chunk_overlap) == (options.size, options.overlap)
    declared = formats.declared_type(submission.content_type)
    has_same_parser = _has_same_parser(document.content_type, declared)
    if document.content_hash != effective_hash(submission) or not (has_same_options and has_same_parser):
        return None
    stored = {name: getattr(document, name) for name in ("title", *FILTER_FIELDS)}
    # Values that were found in the content stay unless the submission has its own value.
    own_values = {"title": submission.title, "lang": submission.lang, "content_type": declared}
    submitted = {name: value for name, value in own_values.items() if value}
    if "/" not in document.content_type:  # not a MIME type but a word of an earlier submission
        submitted.setdefault("content_type", parse.default_content_type(submission.path))
    set_values(document, {**metadata_values(submission, source), **submitted, "revision": revision})
    changed = {name for name, value in stored.items() if getattr(document, name) != value}
    update = MetadataUpdate(document, has_new_title="title" in changed, has_new_lang="lang" in changed)
    return UnchangedDocument(outcome, document, update if changed else None)


def save_metadata(unchanged: Sequence[UnchangedDocument]) -> None:
    """Save what `keep_content` has set, in the documents' rows and in the chunk store."""
    update_rows([kept.document for kept in unchanged if kept.document], (*_METADATA_FIELDS, *_REVISION_FIELDS))
    if updates := [kept.update for kept in unchanged if kept.update]:
        provider_factory.chunk_store().update_metadata(updates)


def effective_hash(submission: Submission) -> str:
    """Return the content hash that the client sent, or the hash of the text."""
    return submission.content_hash or content_hash(submission.text)


def metadata_values(submission: Submission, source: DataSource) -> dict[str, object]:
    """Return the values that a document always takes over from its submission, and from nothing else."""
    return {
        "uri": submission.uri,
        "source_type": submission.source_type or source.source_type,
        "tags": list(submission.tags),
        "metadata": dict(submission.metadata),
        "date": submission.date,
    }


def set_values(document: Document, values: Mapping[str, object]) -> None:
    """Set fields of the document, without saving it."""
    for name, value in values.items():
        setattr(document, name, value)


def _has_same_parser(stored_type: str, submitted_type: str) -> bool:
    """Return whether both MIME types have the same parser. A value such as `documentation` is not a MIME type: True."""
    return "/" not in submitted_type or "/" not in stored_type or submitted_type == stored_type
