"""Rules of docs/architecture.md that imports show: layers, cycles, contracts, libraries, store tables, folder sizes."""

import ast
import sys
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from tests.support.checks.modules import DOTTED_NAME, MODULES, ROOT, Module, module_of

# From the top to the bottom. A module may import its own layer and the layers below it. A package belongs to the layer
# of its longest prefix here.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "ragsite.settings",
        "ragsite.urls",
        "ragsite.middleware",
        "ragsite.views",
        "ragsite.wsgi",
        "ragsite.run",
        "ragsite.embedded",
    ),
    ("rag.contracts", "rag.pages", "rag.admin", "rag.tasks", "rag.management", "rag.apps"),
    ("rag.services",),
    ("rag.task_queue",),
    ("rag.pipeline",),
    ("rag.providers", "rag.parsing"),
    ("rag.models",),
    ("rag.types", "rag.errors", "rag.text"),
    ("orgs",),
    ("accounts",),
    (
        "ragsite.http",
        "ragsite.postgres",
        "ragsite.celery",
        "ragsite.cache",
        "ragsite.observability",
    ),
)
# The roots of packages that have several layers.
WITHOUT_LAYER = {"ragsite", "rag"}

# Which modules may import a library; a library that is not listed may be imported everywhere.
IMPORTERS: dict[str, tuple[str, ...]] = {
    "agents": ("rag.providers",),
    "axes": ("accounts",),
    "boto3": ("ragsite.settings",),
    "botocore": ("ragsite.settings", "rag.providers.connectors"),
    "toktok": ("rag.text",),
    "cryptography": ("ragsite.postgres", "orgs.single_sign_on.saml"),
    "celery": ("rag.tasks", "ragsite.celery", "ragsite.settings", "ragsite.run.scheduler"),
    "charset_normalizer": ("rag.parsing",),
    "django_otp": ("accounts",),
    "django_ratelimit": ("rag.contracts",),
    "drf_spectacular": ("rag.contracts", "orgs.api_keys", "orgs.authentication", "accounts.token_views", "ragsite"),
    "environ": ("ragsite.settings",),
    "fsspec": ("rag.providers.connectors",),
    "gunicorn": ("ragsite.run",),
    "httpcore2": ("rag.providers", "ragsite.http"),
    "httpx2": ("rag.providers", "ragsite.http", "orgs.single_sign_on"),
    "jwt": ("accounts", "orgs.single_sign_on"),
    "kombu": ("rag.task_queue", "ragsite.celery", "ragsite.settings"),
    "lxml": ("rag.parsing", "rag.providers.connectors", "orgs.single_sign_on.saml"),
    "markdown_it": ("rag.parsing",),
    "olefile": ("rag.parsing",),
    "onnx": ("rag.providers",),
    "onnxruntime": ("rag.providers", "rag.parsing.ocr.models"),
    "openai": ("rag.providers",),
    "opentelemetry": ("ragsite.observability", "rag.providers"),
    "pgvector": ("rag.providers.stores", "rag.models.content.pgvector_tables"),
    "prometheus_client": ("ragsite.views",),
    "psutil": ("ragsite.embedded", "ragsite.run.local_processes"),
    "psycopg": ("ragsite.embedded", "ragsite.postgres", "rag.providers.stores.pgvector"),
    "py3langid": ("rag.text",),
    "pypdfium2": ("rag.parsing.sandbox", "rag.parsing.readers.pdf"),
    "redis": (
        "rag.contracts",
        "rag.services.operations",
        "ragsite.embedded",
        "ragsite.postgres.replicas",
        "ragsite.run.scheduler",
    ),
    "rest_framework": ("rag.contracts", "orgs", "accounts", "ragsite"),
    "rest_framework_simplejwt": ("accounts", "orgs.authentication"),
    "rich": ("rag.management",),
    "safetensors": ("rag.providers",),
    "segno": ("accounts",),
    "signxml": ("orgs.single_sign_on.saml",),
    "snowballstemmer": ("rag.text",),
    "tokenizers": ("rag.providers",),
    "trafilatura": ("rag.parsing",),
    "xberg": ("rag.parsing",),
}

