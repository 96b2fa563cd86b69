"""Tests use public functions of the product only, so that its insides can change. They may read and patch constants."""

import ast
from collections.abc import Iterator

from tests.support.checks.modules import MODULES, ROOT, Module, module_of

TEST_MODULES = [
    Module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), file)
    for file in sorted((ROOT / "tests").rglob("*.py"))
]
# Private methods and fields of named tuples, Django and httpcore that tests use.
OF_LIBRARIES = {"_replace", "_close", "_pool"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def definitions(module: Module) -> set[str]:
    """The functions, methods and classes that a module defines."""
    return {node.name for node in ast.walk(module.tree) if isinstance(node, DEFINITIONS)}


def other_names() -> set[str]:
    """The names of fields, and of what tests and libraries define: as an attribute, they need not be the product's."""
    stored = {
        node.attr
        for module in (*MODULES, *TEST_MODULES)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return stored.union(*map(definitions, TEST_MODULES)) | OF_LIBRARIES


DEFINED = {module.name: definitions(module) for module in MODULES}
CLEARLY_PRIVATE = {name for names in DEFINED.values() for name in names if is_private(name)} - other_names()


def imported_names(module: Module) -> dict[str, str]:
    """Name in the module → what it was imported from; of absolute imports, as tests import the product."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and not node.level
        for alias in node.names
    }


def private_functions_used(module: Module) -> Iterator[str]:
    """The places where a test imports a private name, or mentions a private function of a module or an object."""
    imported = imported_names(module)
    yield from (name for name in imported.values() if module_of(name) and is_private(name.rpartition(".")[2]))
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Attribute) or not is_private(node.attr):
            continue
        origin = imported.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
        if node.attr in CLEARLY_PRIVATE or node.attr in DEFINED.get(origin, ()):
            yield f"{ast.unparse(node)} (line {node.lineno})"


def test_no_test_uses_a_private_function_of_the_product() -> None:
    assert "_score" in DEFINED["rag.pipeline.retrieval.relative_similarity"], "the product has private functions"
    used = {module.name: list(private_functions_used(module)) for module in TEST_MODULES}
    assert {name: uses for name, uses in used.items() if uses} == {}
