"""Words count less if a chunk has few of the question's."""

import uuid

from rag.pipeline.retrieval.fuse_dense_and_lexical import fuse
from rag.providers.stores.search_types import Candidate, Candidates
from rag.types import Mode

ANSWER, CHANCE, NAMED = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()


def test_a_word_in_common_by_chance_does_not_outweigh_the_meaning() -> None:
    chunks = (Candidate(ANSWER, 0.4, 0.0, 0.0), Candidate(CHANCE, 0.1, 3.0, 0.1))
    candidates = [Candidates(chunks=chunks, dense_ids=(), lexical_ids=())]
    assert fuse(Mode.HYBRID, candidates, is_english=False)[0].chunk_id == ANSWER
    equal = fuse(Mode.HYBRID, candidates, word_count=30)  # a tenth of 30 words is three
    assert equal[0].relevance == equal[1].relevance


def test_words_count_less_if_no_text_has_most_of_the_question() -> None:
    def best(best_coverage: float, word_count: int = 3) -> uuid.UUID:
        chunks = (
            Candidate(ANSWER, 0.4, 0.5, 0.2),
            Candidate(CHANCE, 0.2, 3.0, best_coverage),
            Candidate(NAMED, 0.1, 0, 0),
        )
        return fuse(Mode.HYBRID, [Candidates(chunks=chunks, dense_ids=(), lexical_ids=())], word_count=word_count)[
            0
        ].chunk_id

    assert best(0.3) == ANSWER, "a text with one of three words"
    assert best(0.6) == CHANCE
    assert best(0.3, word_count=1) == ANSWER
    assert best(0.3, word_count=6) == CHANCE, "questions of many words never have all in one text"
    chunks = (Candidate(ANSWER, 0.4, 0.0, 0.0), Candidate(CHANCE, 0.4, 0.0, 0.0))
    without_words = fuse(Mode.HYBRID, [Candidates(chunks=chunks, dense_ids=(), lexical_ids=())], word_count=0)
    assert [hit.relevance for hit in without_words] == [0.5, 0.5]


def test_a_name_in_common_counts_fully() -> None:
    chunks = (Candidate(CHANCE, 0.35, 0.0, 0.0), Candidate(NAMED, 0.3, 3.0, 0.6), Candidate(ANSWER, 0.1, 0.0, 0.0))
    candidates = [Candidates(chunks=chunks, dense_ids=(), lexical_ids=())]
    assert fuse(Mode.HYBRID, candidates, is_english=False)[0].chunk_id == NAMED
