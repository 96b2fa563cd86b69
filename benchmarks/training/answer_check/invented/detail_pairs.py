"""Questions that name a year, a place, a group or the like, for which a property of a thing has a value."""

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.training.answer_check.invented.kinds import Kind, Property
from benchmarks.training.answer_check.invented.quotes import ask, capitalize, without_article, write_cell, write_row
from benchmarks.training.answer_check.invented.values import fill
from benchmarks.training.answer_check.pairs import Pair

_FILE = tomllib.loads(Path(__file__).with_name("details.toml").read_text())
_FORMS, _TABLE = _FILE["forms"], _FILE["table"]
_PRICE, _PLAIN_PRICE = "price", "{2.00-300.00}"
_SHARE_WITHOUT_DETAIL, _SHARE_TWO_DETAILS = 0.5, 0.4
# The beginning of a row that the model reads has so many columns.
_MAX_OTHER_NAMES = 4
_SHARE_TABLE_WITHOUT_DETAIL, _SHARE_PLAIN, _SHARE_OTHER_COLUMN = 0.25, 0.5, 0.5


@dataclass(frozen=True, slots=True)
class Details:
    """A set of names that exclude each other: years, or groups of people.

    Attributes:
        weight: How often sentences have one of the names, beside other sets.
        names: The names, with which questions, sentences and columns say what a value is for.
        phrase: How a sentence has the name: "in {name}".
        questions: Forms of questions about a property (details.toml).
        quotes: Forms of quotes that state a property.
        properties: The names of properties that may have another value for each name.
        not_asked: The names of properties that a column with such a name seems to state.
    """

    weight: float
    names: Sequence[str]
    phrase: str
    questions: Sequence[str]
    quotes: Sequence[str]
    properties: Sequence[str]
    not_asked: Sequence[str] = ()


def read_details() -> list[Details]:
    """Read the sets of details.toml."""
    return [Details(**(_FORMS | fields)) for fields in _FILE["sets"].values()]


def pairs_with_detail(
    thing: str, sought: Property, detail: str, details: Details, generator: random.Random
) -> list[Pair]:
    """Ask for the property of a thing in a year, for a group or the like. Near misses state it for others.

    Some questions name no detail: then a quote with any of them is right.

    Args:
        thing: The thing.
        sought: One of the properties of the set.
        detail: The name that is asked for, one of the set.
        details: The set.
        generator: Chooses the words.
    """
    others = [name for name in details.names if name != detail]

    def write(*names: str) -> str:
        lines = [_write(generator.choice(details.quotes), thing, sought, name, details, generator) for name in names]
        return "\n".join(generator.sample(lines, len(lines)))

    question = _write(generator.choice(details.questions), thing, sought, detail, details, generator)
    pairs = [
        Pair(question, write(detail), True),
        Pair(question, write(generator.choice(others)), False),
    ]
    if generator.random() < _SHARE_WITHOUT_DETAIL:
        pairs.append(Pair(ask(thing, sought, generator), write(generator.choice(others)), True))
    if generator.random() < _SHARE_TWO_DETAILS:
        pairs.append(Pair(question, write(detail, generator.choice(others)), True))
        if len(others) > 1:
            pairs.append(Pair(question, write(*generator.sample(others, 2)), False))
    return pairs


def table_pairs(thing: str, detail: str, details: Details, kind: Kind, generator: random.Random) -> list[Pair]:
    """Ask for the price of a thing in a year, for a group or the like. Rows have a column for some of the names.

    Near misses are the row of another thing, a row without the column, and a question about another property.

    Args:
        thing: The thing, one of its kind, which has prices.
        detail: The name that is asked for, one of the set.
        details: The set.
        kind: The kind of the thing.
        generator: Chooses the words.
    """
    (price,) = kind.properties_in([_PRICE])
    value = _PLAIN_PRICE if generator.random() < _SHARE_PLAIN else price.value
    row_name = generator.choice(_TABLE["row_names"])
    columns = kind.properties_in(_TABLE["other_columns"]) if generator.random() < _SHARE_OTHER_COLUMN else []
    columns = generator.sample(columns, min(1, len(columns)))
    others = [name for name in details.names if name != detail]

    def some_others() -> list[str]:
        return generator.sample(others, generator.randint(1, min(_MAX_OTHER_NAMES, len(others))))

    names = [detail, *some_others()]
    generator.shuffle(names)

    def write(thing: str, names: Sequence[str]) -> str:
        cells = [f"{name}: {fill(value, generator)}" for name in names]
        cells += [write_cell(column, generator) for column in columns]
        return " — ".join([f"- {row_name}{capitalize(without_article(thing))}", *cells])

    names_detail = generator.random() >= _SHARE_TABLE_WITHOUT_DETAIL
    forms = _TABLE["questions" if names_detail else "questions_without_detail"]
    question = _write(generator.choice(forms), thing, price, detail, details, generator)
    another = generator.choice([name for name in kind.things if name != thing])
    pairs = [Pair(question, write(thing, names), True), Pair(question, write(another, names), False)]
    if names_detail:
        pairs.append(Pair(question, write(thing, some_others()), False))
    stated = {*details.not_asked, *(column.name for column in columns)}
    rest = kind.properties_in(set(_TABLE["other_questions"]) - stated)
    if rest:
        pairs.append(Pair(ask(thing, generator.choice(rest), generator), write(thing, names), False))
    return pairs


def _write(form: str, thing: str, stated: Property, detail: str, details: Details, generator: random.Random) -> str:
    """Return a question or a quote about a property of a thing, in a form of details.toml."""
    value, statement = fill(stated.value, generator), generator.choice(stated.statements).removesuffix(".")
    clause = statement if statement.startswith("{") else statement[0].lower() + statement[1:]
    phrase, name = details.phrase.format(name=detail), without_article(thing)
    return form.format(
        question=ask(thing, stated, generator).removesuffix("?"),
        sentence=capitalize(statement.format(e=thing, E=capitalize(thing), v=value)),
        clause=clause.format(e=thing, E=thing, v=value),
        row=write_row(thing, [stated], generator),
        cell=write_cell(stated, generator),
        v=value,
        e=thing,
        n=name,
        N=capitalize(name),
        name=detail,
        Name=capitalize(detail),
        d=phrase,
        D=capitalize(phrase),
    )
