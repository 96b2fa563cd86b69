"""Words count less for questions in a language other than the texts'."""

import uuid

from rag.pipeline.retrieval.fuse import fuse
from rag.providers.stores.candidates import Candidate, Candidates
from rag.types import Mode

ANSWER, CHANCE, NAMED = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()


def test_a_word_in_common_by_chance_does_not_outweigh_the_meaning() -> None:
    chunks = (Candidate(ANSWER, 0.4, 0.0, 0.0), Candidate(CHANCE, 0.1, 3.0, 0.1))
    candidates = [Candidates(chunks=chunks, dense_ids=(), lexical_ids=())]
    assert fuse(Mode.HYBRID, candidates, is_english=False)[0].chunk_id == ANSWER
    equal = fuse(Mode.HYBRID, candidates)
    assert equal[0].relevance == equal[1].relevance


def test_a_name_in_common_counts_fully() -> None:
    chunks = (Candidate(CHANCE, 0.35, 0.0, 0.0), Candidate(NAMED, 0.3, 3.0, 0.6), Candidate(ANSWER, 0.1, 0.0, 0.0))
    candidates = [Candidates(chunks=chunks, dense_ids=(), lexical_ids=())]
    assert fuse(Mode.HYBRID, candidates, is_english=False)[0].chunk_id == NAMED
