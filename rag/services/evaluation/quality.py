"""Retrieval quality of a data source: its golden questions, run through the real search."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import structlog
from django.db.models import OuterRef, QuerySet, Subquery

from rag.errors import RerankFailed
from rag.models import DataSource, EmbeddingModel, GoldenQuestion, QualityRun
from rag.pipeline.retrieval import retrieve
from rag.types import Passage, Question, SearchScope

from .golden_questions import MAX_QUESTIONS

logger = structlog.get_logger(__name__)

# How many passages are evaluated: as many as /api/rag/query retrieves by default.
DEPTH = 10
# Measuring one source takes at most this long.
MAX_SECONDS_PER_SOURCE = 300
# A drop of nDCG@10 by more than this is a regression: of a new embedding model, and since the run before.
NDCG_TOLERANCE = 0.02
# How many runs are kept for each source.
_MAX_STORED_RUNS = 400


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The ranks of the expected things in the search for one question, with the metrics that follow from them.

    Attributes:
        question: The question.
        expected: Everything that must be found, as (path, passage); one of the two may be empty.
        ranks: The rank of each expected thing, from 1; None if it was not found.
    """

    question: str
    expected: tuple[tuple[str, str], ...]
    ranks: tuple[int | None, ...]

    @property
    def recall(self) -> float:
        """Recall@10, 0 to 1."""
        return len(self._found_ranks) / len(self.expected)

    @property
    def ndcg(self) -> float:
        """nDCG@10, 0 to 1."""
        ideal = range(1, min(len(self.expected), DEPTH) + 1)
        return sum(map(_discount, self._found_ranks)) / sum(map(_discount, ideal))

    @property
    def reciprocal_rank(self) -> float:
        """1 / the best rank; 0 if nothing was found."""
        return 1 / min(self._found_ranks) if self._found_ranks else 0.0

    @property
    def _found_ranks(self) -> list[int]:
        return [rank for rank in self.ranks if rank is not None]


def measure(source: DataSource, model: EmbeddingModel | None = None) -> QualityRun | None:
    """Run the source's active golden questions, and store the metrics.

    Every question is searched as by POST /api/rag/query (retrieve and rerank, the best 10 passages), in this source
    alone.

    Golden questions with the same text are one question q that has a set E(q) of things to find. The passage at rank i
    has the gain g(i) = 1 if it matches one of these things that no passage before it matches, else 0. A passage matches
    if its document has the expected path (if there is one), and its text contains the expected passage (if there is
    one), with white space collapsed. The metrics are means over all questions, 0 to 1:

        Recall@10 = Σ g(i) / |E(q)|
        nDCG@10   = Σ g(i) / log2(i + 1)  ÷  Σ[i = 1 … min(|E(q)|, 10)] 1 / log2(i + 1)
        MRR@10    = 1 / (the lowest i with g(i) = 1), or 0

    Args:
        source: The data source.
        model: The embedding model to measure, of which the source has vectors; None for the source's own.

    Returns:
        The stored run; None if the source has no active golden questions.

    Raises:
        RerankFailed: If the search worked without the reranker: metrics of two rankings cannot be compared.
        EmbeddingFailed: If the embedding model does not answer.
        TimeoutError: If the questions take longer than MAX_SECONDS_PER_SOURCE.
    """
    model = model or source.embedding_model
    scope = SearchScope(source_ids=(source.pk,), model_id=model.pk)
    golden_questions = active_questions(source).order_by("question", "pk")[:MAX_QUESTIONS]
    expectations = golden_questions.values_list("question", "path", "passage")
    deadline = time.monotonic() + MAX_SECONDS_PER_SOURCE
    results: list[QuestionResult] = []
    for question, expectations_of_question in groupby(expectations, key=lambda expectation: expectation[0]):
        if time.monotonic() > deadline:
            raise TimeoutError
        expected = [(path, passage) for _, path, passage in expectations_of_question]
        results.append(_evaluate(question, expected, scope))
    if not results:
        return None
    return QualityRun.objects.create(
        source=source,
        model=model,
        is_live=model == source.embedding_model,
        questions=len(results),
        recall_at_10=_mean([result.recall for result in results]),
        ndcg_at_10=_mean([result.ndcg for result in results]),
        mrr_at_10=_mean([result.reciprocal_rank for result in results]),
        details=[
            {
                "question": result.question,
                "expected": [path or "a passage" for path, _ in result.expected],
                "ranks": list(result.ranks),
                "ndcg": round(result.ndcg, 4),
            }
            for result in results
        ],
    )


