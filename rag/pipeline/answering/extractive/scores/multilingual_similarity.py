"""The similarity of parts of passages to a question in another language, by the multilingual embedding model."""

import uuid
from collections.abc import Sequence

import numpy as np
import structlog
from django.conf import settings

from rag.errors import EmbeddingFailed, ProviderFailed
from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import split_cells
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.providers import provider_factory
from rag.text.question_language import is_english, is_foreign
from rag.text.sentences.quotable_units import UnitKind
from rag.types import Passage
from rag.types.token_vectors import TokenVectors

from .answer_candidates import QuoteCandidate
from .sentence_similarity import SentenceSimilarity

logger = structlog.get_logger(__name__)

# How many parts of how many passages are compared at most, and how much of each: one part takes 5 CPU-milliseconds.
_MAX_PASSAGES, _MAX_PARTS, _MAX_CHARACTERS = 3, 40, 400
# How many of the best parts are read together with the question, which takes 8 CPU-milliseconds for each, and the
# weight of the model's logit beside their score.
_MAX_READ, _WEIGHT = 4, 0.5


class MultilingualSimilarity(SentenceSimilarity):
    """The cosine similarity of the parts of the best passages to a question."""

    def __init__(self, query: str, passages: Sequence[Passage]) -> None:
        super().__init__()
        self._query = query
        # One vector of a part does not tell which of the question's words it has. In another language it has none.
        if not is_in_other_language(query, passages[:1]):
            self.words_weight = 1.0
        structures = map(PassageStructure, passages[:_MAX_PASSAGES])
        compared = [(structure, index) for structure in structures for index in range(len(structure.parts))]
        compared = compared[:_MAX_PARTS]
        texts = [_with_names_of_columns(structure, index)[:_MAX_CHARACTERS] for structure, index in compared]
        embedder = provider_factory.multilingual_embedder()
        question, vectors = embedder.embed_question(query), embedder.embed(texts)
        self._cosines = {
            _key(structure, index): float(np.dot(question, vector))
            for (structure, index), vector in zip(compared, vectors, strict=True)
        }

    def token_scores(self, document_id: uuid.UUID, start: int, end: int) -> TokenVectors | None:
        """Return the cosine of a part, the characters start to end of a document, as that of a single token."""
        cosine = self._cosines.get((document_id, start, end))
        return None if cosine is None else np.array([cosine], np.float32)

    def score_both_ways(self, document_id: uuid.UUID, start: int, end: int) -> float | None:
        """Return the cosine, which is the same in both directions; None if the part was not compared."""
        return self._cosines.get((document_id, start, end))

    def add_reading(
        self, scores: Sequence[float], candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure]
    ) -> list[float]:
        """Add to the scores of the best parts how surely they have the answer; the others stay below them."""
        best = sorted(range(len(scores)), key=lambda position: (-scores[position], position))[:_MAX_READ]
        model = provider_factory.multilingual_check()
        if model is None or len(best) < 2:
            return list(scores)
        parts = [(structures[candidates[position].passage_number - 1], candidates[position].index) for position in best]
        try:
            logits = model.logits(self._query, [_with_heading(structure, index) for structure, index in parts])
        except ProviderFailed as error:
            logger.warning("reading_skipped", reason=error.message)
            return list(scores)
        read = {
            position: scores[position] + _WEIGHT * (logit - max(logits))
            for position, logit in zip(best, logits, strict=True)
        }
        decrease = scores[best[-1]] - min(read.values())
        return [read.get(position, score - decrease) for position, score in enumerate(scores)]


def _with_heading(structure: PassageStructure, index: int) -> tuple[str, str]:
    """Return the nearest heading above a part, and the part."""
    heading = structure.heading_index(index)
    above = structure.passage.headings[-1:] if heading is None else (structure.visible_text(heading),)
    return next(iter(above), structure.passage.title), _with_names_of_columns(structure, index)[:_MAX_CHARACTERS]


def _with_names_of_columns(structure: PassageStructure, index: int) -> str:
    """Return the text of a part. The cells of a row are after the names of their columns, which say what they are."""
    part, text = structure.parts[index], structure.passage.text
    names = structure.header_cells(index) if part.kind is UnitKind.ROW else []
    if not names:
        return text[part.start : part.end]
    cells = zip(names, split_cells(structure.text(index)), strict=False)
    return ", ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)


def _key(structure: PassageStructure, index: int) -> tuple[uuid.UUID, int, int]:
    passage, part = structure.passage, structure.parts[index]
    return passage.document_id, passage.start + part.start, passage.start + part.end


def compare_in_other_languages(query: str, passages: Sequence[Passage]) -> MultilingualSimilarity | None:
    """Compare a question that is not English, or whose best passage is not, with parts of the passages.

    Returns:
        The similarities; None if question and best passage are English, or the multilingual model is not used.
    """
    is_other = bool(passages) and (not is_english(query) or is_foreign(passages[0].lang))
    if not (is_other and settings.RAG_MULTILINGUAL_MODEL):
        return None
    try:
        return MultilingualSimilarity(query, passages)
    except EmbeddingFailed as error:
        logger.warning("sentence_similarity_failed", reason=type(error).__name__)
        return None
