"""Calibration on golden questions, in the database and the admin."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from rag.models import Calibration, EmbeddingModel, GoldenQuestion
from tests.factories import World, put
from tests.provider_server import ProviderServer

pytestmark = pytest.mark.django_db


def test_few_golden_questions_are_no_measure() -> None:
    EmbeddingModel.objects.default()
    with pytest.raises(CommandError, match="Nothing was calibrated"):
        call_command("calibrate")


def test_golden_questions_give_a_rising_curve_and_thresholds_that_are_adopted_on_request(world: World) -> None:
    """Each question once with what was found, once without the documents that it expects."""
    with ProviderServer().running() as server:
        model = EmbeddingModel.objects.create(name="told", provider="openai", dimensions=384, base_url=server.base_url)
        source = world.source(embedding_model=model)
        for number in range(30):
            put(source, f"{number}.txt", f"Animal{number} lives in forest{number} and eats fruit{number}.")
            GoldenQuestion.objects.create(
                source=source, question=f"What does animal{number} of forest{number} eat?", path=f"{number}.txt"
            )
        call_command("calibrate", "told", gear=["dense+rerank"])
        row = Calibration.objects.get(model=model, gear="dense+rerank")
        model.refresh_from_db()
        assert (row.questions, row.slope > 0, model.confidence_high) == (30, True, None)
        assert row.calibration_error < 0.2
        call_command("calibrate", "told", gear=["dense+rerank"], adopt=True)
        model.refresh_from_db()
        assert model.confidence_high is not None
        assert model.confidence_medium is not None
        assert model.confidence_high >= model.confidence_medium


def test_the_curve_is_shown_and_not_changed(admin_client: Client) -> None:
    row = Calibration.objects.create(
        model=EmbeddingModel.objects.default(), gear="dense", slope=2, offset=-4, questions=40, calibration_error=0.04,
        reliability=[[0.2, 0.25, 40.0], [0.8, 0.7, 40.0]], risk=[[0.1, 0.0], [1.0, 0.4]],
    )  # fmt: skip
    page = admin_client.get(f"/admin/rag/calibration/{row.pk}/change/").content.decode()
    assert "0.040" in page
    assert "<polyline" in page
    assert "<td>0.80</td><td>0.70</td><td>40</td>" in page
    assert admin_client.get("/admin/rag/calibration/add/").status_code == 403
