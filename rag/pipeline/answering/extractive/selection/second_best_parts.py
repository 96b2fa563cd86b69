"""What is quoted besides the best part because it answers the question nearly as well."""

from collections.abc import Sequence

import numpy as np

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.scores.answer_candidates import QuoteCandidate

# A part of the best part's section is quoted too, if its score is lower by at most this many standard deviations of all
# scores.
_MAX_DIFFERENCE = 0.5


def second_best_parts(
    candidates: Sequence[QuoteCandidate],
    scores: Sequence[float],
    best: QuoteCandidate,
    structure: PassageStructure,
    quoted: set[int],
) -> list[int]:
    """Return the other parts of the best part's section that answer the question nearly as well, the best one first.

    Args:
        candidates: All parts.
        scores: The score of each.
        best: The best part. A clause of a contract stands alone, and so does one of parts that are equally good.
        structure: The passage of the best part.
        quoted: The parts of this passage that are quoted with it already.
    """
    deviation = float(np.std(scores))
    if structure.is_clause(best.index) or not deviation:
        return []
    section = structure.section_of(best.index)
    score_by_part = {
        candidate.index: score
        for candidate, score in zip(candidates, scores, strict=True)
        if candidate.passage_number == best.passage_number and structure.section_of(candidate.index) == section
    }
    lowest = score_by_part[best.index] - _MAX_DIFFERENCE * deviation
    others = [index for index, score in score_by_part.items() if score >= lowest and index not in quoted]
    return sorted(others, key=lambda index: (-score_by_part[index], index))
