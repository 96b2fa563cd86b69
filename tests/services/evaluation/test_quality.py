"""Quality measurements: metrics that can be checked by hand, regressions, the quality gate and the commands."""

import math
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from structlog.testing import capture_logs

from rag.errors import EmbeddingFailed, InvalidRequest, RerankFailed
from rag.models import DataSource, EmbeddingModel, GoldenQuestion, QualityRun, Reembedding
from rag.services.evaluation import quality
from rag.services.reembedding import background, lifecycle
from tests.services.evaluation.helpers import ANIMALS, add_question
from tests.support.factories import World, ingest_text

State = Reembedding.State


def measure(source: DataSource) -> QualityRun:
    run = quality.measure(source)
    assert run is not None
    return run


def test_metrics_match_their_definitions(source: DataSource) -> None:
    add_question(source, "zebra", "zebra.txt")
    run = measure(source)
    assert (run.recall_at_10, run.ndcg_at_10, run.mrr_at_10, run.questions) == (1, 1, 1, 1)
    assert run.details[0]["ranks"] == [1]
    add_question(source, "lion", "nowhere.txt")
    run = measure(source)
    assert (run.recall_at_10, run.ndcg_at_10, run.mrr_at_10, run.questions) == (0.5, 0.5, 0.5, 2)


def test_each_expected_result_of_a_question_counts_once(source: DataSource) -> None:
    """nDCG@10 = (1/log2(2) + 1/log2(r+1)) / (1/log2(2) + 1/log2(3) + 1/log2(4)), r the rank of the second."""
    for path in ("zebra.txt", "otter.txt", "nowhere.txt"):
        add_question(source, "zebra and otter", path)
    add_question(source, "switched off", "nowhere.txt")
    GoldenQuestion.objects.filter(question="switched off").update(active=False)
    run = measure(source)
    ranks = run.details[0]["ranks"]
    assert sorted(ranks[:2]) == [1, 2]
    assert ranks[2] is None
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert run.ndcg_at_10 == pytest.approx((1 + 1 / math.log2(3)) / ideal)
    assert run.recall_at_10 == pytest.approx(2 / 3)
    assert run.questions == 1


def test_an_expected_passage_matches_regardless_of_white_space_but_only_in_its_document(source: DataSource) -> None:
    add_question(source, "Where does the heron live?", passage="the heron. Where the\nheron  lives")
    add_question(source, "Where does the lynx live?", path="heron.txt", passage="Where the lynx lives")
    run = measure(source)
    assert [detail["ranks"] for detail in run.details] == [[1], [None]]
    assert "heron lives" not in str(run.details), "details contain paths and ranks, never a document's text"


def test_other_sources_do_not_influence_a_measurement(world: World, source: DataSource) -> None:
    ingest_text(world.source("other", embedding_model=source.embedding_model), "platypus.txt", "A platypus.")
    add_question(source, "platypus", "platypus.txt")
    assert measure(source).recall_at_10 == 0


def test_a_source_without_questions_is_not_measured(source: DataSource) -> None:
    assert quality.measure(source) is None
    assert not QualityRun.objects.exists()


def test_a_search_without_its_reranker_is_not_measured(source: DataSource, settings: Any) -> None:
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "gone", "http://127.0.0.1:9"
    add_question(source, "zebra", "zebra.txt")
    with pytest.raises(RerankFailed):
        quality.measure(source)


def test_a_regression_is_logged(source: DataSource) -> None:
    add_question(source, "zebra", "zebra.txt")
    quality.measure_and_compare(source)
    add_question(source, "lion", "nowhere.txt")
    with capture_logs() as logs:
        quality.measure_and_compare(source)
        quality.measure_and_compare(source)
    assert [entry["event"] for entry in logs] == ["quality_dropped"]
    assert quality.latest_ndcg(10) == {"home/library": 0.5}


def test_metrics_have_the_latest_ndcg(source: DataSource, client: Client) -> None:
    add_question(source, "zebra", "zebra.txt")
    quality.measure_and_compare(source)
    assert 'ragsite_quality_ndcg10{source="home/library"} 1.0' in client.get("/metrics").content.decode()


def start(source: DataSource, model: EmbeddingModel, **options: Any) -> Reembedding:
    row = lifecycle.start(source, model, **options)
    background.advance_due()
    row.refresh_from_db()
    return row


