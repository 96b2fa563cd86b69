"""How well a data source finds what it must: its golden questions, asked through the real search."""

import datetime
import math
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import structlog
from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from rag import queue
from rag.errors import RagError, RerankFailed
from rag.models import DataSource, EmbeddingModel, GoldenQuestion, QualityRun
from rag.pipeline.retrieval import retrieve
from rag.types import Passage, Question, Scope
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

# Passages that are looked at: what /api/rag/query retrieves unless it is told otherwise.
DEPTH = 10
# Rows a source may have: each question is a search, and all of them are asked in one night.
MAX_QUESTIONS = 500
# Nights whose figures are kept.
_KEPT = 400


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """expected: (path, passage), one of them may be empty. ranks: of each, None where it was not found."""

    question: str
    expected: tuple[tuple[str, str], ...]
    ranks: tuple[int | None, ...]

    @property
    def recall(self) -> float:
        return len(self._found) / len(self.expected)

    @property
    def ndcg(self) -> float:
        ideal = range(1, min(len(self.expected), DEPTH) + 1)
        return sum(map(_gain, self._found)) / sum(map(_gain, ideal))

    @property
    def reciprocal_rank(self) -> float:
        return 1 / min(self._found) if self._found else 0.0

    @property
    def _found(self) -> list[int]:
        return [rank for rank in self.ranks if rank is not None]


def measure(source: DataSource, model: EmbeddingModel | None = None) -> QualityRun | None:
    """Ask the source's active golden questions, and store the figures. None if there are none.

    model: instead of the one that the source is searched with. Every question goes the way of POST /api/rag/query
    (retrieve, rerank; the best 10 passages), in a scope of this source alone.

    Rows with the same question are one question q with E(q) things to find. A passage at rank i of its answer has the
    gain g(i) = 1 if it is one of them that no better passage was already, else 0. It is one if its document has the
    expected path, if one is given, and its text contains the expected passage, if one is given; white space counts as
    one space. Means over all questions, 0 to 1:

        Recall@10 = Σ g(i) / |E(q)|
        nDCG@10   = Σ g(i) / log2(i + 1)  ÷  Σ[i = 1 … min(|E(q)|, 10)] 1 / log2(i + 1)
        MRR@10    = 1 / (the lowest i with g(i) = 1), or 0

    Raises what the search raises, RerankFailed if the ranking had to do without the reranker (figures of two rankings
    are not to be compared), and TimeoutError after RAG_QUALITY_SECONDS.
    """
    model = model or source.embedding_model
    scope = Scope(source_ids=(source.pk,), model_id=model.pk)
    rows = active_questions(source).order_by("question", "pk").values_list("question", "path", "passage")
    end = time.monotonic() + settings.RAG_QUALITY_SECONDS
    asked: list[QuestionResult] = []
    for question, group in groupby(rows[:MAX_QUESTIONS], key=lambda row: row[0]):
        if time.monotonic() > end:
            raise TimeoutError
        asked.append(_ask(question, [(path, passage) for _, path, passage in group], scope))
    if not asked:
        return None
    return QualityRun.objects.create(
        source=source,
        model=model,
        is_live=model == source.embedding_model,
        questions=len(asked),
        recall_at_10=_mean([each.recall for each in asked]),
        ndcg_at_10=_mean([each.ndcg for each in asked]),
        mrr_at_10=_mean([each.reciprocal_rank for each in asked]),
        details=[
            {
                "question": each.question,
                "expected": [path or "a passage" for path, _ in each.expected],
                "ranks": list(each.ranks),
                "ndcg": round(each.ndcg, 4),
            }
            for each in asked
        ],
    )


def active_questions(source: DataSource) -> QuerySet[GoldenQuestion]:
    return GoldenQuestion.objects.filter(source=source, active=True)


def measure_and_compare(source: DataSource) -> QualityRun | None:
    """`measure` as a point of the source's trend: a fall beyond the tolerance is logged."""
    run = measure(source)
    if run is None:
        return None
    before = list_live_runs(source).exclude(pk=run.pk).first()
    if before and is_regression(before, run):
        logger.warning("quality_fell", source=str(source.pk), ndcg=run.ndcg_at_10, before=before.ndcg_at_10)
    old = QualityRun.objects.filter(source=source).order_by("-pk").values("pk")[_KEPT:]
    QualityRun.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()
    return run


def is_regression(before: QualityRun, now: QualityRun) -> bool:
    return now.ndcg_at_10 < before.ndcg_at_10 - settings.RAG_GATE_TOLERANCE


def list_live_runs(source: DataSource) -> QuerySet[QualityRun]:
    """Newest first."""
    return QualityRun.objects.filter(source=source, is_live=True).select_related("model")


def enqueue_nightly_runs() -> None:
    """A message for each source that has golden questions."""
    for source in sources_with_questions():
        queue.send("rag.measure_quality", str(source.pk))


def sources_with_questions() -> QuerySet[DataSource]:
    """Sources with golden questions."""
    asked = GoldenQuestion.objects.filter(active=True)
    found = DataSource.objects.filter(deleted_at=None, pk__in=asked.values("source"))
    return found.select_related("organization", "embedding_model").order_by("pk")


def latest_ndcg(limit: int) -> dict[str, float]:
    """organisation/slug → the last nDCG@10, of at most `limit` sources with golden questions."""
    runs = QualityRun.objects.filter(source=OuterRef("pk"), is_live=True).order_by("-pk")
    rows = sources_with_questions().annotate(ndcg=Subquery(runs.values("ndcg_at_10")[:1]))[:limit]
    return {f"{row.organization.slug}/{row.slug}": row.ndcg for row in rows if row.ndcg is not None}


def measure_if_due(source_id: uuid.UUID, *, again: bool = False) -> None:
    """A worker's part: once a night, however many schedulers run. What fails is logged; the next night tries again.

    again: somebody asks for it now.
    """
    with session_lock(f"quality/{source_id}") as is_mine:
        source = DataSource.objects.select_related("embedding_model").filter(pk=source_id, deleted_at=None).first()
        if source is None or not is_mine:
            return
        tonight = timezone.now() - datetime.timedelta(hours=6)
        if not again and list_live_runs(source).filter(at__gt=tonight).exists():
            return
        try:
            measure_and_compare(source)
        except (RagError, TimeoutError) as error:
            logger.warning("quality_not_measured", source=str(source_id), reason=getattr(error, "code", "TOO_SLOW"))


def _ask(question: str, expected: Sequence[tuple[str, str]], scope: Scope) -> QuestionResult:
    found = retrieve.find(Question(text=question, top_k=DEPTH, rerank=True), [scope])
    if found.warnings:
        raise RerankFailed("The reranker failed, and figures of two rankings cannot be compared. Measure again later.")
    ranks: list[int | None] = [None] * len(expected)
    wanted = [(path, _plain(passage)) for path, passage in expected]
    for passage in found.passages:
        text = _plain(passage.text)
        for number, each in enumerate(wanted):
            if ranks[number] is None and _is_it(passage, text, *each):
                ranks[number] = passage.rank
                break
    return QuestionResult(question, tuple(expected), tuple(ranks))


def is_expected(passage: Passage, expected: Sequence[tuple[str, str]]) -> bool:
    """Whether the passage is one of the things, (path, passage), that a question must find."""
    text = _plain(passage.text)
    return any(_is_it(passage, text, path, _plain(wanted)) for path, wanted in expected)


def _is_it(passage: Passage, text: str, path: str, expected: str) -> bool:
    return path in ("", passage.path) and expected in text


def _plain(text: str) -> str:
    return " ".join(text.split())


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
