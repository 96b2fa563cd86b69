"""The passages to answer a question from. If it has several parts, these are searched for, too."""

import dataclasses
import itertools
import uuid
from collections.abc import Sequence

from django.conf import settings

from rag.pipeline.answering.extractive.extract import compare_sentences, quote_section
from rag.pipeline.grounding.assess_grounding import assess_locally
from rag.pipeline.grounding.calibration_curve import mode_name
from rag.pipeline.grounding.gaps import asks_about_other_code
from rag.pipeline.retrieval.query.spelling.correct_spelling import correct_spelling
from rag.pipeline.retrieval.query.split_clauses import select_clauses, split_clauses
from rag.pipeline.retrieval.query.split_question import split_question
from rag.pipeline.retrieval.retrieve import find_passages, with_ranks
from rag.types import Grounding, Passage, Question, Retrieval, SearchedQuestion, SearchScope

from .merge_passages import merge_passages

# How similar the heading of the best passage must be to a clause of a question, and how probable its answer then is
# (docs/decisions/0083-clauses.md).
_MIN_HEADING_SIMILARITY, _PROBABILITY_OF_CLAUSE = 0.45, 0.4


def find_passages_to_answer(question: Question, scopes: Sequence[SearchScope]) -> Retrieval:
    """Find the best passages for a question, for the two questions that it consists of, or for one of its clauses.

    The best passages for two things together are often all about one of them. So if a section answers each of them, the
    passages of the three searches alternate, those for the whole question first. A second question that cannot be
    understood alone is not searched for.

    A question that tells what happened is often about something else to a search than what it asks. So if the passages
    for the whole question do not answer it, its clauses are searched for, and the one that a heading asks is answered.

    Raises:
        RagError: If `find_passages` fails.
    """
    question = correct_spelling(question, scopes)
    retrieval = find_passages(question, scopes)
    if halves := _search_halves(question, scopes):
        return _alternate(retrieval, [SearchedQuestion(question.text, retrieval.passages), *halves], question.top_k)
    return _search_clauses(question, retrieval, scopes) or retrieval


def _search_halves(question: Question, scopes: Sequence[SearchScope]) -> list[SearchedQuestion]:
    """Search for each of the questions in a question. Returns nothing if a section does not answer each of them."""
    halves = []
    for text in split_question(question.text):
        half = _search_half(dataclasses.replace(question, text=text), scopes)
        if half is None:
            return []
        halves.append(half)
    return halves


def _alternate(retrieval: Retrieval, searched: Sequence[SearchedQuestion], top_k: int) -> Retrieval:
    """Return the passages of several searches in turn, each once."""
    best: dict[uuid.UUID, Passage] = {}
    for passage in itertools.chain.from_iterable(itertools.zip_longest(*(item.passages for item in searched))):
        if passage:
            best.setdefault(passage.chunk_id, passage)
    return dataclasses.replace(retrieval, passages=with_ranks(list(best.values())[:top_k]), searched=tuple(searched))


def _search_clauses(question: Question, retrieval: Retrieval, scopes: Sequence[SearchScope]) -> Retrieval | None:
    """Search for the clauses of a question, if the passages of the whole question do not answer it.

    Words that no passage mentions are removed from the clauses, because they often describe the case of the person who
    asks ("for our rehearsal"), not what the question is about. A clause that asks nothing, a statement, is used only if
    its best passage is also the best one of the whole question.

    Returns:
        The passages of the clause that is most similar to the heading of its best passage; None if no clause is used.
    """
    clauses = split_clauses(question.text)
    if not clauses or settings.RAG_GROUNDING == "model" or not _compares_headings(retrieval):
        return None
    grounding = assess_locally(question.text, retrieval.passages, mode_name(question))
    if grounding.is_groundable:
        return None
    questions, statements = select_clauses(clauses, grounding.gaps)
    first_id = retrieval.passages[0].chunk_id
    return _search_best_clause(question, questions, scopes) or _search_best_clause(
        question, statements, scopes, first_id=first_id
    )


def _search_best_clause(
    question: Question, clauses: Sequence[str], scopes: Sequence[SearchScope], *, first_id: uuid.UUID | None = None
) -> Retrieval | None:
    """Search for clauses. Returns the passages of the one whose best passage has the most similar heading.

    Args:
        question: The question, with its options.
        clauses: The clauses.
        scopes: The scopes to search.
        first_id: The chunk that a clause must find first; None for any.

    Returns:
        None unless the heading of the best passage asks the same.
    """
    best, best_similarity = None, _MIN_HEADING_SIMILARITY
    for text in clauses:
        retrieval = find_passages(dataclasses.replace(question, text=text), scopes)
        first = next(iter(retrieval.passages), None)
        similarity = (first and first.heading_similarity) or 0.0
        if not first or asks_about_other_code(question.text, retrieval.passages):
            continue
        if similarity >= best_similarity and first_id in (None, first.chunk_id):
            searched = SearchedQuestion(text, retrieval.passages, _PROBABILITY_OF_CLAUSE)
            best, best_similarity = dataclasses.replace(retrieval, searched=(searched,)), similarity
    return best


def _compares_headings(retrieval: Retrieval) -> bool:
    """Return whether headings are compared: not in all languages, and not without reranking."""
    return any(passage.heading_similarity is not None for passage in retrieval.passages)


def _search_half(half: Question, scopes: Sequence[SearchScope]) -> SearchedQuestion | None:
    """Search for one of two questions. Returns None if no section answers it."""
    passages = find_passages(half, scopes).passages
    grounding = assess_locally(half.text, passages, mode_name(half))
    if not grounding.is_groundable:
        return None
    numbered = merge_passages(passages)
    quotes = quote_section(half.text, numbered, compare_sentences(half.text, numbered, passages))
    return SearchedQuestion(half.text, passages, grounding.score) if quotes else None


def add_probability_of_parts(grounding: Grounding, retrieval: Retrieval, passages: Sequence[Passage]) -> Grounding:
    """Return the assessment of a question with the probability that its parts are answered, which were searched for.

    These are the two questions that it consists of, whose probability counts if it is higher, or the clause that was
    searched for in place of the question.

    Args:
        grounding: The assessment of the whole question, which few passages answer alone.
        retrieval: What was found.
        passages: The passages of the prompt.
    """
    chunk_ids = {passage.chunk_id for passage in passages}
    parts = retrieval.searched[1:] or retrieval.searched
    # A small topK or token budget may leave out what answers one of them.
    if not parts or any(part.passages[0].chunk_id not in chunk_ids for part in parts):
        return grounding
    score = min(part.probability for part in parts)
    if len(retrieval.searched) > 1:
        score = max(score, grounding.score)
    return dataclasses.replace(grounding, is_groundable=True, score=score, relevant=tuple(passages))
