"""Invented pairs about things of organisations: prices of rooms, dates of events, powers of machines.

A right quote states the sought property of the thing. Near misses state other properties of it, or the sought property
of another thing, in the same words: a model that compares texts finds them as similar.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.training.answer_check.invented.values import choose, fill
from benchmarks.training.answer_check.pairs import Pair

_FOLDER = Path(__file__).parent
_SHARE_YOUR, _SHARE_ROWS, _SHARE_PRONOUN, _SHARE_REMARK = 0.15, 0.45, 0.7, 0.4
_SHARE_HEADING, _SHARE_NAMED_HEADING = 0.3, 1 / 3
_SHARE_OTHER_THING, _SHARE_BESIDE_OTHER_THING = 0.6, 0.6


@dataclass(frozen=True, slots=True)
class Property:
    """What can be asked and said of a thing.

    Attributes:
        questions: With {e} for the thing, or {n} for the thing without an article.
        statements: With {e} for the thing, {E} with a capital letter, and {v} for the value.
        columns: What a row calls the value.
        value: A pattern of values (values.py).
    """

    questions: Sequence[str]
    statements: Sequence[str]
    columns: Sequence[str]
    value: str


@dataclass(frozen=True, slots=True)
class Kind:
    """Things that are alike, and what can be said of each of them."""

    things: Sequence[str]
    properties: Sequence[Property]


def invent_pairs(count: int, generator: random.Random) -> list[Pair]:
    """Invent so many pairs, of random things and properties."""
    kinds = read_kinds()
    pairs: list[Pair] = []
    while len(pairs) < count:
        kind = generator.choice(kinds)
        pairs += pairs_about(generator.choice(kind.things), generator.choice(kind.properties), kind, generator)
    generator.shuffle(pairs)
    return pairs[:count]


def read_kinds() -> list[Kind]:
    """Read things.toml and properties.toml."""
    properties = {
        name: Property(**fields) for name, fields in tomllib.loads((_FOLDER / "properties.toml").read_text()).items()
    }
    kinds = tomllib.loads((_FOLDER / "things.toml").read_text()).values()
    return [Kind(kind["things"], [properties[name] for name in kind["properties"]]) for kind in kinds]


def pairs_about(thing: str, sought: Property, kind: Kind, generator: random.Random) -> list[Pair]:
    """Ask for a property of a thing, and invent a right quote and up to three near misses.

    Args:
        thing: The thing, one of its kind.
        sought: The property, one of its kind.
        kind: The kind of the thing.
        generator: Chooses the words.
    """
    rest = [other for other in kind.properties if other is not sought]
    things = [other for other in kind.things if other != thing]
    beside = generator.sample(things, generator.choice((0, 0, 1, 2)))
    another = generator.choice(things)

    def some_of(properties: Sequence[Property], at_most: int) -> list[Property]:
        return generator.sample(properties, generator.randint(1, at_most))

    def with_sought() -> list[Property]:
        chosen = [sought, *generator.sample(rest, generator.randint(0, 2))]
        return generator.sample(chosen, len(chosen))

    right = {thing: with_sought(), **{other: some_of([*rest, sought], 2) for other in beside}}
    near_misses = [{thing: some_of(rest, 3), **{other: some_of(rest, 2) for other in beside}}]
    if generator.random() < _SHARE_OTHER_THING:
        near_misses.append({another: with_sought()})
    if generator.random() < _SHARE_BESIDE_OTHER_THING:
        near_misses.append({thing: some_of(rest, 2), another: [sought]})
    question = _ask(thing, sought, generator)
    return [
        Pair(question, _write_quote(right, generator), True),
        *(Pair(question, _write_quote(stated, generator), False) for stated in near_misses),
    ]


def _ask(thing: str, sought: Property, generator: random.Random) -> str:
    name = f"your {_without_article(thing)}" if generator.random() < _SHARE_YOUR else thing
    return generator.choice(sought.questions).format(e=name, n=_without_article(thing))


def _write_quote(stated: Mapping[str, Sequence[Property]], generator: random.Random) -> str:
    """Return rows of a table or sentences that state these properties of things, at times below a heading.

    Args:
        stated: The properties by thing. The first thing may be the heading.
        generator: Chooses the form and the words.
    """
    write, separator = (_write_row, "\n") if generator.random() < _SHARE_ROWS else (_write_sentences, " ")
    parts = [write(thing, properties, generator) for thing, properties in stated.items()]
    generator.shuffle(parts)
    quote = separator.join(parts)
    if generator.random() < _SHARE_HEADING:
        is_named = generator.random() < _SHARE_NAMED_HEADING
        heading = _capitalize(_without_article(next(iter(stated)))) if is_named else choose("heading", generator)
        quote = f"{heading}\n{quote}"
    return quote


def _write_row(thing: str, properties: Sequence[Property], generator: random.Random) -> str:
    """Return a row as quotes show it: `- Main hall — Price: £5`."""
    cells = [f"{generator.choice(stated.columns)}: {fill(stated.value, generator)}" for stated in properties]
    return " — ".join([f"- {_capitalize(_without_article(thing))}", *cells])


def _write_sentences(thing: str, properties: Sequence[Property], generator: random.Random) -> str:
    """Return a sentence for each property. Only the first one always names the thing."""
    sentences: list[str] = []
    for stated in properties:
        name = "it" if sentences and generator.random() < _SHARE_PRONOUN else thing
        statement, value = generator.choice(stated.statements), fill(stated.value, generator)
        sentences.append(_capitalize(statement.format(e=name, E=_capitalize(name), v=value)))
    if generator.random() < _SHARE_REMARK:
        sentences.insert(generator.randint(0, len(sentences)), choose("remark", generator))
    return " ".join(sentences)


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]


def _without_article(thing: str) -> str:
    return thing.removeprefix("the ")
