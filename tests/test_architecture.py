"""The house's one direction, read from the imports themselves (docs/architecture.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Higher floors may import lower ones, never the other way round.
FLOORS = [
    {"rag.contracts", "rag.admin", "rag.tasks", "rag.management"},
    {"rag.services"},
    {"rag.queue"},
    {"rag.pipeline"},
    {"rag.providers", "rag.parsing", "rag.providers.file_storage"},
    {"rag.models"},
    {
        "rag.types",
        "rag.errors",
        "rag.text.words",
        "rag.types.token_vectors",
        "rag.text.entities",
        "rag.text.languages",
        "rag.text.function_words",
        "rag.text.tokens",
    },
    {"orgs"},
    {"accounts"},
    {"ragsite.postgres.models", "ragsite.celery", "ragsite.postgres.identity", "ragsite.postgres"},
]
# Who alone may import a library.
OWNERS = {
    "openai": {"rag.providers"},
    "agents": {"rag.providers"},
    "httpx2": {"rag.providers"},
    "httpcore2": {"rag.providers"},
    "onnxruntime": {"rag.providers"},
    "tokenizers": {"rag.providers"},
    "py3langid": {"rag.text.languages"},
    "snowballstemmer": {"rag.text.words"},
    "rest_framework": {
        "rag.contracts",
        "accounts",
        "orgs.api_keys.views",
        "orgs.api_keys.authentication",
        "orgs.api_keys.serializers",
    },
    "drf_spectacular": {"rag.contracts", "accounts", "orgs.api_keys", "ragsite.http"},
    "rest_framework_simplejwt": {"accounts"},
    "axes": {"accounts"},
    "django_otp": {"accounts"},
    "celery": {"rag.tasks", "ragsite.celery"},
}


def modules() -> list[tuple[str, Path]]:
    files = [file for app in ("rag", "orgs", "accounts") for file in (ROOT / app).rglob("*.py")]
    named = [(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), file) for file in files]
    return [(name, file) for name, file in named if ".migrations" not in name]


def imports(name: str, file: Path) -> Iterator[str]:
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def within(name: str, parts: set[str]) -> bool:
    return any(name == part or name.startswith(part + ".") for part in parts)


def floor(name: str) -> int | None:
    return next((number for number, parts in enumerate(FLOORS) if within(name, parts)), None)


@pytest.mark.parametrize(("name", "file"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_nothing_climbs(name: str, file: Path) -> None:
    own = floor(name)
    for imported in imports(name, file):
        target = floor(imported)
        if own is not None and target is not None:
            assert target >= own, f"{name} climbs to {imported}"
        library = imported.split(".")[0]
        if library in OWNERS:
            assert within(name, OWNERS[library]), f"{name} imports {library}"


def test_no_contract_imports_another() -> None:
    contracts = {folder.name for folder in (ROOT / "rag" / "contracts").iterdir() if folder.is_dir()}
    for name, file in modules():
        parts = name.split(".")
        if parts[:2] != ["rag", "contracts"] or len(parts) < 4:
            continue
        for imported in imports(name, file):
            other = imported.split(".")
            if other[:2] == ["rag", "contracts"] and other[2] in contracts:
                assert other[2] == parts[2], f"{name} imports {imported}"


def test_every_module_has_a_floor() -> None:
    homeless = [name for name, _ in modules() if floor(name) is None and name not in ("rag", "rag.apps")]
    assert homeless == []
