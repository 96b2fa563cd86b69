"""The Python modules of the product as they are written: their names, imports and strings. Nothing is imported."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("ragsite", "rag", "orgs", "accounts")
DOTTED_NAME = re.compile(r"(?:ragsite|rag|orgs|accounts)(?:\.\w+)+")


@dataclass(frozen=True)
class Module:
    """A Python file of the product, and its name."""

    name: str
    file: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.file.read_text())

    @property
    def package(self) -> str:
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]

    def imports(self) -> Iterator[str]:
        """The imported names; `from a import b` is `a.b`. Imports inside functions count as well."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parents = self.package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
                origin = ".".join(part for part in (base, node.module) if part)
                yield from (f"{origin}.{alias.name}" for alias in node.names)

    def dotted_strings(self) -> Iterator[str]:
        """String constants that consist of a dotted name, such as those that `import_string` resolves."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED_NAME.fullmatch(node.value):
                yield node.value


def find_modules() -> list[Module]:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    modules = [
        Module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), file) for file in files
    ]
    return [module for module in modules if "migrations" not in module.file.parts]


MODULES = find_modules()
MODULE_NAMES = {module.name for module in MODULES}


def module_of(dotted: str) -> str | None:
    """The module that a dotted name refers to or lies in; None if that is a package root or no module at all."""
    parts = dotted.split(".")
    candidates = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
    return next((name for name in candidates if name in MODULE_NAMES), None)