def active_questions(source: DataSource) -> QuerySet[GoldenQuestion]:
    """Return the golden questions that are measured."""
    return GoldenQuestion.objects.filter(source=source, active=True)


def measure_and_compare(source: DataSource) -> QualityRun | None:
    """Measure the source with its current model, log a regression since the last run, and delete old runs.

    Returns:
        The stored run; None if the source has no active golden questions.

    Raises:
        RagError: If `measure` fails.
        TimeoutError: If the questions take longer than MAX_SECONDS_PER_SOURCE.
    """
    run = measure(source)
    if run is None:
        return None
    previous = list_live_runs(source).exclude(pk=run.pk).first()
    if previous and is_regression(previous, run):
        logger.warning("quality_dropped", source=str(source.pk), ndcg=run.ndcg_at_10, before=previous.ndcg_at_10)
    expired = QualityRun.objects.filter(source=source).order_by("-pk").values("pk")[_MAX_STORED_RUNS:]
    QualityRun.objects.filter(pk__in=list(expired.values_list("pk", flat=True))).delete()
    return run


def is_regression(previous: QualityRun, run: QualityRun) -> bool:
    """Return whether nDCG@10 has dropped by more than the tolerance."""
    return run.ndcg_at_10 < previous.ndcg_at_10 - NDCG_TOLERANCE


def list_live_runs(source: DataSource) -> QuerySet[QualityRun]:
    """Return the runs with the model that the source was searched with at that time, newest first."""
    return QualityRun.objects.filter(source=source, is_live=True).select_related("model")


def sources_with_questions() -> QuerySet[DataSource]:
    """Return the sources with active golden questions, of all organisations."""
    golden_questions = GoldenQuestion.objects.filter(active=True)
    sources = DataSource.objects.filter(deleted_at=None, pk__in=golden_questions.values("source"))
    return sources.select_related("organization", "embedding_model").order_by("pk")


def latest_ndcg(limit: int) -> dict[str, float]:
    """Return organisation/slug → the latest nDCG@10, of at most `limit` sources with golden questions."""
    runs = QualityRun.objects.filter(source=OuterRef("pk"), is_live=True).order_by("-pk")
    sources = sources_with_questions().annotate(ndcg=Subquery(runs.values("ndcg_at_10")[:1]))[:limit]
    return {f"{source.organization.slug}/{source.slug}": source.ndcg for source in sources if source.ndcg is not None}


def _evaluate(question: str, expected: Sequence[tuple[str, str]], scope: SearchScope) -> QuestionResult:
    """Search for the question, and return the rank at which each expected (path, passage) was found."""
    retrieved = retrieve.find_passages(Question(text=question, top_k=DEPTH, rerank=True), [scope])
    if retrieved.warnings:
        raise RerankFailed("The reranker failed, and metrics of two rankings cannot be compared. Measure again later.")
    ranks: list[int | None] = [None] * len(expected)
    normalized = [(path, _collapse_white_space(passage)) for path, passage in expected]
    for passage in retrieved.passages:
        text = _collapse_white_space(passage.text)
        for number, (path, expected_text) in enumerate(normalized):
            if ranks[number] is None and _matches(passage, text, path, expected_text):
                ranks[number] = passage.rank
                break
    return QuestionResult(question, tuple(expected), tuple(ranks))


def is_expected(passage: Passage, expected: Sequence[tuple[str, str]]) -> bool:
    """Return whether the passage matches one of the (path, passage) pairs that a question must find."""
    text = _collapse_white_space(passage.text)
    return any(_matches(passage, text, path, _collapse_white_space(expected_text)) for path, expected_text in expected)


def _matches(passage: Passage, text: str, path: str, expected_text: str) -> bool:
    return path in ("", passage.path) and expected_text in text


def _collapse_white_space(text: str) -> str:
    return " ".join(text.split())


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