# The chunk store's tables are private to the stores; rag.models imports them so that Django registers them.
STORE_TABLES = "rag.models.content.pgvector_tables"
STORE_TABLE_IMPORTERS = ("rag.providers.stores", "rag.models")
STORE_IMPORTERS = ("rag.providers.stores", "rag.providers.provider_factory")

# Files that need no docstring: their name and folder describe them.
UNDOCUMENTED_NAMES = {"__init__.py", "apps.py"}

MAX_SIBLINGS = 12
# Names that Django and Celery look for, which say nothing about the layout.
FRAMEWORK_NAMES = {"__init__.py", "apps.py", "tasks.py", "migrations", "management"}


def is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def layer_of(name: str) -> int | None:
    """The number of the layer that a module, or a name in a module, belongs to; 0 is the top."""
    return next((number for number, packages in enumerate(LAYERS) if is_within(name, packages)), None)


def test_every_module_has_a_layer() -> None:
    names = {module.name for module in MODULES} - WITHOUT_LAYER
    assert {name for name in names if layer_of(name) is None} == set()


def app_of(name: str) -> str:
    return name.partition(".")[0]


def is_upward(module: Module, target: str) -> bool:
    own_layer, target_layer = layer_of(module.name), layer_of(target)
    return own_layer is not None and target_layer is not None and target_layer < own_layer


def test_no_module_imports_a_higher_layer() -> None:
    upward = [(module.name, name) for module in MODULES for name in module.imports() if is_upward(module, name)]
    assert upward == []


def test_no_string_names_a_module_of_a_higher_layer() -> None:
    """A lookup by name would hide an upward import. The settings are the exception: Django loads them by name."""
    upward = [
        (module.name, text)
        for module in MODULES
        for text in module.dotted_strings()
        if (target := module_of(text)) and is_upward(module, target) and not is_within(target, ("ragsite.settings",))
    ]
    assert upward == []


def test_no_app_mentions_a_module_of_a_higher_app() -> None:
    """Not in comments and docstrings either: orgs, accounts and the shared code of ragsite know nothing of rag."""
    mentions = [
        (module.name, text)
        for module in MODULES
        for text in DOTTED_NAME.findall(module.file.read_text())
        if (target := module_of(text)) and is_upward(module, target) and app_of(module.name) != app_of(target)
    ]
    assert [(name, text) for name, text in mentions if not text.startswith("ragsite.settings")] == []


def imported_modules(modules: Iterable[Module]) -> dict[str, set[str]]:
    """The modules of the product that each module imports, function-level imports included."""
    return {
        module.name: {target for name in module.imports() if (target := module_of(name)) and target != module.name}
        for module in modules
    }


def modules_in_cycles(graph: Mapping[str, Set[str]]) -> set[str]:
    """The modules that import each other, and those between such cycles: what remains when the ends are taken away."""
    remaining = {name: set(targets) for name, targets in graph.items()}
    while True:
        imported = {target for targets in remaining.values() for target in targets}
        ends = {name for name, targets in remaining.items() if not targets & remaining.keys() or name not in imported}
        if not ends:
            return set(remaining)
        remaining = {name: targets - ends for name, targets in remaining.items() if name not in ends}


def test_no_modules_import_each_other() -> None:
    """Not inside functions either, where such a cycle hides. A function is passed in instead."""
    graph = imported_modules(MODULES)
    assert "rag.parsing.readers.messages.mail" in graph["rag.parsing.readers.registry"]
    assert modules_in_cycles(graph) == set()
    hidden = {"rag.parsing.readers.messages.mail": {"rag.parsing.readers.registry"}}
    assert modules_in_cycles(graph | hidden) == {
        "rag.parsing.readers.messages.mail",
        "rag.parsing.readers.messages.mailbox",
        "rag.parsing.readers.registry",
    }


def test_libraries_are_imported_where_they_belong() -> None:
    misplaced = [
        (module.name, library)
        for module in MODULES
        for library in {name.partition(".")[0] for name in module.imports()}
        if library in IMPORTERS and not is_within(module.name, IMPORTERS[library])
    ]
    assert misplaced == []


