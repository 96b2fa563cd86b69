"""Questions about a property of a thing, and quotes that state properties of things: sentences and rows of tables."""

import random
from collections.abc import Mapping, Sequence

from benchmarks.training.answer_check.invented.kinds import Property
from benchmarks.training.answer_check.invented.values import choose, fill

_SHARE_YOUR, _SHARE_ROWS, _SHARE_PRONOUN, _SHARE_REMARK = 0.15, 0.45, 0.7, 0.4
_SHARE_HEADING, _SHARE_NAMED_HEADING = 0.3, 1 / 3
_KEYWORDS = ("{n} {k}", "{k} {n}", "{k} of {e}")


def ask(thing: str, sought: Property, generator: random.Random) -> str:
    """Return a question about a property of a thing."""
    name = f"your {without_article(thing)}" if generator.random() < _SHARE_YOUR else thing
    return generator.choice(sought.questions).format(e=name, n=without_article(thing))


def ask_in_keywords(thing: str, sought: Property, generator: random.Random) -> str:
    """Return what people type who do not write questions: "main hall price"."""
    keyword = generator.choice(sought.keywords or sought.columns).lower()
    return generator.choice(_KEYWORDS).format(e=thing, n=without_article(thing), k=keyword)


def write_quote(stated: Mapping[str, Sequence[Property]], generator: random.Random) -> str:
    """Return rows of a table or sentences that state these properties of things, at times below a heading.

    Args:
        stated: The properties by thing. The first thing may be the heading.
        generator: Chooses the form and the words.
    """
    write, separator = (write_row, "\n") if generator.random() < _SHARE_ROWS else (_write_sentences, " ")
    parts = [write(thing, properties, generator) for thing, properties in stated.items()]
    generator.shuffle(parts)
    quote = separator.join(parts)
    if generator.random() < _SHARE_HEADING:
        is_named = generator.random() < _SHARE_NAMED_HEADING
        heading = capitalize(without_article(next(iter(stated)))) if is_named else choose("heading", generator)
        quote = f"{heading}\n{quote}"
    return quote


def write_row(thing: str, properties: Sequence[Property], generator: random.Random) -> str:
    """Return a row as quotes show it: `- Main hall — Price: £5`."""
    cells = [write_cell(stated, generator) for stated in properties]
    return " — ".join([f"- {capitalize(without_article(thing))}", *cells])


def write_cell(stated: Property, generator: random.Random) -> str:
    """Return a cell of a row: `Price: £5`."""
    return f"{generator.choice(stated.columns)}: {fill(stated.value, generator)}"


def capitalize(text: str) -> str:
    """Return the text with a capital letter at its beginning."""
    return text[0].upper() + text[1:]


def without_article(thing: str) -> str:
    """Return the name of the thing as headings and rows have it."""
    return thing.removeprefix("the ")


def _write_sentences(thing: str, properties: Sequence[Property], generator: random.Random) -> str:
    """Return a sentence for each property. Only the first one always names the thing."""
    sentences: list[str] = []
    for stated in properties:
        name = "it" if sentences and generator.random() < _SHARE_PRONOUN else thing
        statement, value = generator.choice(stated.statements), fill(stated.value, generator)
        sentences.append(capitalize(statement.format(e=name, E=capitalize(name), v=value)))
    if generator.random() < _SHARE_REMARK:
        sentences.insert(generator.randint(0, len(sentences)), choose("remark", generator))
    return " ".join(sentences)