def test_the_gate_rejects_a_worse_model_unless_it_is_overridden(
    source: DataSource, models: dict[str, EmbeddingModel]
) -> None:
    # More chunks than are reranked: with few candidates, terms alone would find what the vectors do not.
    filler = "\n\n".join(f"# Plant {number}\n\n" + f"Fern number {number}. " * 40 for number in range(200))
    ingest_text(source, "plants.md", filler, content_type="text/markdown")
    for animal in ANIMALS:
        add_question(source, f"Where does the {animal} live?", f"{animal}.txt")
    row = start(source, models["random"], switches_automatically=True)
    assert row.state == State.READY, "it is not switched automatically"
    assert row.old_quality is not None
    assert row.new_quality is not None
    assert (row.old_quality.ndcg_at_10, row.old_quality.is_live, row.new_quality.is_live) == (1.0, True, False)
    assert row.new_quality.ndcg_at_10 < 0.98
    with pytest.raises(InvalidRequest, match=r"is worse .* than old"):
        lifecycle.switch(row)
    with pytest.raises(InvalidRequest):
        lifecycle.switch(row, forced_because="  ")
    assert DataSource.objects.get().embedding_model == models["old"]
    assert [run.model for run in quality.list_live_runs(source)] == [models["old"]], (
        "measurements of the gate are not part of the trend"
    )
    assert lifecycle.switch(row, forced_because="The old endpoint closes.")
    row.refresh_from_db()
    assert (row.state, row.forced_because) == (State.SWITCHED, "The old endpoint closes.")
    rollback = lifecycle.roll_back(row)
    background.advance_due()
    rollback.refresh_from_db()
    assert rollback.state == State.SWITCHED, "a rollback has no gate"


def test_an_equal_model_passes_the_gate_and_is_switched_automatically(
    source: DataSource, models: dict[str, EmbeddingModel]
) -> None:
    add_question(source, "zebra", "zebra.txt")
    row = start(source, models["equal"], switches_automatically=True)
    assert row.state == State.SWITCHED
    assert DataSource.objects.get().embedding_model == models["equal"]


def test_questions_that_are_added_after_the_measurement_need_another_one(
    source: DataSource, models: dict[str, EmbeddingModel]
) -> None:
    row = start(source, models["equal"])
    assert lifecycle.quality_gate_failure(row) == "", "the gate needs questions"
    add_question(source, "zebra", "zebra.txt")
    with pytest.raises(InvalidRequest, match="Measure again"):
        lifecycle.switch(row)
    lifecycle.resume(row)
    background.advance_due()
    row.refresh_from_db()
    assert row.new_quality is not None
    assert lifecycle.switch(row)


def test_measure_quality_and_reembed_commands(source: DataSource, models: dict[str, EmbeddingModel]) -> None:
    add_question(source, "zebra", "zebra.txt")
    out = StringIO()
    call_command("measure_quality", "home/library", stdout=out)
    call_command("measure_quality", stdout=out)
    assert out.getvalue().count("nDCG@10 1.000") == 2
    call_command("reembed", "library", "equal", "--wait", stdout=(out := StringIO()))
    assert "Ready, 12 of 12" in out.getvalue()
    call_command("reembed", "library", "--switch", stdout=(out := StringIO()))
    assert "Switched" in out.getvalue()
    call_command("reembed", str(source.pk), "--roll-back", "--wait", stdout=(out := StringIO()))
    assert "equal → old: Switched" in out.getvalue()
    call_command("reembed", "library", "--drop", stdout=(out := StringIO()))
    Reembedding.objects.update(due_at=None)
    call_command("reembed", "library", "--wait", stdout=(out := StringIO()))
    call_command("reembed", "library", "random", "--no-gate", "An experiment.", "--wait", stdout=(out := StringIO()))
    assert "Switched" in out.getvalue()
    assert Reembedding.objects.latest("pk").forced_because == "An experiment."
    for wrong in (("library", "unknown"), ("nowhere", "old"), ("library", "--cancel"), ("library", "old")):
        with pytest.raises(CommandError):
            call_command("reembed", *wrong)


def test_the_command_fails_if_the_model_fails(source: DataSource) -> None:
    add_question(source, "zebra", "zebra.txt")
    EmbeddingModel.objects.filter(name="old").update(api_key_variable="NOT_SET_API_KEY")
    with pytest.raises(EmbeddingFailed):
        quality.measure(DataSource.objects.get())
    with pytest.raises(CommandError, match="1 of 1"):
        call_command("measure_quality", stderr=StringIO())
