"""Step: question and passages -> an answer without a language model, quoted from the best parts of the passages."""

from collections.abc import Sequence

from rag.types import Passage

from .passage_structure import PassageStructure
from .question_type import analyse_question
from .quotes import Quote, quote_parts
from .quotes import render_quotes as render_quotes
from .selection import select_parts
from .sentence_similarity import MAX_PASSAGES, SentenceSimilarity

EXTRACTIVE_MODEL = "extractive"


def extract_quotes(
    query: str, passages: Sequence[Passage], similarity: SentenceSimilarity | None = None
) -> list[Quote]:
    """Quote the parts of the passages that answer the question best.

    Args:
        query: The question.
        passages: The numbered passages of the prompt, best first. Only the best ones are quoted.
        similarity: The similarity of the passages' parts to the question; without it, words alone decide.

    Returns:
        Quotes in reading order. Each can be understood without its passage.
    """
    structures = [PassageStructure(passage) for passage in passages[:MAX_PASSAGES]]
    question = analyse_question(query, [passage.lang for passage in passages[:MAX_PASSAGES]])
    selected = select_parts(structures, question, similarity or SentenceSimilarity())
    return [
        quote
        for number, structure in enumerate(structures, start=1)
        for quote in quote_parts(number, structure, selected.get(number, ()))
    ]
