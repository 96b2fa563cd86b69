"""Step: prepared documents → their rows, their chunks and their vectors, inside the caller's transaction."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rag.models import DataSource, Document, Original
from rag.models.content.documents import content_hash
from rag.parsing import registry as parsers
from rag.providers import registry
from rag.providers.base import DocumentVersion
from rag.providers.stores.pgvector import terms
from rag.text.embedded_text import embedded_text
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.postgres.locks import advisory_xact_locks

from . import quota
from .prepare import Cut, Prepared


class Outdated(Exception):
    """The stored version is not the one any more whose vectors were to be kept: cut it again."""


def known_paths(paths: Iterable[str], *, source: DataSource) -> set[str]:
    """Those that have a document already. Cheap, and not final: nothing is locked."""
    live = Document.objects.live().filter(source=source, path__in=list(paths))
    return set(live.values_list("path", flat=True))


def unchanged(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> IndexOutcome | None:
    """If the stored document has this content already, save what else changed and say so; else None.

    Nothing is embedded for it. Keeps other writers of this path waiting until the caller's transaction ends. Raises
    UnknownSource if the source was deleted meanwhile.
    """
    document = _locked(source, [submission.path]).get(submission.path)
    if document is None:
        return _deleted_since(source, {submission.path: revision}).get(submission.path)
    named = _named(document)
    kept = _kept(document, submission, source, options, revision)
    if kept:
        _follow([], {document: named})
    return kept


def index(arrivals: Mapping[uuid.UUID, Prepared], *, source: DataSource) -> dict[uuid.UUID, IndexOutcome]:
    """Create the documents, or give them their new content: chunks that they have already keep their rows and vectors.

    arrivals: by the revision that each becomes, none of the same path as another. Keeps other writers of these paths
    waiting, likewise, and towards the end the organisation's other writers: once in a transaction. Raises IndexFull
    and Outdated though only one of them may be the cause, and UnknownSource if the source was deleted meanwhile.
    """
    paths = {prepared.cut.submission.path: revision for revision, prepared in arrivals.items()}
    stored = _locked(source, paths)
    gone = _deleted_since(source, {path: revision for path, revision in paths.items() if path not in stored})
    named = {document: _named(document) for document in stored.values()}
    outcomes: dict[uuid.UUID, IndexOutcome] = {}
    versions: list[DocumentVersion] = []
    had_chunks = had_bytes = 0
    for revision, prepared in arrivals.items():
        submission = prepared.cut.submission
        document = stored.get(submission.path)
        done = gone.get(submission.path) or _settled(document, prepared.cut, source, revision)
        if done is None:
            had_chunks += document.chunk_count if document else 0
            had_bytes += document.bytes if document else 0
            versions.append(_version(document, prepared, source, revision))
            status = "updated" if document else "created"
            done = IndexOutcome(status, versions[-1].document.pk, len(prepared.cut.chunks))
        outcomes[revision] = done
    _write(versions, source)
    documents = [version.document for version in versions]
    _follow(documents, named)
    quota.make_room(
        source.organization_id,
        chunks=sum(document.chunk_count for document in documents) - had_chunks,
        bytes=sum(document.bytes for document in documents) - had_bytes,
    )
    return outcomes


def _named(document: Document) -> tuple[str, str]:
    return document.title, document.lang


def _follow(written: Sequence[Document], named: Mapping[Document, tuple[str, str]]) -> None:
    """The words of the written documents, and of those that have another name or language than they had."""
    renamed = [document for document, before in named.items() if _named(document) != before]
    retitled = [document.pk for document in renamed if document.title != named[document][0]]
    terms.follow(list({each.pk for each in (*written, *renamed)}), text_of=embedded_text, anew=retitled)


def _settled(document: Document | None, cut: Cut, source: DataSource, revision: uuid.UUID) -> IndexOutcome | None:
    """If nothing is to be written, why. Raises Outdated."""
    submission = cut.submission
    if document and (kept := _kept(document, submission, source, cut.options, revision)):
        return kept
    if document is None and submission.again:  # deleted since it was asked for
        return IndexOutcome("unchanged", None, 0)
    if cut.base != (document.revision if document else None):
        raise Outdated
    return None


def _version(document: Document | None, prepared: Prepared, source: DataSource, revision: uuid.UUID) -> DocumentVersion:
    """The document, with the values of its new version, and what it consists of. Nothing is written."""
    cut = prepared.cut
    submission, options = cut.submission, cut.options
    is_new = document is None
    document = document or Document(source=source, path=submission.path)
    if document.original_id and document.original_id != submission.original_id:
        Original.objects.filter(pk=document.original_id).release()
    content = {
        "title": cut.title,
        "content_type": submission.content_type or cut.parsed.media_type or parsers.media_type("", submission.path),
        "lang": cut.lang,
        "text": cut.parsed.text,
        "original_id": submission.original_id,
        "content_hash": effective_hash(submission),
        "chunk_size": options.size,
        "chunk_overlap": options.overlap,
        "chunk_count": len(cut.chunks),
        "bytes": cut.bytes,
        "revision": revision,
    }
    _set(document, {**_attributes(submission, source), **content})
    vectors, pieces = prepared.embedded.vectors, prepared.embedded.signatures
    return DocumentVersion(document, cut.chunks, cut.digests, cut.fresh, vectors, pieces, is_new)


def _write(versions: Sequence[DocumentVersion], source: DataSource) -> None:
    store = registry.vector_store(source.embedding_model)
    Document.objects.bulk_create([version.document for version in versions if version.is_new])
    changed = [version.document for version in versions if not version.is_new]
    for document in changed:
        document.save()
    store.replace(versions, model_id=source.embedding_model_id)
    for document in changed:
        store.refresh_filters(document)


def _kept(
    document: Document, submission: Submission, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> IndexOutcome | None:
    outcome = IndexOutcome("unchanged", document.pk, document.chunk_count)
    if document.revision > revision:  # a later submission has been written already: this one is history
        return outcome
    if submission.again:
        return None
    made_alike = (document.chunk_size, document.chunk_overlap) == (options.size, options.overlap)
    made_alike = made_alike and _is_read_alike(document.content_type, submission.content_type)
    if document.content_hash != effective_hash(submission) or not made_alike:
        return None
    # What was found in the content stands where the submission says nothing.
    given = {name: value for name in ("title", "lang", "content_type") if (value := getattr(submission, name))}
    if "/" not in document.content_type:  # a word of an earlier submission's own
        given.setdefault("content_type", parsers.media_type("", submission.path))
    values = {**_attributes(submission, source), **given, "revision": revision}
    _set(document, values)
    document.save(update_fields=[*values, "updated_at"])
    registry.vector_store(source.embedding_model).refresh_filters(document)
    return outcome


def _is_read_alike(stored: str, given: str) -> bool:
    """Another MIME type is read in another way; `documentation` and the like are none and decide nothing."""
    return "/" not in given or "/" not in stored or given == stored


def effective_hash(submission: Submission) -> str:
    return submission.content_hash or content_hash(submission.text)


def _locked(source: DataSource, paths: Collection[str]) -> dict[str, Document]:
    """The live documents of these paths. Advisory locks: a document that is not there yet has no row to lock."""
    source.hold()
    advisory_xact_locks(f"{source.pk}/{path}" for path in paths)
    live = Document.objects.live().filter(source=source, path__in=list(paths)).defer("text")
    return {document.path: document for document in live}


def _deleted_since(source: DataSource, paths: Mapping[str, uuid.UUID]) -> dict[str, IndexOutcome]:
    """Of paths and their revisions, those that were deleted after it was submitted: it is history, as if it had been
    written and then deleted."""
    deleted = Document.objects.filter(source=source, path__in=list(paths), deleted_at__isnull=False)
    found = deleted.values_list("path", "pk", "revision")
    return {path: IndexOutcome("unchanged", key, 0) for path, key, revision in found if revision > paths[path]}


def _attributes(submission: Submission, source: DataSource) -> dict[str, Any]:
    return {
        "uri": submission.uri,
        "source_type": submission.source_type or source.source_type,
        "tags": list(submission.tags),
        "metadata": dict(submission.metadata),
        "date": submission.date,
    }


def _set(document: Document, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(document, name, value)
