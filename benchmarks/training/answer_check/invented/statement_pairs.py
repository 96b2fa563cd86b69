"""Questions with sentences and rows that state the sought property, or something similar."""

import random
from collections.abc import Sequence

from benchmarks.training.answer_check.invented.kinds import Kind, Property
from benchmarks.training.answer_check.invented.quotes import ask, ask_in_keywords, write_quote
from benchmarks.training.answer_check.pairs import Pair

_SHARE_OTHER_THING, _SHARE_BESIDE_OTHER_THING = 0.6, 0.6


def pairs_about(
    thing: str, sought: Property, kind: Kind, generator: random.Random, *, in_keywords: bool = False
) -> list[Pair]:
    """Ask for a property of a thing, and invent a right quote and up to three near misses.

    Args:
        thing: The thing, one of its kind.
        sought: The property, one of its kind.
        kind: The kind of the thing.
        generator: Chooses the words.
        in_keywords: Whether the question is only keywords.
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
    question = (ask_in_keywords if in_keywords else ask)(thing, sought, generator)
    return [
        Pair(question, write_quote(right, generator), True),
        *(Pair(question, write_quote(stated, generator), False) for stated in near_misses),
    ]
