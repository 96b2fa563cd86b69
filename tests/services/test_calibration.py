"""Calibration on golden questions, in the database and the admin."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from rag.models import Calibration, EmbeddingModel

pytestmark = pytest.mark.django_db


def test_few_golden_questions_are_no_measure() -> None:
    EmbeddingModel.objects.default()
    with pytest.raises(CommandError, match="Nothing was calibrated"):
        call_command("calibrate")


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