def test_no_contract_imports_another() -> None:
    folder = ROOT / "rag" / "contracts"
    contracts = {path.name for path in folder.iterdir() if path.is_dir()} - {"common", "__pycache__"}
    assert len(contracts) >= 5, contracts
    for module in MODULES:
        parts = module.name.split(".")
        if parts[:2] != ["rag", "contracts"] or len(parts) < 3 or parts[2] not in contracts | {"common"}:
            continue  # the root of the contracts joins them: URLs, shared paths, error responses
        for name in module.imports():
            other = name.split(".")
            if other[:2] == ["rag", "contracts"] and len(other) > 2 and other[2] in contracts:
                assert other[2] == parts[2], f"{module.name} imports {name}"


def importers_of(package: str) -> list[Module]:
    return [module for module in MODULES if any(is_within(name, (package,)) for name in module.imports())]


def test_only_the_stores_import_their_tables() -> None:
    names = {module.name for module in importers_of(STORE_TABLES)}
    assert {name for name in names if not is_within(name, STORE_TABLE_IMPORTERS)} == set()


def test_only_the_stores_and_the_registry_import_a_store() -> None:
    """Everything else works with the ChunkStore protocol, so that another store can take pgvector's place."""
    names = {module.name for module in importers_of("rag.providers.stores.pgvector")}
    assert {name for name in names if not is_within(name, STORE_IMPORTERS)} == set()


def test_every_file_has_a_docstring() -> None:
    undocumented = [
        str(module.file.relative_to(ROOT))
        for module in MODULES
        if module.file.name not in UNDOCUMENTED_NAMES and not ast.get_docstring(module.tree)
    ]
    assert undocumented == []


def test_the_python_client_stands_alone() -> None:
    """The client is installed without the server. It imports its own modules, the standard library, httpx2 and rich."""
    files = sorted((ROOT / "clients" / "python" / "src" / "ragsite_client").glob("*.py"))
    modules = [Module(f"ragsite_client.{file.stem}", file) for file in files]
    imported = {name.partition(".")[0] for module in modules for name in module.imports()}
    assert len(modules) > 5
    assert imported - set(sys.stdlib_module_names) == {
        "ragsite_client",
        "httpx2",
        "rich",
        "langchain_core",
        "llama_index",
    }


def find_too_large(folders: Iterable[Path]) -> dict[str, list[str]]:
    """Files and packages of a folder are counted, except those that a framework requires, as Django does commands."""
    entries_of = {
        str(folder): sorted(
            path.name
            for path in folder.iterdir()
            if path.name not in FRAMEWORK_NAMES and (path.suffix == ".py" or (path / "__init__.py").exists())
        )
        for folder in folders
        if folder.name != "commands"
    }
    return {folder: entries for folder, entries in entries_of.items() if len(entries) > MAX_SIBLINGS}


def test_folders_are_small() -> None:
    assert find_too_large({module.file.parent for module in MODULES}) == {}


def test_folders_of_tests_and_benchmarks_are_small() -> None:
    """The top of the tests is the exception: most of its folders are the packages of the product."""
    folders = {file.parent for name in ("tests", "benchmarks") for file in (ROOT / name).rglob("__init__.py")}
    assert {ROOT / "tests" / "support", ROOT / "benchmarks"} <= folders
    assert find_too_large(folders - {ROOT / "tests"}) == {}


def test_a_folder_with_too_many_files_or_packages_is_found(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "data").mkdir()
    for name in ("__init__.py", "package/__init__.py", "data/rows.csv", *(f"file_{number}.py" for number in range(11))):
        (tmp_path / name).touch()
    assert find_too_large([tmp_path]) == {}
    (tmp_path / "thirteenth.py").touch()
    assert len(find_too_large([tmp_path])[str(tmp_path)]) == 13


def test_imports_names_and_layers_are_read_correctly() -> None:
    """The rules would pass silently if names or imports were read wrongly."""
    by_name = {module.name: module for module in MODULES}
    assert "rag.models.DataSource" in set(by_name["rag.services.access.access_rechecks"].imports())
    assert "ragsite.postgres.identity" in set(by_name["ragsite.middleware"].imports())
    assert layer_of("rag.models.DataSource") == layer_of("rag.models")
    assert module_of("rag.models.sources.DataSource") == "rag.models.sources"
    assert module_of("rag.sweep_ingestion") is None, "the name of a Celery task is not a module"
    assert "orgs.authentication.api_key_header.ApiKeyAuthentication" in set(
        by_name["ragsite.settings.api"].dotted_strings()
    )
