"""Tests use public functions of the product only, so that its insides can change. They may read and patch constants."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.checks.modules import MODULES, ROOT, Module, module_of

# Private methods and fields of named tuples, Django and httpcore that tests use.
OF_LIBRARIES = {"_replace", "_close", "_pool"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Names:
    """The names in a module.

    Attributes:
        defined: The functions, methods and classes that it defines.
        stored: The fields that it sets.
        imported: Name in the module → what it was imported from; of absolute imports, as tests import the product.
        private: Where it mentions private attributes.
    """

    defined: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    private: list[ast.Attribute] = field(default_factory=list)

    @classmethod
    def of(cls, module: Module) -> "Names":
        names = cls()
        for node in ast.walk(ast.parse(module.file.read_text())):
            if isinstance(node, DEFINITIONS):
                names.defined.add(node.name)
            elif isinstance(node, ast.Attribute):
                if isinstance(node.ctx, ast.Store):
                    names.stored.add(node.attr)
                if is_private(node.attr):
                    names.private.append(node)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return names


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def modules_of_tests() -> list[Module]:
    files = sorted((ROOT / "tests").rglob("*.py"))
    return [
        Module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), file) for file in files
    ]


def clearly_private(product: Mapping[str, Names], tests: Mapping[str, Names]) -> set[str]:
    """The private names that the product defines, without those of fields and of what tests and libraries define.

    As an attribute, these need not be the product's.
    """
    others = OF_LIBRARIES.union(*(names.stored for names in (*product.values(), *tests.values())))
    others |= set().union(*(names.defined for names in tests.values()))
    return {name for names in product.values() for name in names.defined if is_private(name)} - others


def private_functions_used(names: Names, product: Mapping[str, Names], private: set[str]) -> list[str]:
    """The places where a test imports a private name, or mentions a private function of a module or an object."""
    used = [name for name in names.imported.values() if module_of(name) and is_private(name.rpartition(".")[2])]
    for node in names.private:
        origin = names.imported.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
        if node.attr in private or (origin in product and node.attr in product[origin].defined):
            used.append(f"{ast.unparse(node)} (line {node.lineno})")
    return used


def test_no_test_uses_a_private_function_of_the_product() -> None:
    product, tests = (
        {module.name: Names.of(module) for module in modules} for modules in (MODULES, modules_of_tests())
    )
    assert "_score" in product["rag.pipeline.retrieval.relative_similarity"].defined, (
        "the product has private functions"
    )
    private = clearly_private(product, tests)
    used = {name: private_functions_used(names, product, private) for name, names in tests.items()}
    assert {name: uses for name, uses in used.items() if uses} == {}
