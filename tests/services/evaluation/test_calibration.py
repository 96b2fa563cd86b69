"""Calibration on golden questions, in the database and the admin."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from orgs.models import Organization
from rag.models import Calibration, Chunk, DataSource, Document, EmbeddingModel, GoldenQuestion
from rag.models.content.pgvector_tables import SourceTerm
from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.pipeline.retrieval.user_selected_text import selected_text_passage
from rag.types import Context
from tests.support.factories import World, ingest_texts
from tests.support.servers.provider_server import ProviderServer

pytestmark = pytest.mark.django_db


def test_too_few_golden_questions_are_refused() -> None:
    EmbeddingModel.objects.default()
    with pytest.raises(CommandError, match="Nothing was calibrated"):
        call_command("calibrate")


def test_golden_questions_give_a_rising_curve_and_thresholds(world: World) -> None:
    """Each question is used with everything that was found, and without the documents that it expects."""
    with ProviderServer().running() as server:
        model = EmbeddingModel.objects.create(
            name="calibrated", provider="openai", dimensions=384, base_url=server.base_url
        )
        source = world.source(embedding_model=model)
        text = "Animal{0} lives in forest{0} and eats fruit{0}."
        ingest_texts(source, {f"{number}.txt": text.format(number) for number in range(30)})
        for number in range(30):
            GoldenQuestion.objects.create(
                source=source, question=f"What does animal{number} of forest{number} eat?", path=f"{number}.txt"
            )
        call_command("calibrate", "calibrated", mode=["dense+rerank"])
        row = Calibration.objects.get(model=model, mode="dense+rerank")
        model.refresh_from_db()
        assert (row.questions, row.slope > 0, model.confidence_high) == (30, True, None)
        assert row.calibration_error < 0.2
        call_command("calibrate", "calibrated", mode=["dense+rerank"], adopt=True)
        model.refresh_from_db()
        assert model.confidence_high is not None
        assert model.confidence_medium is not None
        assert model.confidence_high >= model.confidence_medium


def test_labelled_sets_are_used_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "retrieval" / "animals"
    folder.mkdir(parents=True)
    tables = (Organization, DataSource, Document, Chunk, GoldenQuestion, SourceTerm)
    before = [table.objects.count() for table in tables]
    with ProviderServer().running() as server:
        model = EmbeddingModel.objects.create(
            name="calibrated", provider="openai", dimensions=384, base_url=server.base_url
        )
        texts = [
            {"id": f"d{number}", "title": "", "text": f"Animal{number} lives in forest{number} and eats fruit{number}."}
            for number in range(30)
        ]
        questions = [
            {"id": f"q{number}", "text": f"What does animal{number} of forest{number} eat?"} for number in range(30)
        ]
        for name, rows in (("corpus", texts), ("queries", questions)):
            (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        grades = "".join(f"q{number}\td{number}\t1\n" for number in range(30))
        (folder / "qrels.tsv").write_text(f"question\tdocument\tgrade\n{grades}")
        call_command("calibrate", "calibrated", mode=["dense+rerank"], sets=str(tmp_path), stdout=(out := StringIO()))
    row = Calibration.objects.get(model=model, mode="dense+rerank")
    assert (row.questions, row.slope > 0) == (30, True)
    assert f"expected calibration error {row.calibration_error:.3f} on 30 questions" in out.getvalue()
    assert "wrong among the most certain: 12%: 0%" in out.getvalue()
    assert [table.objects.count() for table in tables] == before
    with pytest.raises(CommandError, match="has no sets"):
        call_command("calibrate", "calibrated", sets=str(folder))


def test_the_admin_shows_the_curve_read_only(admin_client: Client) -> None:
    row = Calibration.objects.create(
        model=EmbeddingModel.objects.default(), mode="dense", slope=2, offset=-4, questions=40, calibration_error=0.04,
        reliability=[[0.2, 0.25, 40.0], [0.8, 0.7, 40.0]], risk_coverage=[[0.1, 0.0], [1.0, 0.4]],
    )  # fmt: skip
    page = admin_client.get(f"/admin/rag/calibration/{row.pk}/change/").content.decode()
    assert "0.040" in page
    assert "<polyline" in page
    assert "<td>0.80</td><td>0.70</td><td>40</td>" in page
    assert admin_client.get("/admin/rag/calibration/add/").status_code == 403


def test_confidence_is_unknown_where_nothing_was_measured(world: World) -> None:
    source = world.source()
    english, german = "How much does a zebra weigh?", "Wie viel wiegt ein Zebra und wo schläft es?"

    def warnings(question: str = english, mode: str = "hybrid+rerank", maxsim: float | None = 0.5) -> tuple[str, ...]:
        passage = selected_text_passage("The zebra weighs 300 kilograms.")
        passage = passage.copy_with(source_id=source.pk, maxsim=maxsim)
        return assess_grounding(question, Context("", (passage,), 0), mode=mode).warnings

    assert warnings() == warnings(mode="hybrid", maxsim=None) == ()
    assert warnings(german) == warnings(maxsim=None) == ("CONFIDENCE_UNKNOWN",)
    other = EmbeddingModel.objects.create(name="other", provider="openai", dimensions=384)
    DataSource.objects.update(embedding_model=other)
    assert warnings() == ("CONFIDENCE_UNKNOWN",)
    Calibration.objects.create(model=other, mode="hybrid+rerank", slope=2, offset=-4, questions=30, calibration_error=0)
    assert warnings() == ()
    assert warnings(mode="dense", maxsim=None) == ("CONFIDENCE_UNKNOWN",)
