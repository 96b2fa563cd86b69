"""manage.py migrate with few renderings of models (accounts.management.commands.migrate)."""

from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import models
from django.db.migrations import operations
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from accounts.management.commands.migrate import few_renderings

OPERATIONS = [
    operations.CreateModel("Shelf", [("id", models.AutoField(primary_key=True)), ("label", models.TextField())]),
    operations.CreateModel("Book", [("id", models.AutoField(primary_key=True)), ("title", models.TextField())]),
    operations.CreateModel(
        "Loan",
        [
            ("id", models.AutoField(primary_key=True)),
            ("book", models.ForeignKey("rag.Book", models.CASCADE, related_name="loans")),
        ],
    ),
    operations.AddIndex("Book", models.Index(fields=["title"], name="by_title")),
    operations.AddIndex("Shelf", models.Index(fields=["label"], name="by_label")),
    operations.AddConstraint("Shelf", models.UniqueConstraint(fields=["label"], name="one_label")),
    operations.AddField("Book", "shelf", models.ForeignKey("rag.Shelf", models.CASCADE, null=True)),
    operations.RemoveIndex("Shelf", "by_label"),
]


def rendered_models() -> dict[str, Any]:
    """The fields with the relations of others, the indexes and the constraints of each model after the operations."""
    state = ProjectState()
    assert not list(state.apps.get_models())
    for operation in OPERATIONS:
        operation.state_forwards("rag", state)
    return {
        model.__name__: (
            sorted(map(str, model._meta.get_fields())),
            [index.name for index in model._meta.indexes],
            [constraint.name for constraint in model._meta.constraints],
        )
        for model in state.apps.get_models()
    }


def test_models_are_as_those_of_djangos_own_command() -> None:
    expected = rendered_models()
    assert expected["Shelf"] == (
        ["<ManyToOneRel: rag.book>", "rag.Shelf.id", "rag.Shelf.label"], [], ["one_label"],
    )  # fmt: skip
    with few_renderings():
        assert rendered_models() == expected


@pytest.mark.django_db
def test_only_an_empty_database_is_migrated_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[object] = []
    monkeypatch.setattr(migrate.Command, "handle", lambda self, **_: used.append(ProjectState.add_model))
    djangos_own = ProjectState.add_model
    call_command("migrate")
    MigrationRecorder.Migration.objects.all().delete()
    call_command("migrate")
    assert [method is djangos_own for method in used] == [True, False]
