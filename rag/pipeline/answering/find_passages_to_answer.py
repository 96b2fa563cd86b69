"""The passages to answer a question from. If it asks two things, each of them is searched for, too."""

import dataclasses
import itertools
import uuid
from collections.abc import Sequence

from rag.pipeline.answering.extractive.extract import compare_sentences, quote_section
from rag.pipeline.grounding.assess_grounding import assess_locally
from rag.pipeline.grounding.calibration_curve import mode_name
from rag.pipeline.retrieval.query.spelling import correct_spelling
from rag.pipeline.retrieval.query.split_question import split_question
from rag.pipeline.retrieval.retrieve import find_passages, with_ranks
from rag.types import Grounding, Passage, Question, Retrieval, SearchedQuestion, SearchScope

from .merge_passages import merge_passages


def find_passages_to_answer(question: Question, scopes: Sequence[SearchScope]) -> Retrieval:
    """Find the best passages for a question, or for the two questions that it consists of.

    The best passages for two things together are often all about one of them. So if a section answers each of them, the
    passages of the three searches alternate, those for the whole question first. A second question that cannot be
    understood alone is not searched for.

    Raises:
        RagError: If `find_passages` fails.
    """
    question = correct_spelling(question, scopes)
    retrieval = find_passages(question, scopes)
    searched = [SearchedQuestion(question.text, retrieval.passages)]
    for text in split_question(question.text):
        half = _search_half(dataclasses.replace(question, text=text), scopes)
        if half is None:
            return retrieval
        searched.append(half)
    if len(searched) == 1:
        return retrieval
    best: dict[uuid.UUID, Passage] = {}
    for passage in itertools.chain.from_iterable(itertools.zip_longest(*(item.passages for item in searched))):
        if passage:
            best.setdefault(passage.chunk_id, passage)
    return dataclasses.replace(
        retrieval, passages=with_ranks(list(best.values())[: question.top_k]), searched=tuple(searched)
    )


def _search_half(half: Question, scopes: Sequence[SearchScope]) -> SearchedQuestion | None:
    """Search for one of two questions. Returns None if no section answers it."""
    passages = find_passages(half, scopes).passages
    grounding = assess_locally(half.text, passages, mode_name(half))
    if not grounding.is_groundable:
        return None
    numbered = merge_passages(passages)
    quotes = quote_section(half.text, numbered, compare_sentences(half.text, numbered, passages))
    return SearchedQuestion(half.text, passages, grounding.score) if quotes else None


def add_probability_of_both(grounding: Grounding, retrieval: Retrieval, passages: Sequence[Passage]) -> Grounding:
    """Return the assessment of a question, with the probability that the questions found in it are answered if higher.

    Args:
        grounding: The assessment of the whole question, which few passages answer alone.
        retrieval: What was found.
        passages: The passages of the prompt.
    """
    chunk_ids = {passage.chunk_id for passage in passages}
    halves = retrieval.searched[1:]
    # A small topK or token budget may leave out what answers one of them.
    if not halves or any(half.passages[0].chunk_id not in chunk_ids for half in halves):
        return grounding
    score = max(grounding.score, min(half.probability for half in halves))
    return dataclasses.replace(grounding, is_groundable=True, score=score, relevant=tuple(passages))
