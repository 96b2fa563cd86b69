"""Questions with parts of an FAQ or a list: a heading that is a question or a thing, and a fragment below it."""

import random

from benchmarks.training.answer_check.invented.kinds import Kind, Property
from benchmarks.training.answer_check.invented.quotes import ask, capitalize, without_article, write_cell
from benchmarks.training.answer_check.invented.values import choose, fill
from benchmarks.training.answer_check.pairs import Pair

_SHARE_CELLS, _SHARE_OTHER_THING, _SHARE_REMARK = 0.5, 0.5, 0.25


def faq_pairs(thing: str, sought: Property, kind: Kind, generator: random.Random) -> list[Pair]:
    """Ask for a property of a thing. In right quotes the heading and the fragment below it answer together.

    Args:
        thing: The thing, one of its kind.
        sought: The property, one of its kind.
        kind: The kind of the thing.
        generator: Chooses the words.
    """
    question = ask(thing, sought, generator)
    other = generator.choice([item for item in kind.properties if item is not sought])
    pairs = [
        Pair(question, _write_entry(thing, sought, generator), True),
        Pair(question, _write_entry(thing, other, generator), False),
    ]
    if generator.random() < _SHARE_CELLS:
        heading = capitalize(without_article(thing))
        pairs += [
            Pair(question, f"{heading}\n{write_cell(sought, generator)}", True),
            Pair(question, f"{heading}\n{write_cell(other, generator)}", False),
        ]
    if generator.random() < _SHARE_OTHER_THING:
        another = generator.choice([name for name in kind.things if name != thing])
        pairs.append(Pair(question, _write_entry(another, sought, generator), False))
    return pairs


def _write_entry(thing: str, stated: Property, generator: random.Random) -> str:
    """Return a question, and below it a value without a sentence around it."""
    value = fill(stated.value, generator)
    if generator.random() < _SHARE_REMARK:
        fragment = f"{capitalize(value)}. {choose('remark', generator)}"
    else:
        fragment = generator.choice((value, capitalize(value), f"{capitalize(value)}."))
    return f"{ask(thing, stated, generator)}\n{fragment}"
