"""Kinds of things that organisations have, and what can be asked and said of them, as the .toml files list it."""

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
# A property that takes the place of another one: both answer the same questions.
_FREE, _PRICE = "free", "price"


@dataclass(frozen=True, slots=True)
class Property:
    """What can be asked and said of a thing.

    Attributes:
        name: The name in properties.toml.
        questions: With {e} for the thing, or {n} for the thing without an article.
        statements: With {e} for the thing, {E} with a capital letter, and {v} for the value.
        columns: What a row calls the value.
        value: A pattern of values (values.py).
        keywords: What people type instead of a question, beside the thing. The columns, if none are listed.
    """

    name: str
    questions: Sequence[str]
    statements: Sequence[str]
    columns: Sequence[str]
    value: str
    keywords: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """Things that are alike, and what can be said of each of them."""

    things: Sequence[str]
    properties: Sequence[Property]

    def properties_in(self, names: Collection[str]) -> list[Property]:
        """Return the properties that have one of these names."""
        return [item for item in self.properties if item.name in names]


def read_kinds() -> list[Kind]:
    """Read things.toml and properties.toml."""
    properties = _read_properties()
    kinds = tomllib.loads((_FOLDER / "things.toml").read_text()).values()
    return [Kind(kind["things"], [properties[name] for name in kind["properties"]]) for kind in kinds]


def read_free_kinds() -> list[Kind]:
    """Read the kinds of things that have a price. Instead of a price, they have that they are free of charge."""
    free = _read_properties()[_FREE]
    return [
        Kind(kind.things, [free if item.name == _PRICE else item for item in kind.properties])
        for kind in read_kinds()
        if kind.properties_in([_PRICE])
    ]


def _read_properties() -> dict[str, Property]:
    properties = tomllib.loads((_FOLDER / "properties.toml").read_text())
    return {name: Property(name, **fields) for name, fields in properties.items()}
