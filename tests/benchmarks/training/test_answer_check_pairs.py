"""Invented pairs for training: a right quote states the sought property of the thing, and no near miss does."""

import dataclasses
import functools
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.training.answer_check.differences import read_trained, write_differences
from benchmarks.training.answer_check.invented.detail_pairs import (
    Details,
    pairs_with_detail,
    read_details,
    table_pairs,
)
from benchmarks.training.answer_check.invented.faq_pairs import faq_pairs
from benchmarks.training.answer_check.invented.kinds import Kind, Property, read_free_kinds, read_kinds
from benchmarks.training.answer_check.invented.pairs import invent_pairs
from benchmarks.training.answer_check.invented.statement_pairs import pairs_about
from benchmarks.training.answer_check.invented.values import fill
from benchmarks.training.answer_check.pairs import Pair, read_judged, read_selqa


def with_marked_values(kind: Kind) -> Kind:
    """The value of each property is its number, so that a quote shows which property it states."""

    def with_mark(item: Property, number: int) -> Property:
        statements = [text if "{v}" in text else f"{text.removesuffix('.')} {{v}}." for text in item.statements]
        return dataclasses.replace(item, statements=statements, value=f"<{number}>")

    return dataclasses.replace(kind, properties=[with_mark(item, n) for n, item in enumerate(kind.properties)])


def statements_of(quote: str, kind: Kind) -> Iterator[tuple[str, int]]:
    """The things and numbers of properties that a quote states. Without a name a sentence is about the thing before."""
    names = {thing.removeprefix("the ").lower(): thing for thing in kind.things}
    name_pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})(?!\w)")
    thing = ""
    for sentence in re.split(r"\. |\n", quote):
        named = {names[name] for name in name_pattern.findall(sentence.lower())}
        assert len(named) <= 1, sentence
        thing = next(iter(named), thing)
        for number in re.findall(r"<(\d+)>", sentence):
            yield thing, int(number)


def named_in(text: str, names: Sequence[str]) -> list[str]:
    """The names that are in a text, as whole words. Things may have another article there."""
    return [
        name
        for name in names
        if re.search(rf"(?<![\w-]){re.escape(name.removeprefix('the ').lower())}(?![\w-])", text.lower())
    ]


def statements_with_detail(quote: str, kind: Kind, details: Details) -> Iterator[tuple[str, str, int]]:
    """The things, details and numbers of properties that a quote states. Headings name what lines below do not."""
    thing = detail = ""
    for sentence in re.split(r"\. |\n", quote):
        things, named = named_in(sentence, kind.things), named_in(sentence, details.names)
        assert len(things) <= 1, sentence
        assert len(named) <= 1, sentence
        thing, detail = (things or [thing])[0], (named or [detail])[0]
        for number in re.findall(r"<(\d+)>", sentence):
            yield thing, detail, int(number)


INVENTIONS = [pairs_about, functools.partial(pairs_about, in_keywords=True), faq_pairs]


@pytest.mark.parametrize("invent", INVENTIONS, ids=["questions", "keywords", "faq"])
@pytest.mark.parametrize("kind", [with_marked_values(kind) for kind in [*read_kinds(), *read_free_kinds()]])
def test_only_right_quotes_state_the_sought_property_of_the_thing(
    kind: Kind, invent: Callable[[str, Property, Kind, random.Random], list[Pair]]
) -> None:
    generator = random.Random(1)
    for number, sought in enumerate(kind.properties):
        for thing in generator.sample(kind.things, 5):
            pairs = invent(thing, sought, kind, generator)
            assert {pair.is_right for pair in pairs} == {True, False}
            for pair in pairs:
                stated = set(statements_of(pair.quote, kind))
                assert stated, pair
                assert ((thing, number) in stated) == pair.is_right, pair


def test_free_things_have_no_price() -> None:
    for kind in read_free_kinds():
        assert kind.properties_in(["free"])
        assert not kind.properties_in(["price"])


@pytest.mark.parametrize("kind", read_kinds())
def test_keywords_stand_for_one_property(kind: Kind) -> None:
    words = [word.lower() for item in kind.properties for word in set(item.keywords or item.columns)]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("details", read_details(), ids=lambda details: details.phrase)
def test_only_right_quotes_state_the_property_for_the_detail(details: Details) -> None:
    generator = random.Random(5)
    forms = set()
    for kind in map(with_marked_values, read_kinds()):
        for sought in kind.properties_in(details.properties):
            number = kind.properties.index(sought)
            for detail in details.names:
                thing = generator.choice(kind.things)
                pairs = pairs_with_detail(thing, sought, detail, details, generator)
                assert {pair.is_right for pair in pairs} == {True, False}
                for pair in pairs:
                    named = named_in(pair.question, details.names)
                    assert named in ([detail], [])
                    stated = list(statements_with_detail(pair.quote, kind, details))
                    assert stated
                    assert {(stated_thing, mark) for stated_thing, _, mark in stated} == {(thing, number)}, pair
                    stated_details = {stated_detail for _, stated_detail, _ in stated}
                    assert pair.is_right == (not named or detail in stated_details), pair
                    forms.add((bool(named), len(stated), pair.is_right))
    # Some questions name no detail, and some quotes state two.
    assert forms >= {(True, 1, True), (True, 1, False), (False, 1, True), (True, 2, True)}


