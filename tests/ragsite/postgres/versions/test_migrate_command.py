"""manage.py migrate with few checks and renderings of models (accounts.management.commands.migrate)."""

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.core.management.commands import migrate
from django.db import connection, models, transaction
from django.db.migrations import operations
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from accounts.management.commands.migrate import few_renderings
from ragsite.postgres import identity

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
    operations.AlterField("Shelf", "label", models.CharField(max_length=9)),
    operations.AlterModelOptions("Shelf", {"verbose_name": "board"}),
    operations.AddField("Shelf", "note", models.TextField(default=""), preserve_default=False),
    operations.RenameField("Book", "title", "name"),
    operations.AlterField("Shelf", "id", models.BigAutoField(primary_key=True)),  # and the column that refers to it
    operations.AlterField("Loan", "book", models.ForeignKey("rag.Book", models.CASCADE, related_name="all_loans")),
    operations.RemoveField("Book", "shelf"),
    operations.AddField("Loan", "readers", models.ManyToManyField("rag.Shelf", related_name="+")),
    operations.DeleteModel("Loan"),
]


def rendered_models(count: int) -> dict[str, Any]:
    """The fields with the relations of others, the indexes and the constraints of each model after some operations."""
    state = ProjectState()
    assert not list(state.apps.get_models())
    for operation in OPERATIONS[:count]:
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
    expected = [rendered_models(count) for count in range(len(OPERATIONS) + 1)]
    assert expected[8]["Shelf"] == (
        ["<ManyToOneRel: rag.book>", "rag.Shelf.id", "rag.Shelf.label"], [], ["one_label"],
    )  # fmt: skip
    with few_renderings():
        assert [rendered_models(count) for count in range(len(OPERATIONS) + 1)] == expected


def executed_statements() -> list[str]:
    statements: list[str] = []

    def record(execute: Any, statement: Any, *arguments: Any) -> Any:
        if "SAVEPOINT" not in str(statement):
            statements.append(str(statement))
        return execute(statement, *arguments)

    state = ProjectState()
    assert not list(state.apps.get_models())
    with identity.run_as(identity.OWNER), transaction.atomic(), connection.execute_wrapper(record):
        for operation in OPERATIONS:
            with connection.schema_editor() as editor:
                before = state.clone()
                operation.state_forwards("rag", state)
                operation.database_forwards("rag", editor, before, state)
        transaction.set_rollback(True)
    return statements


@pytest.mark.django_db
def test_statements_are_those_of_djangos_own_command() -> None:
    expected = executed_statements()
    assert [text for text in expected if 'ALTER COLUMN "shelf_id" TYPE bigint' in text]
    with few_renderings():
        assert executed_statements() == expected


@pytest.mark.django_db
def test_only_an_empty_database_is_migrated_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[object] = []
    monkeypatch.setattr(migrate.Command, "handle", lambda self, **_: used.append(ProjectState.add_model))
    djangos_own = ProjectState.add_model
    call_command("migrate")
    MigrationRecorder.Migration.objects.all().delete()
    call_command("migrate")
    assert [method is djangos_own for method in used] == [True, False]


@pytest.mark.django_db
def test_it_checks_the_settings_and_imports_no_pages(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_WITHOUT_ANY_EFFECT", "1")
    settings.ROOT_URLCONF = "pages.that.do.not.exist"
    settings.RAG_EMAIL_URL, settings.RAG_PUBLIC_URL, settings.RAG_LOCAL = "smtp://mail.example", "", False
    with pytest.raises(SystemCheckError) as failure:
        call_command("migrate", plan=True, skip_checks=False, stdout=io.StringIO())
    for check in ("ragsite.E004", "ragsite.W001"):
        assert check in str(failure.value)
