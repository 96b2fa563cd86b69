"""`Any` is only where something without a type comes in (CONTRIBUTING.md, Style): each such place is listed here."""

import ast
from pathlib import Path

from tests.support.checks.modules import MODULE_NAMES, MODULES, Module

# Pages of the admin, forms and commands: Django's stubs give the arguments of their methods the type Any.
PAGES_AND_COMMANDS = ("accounts.management", "accounts.sign_in", "orgs.admin", "rag.admin", "rag.management")
# What comes in without a type, and where.
MODULES_BY_REASON: dict[str, tuple[str, ...]] = {
    "Django calls it, or has no type for it": (
        "accounts.audit.tracking",
        "orgs.invitations.pages",
        "orgs.single_sign_on.enforcement",
        "rag.models.embedding_models",
        "rag.pages.forms",
        "ragsite.http.bodies.upload_handler",
        "ragsite.postgres.base",
        "ragsite.postgres.replicas.routing",
        "ragsite.postgres.role_connections",
        "ragsite.postgres.statements.restricted_cursor",
        "ragsite.views.bounded_messages",
    ),
    "Django REST framework or drf-spectacular calls it": (
        "orgs.authentication.openapi",
        "rag.contracts.pipeline.jobs.submission_serializers",
        "ragsite.http.bodies.json_renderer",
        "ragsite.http.bodies.parsers",
        "ragsite.http.openapi",
        "ragsite.http.strict_fields",
        "ragsite.views.api_reference",
    ),
    "another library has no types, or wrong ones": (
        "orgs.single_sign_on.saml.signatures",
        "rag.contracts.common.rate_limits",
        "rag.parsing.ocr.models",
        "rag.parsing.readers.messages.outlook",
        "rag.pipeline.answering.prompt",
        "rag.providers.embedders.bert_graph",
        "rag.providers.embedders.multilingual",
        "rag.providers.language_models.agent_loop",
        "rag.services.maintenance.backup.archive",
        "rag.task_queue",
        "rag.tasks",
        "rag.types.passages",
        "ragsite.celery",
        "ragsite.run.gunicorn_config",
        "ragsite.run.scheduler",
    ),
    "JSON that was not checked yet": (
        "rag.parsing.readers.notebooks",
        "rag.providers.connectors.folder_walk",
        "rag.providers.connectors.s3",
        "rag.providers.connectors.website",
        "rag.providers.entailment.remote",
        "rag.providers.http.scoring_endpoint",
        "rag.providers.rerankers.cohere",
        "rag.providers.stores.qdrant.client",
        "rag.services.maintenance.backup.manifest",
        "ragsite.http.bodies.json_types",
    ),
    "rows and columns that mypy cannot know": (
        "rag.pipeline.retrieval.load_passages",
        "rag.providers.stores.pgvector.vectors",
        "rag.services.access.explain_access",
        "rag.services.jobs.job_lookup",
        "ragsite.postgres.statements.copy_tables",
    ),
    "a table whose entries have different types": (
        "orgs.audited_events",
        "orgs.scim.resource_lists",
        "rag.contracts.common.field_schemas",
        "rag.models.audited_events",
    ),
    "it reads the types of the code": ("ragsite.http.openapi.field_types",),
}
LISTED = {name for names in MODULES_BY_REASON.values() for name in names}


def uses_any(module: Module) -> bool:
    return "typing.Any" in module.imports() or any(
        isinstance(node, ast.Attribute) and ast.unparse(node) == "typing.Any" for node in ast.walk(module.tree)
    )


def is_page_or_command(module: Module) -> bool:
    return any(module.name.startswith(f"{package}.") for package in PAGES_AND_COMMANDS)


def test_any_is_only_where_something_without_a_type_comes_in() -> None:
    """Give the value a type. If it comes from a library without types, or is JSON, add the module above."""
    using = {module.name for module in MODULES if uses_any(module) and not is_page_or_command(module)}
    assert "ragsite.http.bodies.json_types" in using
    assert not using - LISTED


def test_no_listed_module_has_become_typed() -> None:
    listed = {module.name: module for module in MODULES if module.name in LISTED}
    assert not LISTED - MODULE_NAMES
    assert not {name for name, module in listed.items() if not uses_any(module)}


def test_an_any_is_found(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    for text in ("from typing import IO, Any\n", "import typing\n\n\nvalue: typing.Any = 1\n"):
        file.write_text(text)
        assert uses_any(Module("module", file))
    file.write_text("from typing import IO\n\n\nanything: IO[bytes]\n")
    assert not uses_any(Module("module", file))