@pytest.mark.parametrize("details", read_details(), ids=lambda details: details.phrase)
def test_only_right_rows_have_the_price_of_the_thing_for_the_detail(details: Details) -> None:
    generator = random.Random(6)
    reasons = set()
    for kind in map(with_marked_values, read_kinds()):
        properties = [
            dataclasses.replace(item, questions=[f"#{n} {question}" for question in item.questions])
            for n, item in enumerate(kind.properties)
        ]
        asking = dataclasses.replace(kind, properties=properties)
        for detail in [detail for detail in details.names if kind.properties_in(["price"])]:
            thing = generator.choice(kind.things)
            for pair in table_pairs(thing, detail, details, asking, generator):
                first, *cells = pair.quote.split(" — ")
                columns = dict(cell.split(": ", 1) for cell in cells)
                prices = {name for name in columns if name in details.names}
                assert prices
                assert len(columns) == len(cells)
                assert named_in(pair.question.removeprefix("#"), kind.things) == [thing]
                has_thing = named_in(first, kind.things) == [thing]
                other = re.match(r"#(\d+) ", pair.question)
                if other:
                    assert f"<{other[1]}>" not in columns.values(), pair
                has_price = detail in prices or not named_in(pair.question, details.names)
                assert pair.is_right == (has_thing and has_price and not other), pair
                reasons.add((has_thing, has_price, bool(other)))
    assert reasons == {(True, True, False), (False, True, False), (True, False, False), (True, True, True)}


def test_names_of_details_are_not_in_other_texts() -> None:
    kinds = read_kinds()
    for details in read_details():
        for name in details.names:
            assert not named_in(" | ".join(other for other in details.names if other != name), [name])
            for kind in kinds:
                assert not named_in(" | ".join(kind.things), [name])
                statements = [text for item in kind.properties_in(details.properties) for text in item.statements]
                assert not named_in(" | ".join(statements), [name])


def test_invented_pairs_have_no_gaps() -> None:
    pairs = invent_pairs(2000, random.Random(2))
    assert len(pairs) == 2000
    assert {pair.is_right for pair in pairs} == {True, False}
    assert [pair for pair in pairs if not pair.question.endswith("?")], "keywords"
    assert [pair for pair in pairs if pair.is_right and "?\n" in pair.quote], "an FAQ"
    assert [pair for pair in pairs if pair.is_right and "free of charge" in pair.quote]
    assert [pair for pair in pairs if re.search(r"\(20\d\d\)\?", pair.question)], "years"
    assert [pair for pair in pairs if pair.is_right and " — children: " in pair.quote], "columns for groups"
    assert not [pair for pair in pairs if re.search(r"[{}]", pair.question + pair.quote)]
    assert pairs == invent_pairs(2000, random.Random(2))


def test_patterns_of_values_are_filled() -> None:
    generator = random.Random(3)
    assert re.fullmatch(r"1,\d{3} m", fill("{1000-1999:,} m", generator))
    assert re.fullmatch(r"0\.[2-4]\d", fill("{0.20-0.49}", generator))
    assert re.fullmatch(r"0[6-9]:30", fill("{6-9:02}:30", generator))
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+", fill("{1-28} {month}", generator))


def test_judged_answers_are_read_without_citations(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    lines = [
        {
            "question": " When does it open? ",
            "answer": f"The hall opens at eight [1]. {'More. ' * 99}",
            "is_right": True,
        },
        {"question": "Why?", "answer": "No. [2]", "is_right": False},
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (pair,) = read_judged(file)
    assert (pair.question, pair.is_right) == ("When does it open?", True)
    assert pair.quote.startswith("The hall opens at eight .")
    assert len(pair.quote) <= 420


def test_the_wrong_sentence_of_selqa_is_the_most_similar_one_beside_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "selqa.json"
    candidates = ["The mill burnt.", "It was in 1850.", "The mill had sails.", "Cows graze.", "The mill was sold."]
    item = {"question": "When was the mill lost?", "article": "Mill", "candidates": candidates, "answers": [1]}
    file.write_text(json.dumps([item, item | {"answers": []}]))
    right, wrong = read_selqa(file, random.Random(1))
    assert (right.quote.removeprefix("Mill\n"), right.is_right) == ("It was in 1850.", True)
    assert (wrong.quote, wrong.is_right) == ("The mill was sold.", False)


def test_differences_are_products_of_narrow_matrices_and_can_be_continued_from(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    published = {"encoder.a.weight": np.ones((50, 60), np.float32), "encoder.a.bias": np.zeros(50, np.float32)}
    narrow = generator.normal(size=(50, 3)) @ generator.normal(size=(3, 60))
    trained = {
        "encoder.a.weight": (1 + narrow).astype(np.float32),
        "encoder.a.bias": np.full(50, 0.5, np.float32),
        "embeddings.weight": np.ones(9, np.float32),
    }
    file = tmp_path / "differences.npz"
    write_differences(
        file, published, trained, {"weight": np.ones((1, 50), np.float32), "bias": np.ones(1, np.float32)}
    )
    with np.load(file) as stored:
        assert set(stored.files) == {
            "encoder.a.weight.left",
            "encoder.a.weight.right",
            "encoder.a.bias",
            "head.weight",
            "head.bias",
        }
        product = stored["encoder.a.weight.left"].astype(np.float32) @ stored["encoder.a.weight.right"]
        np.testing.assert_allclose(product, narrow, atol=0.02)
        np.testing.assert_array_equal(stored["encoder.a.bias"], np.full(50, 0.5, np.float16))
        assert stored["head.weight"].shape == (50,)
    layers, head = read_trained(file, published)
    assert set(layers) == set(published)
    np.testing.assert_allclose(layers["encoder.a.weight"], trained["encoder.a.weight"], atol=0.02)
    np.testing.assert_array_equal(layers["encoder.a.bias"], trained["encoder.a.bias"])
    assert (head["weight"].shape, head["bias"].shape) == ((1, 50), (1,))
