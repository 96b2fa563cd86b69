"""Golden questions: metrics that can be checked by hand, the quality gate, import and export."""

import datetime
import math
from collections.abc import Iterator
from io import StringIO
from typing import Any

import numpy as np
import pytest
import structlog
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from structlog.testing import capture_logs

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.errors import EmbeddingFailed, InvalidRequest, RerankFailed
from rag.models import DataSource, EmbeddingModel, GoldenQuestion, QualityRun, Reembedding
from rag.services.evaluation import golden_questions, quality
from rag.services.reembedding import lifecycle, worker
from tests.support.factories import World, ingest_text
from tests.support.provider_server import ProviderServer

State = Reembedding.State
ANIMALS = ("zebra", "lion", "otter", "heron", "badger", "lynx", "stoat", "raven", "perch", "viper", "gecko", "moose")


class Blind(ProviderServer):
    """A model whose vectors have nothing to do with the texts."""

    given = 0

    def _vector(self, text: str) -> np.ndarray:
        self.given += 1
        return np.random.default_rng(self.given).standard_normal(self.dimensions)


@pytest.fixture
def models(world: World) -> Iterator[dict[str, EmbeddingModel]]:
    with ProviderServer().running() as sees, Blind().running() as blind:
        yield {
            name: EmbeddingModel.objects.create(name=name, provider="openai", dimensions=384, base_url=server.base_url)
            for name, server in (("old", sees), ("equal", sees), ("blind", blind))
        }


@pytest.fixture
def source(world: World, models: dict[str, EmbeddingModel]) -> DataSource:
    source = world.source(embedding_model=models["old"])
    for animal in ANIMALS:
        ingest_text(source, f"{animal}.txt", f"Everything about the {animal}.\nWhere the   {animal} lives.")
    return source


def add_question(source: DataSource, question: str, path: str = "", passage: str = "") -> GoldenQuestion:
    return GoldenQuestion.objects.create(source=source, question=question, path=path, passage=passage)


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


def test_each_expected_thing_of_a_question_counts_once(source: DataSource) -> None:
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


def test_white_space_of_an_expected_passage_is_ignored_and_its_document_is_not(source: DataSource) -> None:
    add_question(source, "Where does the heron live?", passage="the heron. Where the\nheron  lives")
    add_question(source, "Where does the lynx live?", path="heron.txt", passage="Where the lynx lives")
    run = measure(source)
    assert [detail["ranks"] for detail in run.details] == [[1], [None]]
    assert "heron lives" not in str(run.details), "paths and ranks; never a document's text"


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


def test_a_source_that_takes_too_long_is_skipped(source: DataSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "MAX_SECONDS_PER_SOURCE", -1)
    add_question(source, "zebra", "zebra.txt")
    with capture_logs() as logs:
        structlog.get_logger("test")
        quality.measure_if_due(source.pk)
    assert not QualityRun.objects.exists()
    assert [entry["reason"] for entry in logs if entry["event"] == "quality_not_measured"] == ["TOO_SLOW"]


def test_a_source_is_measured_once_a_night_and_on_request(source: DataSource) -> None:
    add_question(source, "zebra", "zebra.txt")
    assert [one.pk for one in quality.sources_with_questions()] == [source.pk]
    for force in (False, False, True):
        quality.measure_if_due(source.pk, force=force)
    assert QualityRun.objects.count() == 2
    QualityRun.objects.update(at=timezone.now() - datetime.timedelta(hours=20))
    quality.measure_if_due(source.pk)
    assert QualityRun.objects.count() == 3


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
    worker.advance_due()
    row.refresh_from_db()
    return row


