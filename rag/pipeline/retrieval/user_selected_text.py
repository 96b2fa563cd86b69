"""Step: question and a text that the user selected -> passages, scored like those of a search."""

import dataclasses
import uuid
from collections.abc import Mapping, Sequence

import structlog

from rag.errors import EmbeddingFailed
from rag.pipeline.embed_question import MAX_QUESTION_TOKENS, embed_question_locally
from rag.providers import provider_factory
from rag.text.languages import detect_language
from rag.text.sentences.quotable_units import split_units
from rag.types import Passage
from rag.types.token_vectors import TokenSignatures

from .reranking.late_interaction import max_similarities

logger = structlog.get_logger(__name__)

# About the length of a stored chunk. Longer texts are split between two sentences.
_MAX_PASSAGE_CHARACTERS = 1_000
# The cosine similarity of a text that was not compared with the question: that of an average passage.
_DEFAULT_SCORE = 0.4
# The document, source and organisation of a selected text.
NO_ID = uuid.UUID(int=0)


@dataclasses.dataclass(frozen=True, slots=True)
class SelectedText:
    """A text that the user selected, as passages that belong to no document.

    Attributes:
        text: The whole text.
        passages: Its parts, in order. Offsets are relative to the whole text.
        signatures: The token signatures of each part, by the id of its passage. Empty if the local model failed.
    """

    text: str
    passages: tuple[Passage, ...]
    signatures: Mapping[uuid.UUID, TokenSignatures]


def score_selected_text(question: str, text: str) -> SelectedText:
    """Split a selected text into passages and compare them with the question by the local model.

    If the local model fails, all passages have an average score. They are then judged by their words only.

    Args:
        question: The question.
        text: The selected text; empty if there is none.

    Raises:
        EmbeddingFailed: If the text would wait too long for the local model.
    """
    lang = detect_language(text)
    passages = [
        selected_text_passage(text[start:end]).copy_with(
            chunk_id=uuid.UUID(int=number),
            position=number - 1,
            start=start,
            end=end,
            lang=lang,
        )
        for number, (start, end) in enumerate(_split(text, lang), start=1)
    ]
    if not passages:
        return SelectedText(text, (), {})
    try:
        question_vector, question_tokens = embed_question_locally(question)
        vectors, signatures = provider_factory.local_embedder().embed_with_token_signatures(
            [part.text for part in passages]
        )
    except EmbeddingFailed as error:
        if error.is_own_limit:
            raise
        logger.warning("selected_text_not_compared", reason=error.message)
        return SelectedText(text, tuple(passages), {})
    scored = []
    for passage, vector, of_passage in zip(passages, vectors, signatures, strict=True):
        maxsim = None
        if len(of_passage) and len(question_tokens):
            maxsim = float(max_similarities(question_tokens[:MAX_QUESTION_TOKENS], [of_passage]).mean())
        score = min(1.0, max(0.0, float(vector @ question_vector)))
        scored.append(passage.copy_with(score=score, maxsim=maxsim))
    by_passage = {
        passage.chunk_id: of_passage for passage, of_passage in zip(scored, signatures, strict=True) if len(of_passage)
    }
    return SelectedText(text, tuple(scored), by_passage)


def _split(text: str, lang: str) -> Sequence[tuple[int, int]]:
    """Return the offsets of the parts: whole sentences up to the maximum length. Longer sentences are split."""
    limit = _MAX_PASSAGE_CHARACTERS
    parts: list[tuple[int, int]] = []
    for unit in split_units(text, lang):
        if parts and unit.end - parts[-1][0] <= limit:
            parts[-1] = (parts[-1][0], unit.end)
        else:
            parts += [(start, min(start + limit, unit.end)) for start in range(unit.start, unit.end, limit)]
    return parts


def selected_text_passage(text: str) -> Passage:
    """Wrap a text selected by the user as a passage that belongs to no document."""
    return Passage(
        chunk_id=NO_ID,
        document_id=NO_ID,
        source_id=NO_ID,
        organization_id=NO_ID,
        source_slug="",
        rank=0,
        score=_DEFAULT_SCORE,
        relevance=1.0,
        text=text,
        position=0,
        start=0,
        end=len(text),
        headings=(),
        title="",
        path="",
        uri="",
        content_type="",
        source_type="",
        lang="",
        tags=(),
        metadata={},
        date=None,
    )
