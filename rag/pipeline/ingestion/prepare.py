"""A document's way in: parse → chunk → embed, without a transaction; then `index`, in a short one."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.models import DataSource, Document, EmbeddingModel, Original
from rag.parsing import registry as parsers
from rag.pipeline.embed import EmbeddedTexts, embed_texts
from rag.providers import file_storage, registry
from rag.text import languages
from rag.text.embedded_text import digest, embedded_text
from rag.types import ChunkDraft, ChunkingOptions, ParsedDocument, Submission

from . import quota
from .chunk import chunk


@dataclass(frozen=True, slots=True)
class Cut:
    """A document before it is embedded.

    digests: of each chunk, of exactly what is embedded. fresh: indexes of the chunks whose vector is not there yet.
    base: the revision of the stored version whose vectors the other chunks keep, if there is one. bytes: what the
    document counts in its organisation's quota.
    """

    submission: Submission
    options: ChunkingOptions
    parsed: ParsedDocument
    title: str
    lang: str
    chunks: list[ChunkDraft]
    digests: list[uuid.UUID]
    fresh: list[int]
    base: uuid.UUID | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be written. embedded: its `cut.fresh` chunks."""

    cut: Cut
    embedded: EmbeddedTexts


def prepare(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, on_batch: Callable[[int], None]
) -> Prepared:
    """The slow part. Raises ParseFailed, UnsupportedFormat, IndexFull, EmbeddingFailed, and what `on_batch` raises."""
    one = cut(submission, source=source, options=options)
    require_room_for([one], source)
    (prepared,) = embed([one], source.embedding_model, on_batch=on_batch)
    return prepared


def cut(submission: Submission, *, source: DataSource, options: ChunkingOptions, is_new: bool = False) -> Cut:
    """Parse → chunks, and which of them are new. Raises ParseFailed, UnsupportedFormat, StorageFailed.

    is_new: the path had no document a moment ago.
    """
    parsed = _parsed(submission)
    title = submission.title or parsed.title or submission.path.rstrip("/").rsplit("/", 1)[-1]
    chunks = list(chunk(parsed, options))
    digests = [digest(each.text, each.headings, title) for each in chunks]
    stored = None
    if not (is_new or source._state.adding):
        stored = Document.objects.live().filter(source=source, path=submission.path).only("revision").first()
    store = registry.vector_store(source.embedding_model)
    known = store.known(stored, model_id=source.embedding_model_id) if stored else Counter[uuid.UUID]()
    fresh = []
    for index, each in enumerate(digests):
        if known[each]:
            known[each] -= 1
        else:
            fresh.append(index)
    lang = submission.lang or languages.detect_language(parsed.text)
    size = quota.size_of(parsed.text, submission.original_id)
    base = stored.revision if stored else None
    return Cut(submission, options, parsed, title, lang, chunks, digests, fresh, base, size)


def require_room_for(cuts: Sequence[Cut], source: DataSource) -> None:
    """Before they are embedded. Raises IndexFull; not final, nothing is locked."""
    quota.require_room_for(source, {each.submission.path: (len(each.chunks), each.bytes) for each in cuts})


def embed(cuts: Sequence[Cut], model: EmbeddingModel, *, on_batch: Callable[[int], None]) -> list[Prepared]:
    """Their fresh chunks, all in the same batches: many small documents cost as few calls as one long one.

    The same text is embedded once. `on_batch` hears between batches how many texts are done; what it raises ends the
    work. Raises EmbeddingFailed.
    """
    places: dict[uuid.UUID, int] = {}
    chosen: list[tuple[Cut, int]] = []
    for each in cuts:
        for index in each.fresh:
            if places.setdefault(each.digests[index], len(chosen)) == len(chosen):
                chosen.append((each, index))
    chunks = ((one.chunks[index], one.title) for one, index in chosen)
    texts = (embedded_text(each.text, each.headings, title) for each, title in chunks)
    embedded = embed_texts(texts, len(chosen), model=model, on_batch=on_batch)
    rows = ([places[each.digests[index]] for index in each.fresh] for each in cuts)
    return [Prepared(each, embedded.select(row)) for each, row in zip(cuts, rows, strict=True)]


def _parsed(submission: Submission) -> ParsedDocument:
    if submission.original_id is None:
        return parsers.parse(submission.text, content_type=submission.content_type, path=submission.path)
    original = Original.objects.get(pk=submission.original_id)
    with file_storage.local_copy(original) as file:
        return parsers.read(file, content_type=submission.content_type, name=original.name)
