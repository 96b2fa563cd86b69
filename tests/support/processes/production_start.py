"""Loads what a server process loads, while only the packages of requirements.txt can be imported. Run as a program.

Prints the packages that could not be imported, and the sizes of those that could, as JSON.
"""

import importlib
import importlib.metadata
import json
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import django
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Only `make run` and `make test` load these, or a server with the packages of requirements-ocr.txt.
OTHER_MODULES = (
    "ragsite.embedded",
    "ragsite.run.launch",
    "ragsite.run.local_processes",
    "ragsite.settings.test",
    "rag.parsing.ocr.layout",
    "rag.parsing.ocr.lines",
)


class Blocker:
    """A finder that reports certain top-level packages as missing."""

    def __init__(self, packages: set[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"{name} is not part of a production installation")
        return None


def required_packages() -> set[str]:
    """The distributions that requirements.txt and requirements-wheels.txt need, directly or transitively."""
    direct = [requirement for file in ("requirements.txt", "requirements-wheels.txt") for requirement in read(file)]
    required: set[tuple[str, str]] = set()
    remaining = [(canonicalize_name(one.name), extra) for one in direct for extra in ("", *one.extras)]
    files_only = {canonicalize_name(one.name) for one in read("requirements-wheels.txt")}
    excluded = {canonicalize_name(one.name) for one in read("requirements-excluded.txt")}
    while remaining:
        name, extra = remaining.pop()
        if (name, extra) in required or name in excluded:
            continue
        required.add((name, extra))
        if name in files_only:
            continue
        for text in importlib.metadata.requires(name) or ():
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                remaining += [(canonicalize_name(one.name), child) for child in ("", *one.extras)]
    return {name for name, _ in required}


def megabytes(package: str) -> float:
    """The size of a package's files."""
    files = [Path(str(file.locate())) for file in importlib.metadata.files(package) or ()]
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def read(file: str) -> list[Requirement]:
    lines = [line.partition("#")[0].strip() for line in Path(file).read_text().splitlines()]
    return [Requirement(line) for line in lines if line]


def modules() -> Iterator[str]:
    for package in ("accounts", "orgs", "rag", "ragsite"):
        yield from (module.name for module in pkgutil.walk_packages([package], f"{package}."))


if __name__ == "__main__":
    required = required_packages()
    blocked = {
        package
        for package, distributions in importlib.metadata.packages_distributions().items()
        if not {canonicalize_name(name) for name in distributions} & required
    }
    sys.meta_path.insert(0, Blocker(blocked - {"packaging"}))
    django.setup()
    for name in modules():
        if not name.startswith(OTHER_MODULES):
            importlib.import_module(name)
    json.dump({"blocked": sorted(blocked), "megabytes": {name: megabytes(name) for name in required}}, sys.stdout)
