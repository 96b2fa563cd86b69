"""Invented pairs about things of organisations: prices of rooms, dates of events, powers of machines.

A right quote states the sought property of the thing. Near misses state other properties of it, or the sought property
of another thing, or for another year, place or group, in the same words: a model that compares texts finds them as
similar.
"""

import random
from collections.abc import Callable

from benchmarks.training.answer_check.invented.detail_pairs import pairs_with_detail, read_details, table_pairs
from benchmarks.training.answer_check.invented.faq_pairs import faq_pairs
from benchmarks.training.answer_check.invented.kinds import Kind, read_free_kinds, read_kinds
from benchmarks.training.answer_check.invented.statement_pairs import pairs_about
from benchmarks.training.answer_check.pairs import Pair


def invent_pairs(count: int, generator: random.Random) -> list[Pair]:
    """Invent so many pairs in all forms, of random things and properties."""
    kinds, free_kinds, all_details = read_kinds(), read_free_kinds(), read_details()
    kinds_with_price = [kind for kind in kinds if kind.properties_in(["price"])]

    def about_any() -> list[Pair]:
        kind, thing = _choose_thing(kinds, generator)
        return pairs_about(thing, generator.choice(kind.properties), kind, generator)

    def free_of_charge() -> list[Pair]:
        kind, thing = _choose_thing(free_kinds, generator)
        return pairs_about(thing, generator.choice(kind.properties_in(["free"])), kind, generator)

    def in_keywords() -> list[Pair]:
        kind, thing = _choose_thing(kinds, generator)
        return pairs_about(thing, generator.choice(kind.properties), kind, generator, in_keywords=True)

    def in_faq() -> list[Pair]:
        kind, thing = _choose_thing(kinds, generator)
        return faq_pairs(thing, generator.choice(kind.properties), kind, generator)

    def for_a_detail() -> list[Pair]:
        (details,) = generator.choices(all_details, [details.weight for details in all_details])
        kind, thing = _choose_thing([kind for kind in kinds if kind.properties_in(details.properties)], generator)
        sought = generator.choice(kind.properties_in(details.properties))
        return pairs_with_detail(thing, sought, generator.choice(details.names), details, generator)

    def in_a_table() -> list[Pair]:
        details = generator.choice(all_details)
        kind, thing = _choose_thing(kinds_with_price, generator)
        return table_pairs(thing, generator.choice(details.names), details, kind, generator)

    # How often each form is chosen, in proportion.
    forms: dict[Callable[[], list[Pair]], float] = {
        about_any: 4,
        free_of_charge: 0.5,
        in_keywords: 2,
        in_faq: 2,
        for_a_detail: 3,
        in_a_table: 2,
    }
    pairs: list[Pair] = []
    while len(pairs) < count:
        (invent,) = generator.choices(list(forms), list(forms.values()))
        pairs += invent()
    generator.shuffle(pairs)
    return pairs[:count]


def _choose_thing(kinds: list[Kind], generator: random.Random) -> tuple[Kind, str]:
    kind = generator.choice(kinds)
    return kind, generator.choice(kind.things)