def test_the_gate_refuses_a_worse_model_unless_it_is_overruled(
    source: DataSource, models: dict[str, EmbeddingModel]
) -> None:
    # More than are reranked: with few candidates their words alone would find what vectors did not.
    filler = "\n\n".join(f"# Plant {number}\n\n" + f"Fern number {number}. " * 40 for number in range(200))
    ingest_text(source, "plants.md", filler, content_type="text/markdown")
    for animal in ANIMALS:
        add_question(source, f"Where does the {animal} live?", f"{animal}.txt")
    row = start(source, models["blind"], switches_automatically=True)
    assert row.state == State.READY, "it did not switch itself"
    assert row.old_quality is not None
    assert row.new_quality is not None
    assert (row.old_quality.ndcg_at_10, row.old_quality.is_live, row.new_quality.is_live) == (1.0, True, False)
    assert row.new_quality.ndcg_at_10 < 0.98
    with pytest.raises(InvalidRequest, match=r"is worse .* 1\.000 with old"):
        lifecycle.switch(row)
    with pytest.raises(InvalidRequest):
        lifecycle.switch(row, forced_because="  ")
    assert DataSource.objects.get().embedding_model == models["old"]
    assert [run.model for run in quality.list_live_runs(source)] == [models["old"]], (
        "the gate's figures are not the trend's"
    )
    assert lifecycle.switch(row, forced_because="The old endpoint closes.")
    row.refresh_from_db()
    assert (row.state, row.forced_because) == (State.SWITCHED, "The old endpoint closes.")
    back = lifecycle.roll_back(row)
    worker.advance_due()
    back.refresh_from_db()
    assert back.state == State.SWITCHED, "the way back has no gate"


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
    assert lifecycle.check_quality_gate(row) == "", "the gate needs questions"
    add_question(source, "zebra", "zebra.txt")
    with pytest.raises(InvalidRequest, match="Measure again"):
        lifecycle.switch(row)
    lifecycle.resume(row)
    worker.advance_due()
    row.refresh_from_db()
    assert row.new_quality is not None
    assert lifecycle.switch(row)


def test_a_question_needs_an_expected_document_or_passage(source: DataSource) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        add_question(source, "zebra")


def csv(*lines: str) -> bytes:
    return "\r\n".join(lines).encode()


def test_an_export_can_be_imported(world: World, source: DataSource) -> None:
    member = world.users["member"]
    content = csv("question,path,passage", '"Where, then?",zebra.txt,', 'otter?,,"Where the\notter lives"')
    assert golden_questions.import_csv(source, content, by=Caller(member)) == 2
    assert golden_questions.import_csv(source, content, by=Caller(member)) == 0, (
        "existing questions are not added again"
    )
    other = world.source("other")
    assert (
        golden_questions.import_csv(
            other, golden_questions.export_csv(source, Caller(member)).encode("utf-8-sig"), by=Caller(member)
        )
        == 2
    )
    same = [list(one.golden_questions.values_list("question", "path", "passage")) for one in (source, other)]
    assert same[0] == same[1]
    assert golden_questions.import_csv(other, csv("Question;Path", "lion;lion.txt"), by=Caller(member)) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Line 1: the columns"),
        (csv("q,path", "a,b"), "Line 1: the columns"),
        (csv("question,path", "a,b", "", "c,", ",d"), "Line 4: path or passage is missing"),
        (csv("question,path", "a,b", "c,d,e"), "Line 3: 3 values under 2 columns"),
        (csv("question,path", '"a\nb",', "c,"), "Line 4: path or passage"),
        (csv("question,path", "a" * 2001 + ",b"), "Line 2: question and passage may have at most 2,000"),
        (csv("question,path", "a," + "é" * 1001), "Line 2: path may have at most 2,000 bytes"),
        (csv("question,path", "a\x00,b"), "Line 2: NUL"),
        (b"question,path\nok,b\n\xff,b", "Line 3: it is not UTF-8"),
        (csv("question,path", "a," + "b" * 140_000), "Line 2: it is not CSV"),
        (csv("question,path", *[f"q{number},p" for number in range(502)]), "at most 500"),
        (b"x" * (golden_questions.MAX_BYTES + 1), "bytes; at most"),
    ],
)
def test_an_invalid_file_is_refused_completely_with_line_numbers(
    world: World, source: DataSource, content: bytes, words: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        golden_questions.import_csv(source, content, by=Caller(world.users["member"]))
    assert words in " ".join([refused.value.message, *refused.value.data["errors"]])
    assert not GoldenQuestion.objects.exists()


def test_passages_need_the_query_permission(world: World, source: DataSource) -> None:
    """Whether a passage is found shows whether a document contains it, and MANAGE does not allow to read documents."""
    reader, manager = world.users["member"], world.users["owner"]
    golden_questions.import_csv(
        source, csv("question,path,passage", "a,zebra.txt,", "b,,secret words"), by=Caller(reader)
    )
    DataSource.objects.update(visibility=Visibility.PERSONAL, owner=reader)
    with pytest.raises(InvalidRequest) as refused:
        golden_questions.import_csv(source, csv("question,passage", "c,guess"), by=Caller(manager))
    assert "Line 2" in refused.value.data["errors"][0]
    assert "secret words" in golden_questions.export_csv(source, Caller(reader))
    assert golden_questions.export_csv(source, Caller(manager)).split() == ["question,path,passage", "a,zebra.txt,"]


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
    call_command("reembed", "library", "blind", "--no-gate", "An experiment.", "--wait", stdout=(out := StringIO()))
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
