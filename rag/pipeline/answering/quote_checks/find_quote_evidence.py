"""Step: a question and the quotes that answer it -> what is known of these quotes, which limits their confidence."""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.pointing_sentences import mostly_points
from rag.pipeline.answering.extractive.question.answer_types import (
    expected_answer_type,
    has_answer_of_type,
    has_count,
)
from rag.pipeline.answering.extractive.question.question_type import is_negated, is_procedure
from rag.pipeline.answering.extractive.quotes import nearest_heading
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.grounding.assess_grounding import CONFIDENCE_UNKNOWN
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.grounding.gaps import count_question_words, share_in_quotes
from rag.pipeline.grounding.quote_confidence import QuoteEvidence
from rag.text.question_language import is_english
from rag.types import Citation, Grounding, Passage

from .doubtful_quotes import says_what_is_sought

# "2. Start the server", "Step 3: Enable it": the heading of one of several steps.
_STEP = re.compile(r"(?:step|schritt|étape|paso|passo|fase|etapa|stap)\s+\d|\d{1,2}[.)]\s", re.IGNORECASE)


def find_quote_evidence(query: str, generation: PreparedGeneration, grounding: Grounding) -> QuoteEvidence:
    """Return what is known of the quotes of an extractive answer.

    Args:
        query: The question.
        generation: The answer with its quotes.
        grounding: The assessment of the passages.
    """
    citations, first = generation.quotes or (), generation.first_quote
    answer_type = expected_answer_type(query)
    return QuoteEvidence(
        is_in_best_passage=first is not None and first.number == 1,
        is_in_section=first is not None and first.is_in_section,
        relevance=1.0 if first is None else _relevance(first.citations[0].passage),
        word_share=share_in_quotes(query, citations, generation.headings),
        has_all_words=not grounding.gaps,
        word_count=count_question_words(query),
        has_answer_type=answer_type is None or any(has_answer_of_type(quote.quote, answer_type) for quote in citations),
        has_count=has_count(generation.quoted_text, query, first.citations[0].passage.lang if first else ""),
        says_what_is_sought=first is None or says_what_is_sought(query, generation.quoted_text),
        has_statement=not mostly_points(" ".join(quote.quote for quote in citations)),
        has_all_steps=first is None or not (is_procedure(query) and _STEP.match(nearest_heading(first))),
        has_same_negation=first is None or _has_same_negation(query, nearest_heading(first), citations),
        is_between_languages=is_in_other_language(query, [quote.passage for quote in citations]),
        is_read=first is not None and first.citations[0].passage.answer_logit is not None,
        is_for_english=is_english(query),
        is_measured=CONFIDENCE_UNKNOWN not in grounding.warnings,
    )


def _relevance(passage: Passage) -> float:
    """Return the relevance of a passage; 1 if it is not that of late interaction, which is compared with a limit."""
    return 1.0 if passage.maxsim is None else passage.relevance


def _has_same_negation(query: str, heading: str, citations: Sequence[Citation]) -> bool:
    """Return whether question and quotes are about what is, or both about what is not.

    The heading says what a section is about, but the answer to "Why does it not work?" may also be below "Operation".
    """
    if is_negated(query):
        return is_negated(heading) or any(is_negated(quote.quote) for quote in citations)
    return not is_negated(heading)
